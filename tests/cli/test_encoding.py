"""Output in an encoding that lacks Greek letters, as where it goes to a file on Windows."""

import os
import subprocess
import sys


def test_a_fit_that_was_paid_for_is_shown(tmp_path):
    """By then the budget is spent, and the output is all there is."""
    (tmp_path / "people.csv").write_text("a,y\n" + "".join(f"{i % 7},{i % 7 + i % 3}\n" for i in range(500)))
    done = subprocess.run(
        [sys.executable, "-m", "privreg", "fit", "people.csv", "--target", "y", "--epsilon", "1"],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "cp1252"},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"Privacy: spent ? = 1, ? = 1e-6, all of it" in done.stdout
