"""The how-to page "From R", in R itself. Skipped where R or jsonlite is missing; `make howto` installs both."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pages import blocks
from places import ROOT

# What a reader sees on the page, checked: numbers are noisy, and the bounds are many standard errors wide.
CHECKS = """
stopifnot(is.data.frame(fit$coefficients), is.numeric(fit$coefficients$value))
stopifnot(c("region=south", "region=west") %in% fit$coefficients$feature)
stopifnot(abs(fit$coefficients$value[fit$coefficients$feature == "age"] - 30) < 20)
stopifnot(identical(is.na(new$predicted), c(FALSE, FALSE, TRUE)))
stopifnot(abs(new$predicted[1:2] - c(1950, 2800)) < 700)
failed <- tryCatch(run_privreg("fit", "people.csv", "--target", "no such column", "--epsilon", "1", "--json"),
                   error = function(e) conditionMessage(e))
stopifnot(failed == "privreg: exit code 2")
"""


def has_r():
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(jsonlite)"], capture_output=True, check=False).returncode == 0


def test_the_how_to_page_runs_in_r(tmp_path):
    if not has_r():
        pytest.skip("needs R and its package jsonlite")
    code = [block.text for block in blocks(ROOT / "docs" / "howto" / "r.md") if block.language == "r"]
    assert len(code) == 5
    script = tmp_path / "page.R"
    script.write_text("\n".join([*code, CHECKS]))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["Rscript", "--vanilla", script.name],
        cwd=tmp_path,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "region=south" in done.stdout
