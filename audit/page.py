"""docs/verification.md, made of what the audits found last: results/audit/*.json.

python -m audit.page
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from audit import results
from audit.mechanisms import ASSUMED, MECHANISMS, REPAIRED

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
        _blackbox(found["blackbox"]),
        _mutants(found["mutants"]),
        _bits(found["bits"]),
        _fuzz(found["fuzz"]),
        "## What was found and repaired\n\n" + "\n".join(f"- {text}" for text in REPAIRED),
        "## What is assumed\n\n" + "\n".join(f"- {text}" for text in ASSUMED),
    ]
    return "\n\n".join(parts) + "\n"


def write() -> None:
    PAGE.write_text(render())


def _opening(found: dict[str, Any]) -> str:
    machine = found["replay"]["machine"]
    minutes = sum(f["seconds"] for f in found.values()) / 60
    libraries = ", ".join(f"{name} {machine[name]}" for name in ("opendp", "numpy", "numba"))
    times = ", ".join(f"`{f['command']}` {max(round(f['seconds'] / 60), 1)}" for f in found.values())
    return f"""# Verification

<!-- Written by `python -m audit.page` from results/audit/*.json. Run `make audit` instead of editing. -->

A proof can be right and the program wrong. This page says, for every mechanism, what is proved, what was checked
exactly, what was measured, and what is assumed. `make audit` repeats all of it, and writes this page. Its parts
last took {minutes:.0f} minutes together on {machine["cores"]} cores (Python {machine["python"]}, {libraries}); they
take less where nothing runs beside them. Minutes of each: {times}."""


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
            ", ".join(f"`{test}`" for test in m.tests),
            "" if moved is None else f"{moved:.2f}",
            "" if best is None else f"{best['bound']:.2f} of {best['epsilon']:.2f} ({best['noise']})",
        ])  # fmt: skip
    head = ["mechanism", "proof", "exact tests in `tests/`", "largest move", "ε measured, of ε claimed"]
    return f"""## Every mechanism

Each is proved by hand, in a note that says why the claim holds. *Exact tests* compute both laws on small tables,
exhaustively where that is possible, and compare them with the claim. *Largest move* is how far the statistic went
between neighbours in record and replay, in units of its declared sensitivity: 1 is reached, more never. *Measured*
is the ε that an attacker with {found["blackbox"]["runs"]:,} outputs from each of two neighbours can
prove, for the most telling claim; the claim must be above.

{table(head, rows)}"""


def _replay(found: dict[str, Any]) -> str:
    kinds, alone = ", ".join(f"{kind} ({count:,})" for kind, count in found["kinds"].items()), found["shown alone"]
    checks = table(["check", "what must hold", "pairs in which it failed"],
                   [[name, c["what"], c["failed"]] for name, c in found["checks"].items()])  # fmt: skip
    cases = table(["fit", "what happens in it", "pairs"],
                  [[name, c["what"], f"{c['pairs']:,}"] for name, c in found["cases"].items()])  # fmt: skip
    return f"""## Record and replay

A fit is recorded: every statistic on its way to the noise, every request to the noise, every output. Then the same
outputs are handed to a fit on a neighbouring table. By the composition theorem this is all that has to be looked
at: given the same earlier outputs, the next step must be the same, its statistic must have moved by no more than
declared (compared in whole numbers, without a tolerance), and nothing else may differ in what leaves the fit, bit
for bit. Which values occur in a column of text differs between neighbours: counts are compared value by value, and
what was released is handed on by name. A value that only one of the tables could show is what δ′ pays for: it was shown
in {alone["pairs"]} pairs, where {alone["expected at most"]:.2g} at most were to be expected.
{found["pairs"]:,} pairs of tables, a record (or a person) added or removed: {kinds}.

{checks}

{cases}"""


def _blackbox(found: dict[str, Any]) -> str:
    keys = dict.fromkeys((r["mechanism"], r["epsilon"], r["delta"], r["what"]) for r in found["rows"])
    rows = []
    for mechanism, epsilon, delta, what in keys:
        bounds = {
            r["noise"]: f"{r['bound']:.3f} ({r['tight']:.0%})"
            for r in found["rows"]
            if (r["mechanism"], r["epsilon"], r["delta"]) == (mechanism, epsilon, delta)
        }
        rows.append([
            mechanism, what, f"{epsilon:.3f}", f"{delta:g}", bounds.get("seeded", ""), bounds.get("OpenDP", "")
        ])  # fmt: skip
    head = ["what", "neighbours", "ε claimed", "δ", "ε proved, seeded noise", "ε proved, OpenDP"]
    above = sum(r["bound"] > r["epsilon"] for r in found["rows"])
    return f"""## Black-box audits

On the worst neighbours we know, the program draws its outputs {found["runs"]:,} times on each side (fewer where it
says so). From how often an event happens on either side follows a lower bound on ε at the claimed δ
(Clopper–Pearson, {found["confidence"]:.1%} confidence for each). A bound above the claim would prove a bug: {above} of
{len(found["rows"])} are. How close they come says how much of the claim an attacker could really use; at δ = 10⁻⁶
the tail that makes the difference is too rare for so many runs to see.

{table(head, rows)}"""


def _mutants(found: dict[str, Any]) -> str:
    checks = list(found["checks"])
    rows = [
        [row["bug"], row["what"], *("●" if check in row["caught by"] else "" for check in checks)]
        for row in found["bugs"]
    ]
    meaning = "\n".join(f"- **{name}**: {what}" for name, what in found["checks"].items())
    caught = sum(bool(row["caught by"]) for row in found["bugs"])
    alarms = found["alarms without a bug"]
    return f"""## Bugs put in on purpose

Checks that find nothing prove nothing unless they can find something. {len(found["bugs"])} realistic privacy bugs
were put into the program one by one, each a small patch, and all checks were run: {caught} were caught. Without a
bug the same checks gave {len(alarms)} alarms.

{table(["bug", "what is wrong", *checks], rows)}

{meaning}"""


def _bits(found: dict[str, Any]) -> str:
    rows = [[c["name"], c["what"], f"{c['cases']:,}", len(c["wrong"])] for c in found["checks"]]
    promised = "\n".join(f"- **{c['name']}**: {c['promised']}" for c in found["checks"] if c.get("promised"))
    return f"""## Floating point

Released statistics are integers on a declared grid. What computes them may not change a bit of them, and what is
added to them may not let their last bits through.

{table(["check", "what was done", "cases", "wrong"], rows)}

What exactly is promised, and what is not:

{promised}"""


def _fuzz(found: dict[str, Any]) -> str:
    rows = [
        [name, f"{t.get('executions', 0):,}", f"{t.get('examples', 0):,}", len(t["findings"])]
        for name, t in found["targets"].items()
    ]
    head = ["input", "executions (atheris)", "examples (hypothesis)", "findings"]
    return f"""## Hostile input

Random and mutated bytes as tables, files, models and ledgers. A crash, a hang, a message with a value, a row number
or a count in it, or another record read differently because of one bad line, is a finding.

{table(head, rows)}"""


if __name__ == "__main__":
    write()
