"""The command as a user runs it: real processes."""

import os
import subprocess
import sys
from pathlib import Path

PRIVREG = Path(sys.executable).parent / "privreg"


def run(*arguments):
    environment = os.environ | {"COLUMNS": "110", "NO_COLOR": "1"}
    return subprocess.run([PRIVREG, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_demo_prints_the_choice_and_its_receipt():
    result = run("demo")
    assert result.returncode == 0, result.stderr
    assert "chosen with ε = 2" in result.stdout
    assert result.stdout.count("choose feature") == 3
    assert "total: ε = 2, δ = 0 for adding or removing one record" in result.stdout
    assert "NOT PRIVATE" not in result.stdout


def test_help_and_version_load_nothing_heavy():
    code = """
import sys
sys.argv = ["privreg", "--help"]
from privreg.cli import app
try:
    app()
except SystemExit:
    print(sorted(sys.modules))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "demo" in result.stdout
    for heavy in ("numpy", "numba", "scipy", "sklearn", "opendp", "narwhals", "dp_accounting"):
        assert f"'{heavy}'" not in result.stdout
    assert run("--version").stdout.startswith("privreg 0.")


def test_a_wrong_command_is_one_clear_error():
    result = run("demoo")
    assert result.returncode == 2
    assert "No such command" in result.stderr
    assert "Traceback" not in result.stderr


def test_importing_the_package_is_light_and_names_resolve():
    code = "import sys, privreg; assert 'numba' not in sys.modules; print(privreg.DPKendall.__name__, dir(privreg)[0])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("DPKendall")
