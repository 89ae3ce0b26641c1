"""Runs code in processes that are new to privreg: each is forked from this one, which has loaded numba and no more.

A line of JSON on standard input is a question, and another on standard output its answer. Numba and its compiler take
a second and a half to load, far longer than what most such code does.
"""

import json
import os
import sys
import traceback

import numba


@numba.njit
def _add_one(number):
    return number + 1


def answer(question):
    out, write_out = os.pipe()
    errors, write_errors = os.pipe()
    if not (child := os.fork()):
        for end, stream in ((write_out, 1), (write_errors, 2)):
            os.dup2(end, stream)
        _run(**question)
    os.close(write_out)
    os.close(write_errors)
    with open(out) as told, open(errors) as complained:
        texts = {"stdout": told.read(), "stderr": complained.read()}  # both are short
    return texts | {"returncode": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}


def _run(code, words, folder, environment):
    """As a new process would run the code, with this environment alone."""
    status = 0
    try:
        os.environ.clear()
        os.environ.update(environment)
        numba.config.reload_config()
        os.chdir(folder)
        sys.path.insert(0, environment["PYTHONPATH"])
        sys.argv = ["-c", *words]
        exec(code, {"__name__": "__main__"})
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _add_one(1)  # sets up the compiler
    assert "privreg" not in sys.modules
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
