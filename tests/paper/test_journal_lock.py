"""The lock of a journal, here and on Windows: a second run is refused, and a run that was killed leaves no lock."""

import fcntl
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from privreg.errors import DataError
from privreg.paper import journal

HOLD = """
import sys, time
from pathlib import Path
from privreg.paper import journal
with journal.writing(Path(sys.argv[1])) as log:
    log.append({"a": 1})
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture(params=["linux", "win32"])
def system(request, monkeypatch):
    """Windows locks the byte at the position of a file, and refuses as if it were for lack of permission."""

    def locking(number, mode, size):
        assert (mode, size) == ("at once", 1)
        assert os.lseek(number, 0, os.SEEK_CUR) > 10**9  # a locked byte cannot be read
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    if request.param == "win32":
        monkeypatch.setattr(journal, "sys", SimpleNamespace(platform="win32"))
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK="at once", locking=locking))


@pytest.mark.usefixtures("system")
def test_a_journal_is_locked_while_it_is_written(tmp_path):
    file = tmp_path / "j"
    for number in (1, 2):
        with journal.writing(file) as log:
            log.append({"a": number})
            with pytest.raises(DataError, match="another run"), journal.writing(file):
                pass
            assert journal.read(file) == log.rows
    assert file.read_text() == '{"a":1}\n{"a":2}\n'


@pytest.mark.usefixtures("system")
def test_a_process_that_is_killed_leaves_no_lock(tmp_path):
    file = tmp_path / "j"
    with subprocess.Popen([sys.executable, "-c", HOLD, file], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "locked\n"
            with pytest.raises(DataError, match="another run"), journal.writing(file):
                pass
        finally:
            other.kill()
    with journal.writing(file) as log:
        assert log.rows == [{"a": 1}]
