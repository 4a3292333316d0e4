"""Comparisons of two windows or versions."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.errors import BadParameter
from tooltrace.report import compare

times = st.datetimes(datetime(2001, 1, 1), datetime(2020, 1, 1))


def day(number: int) -> datetime:
    return datetime(2026, 11, number)


def windows(text, **more):
    found = compare(text, **more)
    return [(side.since, side.until) for side in (found.before, found.after)]


def test_a_time_compares_two_equally_long_windows():
    assert windows("2026-11-08", until="2026-11-11") == [(day(5), day(8)), (day(8), day(11))]
    (begin, middle), (again, end) = windows("7d")
    assert middle == again
    assert end - again == middle - begin == timedelta(days=7)
    assert abs(end.replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=1)


def test_two_moments_begin_two_windows():
    assert windows("2026-11-01..2026-11-08", until="2026-11-20") == [(day(1), day(8)), (day(8), day(20))]


def test_two_windows_are_named_by_their_ends():
    assert windows("2026-11-01/2026-11-03..2026-11-05/2026-11-08") == [(day(1), day(3)), (day(5), day(8))]
    assert windows("/2026-11-03..2026-11-05/", until="2026-11-09") == [(None, day(3)), (day(5), day(9))]
    assert windows("2026-11-05/2026-11-08..2026-11-01/2026-11-03")[0] == (day(5), day(8)), (
        "the later one may be 'before'"
    )


def test_two_versions_share_a_window():
    for text in ("version:1.2..1.3", "version:1.2..version:1.3"):
        found = compare(text, since="2026-11-01", until="2026-11-08", tool="search")
        assert (found.before.version, found.after.version) == ("1.2", "1.3")
        assert (found.before.since, found.after.until) == (day(1), day(8))
        assert found.params["tool"] == "search"


@given(st.lists(times, min_size=4, max_size=4, unique=True))
def test_the_windows_are_parsed_as_written(moments):
    a, b, c, d = sorted(moments)
    text = "{}/{}..{}/{}".format(*(moment.isoformat() for moment in (a, b, c, d)))
    assert windows(text) == [(a, b), (c, d)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "parameter 'compare' must be a time span back"),
        ("yesterday", "parameter 'compare' must be a time span back"),
        ("1d..7d", "ends"),
        ("2026-11-01/2026-11-05..2026-11-04/2026-11-08", "overlap"),
        ("/..2026-11-01/2026-11-02", "overlap"),
        ("2026-11-05/2026-11-01..2026-11-06/2026-11-07", "before it begins"),
        ("2026-11-05/2026-11-06..2026-11-07", "has no '/'"),
        ("version:1", "two different versions"),
        ("version:1..1", "two different versions"),
        ("version:..2", "two different versions"),
        ("0001-01-02", "no equally long window exists before"),
    ],
)
def test_an_invalid_comparison_is_rejected(text, message):
    with pytest.raises(BadParameter, match=message):
        compare(text)


def test_since_is_rejected_with_windows():
    with pytest.raises(BadParameter, match="'since' is only allowed with version"):
        compare("7d", since="1d")


@pytest.mark.parametrize("asked", ["7d", "version:1..2"])
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
    asked = "2020-01-01/2020-01-02..2020-01-02/2020-01-03"
    assert report(past, "--compare", asked, "--format", "json").exit_code == 0
    done = report(past, "--compare", asked, "--fail-on", "maybe", "--format", "json")
    assert done.exit_code == 4
    assert "No comparison had enough data" in done.stderr


def test_a_comparison_with_an_unknown_version_is_wrong_usage(report, past):
    done = report(past, "--compare", "version:1..misspelled", "--format", "json")
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
