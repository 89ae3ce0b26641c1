"""All audits, one after the other, and the page that tells what they found: `make audit`."""

import os
import subprocess
import sys
import time

from audit import page

# Each is a module with a command of its own. What is likeliest to find something comes first.
AUDITS = ("replay", "mutants", "bits", "blackbox", "fuzz")


def main() -> None:
    start, failed = time.time(), []
    for audit in AUDITS:
        print(f"== {audit}, after {(time.time() - start) / 60:.0f} minutes", flush=True)
        ran = subprocess.run([sys.executable, "-m", f"audit.{audit}"], env={**os.environ, "OMP_NUM_THREADS": "1"})
        if ran.returncode:
            failed.append(audit)
    page.write()
    subprocess.run([sys.executable, "benchmarks/readme.py", "--pages"], check=True)  # the README's sentence about it
    told = f"FAILED: {', '.join(failed)}" if failed else "nothing wrong was found"
    print(f"== {(time.time() - start) / 60:.0f} minutes; {told}; see docs/verification.md")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
