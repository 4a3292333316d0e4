"""Reports on a comparison of two sides."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize("asked", ["7d", "version:1 version:2"])
def test_a_regression_exits_with_code_3(report, past, asked):
    done = report(past, "--compare", asked, "--fail-on", "worse", "--format", "json")
    assert done.exit_code == 3
    (answer,) = json.loads(done.stdout)["answers"]
    names = [column["name"] for column in answer["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in answer["rows"]]
    worse = {(row["tool"], row["measure"]) for row in rows if row["verdict"] == "worse"}
    assert {("fetch", "failure_rate"), ("fetch", "call_failure_rate")} <= worse
    assert not {tool for tool, _ in worse} - {"fetch"}
    assert "worse" in done.stderr


def test_no_regression_exits_with_code_0(report, past):
    done = report(past, "--compare", "7d", "--fail-on", "worse", "--tool", "search", "--format", "markdown")
    assert done.exit_code == 0
    assert "no clear change" in done.stdout
    assert "7 comparisons had enough data" in done.stdout


def test_a_comparison_without_data_exits_with_code_4(report, past):
    asked = "2020-01-01..2020-01-02 2020-01-02..2020-01-03"
    assert report(past, "--compare", asked, "--format", "json").exit_code == 0
    done = report(past, "--compare", asked, "--fail-on", "maybe", "--format", "json")
    assert done.exit_code == 4
    assert "No comparison had enough data" in done.stderr


def test_a_comparison_with_an_unknown_version_is_wrong_usage(report, past):
    done = report(past, "--compare", "version:1 version:misspelled", "--format", "json")
    assert done.exit_code == 2
    assert "misspelled" in done.stderr


def test_fail_on_without_compare_is_wrong_usage(report, past):
    done = report(past, "--fail-on", "worse", "--format", "json")
    assert done.exit_code == 2
    assert "--fail-on needs --compare" in done.stderr


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_of_a_comparison(page, report, past, tmp_path, lang):
    file = tmp_path / "compared.html"
    assert report(past, "--compare", "7d", "-o", str(file), "--lang", lang).exit_code == 0
    page.goto(file.as_uri())
    first = page.locator("table.compared tbody tr").first
    assert first.get_attribute("class") == "v-worse"
    assert "fetch" in first.inner_text()
    assert ("变差" if lang == "zh" else "worse") in first.inner_text()
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
