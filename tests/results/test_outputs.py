"""Files that are written whole or not at all: whatever goes wrong, a reader finds the old file or the new one."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privreg import TukeyRegression, load_model
from privreg.results.outputs import check_outside, check_place, whole_file, write_whole


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_writes_text_and_bytes(tmp_path):
    path = tmp_path / "file"
    write_whole(path, "ü\n")
    assert path.read_bytes() == b"\xc3\xbc\n"
    write_whole(str(path), b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert os.listdir(tmp_path) == ["file"]


def test_modes(tmp_path):
    """A new file gets what the user's umask leaves; one that is replaced keeps what it had."""
    path = tmp_path / "file"
    before = os.umask(0o027)
    try:
        write_whole(path, "a")
        assert mode(path) == 0o640
        path.chmod(0o604)
        write_whole(path, "b")
        assert mode(path) == 0o604
    finally:
        os.umask(before)


def test_links_stay(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    link.symlink_to(target)
    for text in ("new", "newer"):  # at first the link points to nothing
        write_whole(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert os.listdir(tmp_path / "there") == ["file"]


def test_devices_and_streams_are_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", pytest.fail)  # the superuser could
    write_whole("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    script = "from privreg.results.outputs import write_whole; write_whole('/dev/stdout', 'told')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"told"
    log = tmp_path / "log"
    log.write_text("before ")
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", script], stdout=stream, check=True, timeout=60)
    assert log.read_text() == "before told"


def test_a_long_name(tmp_path):
    path = tmp_path / ("n" * 255)
    write_whole(path, "a")
    assert path.read_text() == "a"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", IsADirectoryError),
        ("folder", IsADirectoryError),
        ("nothing/file", FileNotFoundError),
        ("file/file", NotADirectoryError),
        ("loop", OSError),
        ("n" * 300, OSError),
        ("dangling", FileNotFoundError),
    ],
)
def test_places_that_will_not_do(tmp_path, name, kind):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("a")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing" / "file")
    before = sorted(os.listdir(tmp_path))
    for act in (check_place, lambda path: write_whole(path, "b")):
        with pytest.raises(kind) as caught:
            act(tmp_path / name)
        assert caught.value.filename == str(tmp_path / name)
        assert caught.value.strerror
    assert sorted(os.listdir(tmp_path)) == before


def test_the_empty_name():
    with pytest.raises(IsADirectoryError):
        check_place("")


def test_a_good_place_is_left_alone(tmp_path):
    check_place(tmp_path / "file")
    assert os.listdir(tmp_path) == []


def test_no_right_to_write():
    """The superuser may write everywhere, so the checks run as somebody else."""
    script = """
import os, sys
from privreg.results.outputs import check_place, write_whole
if os.getuid() == 0:
    os.setuid(65534)
for act in (check_place, lambda path: write_whole(path, "b")):
    for path in ("closed/new", "open/file"):
        try:
            act(path)
        except PermissionError as error:
            assert error.filename == path
        else:
            sys.exit(f"wrote {path}")
write_whole("open/new", "a")
"""
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, which others may not enter
        folder = Path(name)
        (folder / "closed").mkdir()
        (folder / "open").mkdir()
        (folder / "open" / "file").write_text("old")
        for path, rights in (("", 0o755), ("closed", 0o555), ("open", 0o777), ("open/file", 0o444)):
            (folder / path).chmod(rights)
        done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        assert sorted(os.listdir(folder / "open")) == ["file", "new"]
        (folder / "closed").chmod(0o755)


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_the_old_file_stays_if_something_fails(tmp_path, monkeypatch, step, error):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_):
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)) as caught:
        write_whole(path, "new")
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [RuntimeError(), OSError(errno.ENOENT, "gone", "/another/file"), OSError("odd")])
def test_the_old_file_stays_if_its_writer_fails(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("old")

    def half():
        with whole_file(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(type(error)) as caught:
        half()
    if isinstance(error, OSError):
        assert caught.value.filename == (error.filename or str(path))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", pytest.fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole("/dev/full", "a")
    assert caught.value.filename == "/dev/full"
    script = """
import resource, sys
from privreg.results.outputs import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(sys.argv[1], "b" * 5000)
except OSError as error:
    assert error.filename == sys.argv[1], error.filename
else:
    sys.exit("wrote")
"""
    path = tmp_path / "file"
    path.write_text("old")
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=60)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_is_killed_leaves_a_whole_model(tmp_path):
    """Children save over an existing file in a loop and are killed at random moments: the file always loads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400))
    with pytest.warns(UserWarning, match="No model"):
        model = TukeyRegression(random_state=1).fit(X, X[:, 0])
    path = tmp_path / "model.json"
    model.save(path)
    script = """
import os, random, signal, sys, time
from privreg import load_model
path, rng = sys.argv[1], random.Random(7)
model = load_model(path)
for _ in range(60):
    child = os.fork()
    if not child:
        while True:
            model.save(path)
    time.sleep(rng.uniform(0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert load_model(path).summary() == model.summary()
"""
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=250)
    assert load_model(path).summary() == model.summary()
    left = set(os.listdir(tmp_path)) - {"model.json"}
    assert all(name.startswith(".privreg-") for name in left)


def test_outputs_are_not_among_the_files_of_a_folder_or_a_pattern(tmp_path, monkeypatch):
    """However a file is called: by a pattern that goes down, by a link, or as one that would be read the next time."""
    monkeypatch.chdir(tmp_path)
    for name in ("data/0.parquet", "data/a/b/2.parquet"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [1.0]}), name)
    Path("link.json").symlink_to("data/a/b/2.parquet")
    deep, flat, folder = Path("data/**/*.parquet"), Path("data/*.parquet"), Path("data")
    refused = [
        (deep, "data/a/b/2.parquet"), (deep, "data/0.parquet"), (deep, "link.json"), (flat, "data/0.parquet"),
        (flat, "data/new.parquet"), (folder, "data/new.parquet"), (folder, "data/a/b/2.parquet"), (folder, "link.json"),
        (folder, "data/new.pq"), (folder, "data/a/new.PARQ"),
    ]  # fmt: skip
    for data, out in refused:
        with pytest.raises(ValueError, match="would become one of the files"):
            check_outside({"--out": Path(out), "--report": None}, data)
    for data, out in (
        (flat, "link.json"),
        (folder, "data/model.json"),
        (flat, "m.json"),
        (Path("data/0.parquet"), "m.json"),
    ):
        check_outside({"--out": Path(out)}, data)
