"""The files that the audits write, and the page is made of: results/audit/<audit>.json."""

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "results" / "audit"
_LIBRARIES = ("privreg", "opendp", "numpy", "scipy", "scikit-learn", "numba", "pyarrow")


def write(audit: str, command: str, seconds: float, findings: dict[str, Any]) -> Path:
    """Keep what an audit found, with the command that ran it and what it ran on."""
    machine = {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{audit}.json"
    content = {"command": command, "seconds": round(seconds), "machine": machine, **findings}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


def read(audit: str) -> dict[str, Any]:
    """What the last run of an audit found."""
    found: dict[str, Any] = json.loads((FOLDER / f"{audit}.json").read_text())
    return found
