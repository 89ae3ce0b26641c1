"""The processor reaches no statistic: the same fits in processes that use other kernels, here on one machine."""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from audit.bits import eigenvalues
from audit.bits.cases import Finding, cases, finding
from audit.bits.worker import EIGENVALUE, Digests, digests, fit_handed, large_sums, outputs_of

# Every path through the kernels once.
COMPACT = (
    "all columns",
    "screening",
    "long tails",
    "people",
    "kendall",
    "sublasso",
    "tukey",
    "adassp",
    "sublasso, tukey",
)
CONFIGURATIONS: dict[str, dict[str, str]] = {
    "numba for any processor": {"NUMBA_CPU_NAME": "generic"},  # first, because it compiles everything again
    "1 BLAS thread": {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "2 BLAS threads": {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
    "4 BLAS threads": {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"},
    **{
        f"BLAS kernels for {core}": {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "1"}
        for core in ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
    },
    "numpy without AVX2": {"NPY_DISABLE_CPU_FEATURES": "X86_V3"},
}


def kernels(
    names: Sequence[str] | None = COMPACT, only: Sequence[str] = tuple(CONFIGURATIONS), records: int = 70_000
) -> Finding:
    """Sums of products go through BLAS, which adds in an order of its own on each processor."""
    expected, repeated = {}, []
    for case in cases(names):
        recording, handed = fit_handed(case)
        expected[case.name] = digests(recording)
        repeated.append((case.name, case.X, case.y, case.people, outputs_of(recording), handed.noted))
    expected["large sums"] = large_sums(records)
    matrices = eigenvalues.products(40)
    work = {"cases": repeated, "matrices": matrices, "records": records}
    with ThreadPoolExecutor(2) as pool:
        ended = dict(zip(only, pool.map(lambda name: _elsewhere(work, CONFIGURATIONS[name]), only), strict=True))
    codes = {name: end for name, end in ended.items() if isinstance(end, int)}
    found = {name: end for name, end in ended.items() if not isinstance(end, int)}
    wrong = [f"{name}: the process ended with {code}" for name, code in codes.items() if code != -signal.SIGILL]
    for name, end in found.items():
        wrong += _unlike(name, end, expected)
    computed = [eigenvalues.computed(matrices), *(end["eigenvalues"] for end in found.values())]
    error, apart = eigenvalues.error(computed, matrices), eigenvalues.apart(computed)
    if error > eigenvalues.ALLOWED:
        wrong.append(f"{EIGENVALUE}: {error:.3g} grid steps from the truth, {eigenvalues.ALLOWED} are allowed for")
    ran = sorted({f"{kind} on {threads} threads" for end in found.values() for kind, threads in end["ran"]})
    settings = "; ".join([*ran, f"this processor cannot run {', '.join(codes)}"] if codes else ran)
    what = (
        f"The same fits, and sums over {records:,} records, with the same public numbers between their steps, in "
        f"processes of other settings ({settings}): every integer statistic but the {EIGENVALUE} is the same bit for "
        "bit. In each process, a fit repeated with the same outputs gives the same model."
    )
    differed = max((end["differed"] for end in found.values()), default=0.0)
    promised = (
        f"BoostedAdaSSP's {EIGENVALUE} is computed by LAPACK in floating point from exact integers. For "
        f"{len(matrices)} matrices of up to 2^30 records it came out up to {apart} grid steps apart in these "
        f"processes, and up to {error:.3g} from the true value; its sensitivity allows for {eigenvalues.ALLOWED} on "
        f"each data set. Public numbers between steps (eigenvectors of released matrices) differed by up to "
        f"{differed:.1g} of the largest: models are the same on one machine with one setting only. Scores of medians "
        "hold logarithms by numpy: kernels that this processor cannot run may round them to a neighbouring grid step, "
        "which the step's range allows for (docs/proofs/median.md)."
    )
    return finding(what, len(found) * len(expected), wrong, promised)


def _elsewhere(work: dict[str, Any], settings: dict[str, str]) -> dict[str, Any] | int:
    """What `worker` finds in a fresh process, or how that process ended."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "work", Path(folder) / "found"
        given.write_bytes(pickle.dumps(work))
        if "NUMBA_CPU_NAME" in settings:
            settings = {**settings, "NUMBA_CACHE_DIR": str(Path(folder) / "numba")}
        done = subprocess.run(
            [sys.executable, "-m", "audit.bits.worker", str(given), str(found)],
            env={**os.environ, **settings},
            cwd=Path(__file__).resolve().parents[2],
            capture_output=True,
            check=False,
        )
        return json.loads(found.read_text()) if done.returncode == 0 else done.returncode


def _unlike(name: str, found: dict[str, Any], expected: dict[str, Digests]) -> Iterator[str]:
    for case, steps in expected.items():
        both = zip(steps, found["digests"][case], strict=True)
        yield from (f"{case}, {name}: {step}" for (step, a), (_, b) in both if a != b)
    yield from (f"{name}: the model of {case}, fitted twice, differs" for case in found["unlike"])
