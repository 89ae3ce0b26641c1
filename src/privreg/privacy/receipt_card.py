"""A receipt in a notebook: the promise, what was spent, and on what."""

from privreg._format import epsilon_delta, tenths_percent
from privreg._notebook import Html, Part, Tone, card, caution, facts, folded, lead, note, table
from privreg.privacy.budget_use import budget_use
from privreg.privacy.promise import bounds, broken_promise, in_words, protects
from privreg.privacy.receipt import Receipt, step_rows
from privreg.privacy.spent import spent
from privreg.privacy.weak import weak_points


def receipt_card(receipt: Receipt) -> str:
    """All of it."""
    broken = broken_promise(receipt)
    parts = [lead(f"{broken.text[0].upper()}{broken.text[1:]}"), *map(caution, broken.reasons)] if broken else []
    return card("Privacy receipt", *parts, facts(promise(receipt)), *spending(receipt), badge=receipt_badge(receipt))


def receipt_badge(receipt: Receipt) -> tuple[Tone, str]:
    """Whether the promise is kept."""
    broken = broken_promise(receipt)
    if broken is None:
        return ("care", "Weak guarantee") if weak_points(*bounds(receipt)) else ("good", "Within budget")
    return broken.state, broken.word


def promise(receipt: Receipt) -> list[tuple[str, str | None]]:
    """Who is protected, how well, and what was spent. In words only if the promise is kept."""
    return [
        ("Protected", protects(receipt)),
        ("Guarantee", None if broken_promise(receipt) else f"{epsilon_delta(*bounds(receipt))}. {in_words(receipt)}"),
        ("Spent", spent(receipt)),
    ]


def spending(receipt: Receipt) -> list[Html]:
    """Where it went: by purpose, and step by step."""
    if not receipt.events:
        return [note("Nothing was released from the data.")]
    used, (head, *rows) = budget_use(receipt), step_rows(receipt)
    groups = [
        (group.purpose, group.meaning, f"{group.events:,}", Part(tenths_percent(group.tenths), group.share))
        for group in used.groups
    ]
    return [
        table(("purpose", "what is found out", "steps", "share"), groups, left=2, title="Where the budget went"),
        folded(f"Every step ({len(receipt.events):,})", table(head, rows, left=4), note(used.explanation)),
    ]
