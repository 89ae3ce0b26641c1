"""docs/verification.md, made of what the audits found last: results/audit/*.json.

python -m audit.page
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from audit import results
from audit.mechanisms import ASSUMED, FOUND, MECHANISMS, REPAIRED
from privreg._format import number

PAGE = Path(__file__).resolve().parents[1] / "docs" / "verification.md"


def table(head: list[str], rows: Iterable[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def render() -> str:
    """The whole page."""
    found = {name: results.read(name) for name in ("replay", "mutants", "bits", "blackbox", "fuzz")}
    parts = [
        _opening(found),
        _mechanisms(found),
        _replay(found["replay"]),
        _mutants(found["mutants"]),
        _blackbox(found["blackbox"]),
        _bits(found["bits"]),
        _fuzz(found["fuzz"]),
        "## What is assumed\n\n" + "\n".join(f"- {text}" for text in ASSUMED),
        "## What was found and repaired\n\n" + FOUND + "\n\n" + "\n".join(f"- {text}" for text in REPAIRED),
        _closing(found),
    ]
    return "\n\n".join(parts) + "\n"


def write() -> None:
    PAGE.write_text(render())


def folded(summary: str, text: str) -> str:
    """A long text that a reader opens if they want it."""
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def _opening(found: dict[str, Any]) -> str:
    replay, mutants, bits, blackbox, fuzz = (found[name] for name in ("replay", "mutants", "bits", "blackbox", "fuzz"))
    caught = sum(bool(row["caught by"]) for row in mutants["bugs"])
    above = sum(row["bound"] > row["epsilon"] for row in blackbox["rows"])
    cases = sum(check["cases"] for check in bits["checks"])
    tries = sum(t.get("executions", 0) + t.get("examples", 0) for t in fuzz["targets"].values())
    findings = sum(len(t["findings"]) for t in fuzz["targets"].values())
    rows = [
        [
            "[Does one record change anything that the budget does not pay for?](#record-and-replay)",
            f"{replay['pairs']:,} fits recorded, and replayed on a neighbouring table",
            f"{len(replay['wrong'])} differences beyond what was declared",
        ],
        [
            "[Would these checks notice a mistake?](#injected-bugs)",
            f"{len(mutants['bugs'])} realistic privacy bugs injected, one at a time",
            f"{caught} caught, {len(mutants['alarms without a bug'])} false alarms",
        ],
        [
            "[Can an attacker extract more than ε allows?](#black-box-audits)",
            f"{len(blackbox['rows'])} attacks, with up to {blackbox['runs']:,} outputs on each side",
            f"{above} proved more than the claim",
        ],
        [
            "[Do the last bits of numbers leak?](#floating-point)",
            f"{len(bits['checks'])} checks of {cases:,} cases",
            f"{sum(len(check['wrong']) for check in bits['checks'])} wrong",
        ],
        [
            "[Can hostile input break a fit, or make a message reveal something?](#hostile-input)",
            f"{tries:,} random and mutated inputs",
            f"{findings} findings",
        ],
    ]
    return f"""# Verification

<!-- Written by `python -m audit.page` from results/audit/*.json. Run `make audit` instead of editing. -->

A proof can be right and the program wrong. So the program is tested against its proofs, and the tests are tested with
injected bugs. The last audit:

{table(["question", "what was done", "result"], rows)}

This page says, for every mechanism, what is proved, what was checked exactly, what was measured, and
[what is assumed](#what-is-assumed). It cannot say that there are no bugs: nobody outside the project has audited it."""


def _closing(found: dict[str, Any]) -> str:
    machine = found["replay"]["machine"]
    minutes = sum(f["seconds"] for f in found.values()) / 60
    libraries = ", ".join(f"{name} {machine[name]}" for name in ("opendp", "numpy", "numba"))
    rows = [[f"`{f['command']}`", str(max(round(f["seconds"] / 60), 1))] for f in found.values()]
    return f"""## Run it yourself

`make audit` repeats everything and writes this page. The last run took {minutes:.0f} minutes in total on
{machine["cores"]} cores (Python {machine["python"]}, {libraries}). It takes less time where nothing else is running.

{table(["part", "minutes"], rows)}"""


def _mechanisms(found: dict[str, Any]) -> str:
    moves: dict[str, float] = {}
    for case in found["replay"]["cases"].values():
        for step, part in case["largest moves"].items():
            moves[step] = max(moves.get(step, 0.0), part)
    rows = []
    for m in MECHANISMS:
        measured = [r for r in found["blackbox"]["rows"] if r["mechanism"] in m.audits]
        best = max(measured, key=lambda r: (r["noise"] == "OpenDP", r["tight"]), default=None)
        moved = max((moves[step] for step in m.steps if step in moves), default=None)
        rows.append([
            m.name,
            ", ".join(f"[{proof}](proofs/{proof}.md)" for proof in m.proofs),
            "" if moved is None else f"{moved:.2f}",
            "" if best is None else f"{best['bound']:.2f} of {best['epsilon']:.2f} ({best['noise']})",
            ", ".join(f"`{test}`" for test in m.tests),
        ])  # fmt: skip
    head = ["mechanism", "proof", "largest move", "ε measured, of ε claimed", "exact tests in `tests/`"]
    return f"""## Every mechanism

- **Proof**: each mechanism is proved by hand, in a note that says why the claim holds.
- **Largest move** is how far the statistic moved between neighbours in record and replay, in units of its declared
  sensitivity. It may reach 1, and must never exceed it.
- **ε measured** is what an attacker with up to {found["blackbox"]["runs"]:,} outputs from each of two neighbours can
  prove, for the most telling claim. It must stay below the claim.
- **Exact tests** compute both output distributions on small tables, exhaustively where that is possible, and compare
  them with the claim.

An empty cell means that this was not measured for this mechanism alone.

{table(head, rows)}"""


def _replay(found: dict[str, Any]) -> str:
    alone = found["shown alone"]
    checks = table(["check", "what must hold", "pairs in which it failed"],
                   [[name, c["what"], c["failed"]] for name, c in found["checks"].items()])  # fmt: skip
    cases = table(["fit", "what happens in it", "pairs"],
                  [[name, c["what"], f"{c['pairs']:,}"] for name, c in found["cases"].items()])  # fmt: skip
    kinds = table(["what the added record holds", "pairs"],
                  [[kind, f"{count:,}"] for kind, count in found["kinds"].items()])  # fmt: skip
    return f"""## Record and replay

**What is checked.** A fit is recorded: every statistic before noise is added, every request for noise, every output.
Then a fit on a neighbouring table is run and given the *same* noisy outputs. By the composition theorem it is enough to
check each step: given the same earlier outputs, the next step must be the same, its statistic may move by no more than
declared (compared in whole numbers, without a tolerance), and nothing else that leaves the fit may differ, bit for bit.

**On what.** {found["pairs"]:,} pairs of tables, with a record (or a person) added or removed.

{checks}

Neighbouring tables may hold different values in a text column. Counts are therefore compared value by value, and what
was released is passed on by name. A value that only one of the two tables could show is what δ′ pays for. That
happened in {alone["pairs"]} pairs; at most {alone["expected at most"]:.2g} were to be expected.

{folded(f"All {len(found['cases'])} kinds of fits", cases)}

{folded(f"All {len(found['kinds'])} kinds of added records", kinds)}"""


def _blackbox(found: dict[str, Any]) -> str:
    keys = dict.fromkeys((r["mechanism"], r["epsilon"], r["delta"], r["what"]) for r in found["rows"])
    rows = []
    for mechanism, epsilon, delta, what in keys:
        bounds = {
            r["noise"]: f"{r['bound']:.3f} ({100 * r['tight']:.0f} %)"
            for r in found["rows"]
            if (r["mechanism"], r["epsilon"], r["delta"]) == (mechanism, epsilon, delta)
        }
        rows.append([
            mechanism, what, f"{epsilon:.3f}", number(delta, 6), bounds.get("seeded", ""), bounds.get("OpenDP", "")
        ])  # fmt: skip
    head = ["what", "neighbours", "ε claimed", "δ", "ε proved, seeded noise", "ε proved, OpenDP"]
    above, fewest = sum(r["bound"] > r["epsilon"] for r in found["rows"]), min(r["runs"] for r in found["rows"])
    return f"""## Black-box audits

On the worst neighbours we know, the program draws its outputs {found["runs"]:,} times on each side (fewer where a run
is slow, but at least {fewest:,} times). How often an event happens on either side gives a lower bound on ε at the
claimed δ (Clopper–Pearson, {100 * found["confidence"]:.1f} % confidence for each). A bound above the claim would prove
a bug: {above} of {len(found["rows"])} are.

How close a bound comes to the claim says how much of the claim an attacker could really use. At δ = 1e-6 the tail that
makes the difference is too rare for so many runs to see. These audits can refute a claim; they cannot confirm one.

{folded(f"All {len(rows)} claims", table(head, rows))}"""


def _mutants(found: dict[str, Any]) -> str:
    checks = list(found["checks"])
    rows = [
        [row["bug"], row["what"], *("●" if check in row["caught by"] else "" for check in checks)]
        for row in found["bugs"]
    ]
    noticed = [
        [name, what, str(sum(name in row["caught by"] for row in found["bugs"]))]
        for name, what in found["checks"].items()
    ]
    caught = sum(bool(row["caught by"]) for row in found["bugs"])
    alarms = found["alarms without a bug"]
    return f"""## Injected bugs

Checks that find nothing prove nothing unless they can find something. {len(found["bugs"])} realistic privacy bugs, each
a small patch, were injected one at a time, and all checks were run: {caught} were caught. Without a bug the same checks
gave {len(alarms)} alarms.

{table(["check", "what must hold", "bugs caught"], noticed)}

{folded(f"All {len(rows)} bugs, and which checks caught them", table(["bug", "what is wrong", *checks], rows))}"""


def _bits(found: dict[str, Any]) -> str:
    rows = [[c["name"], c["what"], f"{c['cases']:,}", len(c["wrong"])] for c in found["checks"]]
    promised = "\n".join(f"- **{c['name']}**: {c['promised']}" for c in found["checks"] if c.get("promised"))
    return f"""## Floating point

Textbook proofs use real numbers, and careless programs leak through the last bits of floating-point ones. Here,
released statistics are integers on a declared grid. How they are computed must not change a single bit of them, and the
noise added to them must not let their last bits through.

{table(["check", "what was done", "cases", "wrong"], rows)}

{folded("What exactly is promised, and what is not", promised)}"""


def _fuzz(found: dict[str, Any]) -> str:
    rows = [
        [name, f"{t.get('executions', 0):,}", f"{t.get('examples', 0):,}", len(t["findings"])]
        for name, t in found["targets"].items()
    ]
    head = ["input", "executions (atheris)", "examples (hypothesis)", "findings"]
    return f"""## Hostile input

Random and mutated bytes are used as tables, files, models and ledgers. Each of these is a finding: a crash, a hang, a
message that contains a value, a row number or a count, or one bad line that changes how another record is read.

{table(head, rows)}"""


if __name__ == "__main__":
    write()
