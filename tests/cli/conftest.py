import numpy as np
import pandas as pd
import pytest

from fit_command import ROWS


@pytest.fixture(scope="session")
def people():
    rng = np.random.default_rng(0)
    age, school = rng.integers(20, 65, ROWS), rng.normal(12, 3, ROWS).round(2)
    north = rng.random(ROWS) < 0.5
    pay = 5 + 0.3 * age + 2 * school + 10 * north + rng.normal(0, 3, ROWS)
    return pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(ROWS)],
            "age": age,
            "school": school,
            "town": np.where(north, "north", "south"),
            "noise": rng.normal(size=ROWS),
            "pay": pay.round(3),
            "family": np.arange(ROWS) // 2,
        }
    )


@pytest.fixture(scope="session")
def folder(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    people.to_csv(folder / "people.csv", index=False)
    people.to_csv(folder / "people.tsv", index=False, sep="\t")
    people.to_csv(folder / "people-eu.csv", index=False, sep=";", decimal=",")
    people.to_parquet(folder / "people.parquet")
    people.assign(town=people.town.astype(pd.CategoricalDtype(["north", "south", "west"]))).to_parquet(
        folder / "typed.parquet"
    )
    (folder / "levels.json").write_text('{"town": ["north", "south"]}')
    return folder
