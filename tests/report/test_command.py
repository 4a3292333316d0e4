"""The command ``tooltrace report``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tooltrace.analysis import find, query_store
from tooltrace.report import fixed_range, query_count, sections
from tooltrace.wording.i18n import Translations
from tooltrace.wording.numbers import figure, interval


@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.html", "\n<!doctype html>"), ("r.md", "# "), ("r.json", "{"), ("r.txt", "\n<!doctype html>")],
)
@pytest.mark.usefixtures("prebuilt")
def test_the_extension_selects_the_format(report, past, tmp_path, name, begins):
    done = report(past, "-o", str(tmp_path / name), "--since", "3d")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / name).read_text().strip().startswith(begins.strip())
    assert "Wrote " in done.stderr
    assert done.stdout == ""


@pytest.mark.long
def test_json_contains_every_query_result_unchanged(report, past):
    done = report(past, "--format", "json", "--since", "2000-01-01", "--until", "2100-01-01", "--tool", "fetch")
    whole = json.loads(done.stdout)
    assert len(whole["answers"]) == query_count(fixed_range(since=None, until=None)) - 2, (
        "all but the bars beside the tools and the findings"
    )
    assert whole["scope"] == {
        "since": "2000-01-01T00:00:00Z",
        "until": "2100-01-01T00:00:00Z",
        "tool": "fetch",
        "begins": "given",
    }
    by_name = {answer["query"]: answer for answer in whole["answers"]}
    (row,) = by_name["failure_rate"]["rows"]
    (own,) = query_store(past, "failure_rate", tool="fetch").rows
    assert row == pytest.approx(list(own))
    assert [column["name"] for column in by_name["failure_rate"]["columns"]] == ["tool", *(c.name for c in find("failure_rate").header.columns)]  # fmt: skip


def test_a_section_has_only_the_rows_of_its_tool(past, built):
    found = built(past, "20d")
    assert set(found.sections) == {"search", "fetch"}
    (rates,) = [answer for answer in found.section("fetch") if answer.part.query == "failure_rate"]
    (own,) = query_store(past, "failure_rate", tool="fetch", by=[]).rows
    assert rates.result.rows[0] == pytest.approx(own)


def test_a_missing_store_is_an_error(report, tmp_path):
    done = report(tmp_path / "none.duckdb", "--format", "markdown")
    assert done.exit_code == 1
    assert "found no store" in done.stderr


@pytest.mark.usefixtures("prebuilt")
def test_a_file_that_cannot_be_written_is_an_error(report, past, tmp_path):
    done = report(past, "-o", str(tmp_path), "--format", "json")
    assert done.exit_code == 1
    assert "is a directory" in done.stderr


@pytest.mark.parametrize(
    "wrong", [["--since", "soon"], ["--since", "1d", "--until", "2d"], ["--compare", "x"], ["--lang", "fr"]]
)
def test_invalid_parameters_are_wrong_usage(report, past, wrong):
    assert report(past, *wrong, "--format", "json").exit_code == 2


@pytest.mark.processes
def test_markdown_and_json_need_no_template_engine(past):
    code = (
        "import sys; sys.modules['jinja2'] = sys.modules['starlette'] = None\n"
        "from tooltrace.cli import main; main()"
    )  # fmt: skip
    for form in ("markdown", "json"):
        command = [sys.executable, "-c", code, "report", "--format", form, "--store", str(past)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("part", [sections.FIGURES, sections.GAP, sections.TOOLS, *sections.OVERVIEW, *sections.TOOL])
def test_every_part_names_columns_of_its_query_and_has_a_title(part):
    query = find(part.query)
    assert set(part.columns) <= set(query.columns(part.by))
    query.bind(**part.params)
    words = Translations("en")
    assert words(part.title) != part.title
    assert not part.help or words(part.help) != part.help


def test_every_key_in_the_code_has_a_text():
    root = Path(__file__).parents[2] / "tooltrace"
    known = set(Translations("en")._table)
    files = [*(root / "report").glob("*.py"), *(root / "server").glob("*.py")]
    used = {key for file in files for key in re.findall(r"""\bwords\(["']([a-z0-9_.]+)["']""", file.read_text())}
    assert {"report.chance", "report.chance.none", "calibration.none"} <= used
    assert used <= known


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.123, "share", "12.3 %"), (1234, "count", "1,234"), (0.0004, "ms", "0.4 µs"), (12.34, "ms", "12.3 ms"),
        (0, "ms", "0 ms"), (90_000.0, "ms", "1.5 min"), (-2500.0, "ms", "-2.5 s"), (0.1, "points", "+10.0 pp"), (None, "share", "–"),
        (float("nan"), "ms", "–"), (2.5, "ratio", "2.5"),
    ],
)  # fmt: skip
def test_a_figure_has_its_unit(value, unit, text):
    assert figure(value, unit, Translations("en")) == text


def test_an_interval_may_be_open():
    assert interval(None, 0.5, "share", Translations("en")) == "[-∞, 50.0 %]"
    assert interval(None, None, "share", Translations("en")) == ""


def test_percentage_points_have_a_translated_unit_once():
    assert figure(-0.0004, "points", Translations("en")) == "0.0 pp"
    assert figure(0.1, "points", Translations("zh")) == "+10.0 个百分点"
    assert interval(-0.024, 0.035, "points", Translations("zh")) == "[-2.4, +3.5]"
    assert interval(None, 0.035, "points", Translations("en")) == "[-∞, +3.5]"
