"""Missing values: records that are left out, or values that are filled in, and what is said about it."""

import numpy as np
import pandas as pd
import pytest

from privreg import BoostedAdaSSP, DPKendall, PrivateLinearRegression, Schema, SchemaReader, TukeyRegression, load_model
from privreg.estimators.reading import HALF_EMPTY
from privreg.estimators.schema_notes import incomplete
from told import opened

N = 5000


def table(missing=0.2, seed=0):
    rng = np.random.default_rng(seed)
    age, town = rng.normal(50, 10, N), rng.choice(["Ayr", "Bath", "Cork"], N, p=[0.5, 0.3, 0.2]).astype(object)
    pay = age / 5 + 3 * (town == "Bath") + rng.normal(size=N)
    lost = rng.random((2, N)) < missing / 2
    frame = pd.DataFrame({"age": np.where(lost[0], np.nan, age), "town": np.where(lost[1], None, town)})
    return frame, pay, lost.any(axis=0)


def test_records_without_a_value_are_dropped():
    frame, pay, lost = table()
    model = PrivateLinearRegression(5.0, random_state=1).fit(frame, pay)
    assert model.n_records_ == pytest.approx((~lost).sum(), rel=0.02)
    assert not model.schema_.fill
    assert (np.isnan(model.predict(frame)) == lost).all()
    (told,) = [text for text in model.warnings_ if "left out because a value is missing" in text]
    about = int(told.split()[1])
    assert abs(about - 100 * lost.mean()) < 3
    assert told == (
        f"About {about} % of the records were left out because a value is missing; "
        'missing="fill" (--missing fill) keeps them.'
    )


def test_missing_values_are_filled_in():
    frame, pay, _ = table(0.4)
    model = PrivateLinearRegression(5.0, missing="fill", random_state=1).fit(frame, pay)
    age, town = model.schema_.columns
    assert model.n_records_ == pytest.approx(N, rel=0.02)
    assert age.centre == pytest.approx(50, abs=1)
    assert town.missing
    assert model._names == ["age", "town=Bath", "town=Cork", "town=(missing)"]
    predicted = model.predict(frame)
    assert np.isfinite(predicted).all()
    # A missing number counts as the centre, a missing level as a level of its own.
    rows = pd.DataFrame({"age": [np.nan, age.centre, 50.0, 50.0], "town": ["Ayr", "Ayr", None, "Ayr"]})
    filled, centre, none, reference = model.predict(rows)
    assert filled == centre
    assert none - reference == pytest.approx(model.coef_[3], rel=1e-9)
    assert not any("value is missing" in text for text in model.warnings_)
    assert model.score(frame, pay) > 0.4


def test_a_record_without_a_target_is_always_left_out():
    frame, pay, _ = table(0.0)
    pay = np.where(np.arange(N) % 4 == 0, np.nan, pay)
    model = PrivateLinearRegression(5.0, missing="fill", random_state=1).fit(frame, pay)
    assert model.n_records_ == pytest.approx(0.75 * N, rel=0.02)
    (told,) = [text for text in model.warnings_ if "of the records were left out" in text]
    assert abs(int(told.split()[1]) - 25) < 3
    assert "--missing fill" not in told  # it would not help


@pytest.mark.parametrize("missing", ["drop", "fill"])
@pytest.mark.parametrize("make", [PrivateLinearRegression, lambda *b, **o: BoostedAdaSSP(*b, rounds=5, **o)])
def test_an_unseen_level_counts_as_other(make, missing):
    rng = np.random.default_rng(0)
    rare = rng.random(N) < 0.3
    town = np.where(rare, [f"t{i}" for i in range(N)], rng.choice(["Ayr", "Bath"], N)).astype(object)
    pay = 0.3 * rare + 0.01 * rng.normal(size=N)
    model = make(5.0, 1e-6, missing=missing, random_state=1).fit(pd.DataFrame({"town": town}), pay)
    assert model.schema_.columns[0].other
    new = pd.DataFrame({"town": ["never seen", "t0", "(other)", "(missing)", "town=Ayr"]})
    predicted = model.predict(new)
    assert len(set(predicted.tolist())) == 1  # all are other values, however they are spelled
    reference = model.predict(pd.DataFrame({"town": [model.schema_.columns[0].levels[0]]}))
    assert predicted[0] - reference[0] == pytest.approx(0.3, abs=0.15)


def test_without_a_feature_for_them_other_values_count_as_the_reference():
    frame, pay, _ = table(0.0)
    model = PrivateLinearRegression(5.0, random_state=1).fit(frame, pay)
    assert not model.schema_.columns[1].other
    one, two = model.predict(pd.DataFrame({"age": [50.0, 50.0], "town": ["Ayr", "never seen"]}))
    assert one == two


def test_a_half_empty_column_is_left_out_by_name():
    frame, pay, _ = table(0.0)
    half = frame.assign(half=np.where(np.arange(N) % 2, np.nan, 1.0), word=np.where(np.arange(N) % 2, "", "x"))
    model = PrivateLinearRegression(5.0, random_state=1).fit(half, pay)
    assert model.schema_.left_out == {HALF_EMPTY: ["half", "word"]}
    assert "half, word: too many values are missing; left out." in model.warnings_
    assert model.n_records_ == pytest.approx(N, rel=0.02)  # it costs no record
    assert model._names == ["age", "town=Bath", "town=Cork", "half", "word"]
    assert model.coef_[3:].tolist() == [0.0, 0.0]
    assert np.isfinite(model.predict(half)).all()


@pytest.mark.parametrize("make", [DPKendall, TukeyRegression, BoostedAdaSSP])
def test_estimators_with_a_plan_fill_in_too(make):
    frame, pay, _ = table()
    options = {"k": 2} if make is DPKendall else {}
    model = make(epsilon=20.0, delta=1e-6, missing="fill", random_state=1, **options).fit(frame, pay)
    assert model.schema_.fill
    assert model.receipt_.before is not None
    values = model.predict(frame) if hasattr(model, "predict") else model.transform(frame)
    assert np.isfinite(values).all()
    dropped = make(epsilon=20.0, delta=1e-6, random_state=1, **options).fit(frame, pay)
    values = dropped.predict(frame) if hasattr(dropped, "predict") else dropped.transform(frame).sum(axis=1)
    assert np.isnan(values).any()


def test_a_loaded_model_fills_in(tmp_path):
    frame, pay, _ = table()
    for missing in ("drop", "fill"):
        model = PrivateLinearRegression(5.0, missing=missing, random_state=1).fit(frame, pay)
        model.save(tmp_path / "model.json")
        back = load_model(tmp_path / "model.json")
        assert back.missing == missing
        np.testing.assert_array_equal(back.predict(frame), model.predict(frame))


def test_what_is_missing_in_a_column_that_is_left_out_is_not_missing():
    frame, pay, _ = table(0.0)
    frame["id"] = [None if i % 5 == 0 else f"p{i}" for i in range(N)]
    model = PrivateLinearRegression(5.0, random_state=1).fit(frame, pay)
    assert model.schema_.columns[2].left_out == "no value is common enough to be found at this budget"
    assert model.n_records_ == pytest.approx(N, rel=0.02)
    assert np.isfinite(model.predict(frame.assign(id=None))).all()


@pytest.mark.parametrize("given", ["Drop", "", None, "mean"])
def test_other_words_are_refused(given):
    for make in (PrivateLinearRegression, BoostedAdaSSP, SchemaReader):
        with pytest.raises(ValueError, match='missing must be "drop" or "fill"'):
            make(missing=given).fit(*table()[:2])


@pytest.mark.parametrize(
    ("counted", "noise", "told"),
    [
        (1000, 1, None),
        (960, 1, None),
        (900, 1, "About 10 %"),
        (900, 30, None),  # it may be noise
        (500, 30, "About 50 %"),
        (20, 5, "Almost no record has a value in every column"),
        (20, 400, None),
        (20, 150, None),  # the counts tell nothing
        (1100, 1, None),
    ],
)
def test_sentences_about_incomplete_records(counted, noise, told):
    schema = Schema.numbers(2)
    assert incomplete(schema, counted, noise) == []  # nothing was counted before
    notes = incomplete(Schema(schema.columns, 1000.0), counted, noise)
    assert notes == [] if told is None else notes[0].startswith(told)


def test_no_record_is_said_to_be_incomplete_because_of_noise():
    """Complete tables of any size, at small budgets; seeds are fixed."""
    rng = np.random.default_rng(1)
    for n in (100, 300, 1000, 3000):
        X = rng.normal(size=(n, 3))
        told = [
            text
            for seed in range(15)
            for text in PrivateLinearRegression(0.2, random_state=seed).fit(X, X[:, 0]).warnings_
            if "value is missing" in text or "Almost no record" in text
        ]
        assert len(told) <= 1


def test_filling_needs_the_centre_first():
    """A public schema has none, and says so; what was settled fills nothing."""
    public, _ = opened(pd.DataFrame({"x": [1.0, np.nan]}), missing="fill")
    assert public.fill
    assert not public.schema.fill
