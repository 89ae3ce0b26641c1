"""`python -m privreg` is `privreg`."""

from privreg.cli.app import app

if __name__ == "__main__":
    app(prog_name="privreg")
