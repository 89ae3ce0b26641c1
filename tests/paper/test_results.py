"""What a run found: quartiles, ranks, signs, and the order of budgets."""

from collections import Counter
from math import inf, log

from privreg.estimators.methods import METHODS
from privreg.paper.results import Results, epsilon_name, quartiles, ranks


def testquartiles_next_to_minus_infinity():
    assert quartiles([1.0, 2.0, 3.0, 4.0]) == (1.75, 2.5, 3.25)
    assert quartiles([-inf, 1.0, 2.0, 3.0, 4.0]) == (1.0, 2.0, 3.0)
    assert quartiles([-inf, -inf, 2.0, 3.0]) == (-inf, -inf, 2.25)
    assert quartiles([-inf] * 4) == (-inf, -inf, -inf)


def test_ranks_share_places_and_leave_out_what_is_not_private_or_not_there():
    row = {"NonDP": 0.9, "BAS": 0.5, "Tukey": -inf, "L-BAS": 0.5, "K-BAS": -3.0, "K-Tukey": 0.7}
    assert ranks(row) == {"K-Tukey": 1, "BAS": 2, "L-BAS": 2, "K-BAS": 4}


def test_signs_compare_complete_data_sets_with_the_paper():
    budget = {"k": 5, "epsilon": log(3), "trial": 0, "seconds": 1.0}
    header = {
        "data sets": {"361072": {"name": "cpu_act", "n": 8192, "d": 22, "kind": "complete"}},
        **{"missing": {}, "k": [5], "epsilon": [log(3)], "methods": list(METHODS), "delta": 1e-5},
    }
    rows = [{"run": header}]
    for method, score in (("K-Tukey", -0.2), ("L-Tukey", 0.3), ("K-BAS", "-inf"), ("L-BAS", -1.0)):
        rows.append({"task": 361072, "method": method, "r2": score, **budget})
    signs = Results(rows).signs(5)
    assert Counter(signs["agree"]) == Counter({"L-Tukey": 1, "L-BAS": 1})
    assert {m: n for m, n in signs["of"].items() if n} == {"K-Tukey": 1, "L-Tukey": 1, "K-BAS": 1, "L-BAS": 1}
    assert signs["differ"] == [
        {"task": 361072, "method": "K-BAS", "ours": "-inf", "published": 0.21},
        {"task": 361072, "method": "K-Tukey", "ours": -0.2, "published": 0.1},
    ]


def test_the_papers_budget_comes_first():
    def results(*epsilons):
        run = {"data sets": {}, "missing": {}, "k": [5], "epsilon": list(epsilons), "methods": [], "delta": 1e-5}
        return Results([{"run": run}])

    assert results(0.3, log(3), 3.0).epsilon == log(3)
    assert results(0.3, 1.0986).epsilon == 0.3
    assert (epsilon_name(log(3)), epsilon_name(1.0986)) == ("ln 3", "1.0986")
