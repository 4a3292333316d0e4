"""Chinese translations of the queries: the same figures and names as in English."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tooltrace.analysis import catalogue, find, run
from tooltrace.core.records import Outcome, ToolCall
from tooltrace.report import build_report, fixed_range, sections
from tooltrace.report.html import as_html
from tooltrace.report.i18n import Translations
from tooltrace.report.markdown import as_markdown
from tooltrace.report.narrative import translate_rows
from tooltrace.report.sections import Section
from tooltrace.store.reader import open_reader

from .conftest import write

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "dashboards" / "pages"
ZH, EN = Translations("zh"), Translations("en")
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
NAME = re.compile(r"`\w+`|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\b[A-Z]+_[A-Z_]+\b")
CODE = re.compile(r"\w+(?:\.\w+)*\([^)]*\)|tt\.\w+|\w+=(?:True|False)?")
SAYS = re.compile(r"'([a-z_]+)'")


def test_the_description_of_every_query_is_translated() -> None:
    """The same figures and the same names of parameters, columns and queries: what is changed there has to be changed here."""
    for name, query in catalogue().items():
        english, chinese = query.header.about, ZH.about(name)
        assert bool(english) == bool(chinese), name
        assert Counter(FIGURE.findall(english)) <= Counter(FIGURE.findall(chinese)), name
        assert [word for word in set(NAME.findall(english)) if word not in chinese] == [], name
        assert EN.about(name) == "", "an English reader has it in the SQL"


def shown() -> Iterator[tuple[str, str]]:
    """Query and column of all that stands in a table of pages and reports."""
    for file in PAGES.glob("*.html"):
        text = file.read_text(encoding="utf-8")
        for query, columns in re.findall(r"cells\.panel\(.+?, '(\w+)'.*?columns='([\w,]+)'", text):
            yield from ((query, column) for column in columns.split(","))
        for query, columns in re.findall(r"/panel/(\w+)'.*?columns='([\w,]+)'", text):
            yield from ((query, column) for column in columns.split(","))
    single = [part for part in vars(sections).values() if isinstance(part, Section)]
    for part in (*single, *sections.OVERVIEW, *sections.TOOL):
        yield from ((part.query, column) for column in part.columns)


def test_the_meaning_of_every_shown_column_is_translated() -> None:
    seen = set(shown())
    assert {query for query, _ in seen} > {"audit", "calibration", "compare", "thresholds"}
    for query, name in seen:
        column = next((column for column in find(query).header.columns if column.name == name), None)
        if column is not None:
            chinese = ZH.meaning(column.meaning)
            assert re.search(r"[\u4e00-\u9fff]", chinese), f"{query}.{name}: {column.meaning}"
            assert set(FIGURE.findall(column.meaning)) <= set(FIGURE.findall(chinese)), f"{query}.{name}"
            assert EN.meaning(column.meaning) == column.meaning


def history() -> list[ToolCall | Outcome]:
    """Tools of every kind that the audit has a sentence for."""
    from datetime import UTC, datetime, timedelta

    start, number = datetime(2026, 3, 1, tzinfo=UTC), iter(range(1, 10_000))
    records: list[ToolCall | Outcome] = []

    def put(tool: str, at: int, **given: object) -> str:
        span = f"{next(number):016x}"
        known = {"call_id": f"call_{span}", "trace_id": span * 2, "duration_ms": 5.0, "status": "success"}
        records.append(
            ToolCall(tool=tool, span_id=span, started_at=start + timedelta(seconds=at), **{**known, **given})
        )
        return span

    for at in range(7):
        put("plain", at)
        put("sure", at, confidence=0.5)
        put("broken", at, status="error", retryable=at < 3, suggestion="wait" if at < 2 else None)
        put("hiding", at, status="error", rule="mcp/hidden", rule_grade="heuristic", call_id="<b>1</b>")
        for tool, right, sure in (("over", 0, 0.71), ("level", 6, 0.71), ("under", 7, 0.31)):
            source = '[{"type":"file"},{"id":"a"},{"id":"b"}]' if at < 4 else "[]"
            span = put(
                tool, at, confidence=sure, signals='{"a":1}', sources=source, rule="plain", next_action="continue"
            )
            records.append(Outcome(span_id=span, correct=at < right, labeled_at=start))
        span = put("lone", at, confidence=0.7, conversation_id="talk")
        records.append(Outcome(span_id=span, correct=True, labeled_at=start))
        put("again", 2 * at, status="error", code="TIMEOUT", retryable=True, call_id=f"again{at}")
        put("again", 2 * at + 1, status="success" if at < 5 else "error", call_id=f"again{at}", attempt=2)
    return records


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("audited") / "audited.duckdb", *history())


def test_every_sentence_of_the_audit(audited: Path) -> None:
    """With just the figures of the English one, to two places."""
    with open_reader(audited) as con:
        answer = run(con, "audit")
        names, rows = answer.columns, answer.fetchall()
    seen = set()
    for english, row in zip(rows, translate_rows("audit", names, rows, ZH), strict=True):
        before, after = dict(zip(names, english, strict=True)), dict(zip(names, row, strict=True))
        seen.add(re.search(r'"sentence":"(\w+)"', before["figures"])[1])
        for name in ("name", "evidence", "fix"):
            assert re.search(r"[\u4e00-\u9fff]", after[name]), before
        assert figures(after["evidence"]) == figures(before["evidence"]), before
        assert {name: after[name] for name in names if after[name] != before[name]}.keys() == {
            "name",
            "evidence",
            "fix",
        }
    assert seen == sentences()
    assert translate_rows("audit", names, rows, EN) == rows


def test_each_figure_is_in_its_place(audited: Path) -> None:
    with open_reader(audited) as con:
        answer = run(con, "audit")
        rows = [
            dict(zip(answer.columns, row, strict=True))
            for row in translate_rows("audit", answer.columns, answer.fetchall(), ZH)
        ]
    evidence = {(row["tool"], row["point"]): row["evidence"] for row in rows}
    assert evidence["over", 2] == (
        "7 个带置信度的结果中有 7 个有标签：平均置信度 0.71，正确率 0.00，过度自信 0.71 [0.36, 0.71]"
    )
    assert evidence["under", 2].startswith(
        "7 个带置信度的结果中有 7 个有标签：平均置信度 0.31，正确率 1.00，信心不足 0.69 ["
    )
    assert evidence["level", 2].endswith(
        "平均置信度 0.71，正确率 0.86，不能断定过度自信或信心不足，差距 -0.15 [-0.26, 0.22]"
    )
    assert evidence["over", 4] == "7 次尝试中有 4 次注明来源：共 12 处，其中 4 处无编号，8 处无类型"
    assert evidence["again", 7] == (
        "9 个错误中有 7 个说明可否重试；称可重试并再试过的 7 个中有 5 个成功，0.71 [0.36, 0.92]"
    )
    assert evidence["broken", 8] == "7 个错误中有 2 个说明该怎么办：2 个有建议，0 个有给用户的提示"
    assert evidence["hiding", 10] == "7 次尝试中有 7 次藏着由启发式规则发现的失败，例如调用 <b>1</b>"


def figures(text: str) -> list[float]:
    return sorted(float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text))


def sentences() -> set[str]:
    """Names of the sentences that the query has."""
    part = find("audit").text.partition("worded AS (")[2].partition("AS sentence")[0]
    return set(re.findall(r"(?:THEN|ELSE) '([a-z_]+)'", part))


def test_the_holes_of_a_sentence_are_the_figures_of_its_row(audited: Path) -> None:
    with open_reader(audited) as con:
        found = run(con, "audit").project("figures, example_call_id").fetchall()
    for row in found:
        given = json.loads(row[0])
        text = ZH.exact(f"audit.sentence.{given.pop('sentence')}")
        holes = {name for _, name, _, _ in string.Formatter().parse(text) if name}
        assert holes - {"example"} == set(given), text
        assert ("example" in holes) == (row[1] is not None), text


def test_code_in_advice_stays_as_it_is_typed() -> None:
    text = find("audit").text.partition("points AS (")[2].partition("worded AS (")[0].replace("''", "'")
    points = re.split(r"SELECT (\d+)\b", text)[1:]
    assert points[::2] == [str(number) for number in range(1, 11)]
    for number, words in zip(points[::2], points[1::2], strict=True):
        chinese = ZH.exact(f"audit.fix.{number}")
        assert ZH.exact(f"audit.name.{number}")
        for code in CODE.findall(words.partition("',\n")[2]):
            assert code in chinese, (number, code)


OWN = {
    "around.relation": ("parent", "child", "sibling"),
    "changes.kind": ("tool", "version", "code"),
    "compare.counted": ("call", "conversation"),
    "confidence_bands.band": ("low", "middle", "high"),
    "reliability.series": ("bin", "isotonic"),
}


@pytest.mark.parametrize("place", OWN)
def test_fixed_words_of_a_query_are_translated(place: str) -> None:
    query, column = place.split(".")
    for word in OWN[place]:
        assert f"'{word}'" in find(query).text, "the query says it so"
        assert translate_rows(query, ["tool", column], [(word, word)], ZH) == [(word, ZH.value(query, column, word))]
        assert re.search(r"[\u4e00-\u9fff]", ZH.value(query, column, word))
    assert translate_rows(query, [column], [("DROP",), (None,)], ZH) == [("DROP",), (None,)]


class Texts(HTMLParser):
    """Texts and titles of a document, but of code and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += tag in ("script", "style", "code", "details")
        self.found += [value or "" for name, value in attrs if name in ("title", "aria-label")]

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag in ("script", "style", "code", "details")

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.found.append(data.strip())


def test_a_translated_report_has_no_english_sentence(audited: Path) -> None:
    """Three English words in a row are a sentence; what the trace says has none here."""
    report = build_report(audited, fixed_range(since=None, until=None))
    texts = Texts()
    texts.feed(as_html(report, ZH))
    sentence = re.compile(r"[a-z]+ [a-z]+ [a-z]+")
    assert [text for text in texts.found if sentence.search(text)] == []
    whole = as_markdown(report, ZH)
    assert "平均置信度 0.71" in whole
    visible = re.sub(r"<sub>.*</sub>", "", whole)
    assert [line for line in visible.splitlines() if sentence.search(line)] == []
    assert "&lt;b&gt;1&lt;/b&gt;" in as_html(report, ZH), "an id from a trace is text in a sentence, too"
