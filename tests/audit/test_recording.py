"""The audit cannot shrink silently: what it does not watch is an error, not a gap."""

import shutil

import pytest

import privreg
from audit import recording, watched
from audit.watched import PACKAGE, NotWatchedError
from privreg.estimators.budgeted import Budgeted
from privreg.privacy.account import Account, PlannedAccount
from privreg.privacy.events import Laplace
from privreg.privacy.noise import Noise


def test_all_rooms_that_decide_are_watched():
    files = watched.deciding_files()
    assert {"estimators/tukey.py", "estimators/private_linear/fitting.py", "mechanisms/count.py"} <= files
    for name in files:
        assert recording._decides(str(PACKAGE / name))
    for name in ("mechanisms/median.py", "kernels/values.py", "privacy/account.py", "no/such/file.py"):
        assert not recording._decides(str(PACKAGE / name))


@pytest.mark.parametrize("room", ["estimators", "mechanisms"])
def test_a_room_that_is_forgotten_is_an_error(room, monkeypatch):
    monkeypatch.setattr(watched, "DECIDING", watched.DECIDING - {room})
    with pytest.raises(NotWatchedError, match=room):
        watched.deciding_files()
    monkeypatch.setattr(watched, "OTHERS", watched.OTHERS | {room})
    with pytest.raises(NotWatchedError, match=rf"{room}/\w+.* draws noise"):
        watched.deciding_files()


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "privreg", ignore=shutil.ignore_patterns("__pycache__", "*.nb*"))
    return tmp_path / "privreg"


def test_a_room_that_disappeared_is_an_error(copy):
    assert watched.deciding_files(copy) == watched.deciding_files()
    (copy / "mechanisms").rename(copy / "primitives")
    with pytest.raises(NotWatchedError, match=r"\['mechanisms', 'primitives'\]"):
        watched.deciding_files(copy)


def test_an_exception_that_disappeared_is_an_error(copy):
    (copy / "mechanisms/median.py").rename(copy / "mechanisms/middle.py")
    with pytest.raises(NotWatchedError, match=r"mechanisms/median\.py"):
        watched.deciding_files(copy)


@pytest.mark.parametrize("line", ["from privreg.privacy.account import Account", "from privreg.privacy import noise"])
def test_noise_drawn_elsewhere_is_an_error(line, copy):
    (copy / "engines/sly.py").write_text(line + "\n")
    with pytest.raises(NotWatchedError, match=r"engines/sly\.py draws noise"):
        watched.deciding_files(copy)


def test_every_draw_of_an_account_is_recorded(monkeypatch):
    known = set(recording._STATISTIC)
    watched.check_draws(known)
    for name in known:
        with pytest.raises(NotWatchedError, match=name):
            watched.check_draws(known - {name})

    def double_laplace(self, event: Laplace, value: int) -> int:
        return value

    monkeypatch.setattr(Account, "double_laplace", double_laplace, raising=False)
    with pytest.raises(NotWatchedError, match="double_laplace"):
        watched.check_draws(known)
    monkeypatch.delattr(Account, "double_laplace")
    monkeypatch.setattr(PlannedAccount, "laplace", double_laplace)
    with pytest.raises(NotWatchedError, match="PlannedAccount has draws of its own"):
        watched.check_draws(known)


def test_every_request_to_the_noise_is_recorded(monkeypatch):
    watched.check_noise(recording._RecordedNoise)
    monkeypatch.setattr(Noise, "exponential", lambda self: 0, raising=False)
    with pytest.raises(NotWatchedError, match="exponential"):
        watched.check_noise(recording._RecordedNoise)


def test_every_fit_that_spends_is_traced():
    watched.check_fits()
    assert {privreg.DPKendall, privreg.PrivateLinearRegression} <= watched._below(Budgeted)
    sly = type("Sly", (Budgeted,), {"__module__": "privreg.estimators.sly"})
    with pytest.raises(NotWatchedError, match="Sly"):
        watched.check_fits()
    del sly
