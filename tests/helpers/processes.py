"""The installed command, in processes of its own."""

import os
import subprocess
import sys
from pathlib import Path

PRIVREG = Path(sys.executable).parent / "privreg"


def run(*arguments, cwd=None):
    environment = os.environ | {"COLUMNS": "110", "NO_COLOR": "1"}
    return subprocess.run(
        [PRIVREG, *map(str, arguments)], capture_output=True, text=True, env=environment, cwd=cwd, check=False
    )
