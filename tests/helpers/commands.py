"""`privreg …` as a user types it, in this process."""

from typer.testing import CliRunner

from privreg.cli.app import app


def run(*words, expect=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == expect, result.output
    return result


def refused(*words, status=2):
    """The one line that a mistake gets."""
    result = run(*words, expect=status)
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr
