"""Both noise sources draw from the stated laws, and nothing else in the package draws at all."""

import ast
import re
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pytest

import privreg
from exact import assert_law, softmax
from privreg.errors import NotPrivateWarning
from privreg.privacy.events import Gaussian, Laplace, Pick
from privreg.privacy.noise import OpenDPNoise, SeededNoise, noise_for

SOURCE = Path(privreg.__file__).parent


@pytest.fixture(params=["opendp", "seeded"])
def noise(request):
    return OpenDPNoise() if request.param == "opendp" else SeededNoise(np.random.default_rng(7))


def histogram(draws, low, high):
    """Counts at low … high, everything outside pooled at the ends."""
    return np.bincount(np.clip(draws, low, high) - low, minlength=high - low + 1)


def discrete_law(log_weight, low, high):
    z = np.arange(-4000, 4001)
    weights = np.exp(log_weight(z))
    pooled = np.bincount(np.clip(z, low, high) - low, weights=weights)
    return pooled / weights.sum()


def test_pick_follows_the_softmax(noise):
    scores = np.array([3, -2, 0, 7, 7], np.int64)
    counts = np.bincount([noise.pick(scores, 4.5) for _ in range(6_000)], minlength=5)
    assert_law(counts, softmax(scores, 4.5))


def test_pick_from_scores_of_realistic_size(noise):
    """Scores near 2^42 on the grid of 2^20, where floating point has little room."""
    scores = 2**42 + np.array([0, 2**20, -(2**21)], np.int64)
    counts = np.bincount([noise.pick(scores, 1.7 * 2**20) for _ in range(6_000)], minlength=3)
    assert_law(counts, softmax(scores, 1.7 * 2**20))


def test_pick_from_logarithms_on_a_fine_grid(noise):
    """Scores near 2^56 on the grid of 2^36: what the Tukey mechanism hands over."""
    scores = -(2**56) + np.array([0, 2**36, 2**35, -(2**60)], np.int64)
    counts = np.bincount([noise.pick(scores, 2.0**36) for _ in range(6_000)], minlength=4)
    assert_law(counts, softmax(scores - scores.max(), 2.0**36))


@pytest.mark.parametrize("low", [0, -7, 2**2000], ids=["0", "-7", "huge"])
@pytest.mark.parametrize("size", [2, 5, 8, 13])
def test_uniform_law(noise, low, size):
    counts = np.bincount([noise.uniform(low, low + size) - low for _ in range(2_000)], minlength=size)
    assert_law(counts, np.full(size, 1 / size))


def test_uniform_over_one_value(noise):
    assert noise.uniform(5, 6) == 5


def test_uniform_over_a_huge_range(noise):
    """Every part of a range of thousands of bits is reached: leading, middle and last three bits are uniform."""
    draws = [noise.uniform(0, 2**3000) for _ in range(2_000)]
    for shift in (2997, 1500, 0):
        assert_law(np.bincount([(x >> shift) & 7 for x in draws], minlength=8), np.full(8, 1 / 8))


@pytest.mark.parametrize("scale", [0.8, 3.7])
def test_laplace_law(noise, scale):
    draws = np.array([noise.laplace(100, scale) for _ in range(6_000)]) - 100
    assert_law(histogram(draws, -12, 12), discrete_law(lambda z: -np.abs(z) / scale, -12, 12))


@pytest.mark.parametrize("scale", [0.6, 4.3])
def test_gaussian_law(noise, scale):
    draws = noise.gaussian(np.full(20_000, -5, np.int64), scale) + 5
    assert_law(histogram(draws, -12, 12), discrete_law(lambda z: -(z**2) / (2 * scale**2), -12, 12))


def test_gaussian_coordinates_are_independent(noise):
    """Signs of neighbouring coordinates agree half of the time (6 standard deviations of 20,000 coins)."""
    draws = noise.gaussian(np.zeros(40_000, np.int64), 1000.0).reshape(-1, 2)
    agree = (np.sign(draws[:, 0]) == np.sign(draws[:, 1])).mean()
    assert abs(agree - 0.5) < 6 * 0.5 / np.sqrt(20_000)


def test_groups_are_uniform_and_independent(noise):
    """Pairs of consecutive records fall into all pairs of groups equally often."""
    groups = noise.groups(60_000, 7)
    assert groups.min() == 0
    assert groups.max() == 6
    assert_law(np.bincount(groups[::2] * 7 + groups[1::2], minlength=49), np.full(49, 1 / 49))


@pytest.mark.parametrize("values", [np.array([1.5, 2.0]), np.array([1, 2], np.int32)])
def test_only_int64_is_accepted(noise, values):
    with pytest.raises(TypeError, match="int64"):
        noise.pick(values, 1.0)
    with pytest.raises(TypeError, match="int64"):
        noise.gaussian(values, 1.0)


def test_a_seed_repeats_the_draws_and_warns():
    scores = np.arange(100, dtype=np.int64)
    with pytest.warns(NotPrivateWarning, match="not private"):
        first, again = noise_for(3), noise_for(3)
    assert [first.pick(scores, 50.0) for _ in range(9)] == [again.pick(scores, 50.0) for _ in range(9)]
    assert not first.private
    assert noise_for(np.random.default_rng(1)).private is False
    assert noise_for(None).private is True


def test_costs_agree_with_opendps_own_privacy_maps():
    ints = dp.vector_domain(dp.atom_domain(T="i64"))
    # Shifting all scores changes nothing, so a range of 10 is a distance of 5 in the largest coordinate.
    pick = dp.m.make_noisy_max(ints, dp.linf_distance(T="i64"), dp.zero_concentrated_divergence(), scale=33.0)
    assert pick.map(5) == pytest.approx(float(Pick("", 10, 33.0).rho), rel=1e-12)
    laplace = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=33.0)
    assert laplace.map(3) == pytest.approx(float(Laplace("", 3, 33.0).pure), rel=1e-12)
    gaussian = dp.m.make_gaussian(ints, dp.l2_distance(T="i64"), scale=33.0)
    assert gaussian.map(4) == pytest.approx(float(Gaussian("", 16, 33.0, 2).rho), rel=1e-12)


def without_docstrings(text):
    """The code of a file; examples in docstrings make up tables, and are not run by the package."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def test_only_the_noise_module_knows_opendp_or_random_generators():
    pattern = re.compile(
        r"(?m)^\s*(import|from) opendp|np\.random|numpy\.random|import random|urandom|secrets|default_rng"
    )
    code = {p.relative_to(SOURCE).as_posix(): without_docstrings(p.read_text()).lower() for p in SOURCE.rglob("*.py")}
    users = {path for path, text in code.items() if pattern.search(text)}
    # The planner makes up tables, and sees no others; the paper's evaluation splits public ones.
    assert users == {
        "privacy/noise.py",
        "estimators/private_linear/plan_trials.py",
        "paper/trials.py",
        "paper/datasets.py",
    }
    text = (SOURCE / "privacy/noise.py").read_text()
    assert re.findall(r"enable_features\((.*?)\)", text) == ['"contrib"']
    assert "make_report_noisy_max_gumbel" not in text
