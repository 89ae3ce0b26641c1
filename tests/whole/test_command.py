"""The command as a user runs it: real processes."""

import json
import os
import subprocess
import sys
from contextlib import suppress

import pytest

import commands
from privreg import Ledger
from processes import PRIVREG, run


def test_a_person_at_a_terminal_sees_progress_and_a_program_does_not(tmp_path):
    commands.run("demo", "--data", tmp_path / "mothers.csv")
    words = [PRIVREG, "fit", "mothers.csv", "--target", "labinc", "--epsilon", "1", "--json"]
    reader, writer = os.openpty()
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=writer, cwd=tmp_path, text=True, env=os.environ | {"TERM": "xterm"}
    ) as process:
        os.close(writer)
        shown = b""
        with suppress(OSError):  # the terminal is closed
            while part := os.read(reader, 65536):
                shown += part
        out = process.stdout.read()
    os.close(reader)
    assert any(
        stage in shown for stage in (b"reading the header", b"loading the libraries", b"finding out", b"fitting")
    )
    assert process.returncode == 0
    assert json.loads(out)["target"] == "labinc"
    assert b"31857" not in shown.replace(b",", b"")
    assert run(*words[1:], cwd=tmp_path).stderr == ""


def test_a_fit_that_is_interrupted_says_nothing_and_has_spent(tmp_path):
    """Ctrl-C during the fit: the entry stays."""
    code = """
import os, signal, sys
from privreg.cli.app import app
from privreg.estimators.private_linear import estimator
estimator.fit = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
app(sys.argv[1:])
"""
    commands.run("demo", "--data", tmp_path / "m.csv")
    Ledger(tmp_path / "b.db").create("d", 2, "1e-5")
    words = ["fit", "m.csv", "--target", "labinc", "--epsilon", "1", "--ledger", "b.db", "--dataset", "d", "--out", "o"]
    result = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert result.returncode == 130
    assert "Traceback" not in result.stderr
    assert [e.state for e in Ledger(tmp_path / "b.db").history()] == ["failed"]
    assert not (tmp_path / "o").exists()


def test_python_m_privreg_is_privreg(tmp_path):
    def both(*words):
        own = run(*words, cwd=tmp_path)
        module = subprocess.run(
            [sys.executable, "-m", "privreg", *words], capture_output=True, text=True, cwd=tmp_path, check=False,
            env=os.environ | {"COLUMNS": "110", "NO_COLOR": "1"},
        )  # fmt: skip
        assert (module.returncode, module.stdout, module.stderr) == (own.returncode, own.stdout, own.stderr)
        return module

    assert "Usage: privreg " in both("--help").stdout
    assert both("--version").stdout.startswith("privreg 0")
    assert both("fit", "x.csv").stderr.startswith("privreg fit: --epsilon E is missing: privacy budget ε")
    assert both("ledger", "status", "no.db").stderr.startswith("privreg ledger status: ")


def test_help_and_version_load_nothing_heavy():
    code = """
import sys
sys.argv = ["privreg", "--help"]
from privreg.cli.app import app
try:
    app()
except SystemExit:
    print(sorted(sys.modules))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "demo" in result.stdout
    for heavy in ("numpy", "numba", "scipy", "sklearn", "opendp", "narwhals", "dp_accounting", "pyarrow", "matplotlib"):
        assert f"'{heavy}'" not in result.stdout
    assert run("--version").stdout.startswith("privreg 0.")


def test_a_wrong_command_is_one_clear_error():
    result = run("demoo")
    assert result.returncode == 2
    assert result.stderr == "privreg: there is no command 'demoo'; did you mean demo?\n"
    assert "Traceback" not in result.stderr


def test_importing_the_package_is_light_and_names_resolve():
    code = "import sys, privreg; assert 'numba' not in sys.modules; print(privreg.DPKendall.__name__, dir(privreg)[0])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("DPKendall")


@pytest.mark.parametrize("name", ["records.jsonl", "text.csv"])
def test_commands_that_look_at_a_large_file_end(name, tmp_path):
    """Whether they refuse it, or find nothing in it: no reader is left that would go on."""
    lines = {
        "records.jsonl": ['{"wage": 1, "age": 2}'] * 200_000,
        "text.csv": ["wage,age", *["abc,1"] * 300_000],
    }
    (tmp_path / name).write_text("\n".join(lines[name]))
    command = [PRIVREG, "fit", tmp_path / name, "--target", "wage", "--epsilon", "1"]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ended = [(process.communicate(timeout=120)[1].count("\n"), process.returncode) for process in running]
    assert ended == [{"records.jsonl": (1, 2), "text.csv": (0, 0)}[name]] * 3  # no value of the data is a mistake
