"""The Markdown report: parsed again, text from a trace is code and nothing else."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tooltrace.analysis.sides import Comparison
from tooltrace.core.visible import visible_name
from tooltrace.report import build_report, fixed_range
from tooltrace.report.markdown import as_markdown, code, table
from tooltrace.wording.i18n import Translations

from .conftest import HOSTILE, NOW, call, write

PARSER = MarkdownIt("commonmark").enable("table")


def cells(text: str) -> list[list]:
    """The inline tokens of each cell of the body."""
    tokens = PARSER.parse(text)
    inline = [token.children or [] for token in tokens if token.type == "inline"]
    return inline[1:]


@given(st.text(max_size=80))
@example("`")
@example("a | b")
@example("\\|")
@example("``|`` \\")
@example("@octocat #1 https://example.org <b>")
@example(" `x` ")
def test_a_text_is_one_code_span_of_one_cell(text):
    shown = visible_name(" ".join(text.split())) if text else ""
    lines = "\n".join(table(["a", "b"], [False, True], [["x", code(text)], ["y", "1"]]))
    body = PARSER.parse(lines)
    inline = [token.children or [] for token in body if token.type == "inline"]
    assert len(inline) == 6, "three rows of two cells"
    if shown:
        (span,) = inline[3]
        assert span.type == "code_inline"
        assert span.content.strip() == shown
    else:
        assert inline[3] == []


@pytest.mark.long
def test_a_hostile_trace_adds_no_markup(foul, built):
    text = as_markdown(built(foul), Translations("en"))
    kinds = {child.type for token in PARSER.parse(text) for child in token.children or []}
    assert kinds <= {"text", "code_inline", "html_inline", "softbreak", "hardbreak"}
    html = [token.content for token in PARSER.parse(text) if token.type == "html_block"]
    html += [
        child.content for token in PARSER.parse(text) for child in token.children or [] if child.type == "html_inline"
    ]
    tags = {tag for block in html for tag in re.findall(r"<\s*[/!]?\s*([a-zA-Z!-]+)", block)}
    assert tags <= {"details", "summary", "code", "sub"}
    spoken = "".join(
        child.content for token in PARSER.parse(text) for child in token.children or [] if child.type == "text"
    )
    assert "octocat" not in spoken
    assert "https://" not in spoken
    assert not set(text) & set("\x1b\u202e\u2028")
    assert len(re.findall("<summary>", text)) == len(HOSTILE)


def test_the_figures_are_those_of_the_store(past, built):
    text = as_markdown(built(past, "20d"), Translations("en"))
    assert re.search(r"^\| `fetch` \| 900 \| \d+ \| [\d.]+ % \[[^|]+\] \|", text, re.MULTILINE)
    assert "Overconfident: the mean confidence is 90.0 %" in text
    assert "tooltrace query ranking --since" in text


def test_the_report_is_in_chinese(past, built):
    text = as_markdown(built(past, "20d"), Translations("zh"))
    assert text.startswith("# 工具报告")
    assert "过度自信" in text
    assert "Nothing" not in text


@pytest.mark.long
def test_a_document_of_many_tools_fits_into_a_comment(tmp_path):
    """GitHub refuses a comment of more than 65,536 characters."""
    failure = {"status": "error", "error_message": "word " * 60}
    store = write(
        tmp_path / "many.duckdb",
        *(call(tool=f"{'name_' * 20}{n % 300}", code=f"CODE_{n}", **failure) for n in range(3000)),
    )
    text = as_markdown(build_report(store, fixed_range(since=None, until=None)), Translations("en"))
    assert len(text) <= 65_536
    sections = text.count("<summary>")
    assert 0 < sections == text.count("</details>")
    assert f"{300 - sections} more tools have no section here" in text
    assert "250 more rows are not shown" in text


def test_a_long_comparison_shows_the_changed_rows(tmp_path):
    at = [NOW - timedelta(days=3), NOW - timedelta(hours=1)]
    unchanged = [call(tool=f"a{n}", started_at=when) for n in range(100) for when in at]
    mended = [call(tool="z", started_at=when, status=how) for when, how in zip(at, ("error", "success"), strict=True) for _ in range(60)]  # fmt: skip
    found = build_report(write(tmp_path / "long.duckdb", *unchanged, *mended), Comparison.parse(None, "2d"))
    lines = as_markdown(found, Translations("en")).splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert len(rows) == 50
    assert rows[0].startswith("| `a0` |"), "in the order of the answer"
    assert ["z", "Calls failed"] == [cell.strip(" `") for cell in rows[-1].split("|")[1:3]]
    assert "**better**" in rows[-1]
    assert any("more rows are not shown" in line for line in lines)


@pytest.mark.long
def test_an_empty_time_range_is_reported(past, built):
    text = as_markdown(built(past, "2020-01-01", "2020-02-01"), Translations("en"))
    assert text.endswith("No calls were recorded in this time range.\n")
    assert "|" not in text
