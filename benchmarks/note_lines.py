"""Writes the share of lines that the tests run into CONTRIBUTING.md, on the line that is marked with a comment.

    python benchmarks/note_lines.py build/lines.json

Lines that run only as machine code (the kernels of numba) or only in processes of their own do not count as run.
"""

import json
import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
MARK = "<!-- lines -->"


def with_share(page: str, percent: float) -> str:
    """The page with its marked line replaced."""
    line = (
        f"The tests run {percent:.0f} % of the lines of `src/privreg` (`make lines`). Compiled kernels do not show "
        f"in that number, nor does what runs only in processes of its own. {MARK}"
    )
    page, replaced = re.subn(rf"^.*{MARK}.*$", line, page, flags=re.MULTILINE)
    if replaced != 1:
        raise SystemExit(f"{PAGE.name} has {replaced} lines with {MARK}, not one")
    return page


def main() -> None:
    found = json.loads(Path(sys.argv[1]).read_text())
    PAGE.write_text(with_share(PAGE.read_text(), found["totals"]["percent_covered"]))


if __name__ == "__main__":
    main()
