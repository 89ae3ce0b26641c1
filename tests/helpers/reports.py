"""Reports of fits, as texts."""

import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd

from privreg.paper import make_method
from privreg.report.document import Data, Document, Fold, Section, markdown
from privreg.report.model import Context, document
from privreg.results.release import release_of

N = 4321


ASKED = Context(
    data="/home/alice/files/health survey.csv",
    command="privreg fit '/home/al ice/health.csv' --target km/h --report=out/report.html -e 1",
    ledger={"file": "/srv/ledger.db", "dataset": "health", "epsilon": Decimal("3.0"), "spent_epsilon": 2.5, "entry": 7},
    date="2026-11-16",
)


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><!--<script>",
    "\"quoted\" & 'single'",
    "Größe in m²",
    "$\\frac{$ price_in_€ $",
    "very_long_name_" * 12,
    "line\nbreak\x00\u202e\ud800 漢字",
]


def private(release):
    """As if the noise had not come from a seed."""
    return replace(release, receipt=replace(release.receipt, private=True))


def survey(n=N):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"age": rng.normal(45, 12, n), "bmi": rng.normal(27, 4, n), "income": rng.lognormal(10, 0.6, n)})
    X["noise"] = rng.normal(size=n)
    return X, 60 + 0.5 * X.age - 1.5 * X.bmi + rng.normal(0, 8, n)


def paper_release(name, **options):
    model = make_method(name, k=2, random_state=1, **options).fit(*survey())
    return private(release_of(model, "blood_pressure", name))


def texts(release, asked=ASKED):
    """Everything but charts and JSON, as one string; folds are open."""
    doc = document(release, asked)
    sections = [Section(s.title, [b for b in s.blocks if not is_data(b)]) for s in doc.sections]
    return markdown(Document(doc.title, doc.lead, sections, doc.banner))


def is_data(block):
    return isinstance(block, Data) or (isinstance(block, Fold) and block.title.startswith("The record as"))


def section(release, title, asked=ASKED):
    return next(s for s in document(release, asked).sections if s.title == title).blocks


def fold(release, title, asked=ASKED):
    """What is folded away under this title, anywhere on the page."""
    sections = document(release, asked).sections
    return next(b.blocks for s in sections for b in s.blocks if isinstance(b, Fold) and b.title.startswith(title))


def facts(release, asked=ASKED):
    """The facts of the verdict: value and meaning by name."""
    return {fact.name: (fact.value, fact.meaning) for fact in document(release, asked).banner.facts}


def svg_texts(picture):
    svg = picture.wide.decode()
    return [re.sub(r"<[^>]+>", "", text).strip() for text in re.findall(r"<text.*?</text>", svg, re.DOTALL)]
