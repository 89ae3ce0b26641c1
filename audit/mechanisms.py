"""Every mechanism: its proofs, its exact tests, its steps in a receipt, its black-box audits. And what is assumed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mechanism:
    name: str
    proofs: tuple[str, ...]
    tests: tuple[str, ...]
    steps: tuple[str, ...] = ()
    audits: tuple[str, ...] = ()


MECHANISMS = (
    Mechanism(
        "count of the records",
        ("count",),
        ("mechanisms/test_count.py",),
        ("count the records",),
        ("count (Laplace)", "count (Gaussian)"),
    ),
    Mechanism(
        "feature selection by Kendall's τ (DPKendall)",
        ("kendall", "peel"),
        ("estimators/test_dp_kendall.py", "mechanisms/test_peel.py"),
        ("choose feature",),
        ("DPKendall, first round", "DPKendall, two rounds"),
    ),
    Mechanism(
        "feature selection by votes (SubLasso)",
        ("sublasso", "peel"),
        ("estimators/test_sub_lasso.py", "mechanisms/test_peel.py"),
        ("choose feature",),
        ("SubLasso, votes", "SubLasso, whole"),
    ),
    Mechanism(
        "Tukey mechanism",
        ("tukey",),
        ("mechanisms/test_depth.py", "estimators/test_tukey.py", "kernels/test_volumes.py"),
        ("test stability, draw a model",),
        ("Tukey in 1-D, pass or fail", "Tukey in 2-D, pass or fail", "Tukey in 1-D, output", "Tukey in 2-D, output"),
    ),
    Mechanism(
        "Boosted AdaSSP",
        ("adassp",),
        ("estimators/test_boosted_adassp.py",),
        ("products of features", "smallest eigenvalue", "boosting round"),
        ("BAS, 5 rounds", "BAS, 100 rounds"),
    ),
    Mechanism(
        "median",
        ("median",),
        ("mechanisms/test_median.py",),
        ("median of the target", "median of column", "median of all columns", "median distance"),
        ("median", "median of many"),
    ),
    Mechanism(
        "spread",
        ("spread",),
        ("mechanisms/test_spread.py",),
        ("spread of the target", "spread of column", "spread of all columns"),
        ("spread (histogram)",),
    ),
    Mechanism(
        "counts in bands",
        ("bands",),
        ("mechanisms/test_bands.py",),
        ("look for zeros and ones", "count zeros and ones", "records about so far away"),
    ),
    Mechanism(
        "clipped sums",
        ("mean",),
        ("mechanisms/test_mean.py",),
        (
            *("mean of the target", "balance of the target", "balance of the residuals"),
            *("mean of the residuals", "residual variance", "explained variance"),
        ),
        ("clipped mean",),
    ),
    Mechanism(
        "lengths of residuals",
        ("lengths",),
        ("mechanisms/test_lengths.py",),
        ("lengths of residuals", "sizes of their sum"),
        ("lengths (histogram)",),
    ),
    Mechanism("gradient", ("gradient",), ("mechanisms/test_gradient.py",), ("weights of all columns",)),
    Mechanism("choice by sides", ("sides",), ("mechanisms/test_sides.py",), ("choose feature",)),
    Mechanism("screening", ("screening", "kendall"), ("mechanisms/test_screening.py",), ("choose feature",)),
    Mechanism("screening on a sample", ("sampling", "screening", "kendall"), ("mechanisms/test_sampling.py",)),
    Mechanism(
        "moments",
        ("moments",),
        ("mechanisms/test_moments.py",),
        ("products and gradient",),
        ("moments",),
    ),
    Mechanism(
        "PrivateLinearRegression as a whole",
        ("flagship", "adaptive", "early"),
        ("audit/test_replay.py", "privacy/test_adaptive.py", "privacy/test_early_picks.py"),
        (),
        ("flagship, constant", "flagship, three phases"),
    ),
    Mechanism(
        "reading a table",
        ("reading",),
        ("estimators/test_reading.py", "audit/test_replay.py"),
        ("count all records", "centre of column"),
    ),
    Mechanism(
        "formulas and filters",
        ("formulas",),
        ("data/test_expressions.py", "data/test_coding.py", "engines/test_formula.py", "audit/test_replay.py"),
        (),
    ),
    Mechanism(
        "kinds of columns",
        ("kinds",),
        ("mechanisms/test_kinds.py", "audit/test_level_counts.py"),
        ("kinds of the columns", "counts of levels"),
    ),
    Mechanism(
        "common values",
        ("levels",),
        ("privacy/test_levels.py", "mechanisms/test_levels.py", "audit/test_level_counts.py"),
        ("common values",),
    ),
    Mechanism(
        "people instead of records", ("persons",), ("mechanisms/test_persons.py", "privacy/test_receipt_parts.py")
    ),
    Mechanism(
        "total cost of planned steps", ("accounting", "gdp"), ("privacy/test_accountant.py", "privacy/test_account.py")
    ),
    Mechanism(
        "ledger",
        ("ledger",),
        (
            "privacy/ledger/test_ledger.py",
            "privacy/ledger/test_extra_delta.py",
            "privacy/ledger/test_processes.py",
            "privacy/ledger/test_migration.py",
        ),
    ),
)

ASSUMED = (
    "**OpenDP's samplers** have the distributions they claim, and the operating system's randomness is good. "
    "Frequencies were compared with the distributions at a few scales; the rest relies on OpenDP's own proofs.",
    "**The proofs** were written and checked by hand, and by exhaustive computation on small tables. They are "
    "not machine-checked.",
    "**LAPACK** computes the smallest eigenvalue of an integer matrix with an error far below 2²² (Boosted "
    "AdaSSP). The proof allows for that error; that it holds on every machine is assumed.",
    "**Compilers and processors** do what they say. Statistics were compared between several instruction sets "
    "on one machine.",
    "**Names and types of columns are public**, including types that a library chose by looking at values; so are a "
    "text file's header line, declared levels and ranges, and which column is the target "
    "([how tables are read](tables.md)).",
    "**One budget, one data set**: fitting again without a ledger spends again, and nobody adds it up.",
    "**Time and memory** are not protected: how long a fit takes depends on the number of records, which the "
    "guarantee otherwise hides. Nor is a computer protected that others can look into while it runs.",
    "**Black-box audits** look at the neighbours we know to be bad, and at one sequence of earlier outputs of a "
    "long fit. They can show that a claim is wrong, never that it is right.",
)

FOUND = (
    "While the audits were being built they found the following bugs, which are fixed. None was in a mechanism; nearly "
    "all were in how unusual input is read."
)
REPAIRED = (
    "A long cell that is nearly a number took time that grew with the square of its length: one record could hang "
    "a fit.",
    "A quote left open in the header of a CSV file put the first records into a column's name, which messages show.",
    "One NA among declared levels, one date that Python cannot hold, one text that is not UTF-8, one signalling NaN: "
    "each could turn a fit into an error or a warning.",
    "Messages about arrays of text revealed the length of the longest cell, or quoted one.",
    "A list of pairs that identify people was refused, unless one of them was not a pair.",
    "A damaged ledger could stand for a number that fills the memory, or pass the check for damage.",
    "People were told apart by Python's equality, which is not transitive: one float could merge thousands of integers "
    "into one person.",
    "On Dask, one missing or odd value changed the type of its partition. That changed how other records in it were "
    "read, or made the fit fail before it was charged.",
    "A value far from all others beside a declared level of a date, a row of another length in a list or a text file, "
    "a caller's `np.seterr`: each could turn a fit into an error that its neighbour does not make.",
    "Percentages of progress depended on the data.",
    "An estimator that was fitted before remembered what identified its people, so that a ledger accepted others.",
    "One signalling NaN in a column of objects turned a fit into an error, after its budget was spent.",
    "A table without a usable column ended in a division by zero, and levels declared for a column of times "
    "of day in an error of Arrow, after the budget was spent.",
    "Levels that came with a type were used without notice; a ledger accepted fits of the published Tukey calibration, "
    "which protects no single record.",
)
