"""Machine code is cached only where nobody else could have put it, and a fit never needs the cache. Real processes."""

import ctypes
import json
import os
import pickle
import shutil
import subprocess
import sys
from functools import cache as once
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

import forks
import privreg
from privreg.kernels import cache

CALL = """
from privreg.kernels.values import code_of
assert code_of(0.0) == 0
print(sum(code_of.stats.cache_hits.values()), code_of.stats.cache_path)
"""
FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
FIT = "from privreg.cli.app import app; app()"
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    place = tmp_path_factory.mktemp("installed") / "site" / "privreg"
    shutil.copytree(Path(privreg.__file__).parent, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


@pytest.fixture
def package(installed):
    """A copy of the package whose folders cannot be written to."""
    read_only(installed)
    yield installed
    for left in [path for path in installed.rglob("__pycache__") if path.parent.name != "__pycache__"]:
        left.parent.chmod(0o755)
        shutil.rmtree(left)


def read_only(place):
    for folder in (place, *(path for path in place.rglob("*") if path.is_dir())):
        folder.chmod(0o555)


def run(package, code, *words, home=None, **settings):
    """A process that file modes hold for, also if it is root's. Without a home there is none, nor can one be made."""
    home = package / "missing" if home is None else home
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package.parent), "HOME": str(home)}
    environment |= {name: str(value) for name, value in settings.items()}
    question = {"code": code, "words": [*map(str, words)], "folder": str(package.parent), "environment": environment}
    forking().stdin.write(json.dumps(question) + "\n")
    forking().stdin.flush()
    return SimpleNamespace(**json.loads(forking().stdout.readline()))


@once
def forking():
    """All processes are forked from this one: it has loaded numba, and what it may not do, they may not."""
    return subprocess.Popen(
        [sys.executable, forks.__file__],
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=_without_override,
    )


@pytest.fixture(scope="module", autouse=True)
def ended():
    yield
    forking().communicate()
    forking.cache_clear()


def _without_override():
    os.umask(0)  # as some services have it
    drop, read_anything, write_anything = 24, 2, 1  # PR_CAPBSET_DROP and two of <linux/capability.h>
    if os.geteuid() == 0 and sys.platform == "linux":
        for capability in (write_anything, read_anything):
            assert ctypes.CDLL(None).prctl(drop, capability, 0, 0, 0) == 0


def cached(package, code=CALL, **settings):
    """How many kernels came from the cache, and where it is ("None" if nowhere)."""
    done = run(package, code, **settings)
    assert done.returncode == 0, done.stderr
    hits, path = done.stdout.split(maxsplit=1)
    return int(hits), path.strip()


def test_file_modes_hold_for_these_processes(package):
    done = run(package, f"open({str(package / 'new')!r}, 'w')")
    assert "PermissionError" in done.stderr


def test_a_service_without_a_home_can_fit(package, tmp_path):
    """To numbers: the kernels that read text are compiled in the same way, and take three times as long."""
    data = tmp_path / "people.parquet"
    pd.DataFrame({"a": [i % 7 for i in range(500)], "y": [i % 7 + i % 3 for i in range(500)]}).to_parquet(data)
    before = [*sorted(tmp_path.rglob("*")), *sorted(package.parent.rglob("*"))]
    done = run(package, FIT, "fit", data, "--target", "y", "--epsilon", "1")
    assert done.returncode == 0, done.stderr
    assert "Privacy: spent ε = 1, δ = 1e-6, all of it; protects any one record" in done.stdout
    assert [*sorted(tmp_path.rglob("*")), *sorted(package.parent.rglob("*"))] == before


def test_without_a_safe_place_nothing_is_cached(package):
    assert cached(package) == (0, "None")


@pytest.mark.parametrize("place", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "package"])
def test_the_second_process_finds_what_the_first_compiled(package, tmp_path, place):
    own = tmp_path / "own"
    own.mkdir(0o700)
    if place == "package":
        (package / "kernels").chmod(0o755)
        (package / "kernels" / "__pycache__").mkdir(0o755)
    settings = {"home": own} if place == "HOME" else {place: own / "new"} if place != "package" else {}
    hits, path = cached(package, **settings)
    assert hits == 0
    assert Path(path).is_relative_to(package / "kernels" if place == "package" else own)
    private = next(folder for folder in Path(path).parents if folder.name == "privreg-kernels")
    assert private.stat().st_mode & 0o777 == 0o700
    assert cached(package, **settings) == (1, path)


@pytest.fixture(scope="module")
def sample(installed, tmp_path_factory):
    """What a process leaves in a cache: the name of its folder, and those of the files in it."""
    read_only(installed)
    own = tmp_path_factory.mktemp("sample")
    own.chmod(0o700)
    path = Path(cached(installed, NUMBA_CACHE_DIR=own)[1])
    return path.name, os.listdir(path)


@pytest.fixture
def trap(sample, tmp_path):
    """A function that fills a folder with cache files which leave a mark if they are loaded."""
    mark = tmp_path / "loaded"
    path, names = sample

    def fill(folder):
        for below in ("", path, f"privreg-kernels/{path}", f"privreg/privreg-kernels/{path}"):
            place = folder / below
            place.mkdir(parents=True, exist_ok=True)
            for name in names:
                (place / name).write_bytes(pickle.dumps(_Mark(str(mark))))
        return sorted(folder.rglob("*"))

    fill.mark = mark
    return fill


class _Mark:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def give(folder, owner):
    for path in (folder, *folder.rglob("*")):
        os.chown(path, owner, owner)


def test_the_trap_works(package, trap, tmp_path):
    own = tmp_path / "own"
    own.mkdir(0o700)
    trap(own)
    (own / "privreg-kernels").chmod(0o700)
    cached(package, NUMBA_CACHE_DIR=own)  # a cache of our own that is damaged, too: compiled again
    assert trap.mark.exists()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(package, trap, tmp_path, mode):
    open_to_all = tmp_path / "open"
    found = trap(open_to_all)
    open_to_all.chmod(mode)
    assert cached(package, NUMBA_CACHE_DIR=open_to_all) == (0, "None")
    assert not trap.mark.exists()
    assert sorted(open_to_all.rglob("*")) == found


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_the_packages_own_cache_is_not_used_if_others_can_write_to_it(package, trap, mode):
    for folder in (package, package / "kernels"):
        folder.chmod(0o755)
        found = trap(folder / "__pycache__")
        (folder / "__pycache__").chmod(mode)
    cached_in = cached(package)
    assert cached_in == (0, "None")
    assert not trap.mark.exists()
    assert [path for path in sorted((package / "kernels" / "__pycache__").rglob("*")) if path.suffix != ".pyc"] == found


def test_a_folder_that_others_can_swap_is_not_used(package, trap, tmp_path):
    above = tmp_path / "open"
    trap(above / "own")
    (above / "own").chmod(0o700)
    above.chmod(0o777)
    assert cached(package, NUMBA_CACHE_DIR=above / "own") == (0, "None")
    assert not trap.mark.exists()


@as_root
@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_a_name_that_a_stranger_took_is_not_used(package, trap, tmp_path, mode):
    shared = tmp_path / "tmp"
    trap(shared / "privreg")
    give(shared / "privreg", NOBODY)
    for folder in (shared / "privreg", shared / "privreg" / "privreg-kernels"):
        folder.chmod(mode)
    shared.chmod(0o1777)
    assert cached(package, XDG_CACHE_HOME=shared) == (0, "None")
    assert not trap.mark.exists()


def test_a_link_in_the_place_of_the_folder_is_not_followed(package, trap, tmp_path):
    own, elsewhere = tmp_path / "own", tmp_path / "elsewhere"
    own.mkdir(0o700)
    trap(elsewhere)
    elsewhere.chmod(0o700)
    (own / "privreg-kernels").symlink_to(elsewhere)
    assert cached(package, NUMBA_CACHE_DIR=own) == (0, "None")
    assert not trap.mark.exists()


def test_damaged_files_are_compiled_again(package, tmp_path):
    own = tmp_path / "own"
    own.mkdir(0o700)
    path = Path(cached(package, NUMBA_CACHE_DIR=own)[1])
    for file in path.iterdir():
        file.write_bytes(file.read_bytes()[:40])
    assert cached(package, NUMBA_CACHE_DIR=own) == (0, str(path))


def test_a_full_disk_is_no_error(package, tmp_path):
    own = tmp_path / "own"
    own.mkdir(0o700)
    assert cached(package, FULL + CALL, NUMBA_CACHE_DIR=own)[0] == 0


def test_other_packages_keep_their_cache(package, tmp_path):
    own = tmp_path / "own"
    own.mkdir(0o700)
    code = "import numba, privreg.kernels.groups; print(0, numba.config.CACHE_DIR)"
    assert cached(package, code, NUMBA_CACHE_DIR=own) == (0, str(own))


class _Windows(ModuleType):
    """The module `os` as it is there: without accounts that are numbers."""

    name = "nt"

    def __getattr__(self, name):
        if name in ("getuid", "geteuid", "getgid", "getegid"):
            raise AttributeError(name)
        return getattr(os, name)


def test_windows_keeps_the_cache_in_the_profile_or_nowhere(tmp_path, monkeypatch):
    """Modes say nothing there, so no other place is known to be private."""
    monkeypatch.setattr(cache, "os", _Windows("os"))
    for module in ("grp", "pwd"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(cache.config, "CACHE_DIR", str(tmp_path / "shared"))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert cache.cache_folder.__wrapped__() is None
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "Local"))
    (tmp_path / "Local").mkdir()
    assert cache.cache_folder.__wrapped__() == tmp_path / "Local" / "privreg" / "privreg-kernels"
    assert [path.name for path in tmp_path.iterdir()] == ["Local"]
