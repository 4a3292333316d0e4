"""The HTML report in a browser without a network: charts, printing, themes and small screens."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.grids import covering
from tests.waiting import until_page as until
from tooltrace.analysis.sides import Comparison
from tooltrace.report import build_report, fixed_range
from tooltrace.report.html import as_html, assert_inline_safe, bundle
from tooltrace.wording.i18n import Translations

from .conftest import HOSTILE

AXE = Path(__file__).parents[1] / "server" / "vendor" / "axe.min.js"
FAULTS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 160)).join(' | '))"""
BLOCKED = "document.querySelectorAll('figure[data-chart]:not([data-done])').length"


@pytest.fixture(scope="module")
def made(past, demo, foul, built, tmp_path_factory):
    """Reports as files, by name."""
    folder = tmp_path_factory.mktemp("made")
    texts = {
        "past": as_html(built(past, "10d"), Translations("en")),
        "demo": as_html(built(demo), Translations("en")),
        "foul": as_html(built(foul), Translations("zh")),
        "compared": as_html(build_report(past, Comparison.parse(None, "7d")), Translations("zh")),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def open_whole(page, file: Path) -> None:
    """With every chart drawn, as if somebody had read it to the end."""
    page.goto(file.as_uri())
    for figure in page.locator("figure[data-chart]").all():
        figure.scroll_into_view_if_needed()
    until(page, f"{BLOCKED} === 0")
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("name", ["past", "demo", "foul"])
def test_it_opens_without_a_network_and_every_chart_is_drawn(page, made, name):
    page.context.set_offline(True)
    open_whole(page, made / f"{name}.html")
    charts = page.locator("figure[data-chart]").count()
    assert page.locator("figure canvas").count() == charts > 3
    assert page.locator("td.spark svg").count() == page.locator("table.tools tbody tr").count() >= 2


@pytest.mark.parametrize(("name", "theme"), covering(["past", "demo"], ["light", "dark"]))
def test_nothing_for_axe(page, made, name, theme):
    page.emulate_media(color_scheme=theme)
    open_whole(page, made / f"{name}.html")
    page.evaluate(AXE.read_text())
    assert page.evaluate(FAULTS) == []


@pytest.mark.parametrize("name", ["past", "demo", "foul"])
def test_the_report_fits_a_phone(page, made, name):
    page.set_viewport_size({"width": 360, "height": 800})
    open_whole(page, made / f"{name}.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_theme_can_be_switched_and_paper_is_light(page, made):
    page.emulate_media(color_scheme="dark")
    open_whole(page, made / "past.html")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.locator("#theme").click()
    light = page.evaluate(ground)
    assert dark != light
    page.locator("#theme").click()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ground) == light
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(ground) == dark


def test_charts_are_printed_before_they_were_scrolled_to(page, made):
    page.goto((made / "past.html").as_uri())
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert page.evaluate(BLOCKED) == 0


def test_printed_charts_are_not_cut(page, made):
    page.goto((made / "past.html").as_uri())
    shown = page.locator(".findings time").first
    on_screen = shown.inner_text()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    # until whoever watches sizes was told
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    widths = "[...document.querySelectorAll('figure canvas')].map(canvas => canvas.clientWidth)"
    assert len(page.evaluate(widths)) == page.locator("figure[data-chart]").count()
    assert max(page.evaluate(widths)) <= 688, "A4 less its margins"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", shown.inner_text())
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    until(page, f"Math.max(...{widths}) > 1000")
    assert shown.inner_text() == on_screen


def test_a_printed_comparison_begins_on_the_first_page(page, made):
    page.set_viewport_size({"width": 688, "height": 900})
    page.emulate_media(media="print")
    page.goto((made / "compared.html").as_uri())
    lines = """[...document.querySelectorAll('table.compared td:nth-child(2)')].map(cell => {
        const words = document.createRange(); words.selectNodeContents(cell);
        return new Set([...words.getClientRects()].map(box => box.top)).size; })"""
    assert set(page.evaluate(lines)) == {1}
    assert page.evaluate("document.querySelector('table.compared').getBoundingClientRect().right") <= 688
    assert page.evaluate("getComputedStyle(document.querySelector('.panel')).breakInside") == "auto"
    ranges = page.locator("table.compared tr", has_text="尝试失败率").locator(".range")
    assert re.fullmatch(
        r"[+-]\d+\.\d – +至 +[+-]\d+\.\d 个百分点", " ".join((ranges.first.text_content() or "").split())
    )


def test_tables_sort_by_their_headers_with_the_keyboard(page, made):
    page.goto((made / "past.html").as_uri())
    page.wait_for_selector("table.ranking .sorter")
    header = page.locator("table.ranking th[data-key=calls]")
    calls = "[...document.querySelectorAll('table.ranking tbody tr')].map(row => Number(row.cells[1].querySelector('data').value))"
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    found = page.evaluate(calls)
    assert found == sorted(found, reverse=True)
    page.keyboard.press("Enter")
    assert page.evaluate(calls) == sorted(found)
    names = page.evaluate("[...document.querySelectorAll('table[data-sort]')].map(table => table.dataset.sort)")
    assert len(set(names)) == len(names) > 10, "each table has an order of its own"
    rates = page.locator("table[data-sort='failure_rate-1'] th[data-key=rate]")
    rates.locator("button").click()
    assert rates.get_attribute("aria-sort") == "descending"


def test_tables_of_a_report_fit_a_phone(page, made):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((made / "past.html").as_uri())
    for selector in ("table.ranking", "table[data-sort=changes]"):
        assert page.evaluate(f"document.querySelector({selector!r}).scrollWidth") <= 390, selector
    row = page.locator("table.ranking tbody tr").first
    assert row.locator("td.rate").is_visible()
    assert row.locator("td.what").is_visible()
    page.set_viewport_size({"width": 1440, "height": 900})


def test_without_scripts_it_is_read_all_the_same(browser, made):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto((made / "past.html").as_uri())
    assert not page.locator("figure[data-chart]").first.is_visible(), "no empty place where a chart would be"
    assert not page.locator("#theme").is_visible()
    table = page.locator("section", has=page.locator("figure[data-chart]")).first.locator("details.data")
    table.locator("summary").click()
    assert table.locator("tbody tr").count() > 10
    assert re.fullmatch(r"[+-]\d+\.\d pp", page.locator(".figures dd.big").last.inner_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", page.locator(".findings time").first.inner_text())
    context.close()


def test_a_long_name_does_not_displace_the_figures(page, tmp_path):
    from .conftest import call, write

    store = write(tmp_path / "long.duckdb", *(call(tool="very_" * 60) for _ in range(3)))
    (tmp_path / "long.html").write_text(
        as_html(build_report(store, fixed_range(since=None, until=None)), Translations("en"))
    )
    page.goto((tmp_path / "long.html").as_uri())
    assert page.locator("table.tools").evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")


class Parsed(HTMLParser):
    """Which elements there are, and what their attributes lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str | None] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes) -> None:
        self.tags.add(tag)
        self.attributes += attributes
        if tag == "script":
            self.scripts.append(dict(attributes).get("type"))


def test_text_from_a_trace_is_not_markup(page, made):
    file = made / "foul.html"
    page.goto(file.as_uri())
    shown = page.locator("article.tool > .head h2").all_inner_texts()
    for text in HOSTILE[:5]:
        assert any(text in heading for heading in shown), text
    assert page.evaluate("document.images.length") == 0
    parsed = Parsed(file.read_text())
    assert not [name for name, _ in parsed.attributes if name.startswith("on") or name == "style"]
    assert all(value.startswith("#") for name, value in parsed.attributes if name in ("href", "src", "action"))
    assert not parsed.tags & {"img", "iframe", "form", "input", "link", "base", "object"}
    assert [kind for kind in parsed.scripts if kind in (None, "module")] == [None, "module"]


def test_the_content_policy_blocks_other_scripts(browser, made, tmp_path):
    """A script that came into the document all the same is refused, and so is a request."""
    text = (made / "past.html").read_text()
    planted = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
    (tmp_path / "planted.html").write_text(text.replace("<main", f"{planted}<main", 1))
    page = browser.new_context().new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto((tmp_path / "planted.html").as_uri())
    assert "taken" not in page.title()
    assert any("Content Security Policy" in text for text in refused)
    outcome = page.evaluate("fetch('https://example.org').then(() => 'went', () => 'refused')")
    page.context.close()
    assert outcome == "refused"
    assert any("example.org" in text and "Content Security Policy" in text for text in refused), (
        "not for want of a network"
    )


def test_every_section_contains_its_query(made):
    text = (made / "past.html").read_text()
    sections = re.findall(r'<section class="panel.*?</section>', text, re.DOTALL)
    assert len(sections) > 20
    assert all("tooltrace query " in section for section in sections)
    assert "tooltrace query failure_rate --by tool --since 20" in text


@pytest.mark.long
def test_a_report_on_many_tools_is_small_and_counts_omitted_tools(demo, made, tmp_path):
    from .conftest import call, write

    store = write(
        tmp_path / "many.duckdb", *(call(tool=f"tool_{n % 40}", tool_version=str(n % 7)) for n in range(4000))
    )
    text = as_html(build_report(store, fixed_range(since=None, until=None)), Translations("en"))
    assert len(text.encode()) < 2_000_000
    assert "24 more tools have no section here" in text
    assert text.count('<article id="tool-') == 16
    assert (made / "demo.html").stat().st_size < 2_000_000


def test_the_report_contains_the_licence_of_its_libraries(made):
    text = (made / "past.html").read_text()
    assert "Apache License" in text
    assert "Copyright 2017-2026 The Apache Software Foundation" in text


def test_an_empty_time_range_is_reported(page, past, built, tmp_path):
    report = built(past, "2020-01-01", "2020-02-01")
    (tmp_path / "empty.html").write_text(as_html(report, Translations("en")), encoding="utf-8")
    page.goto((tmp_path / "empty.html").as_uri())
    assert "No calls were recorded in this time range." in page.locator("main").inner_text()


def test_a_script_that_would_end_its_block_is_refused():
    for text in ("x = '</script>'", "x = '</SCRIPT '", "a <!--b"):
        with pytest.raises(ValueError, match="end early"):
            assert_inline_safe(text)


def test_a_script_of_another_form_is_refused_rather_than_broken():
    with pytest.raises(ValueError, match="the report: 'import'"):
        bundle(["numbers"], 'import * as all from "./numbers.js";')
