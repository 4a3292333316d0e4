"""The report on paper: which page has what, in A4 and Letter, with nothing cut at the border."""

from __future__ import annotations

import re
from datetime import UTC, timedelta

import pytest

from tests.grids import covering
from tooltrace.report import build_report, fixed_range
from tooltrace.report.html import as_html
from tooltrace.wording.i18n import Translations

from .conftest import NOW, call, write

pytestmark = pytest.mark.long

A4, LETTER = (688, 1017), (710, 950)
"""Width and height of a page without its margins, in pixels."""
_PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
_SETTLED = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"


@pytest.fixture(scope="module")
def made(past, demo, foul, built, tmp_path_factory):
    """Reports as files, by name, and the reports."""
    folder = tmp_path_factory.mktemp("printed")
    reports = {"past": built(past, "10d"), "demo": built(demo), "foul": built(foul)}
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(as_html(report, Translations("zh" if name == "foul" else "en")))
    return folder, reports


@pytest.fixture
def paper(page, made):
    """The page as it is laid out on paper of a width."""

    def laid_out(name: str, size: tuple[int, int]):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(media="print")
        page.goto((made[0] / f"{name}.html").as_uri())
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.evaluate(_SETTLED)
        return page

    yield laid_out
    page.emulate_media(media="screen")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *covering(["past", "foul"], ["A4", "Letter"]),
        *(pytest.param("demo", size, marks=pytest.mark.simulations) for size in ("A4", "Letter")),
    ],
)
def test_a_tool_that_failed_has_one_page_and_others_have_none(page, made, name, size):
    folder, reports = made
    page.goto((folder / f"{name}.html").as_uri())
    failing = [tool for tool in reports[name].sections if tool in reports[name].failing]
    assert len(_PAGE.findall(page.pdf(format=size))) == 2 + len(failing)


@pytest.mark.parametrize(("name", "size"), covering(["past", "demo", "foul"], [(A4,), (LETTER,)]))
def test_nothing_is_cut_at_the_border(paper, name, size):
    page = paper(name, size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    cut = """[...document.querySelectorAll('.scroll, .panel')].filter(box => box.getClientRects().length
        && box.scrollWidth > box.clientWidth + 1).map(box => box.textContent.trim().slice(0, 60))"""
    assert page.evaluate(cut) == []
    heights = "[...document.querySelectorAll('article.tool:not(.screen-only)')].map(one => one.offsetHeight)"
    assert max(page.evaluate(heights)) <= size[1]


@pytest.mark.parametrize("name", ["past", "demo"])
def test_charts_drawn_before_printing_have_the_width_of_their_panels_on_paper(page, made, name):
    """A browser lays out the paper after ``beforeprint``: a chart that was drawn too wide shrinks the whole page."""
    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(media="screen")
    page.goto((made[0] / f"{name}.html").as_uri())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    canvases = "[...document.querySelectorAll('article.tool:not(.screen-only) canvas')].map(one => one.offsetWidth)"
    before = page.evaluate(canvases)
    page.emulate_media(media="print")
    room = "[...document.querySelectorAll('article.tool:not(.screen-only) figure')].map(one => one.offsetWidth)"
    try:
        after = page.evaluate(room)
        assert len(before) == len(after) > 0
        assert all(0.95 * wide <= drawn <= wide for drawn, wide in zip(before, after, strict=True)), (before, after)
    finally:
        page.emulate_media(media="screen")


@pytest.mark.parametrize("size", [A4, LETTER])
def test_the_first_page_has_the_findings_the_figures_and_the_tools(paper, size):
    page = paper("past", size)
    bottoms = page.evaluate(
        "['.verdict-box', '.tiles', 'table.tools'].map(one => document.querySelector(one).getBoundingClientRect().bottom)"
    )
    assert bottoms == sorted(bottoms)
    assert bottoms[-1] <= size[1]
    assert page.evaluate("getComputedStyle(document.querySelector('.second-page')).breakBefore") == "page"


def test_rows_that_are_not_on_paper_are_counted(paper):
    page = paper("demo", A4)
    shown = "[...document.querySelectorAll('.findings li')].filter(row => row.getClientRects().length).length"
    rows = page.locator(".findings li").count()
    assert page.evaluate(shown) == min(rows, 6)
    assert page.locator(".verdict-box .paper-only").all_inner_texts() == [f"{rows - 6} more rows are in the file."]


def test_times_on_paper_are_utc_and_complete(paper):
    page = paper("past", A4)
    shown = page.locator(".findings time").first
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", shown.inner_text())
    assert shown.get_attribute("datetime")[:16].replace("T", " ") == shown.inner_text()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", shown.inner_text())


def test_the_audit_is_one_matrix_of_all_tools(page, made):
    folder, reports = made
    page.goto((folder / "demo.html").as_uri())
    matrix = page.locator("table.audit")
    assert matrix.count() == 1
    assert matrix.locator("tbody th").all_inner_texts() == reports["demo"].sections
    assert matrix.locator("thead th").count() == 11
    rows = {(row["tool"], row["point"]): row["passed"] for row in reports["demo"].audit.result.dicts()}
    texts = {True: "✓", False: "✗", None: "–"}
    for number, tool in enumerate(reports["demo"].sections):
        cells = matrix.locator("tbody tr").nth(number).locator("td [aria-hidden]").all_inner_texts()
        assert cells == [texts[rows[tool, point]] for point in range(1, 11)]
    assert "tooltrace query audit" in page.locator(".panel-audit .query code").text_content()


def test_charts_of_a_report_show_its_complete_window_and_switch_to_utc(page, made):
    folder, reports = made
    page.goto((folder / "past.html").as_uri())
    page.locator("figure[data-chart=timeline]").first.scroll_into_view_if_needed()
    page.wait_for_selector("figure[data-chart=timeline] canvas")
    chart = "echarts.getInstanceByDom(document.querySelector('figure[data-chart=timeline] .canvas'))"
    start, end = page.evaluate(f"{chart}.getModel().getComponent('xAxis', 0).axis.scale.getExtent()")
    scope = reports["past"].scope
    assert start / 1000 <= scope.since.replace(tzinfo=UTC).timestamp() + 1
    assert end / 1000 >= scope.until.replace(tzinfo=UTC).timestamp() - 1
    time = page.locator(".findings time").first
    before = time.inner_text()
    page.click("#zone")
    assert page.inner_text("#zone") == "UTC"
    assert time.inner_text() != before
    assert page.evaluate(f"{chart}.getOption().useUTC") is True


def test_names_and_messages_of_any_length_leave_the_pages_as_they_are(page, tmp_path):
    """A name of 10,000 characters and a message of 5,000, such as a page of HTML, are cut on paper."""
    calls = [
        call(
            tool=tool, status="error" if n % 2 else "success", code="INTERNAL" if n % 2 else None, conversation_id=f"{tool[:5]}{n}",
            error_message="<p>no answer</p> " * 300 if n % 2 else None, started_at=NOW - timedelta(minutes=90 - n),
        )
        for tool in ("x" * 10_000, "search") for n in range(60)
    ]  # fmt: skip
    report = build_report(write(tmp_path / "long.duckdb", *calls), fixed_range(since=None, until=None))
    file = tmp_path / "long.html"
    file.write_text(as_html(report, Translations("en")), encoding="utf-8")
    page.goto(file.as_uri())
    assert len(_PAGE.findall(page.pdf(format="A4"))) == 2 + len(report.failing)
    page.set_viewport_size({"width": A4[0], "height": A4[1]})
    page.emulate_media(media="print")
    try:
        bottom = "document.querySelector('table.tools').getBoundingClientRect().bottom"
        assert page.evaluate(bottom) <= A4[1]
    finally:
        page.emulate_media(media="screen")
