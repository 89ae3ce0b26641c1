"""Low-order bits of a point that the Tukey mechanism draws."""

import numpy as np

from audit.bits.cases import Finding, finding
from audit.bits.noise import float_bits_wrong, sources
from audit.distinguish import Free
from privreg.kernels.volumes import GRID
from privreg.mechanisms.depth import STRICT, draw_deep
from privreg.privacy.events import ProposeTestRelease


def draw_step(rate: float = 0.5, delta: float = 0.02) -> ProposeTestRelease:
    return ProposeTestRelease("draw", 1.0, round(rate * GRID) / GRID, STRICT.steps, 1e-6, delta)


def tukey_bits(draws: int = 5_000, private: bool = True) -> Finding:
    """A uniform float between two data values would keep their last bits, or have none near zero."""
    rng = np.random.default_rng(13)
    one = rng.normal(size=(160, 2)) * [1.0, 1e-3] + [0.0, 5.0]
    two = one.copy()
    two[17] = 1e5, -1e-200
    wrong, seen, edges = [], 0, 0
    for noise in sources(14, private):
        account = Free(noise)
        for which, models in (("one", one), ("its neighbour", two)):
            points = [draw_deep(account, draw_step(), models, STRICT) for _ in range(draws)]
            outputs = np.array([p for p in points if p is not None])
            edges += int(np.isin(outputs, models).sum())
            seen += outputs.size
            for j in range(2):
                found = float_bits_wrong(outputs[:, j])
                if len(outputs) < draws / 2 or found:
                    wrong.append(f"{which}, coordinate {j}, {type(noise).__name__}: {len(outputs)} draws, {found}")
    if edges:
        wrong.append(f"{edges} outputs are a coefficient of one of the models")
    what = (
        "Points drawn by the Tukey mechanism from neighbouring sets of models, in wide boxes: the last four bits of "
        "the mantissas are uniform on both, and no output is a coefficient of one of the models."
    )
    promised = (
        "The point is drawn in exact integers, uniform on the whole multiples of 2^-1074 in a box; the output is that "
        "point rounded to float64. So its grid is that of all float64, the same for all tables, but which box was "
        "drawn from is part of the output: boxes of neighbours differ, which is what the safety test and delta are for."
    )
    return finding(what, seen, wrong, promised)
