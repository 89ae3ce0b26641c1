"""Where things are on disk, so that no test counts the folders above it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HELPERS = Path(__file__).parent
SHARED = ROOT.parent / "shared"  # the paper's data sets, which a user's machine does not have
