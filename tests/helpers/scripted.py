"""Noise that is written down beforehand, for tests of what reaches the noise."""

import numpy as np

from privreg.privacy.noise import SeededNoise

# Finite values that have broken statistics before: they must not move a release by more than its claim.
HOSTILE = [0.0, 1e308, -1e308, 5e-324, 1e-300, 1.0, -7.5]


class Scripted(SeededNoise):
    """Fixed count noise and groups, always the first candidate; keeps what it is asked to add noise to."""

    def __init__(self, groups, count_noise=0):
        super().__init__(np.random.default_rng(0))
        self._groups, self._count_noise, self.calls = groups, count_noise, []

    def laplace(self, value, scale):
        self.calls.append(("laplace", int(value), scale))
        return int(value) + self._count_noise

    def groups(self, records, groups):
        self.calls.append(("groups", records, groups))
        return self._groups[:records] % groups

    def pick(self, scores, scale):
        self.calls.append(("pick", scores.tolist(), scale))
        return 0


class PickKeeper:
    """Stands in for the account: keeps what is to be drawn from."""

    def pick_within(self, step, scores, bounds):
        self.step, self.scores, self.bounds = step, scores, bounds
        return bounds(0)[0]


class Keeper(SeededNoise):
    """Adds a fixed number of grid steps, and keeps what it was given."""

    def __init__(self, more=0, keep=np.ndarray.tolist):
        super().__init__(np.random.default_rng(0))
        self.calls, self._more, self._keep = [], more, keep

    def gaussian(self, values, scale):
        assert values.dtype == np.int64
        self.calls.append((self._keep(values), scale))
        return values + self._more


def as_integers(values):
    """Of any size: what is computed with them does not overflow."""
    return values.astype(object)
