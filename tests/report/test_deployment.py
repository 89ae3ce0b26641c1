"""The report of one fit: the record for machines."""

import json
import re
from dataclasses import replace
from math import inf

import numpy as np
import yaml

from privreg import __version__
from privreg.privacy.accountant import Budget
from privreg.privacy.events import Laplace
from privreg.privacy.origin import Origin
from privreg.privacy.receipt import Receipt
from privreg.report.deployment import as_yaml, missing_fields, to_register
from privreg.report.model import deployment_record, report_page
from privreg.results.release import Coefficient
from reports import ASKED

REGISTRY = {  # github.com/opendp/deployments-registry-data, schemas/deployments-schema.yaml, commit 057e5d81
    "basic": {
        *("name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"),
        *("data_product_sector", "publication_date"),
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters"),
        "privacy_parameters_details",
    },
    "deployment_model": {
        *("model_name", "model_name_details", "trust_assumptions", "actors", "release_type", "release_type_details"),
        *("data_source_type", "data_source_type_details", "access_type", "access_type_details"),
    },
    "implementation": {
        *("preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing", "justification"),
        *("utility", "additional_information"),
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}


def test_the_record_speaks_the_registry_s_language(flagship, people, paper, constant):
    for release in (flagship, people, constant, *paper.values()):
        record = deployment_record(release, ASKED)
        assert list(record) == ["url_slug", "deployment", "privreg"]
        deployment = record["deployment"]
        assert {name: set(part) - REGISTRY[name] for name, part in deployment.items()} == {n: set() for n in REGISTRY}
        assert deployment["basic"]["data_product_type"] == "Machine learning model"
        assert deployment["dp_variant"]["variant_name"] in ("Approximate DP", "Custom")
        model = deployment["deployment_model"]
        assert [model[key] for key in ("model_name", "release_type", "access_type")] == [
            *("Central", "One release", "Non-interactive")
        ]
        assert deployment["administrative"]["status"] == "Draft"
        unknown = [deployment["basic"][key] for key in ("intended_use", "data_product_region", "data_product_sector")]
        assert unknown == ["", "", ""]
        assert deployment["basic"]["data_curators"] == [{"data_curator_name": "", "data_curator_type": ""}]


def test_what_the_record_says(flagship, people, seeded, paper):
    record = deployment_record(flagship, ASKED)
    loss = record["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert loss["privacy_unit"] == "one record"
    assert loss["number_of_privacy_units"] == round(flagship.records)
    assert record["deployment"]["basic"]["publication_date"] == "2026-11-16"
    assert "discrete Gaussian noise" in record["deployment"]["implementation"]["mechanisms"]
    assert "Laplace" not in record["deployment"]["implementation"]["mechanisms"]
    ours = record["privreg"]
    assert ours["version"] == __version__
    assert ours["receipt"] == flagship.receipt.to_dict()
    assert ours["release"]["coefficients"] == flagship.to_dict()["coefficients"]
    assert "receipt" not in ours["release"]
    assert ours["ledger"]["epsilon"] == 3.0
    assert ours["ledger"]["file"] == "ledger.db"
    assert "number_of_privacy_units" not in deployment_record(people, ASKED)["deployment"]["privacy_loss"]
    loss = deployment_record(seeded, ASKED)["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {}
    assert loss["privacy_parameters_details"].startswith("NOT PRIVATE")
    assert deployment_record(seeded, ASKED)["deployment"]["dp_variant"]["variant_name"] == ""
    assert (loss["privacy_unit"], loss["privacy_unit_details"]) == ("", "")
    assert "number_of_privacy_units" not in loss
    custom = deployment_record(paper["K-Tukey"], ASKED)["deployment"]["dp_variant"]["variant_name"]
    assert custom == "Custom"
    pure = replace(flagship, receipt=Receipt((Laplace("count the records", 1, 2.0),), Budget(0.5, 0.0), True))
    assert deployment_record(pure, ASKED)["deployment"]["dp_variant"]["variant_name"] == "Pure DP"


def test_only_a_kept_promise_is_called_private(flagship, seeded, paper):
    names = [deployment_record(r, ASKED)["deployment"]["basic"]["name"] for r in (flagship, seeded, paper["K-Tukey"])]
    assert [name.split(" of ")[0] for name in names] == ["Private linear model", "Linear model", "Linear model"]


def test_what_the_fit_did_not_pay_for_is_in_the_record(flagship, seeded):
    origin = Origin(8.0, 1e-6, "one record", 1, private=True, earlier=True)
    for release in (flagship, seeded):
        record = deployment_record(replace(release, origin=origin, typed=["town"]), ASKED)
        assert origin.sentence in record["deployment"]["privacy_loss"]["privacy_parameters_details"]
        assert "Levels of town were taken from" in record["deployment"]["dp_variant"]["unprotected_quantities"]
        assert record["privreg"]["earlier_release"] == origin.to_dict()
    assert deployment_record(flagship, ASKED)["privreg"]["earlier_release"] is None


def embedded(page):
    found = re.search(r'<script type="application/json" id="privreg-deployment">(.*?)</script>', page, re.DOTALL)
    return found[1]


def test_the_record_survives_the_page(flagship, hostile, paper):
    absurd = replace(paper["BAS"], coefficients=[Coefficient("b", inf), Coefficient("c", np.float64(2.0))])
    for release in (flagship, hostile, absurd):
        text = embedded(report_page(release, ASKED))
        assert "<" not in text
        assert json.loads(text) == deployment_record(release, ASKED)
    assert deployment_record(absurd, ASKED)["privreg"]["release"]["coefficients"][0]["value"] is None


def test_as_yaml_it_is_the_same(flagship, hostile, people, paper):
    for release in (flagship, hostile, people, paper["K-Tukey"]):
        record = to_register(deployment_record(release, ASKED))
        assert list(record) == ["url_slug", "deployment"]
        assert yaml.safe_load(as_yaml(record)) == record


def test_numbers_are_numbers_in_yaml():
    values = {"a": 1e-06, "b": 1.5, "c": 3, "d": None, "e": True, "f": 1e22, "g": [], "h": {}, "i": [{"j": [-2e-300]}]}
    again = yaml.safe_load(as_yaml(values))
    assert again == values
    assert [type(value) for value in again.values()] == [type(value) for value in values.values()]


def test_the_page_says_what_is_missing_for_each_tier(flagship):
    record = deployment_record(flagship, ASKED)
    assert record["deployment"]["administrative"]["tier"] == 3
    rows = [[cell.text for cell in row] for row in missing_fields(record).rows]
    assert rows == [
        [
            "1: what was published",
            "data_curators, intended_use, data_product_region, data_product_sector, registry_authors",
        ],
        ["2: the guarantee", "data_source_type"],
        ["3: how it was done", "actors, data_source_type_details, justification, additional_information"],
    ]
