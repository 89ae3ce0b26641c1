"""The first whole job on real data that ships with scikit-learn: which measurements predict how diabetes progresses?"""

from math import exp

from rich.console import Console
from rich.table import Table as Grid
from sklearn.datasets import load_diabetes

from privreg.kendall import kendall_scores
from privreg.selection.dp_kendall import DPKendall

EPSILON = 2.0
K = 3

MEANING = {
    "age": "age",
    "sex": "sex",
    "bmi": "body mass index",
    "bp": "mean blood pressure",
    "s1": "total cholesterol",
    "s2": "low-density lipoproteins",
    "s3": "high-density lipoproteins",
    "s4": "cholesterol / HDL ratio",
    "s5": "log of triglycerides",
    "s6": "blood sugar",
}


def run(console: Console | None = None) -> None:
    """Select K of ten measurements privately and print them beside what would be chosen without noise."""
    console = console or Console()
    data = load_diabetes(scaled=False)
    selector = DPKendall(k=K, epsilon=EPSILON).fit(data.data, data.target)
    noiseless = DPKendall(k=K, epsilon=1e9).fit(data.data, data.target).ranking_.tolist()
    tau = kendall_scores(data.data, data.target) * 2 / len(data.target)

    console.print(
        f"\n[bold]{K} of 10[/bold]: the measurements of {len(data.target)} diabetes patients that say most about "
        f"the progression of the disease a year later, chosen with ε = {EPSILON:g}.\n",
        highlight=False,
    )
    grid = Grid("chosen", "measurement", "", "true Kendall τ", "place without noise")
    for place, j in enumerate(selector.ranking_.tolist(), 1):
        name = data.feature_names[j]
        exact = str(noiseless.index(j) + 1) if j in noiseless else "not chosen"
        grid.add_row(str(place), name, MEANING[name], f"{tau[j]:+.3f}", exact)
    console.print(grid)
    console.print(
        "The two columns on the right are not private. They may be shown because this data set is public (Efron et "
        "al. 2004, shipped with scikit-learn). Run it again: the noise changes, and perhaps the choice.\n",
        highlight=False,
    )
    console.print("[bold]What it cost[/bold]")
    console.print(str(selector.receipt_), highlight=False)
    console.print(
        "\nThe promise: whether or not any one patient is in the data changes the probability of any choice by a "
        f"factor of at most e^{EPSILON:g} = {exp(EPSILON):.1f}, so the choice says little about that patient.",
        highlight=False,
    )
