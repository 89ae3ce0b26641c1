"""The site, built once for all tests of it."""

import subprocess
import sys

import pytest

from places import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-d", str(out / "doctrees"), "-b", "html"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(out / "html")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"
