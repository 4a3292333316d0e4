"""The pages in a browser over the demo store: mouse and keyboard, themes and small screens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import SCREEN
from tests.grids import covering
from tests.waiting import until_page as until
from tooltrace.analysis import query_store
from tooltrace.wording.i18n import Translations
from tooltrace.wording.numbers import figure

from .conftest import call, write
from .test_hostile import NASTY, records

pytestmark = pytest.mark.long

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
SERIOUS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 160)).join(' | '))"""


@pytest.fixture(scope="session")
def failed(demo_store) -> str:
    """The span of an attempt of the demo that failed and was tried again, with the longest code."""
    rows = query_store(demo_store, "attempts", status="error", tool="fetch").dicts()
    return max(rows, key=lambda row: len(row["code"]))["span_id"]


def addresses(failed: str) -> dict[str, str]:
    return {"overview": "/", "tool": "/tool?name=fetch", "calls": "/calls", "call": f"/call?id={failed}"}


READY = {
    "overview": "table.tools td.spark svg",
    "tool": "figure .canvas canvas",
    "calls": "#newest tr[id]",
    "call": ".calibration table, .calibration .empty",
}


SCROLL_TO_WAITING = "(() => { const one = document.querySelector('.wait'); one?.scrollIntoView(); return !one; })()"
"""Whether all parts of a page have arrived; what is below the screen loads when it is reached."""


def open_page(page, demo: str, failed: str, name: str) -> None:
    page.goto(demo + addresses(failed)[name])
    page.wait_for_selector(READY[name], state="attached")  # a narrow screen hides some columns
    until(page, SCROLL_TO_WAITING)
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize(("name", "theme", "width"), covering([*READY], [("light", 360), ("dark", 768)]))
def test_no_page_is_wider_than_the_screen_and_nothing_is_serious_for_axe(page, demo, failed, name, theme, width):
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 800})
    open_page(page, demo, failed, name)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size(SCREEN)
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []


def test_pages_make_no_external_request(page, demo, failed):
    hosts = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    for name in READY:
        open_page(page, demo, failed, name)
    assert hosts == {demo.split("/")[2]}


def test_figures_are_in_the_locale_of_the_reader_and_times_have_utc_on_hover(browser, demo):
    context = browser.new_context(locale="de-DE", timezone_id="Asia/Tokyo")
    page = context.new_page()
    page.goto(demo)
    page.wait_for_selector("table.tools")
    shown = page.locator(".figures .big data").nth(1)
    assert "," in shown.inner_text()
    assert "%" in shown.inner_text()
    page.goto(f"{demo}/calls")
    page.wait_for_selector("#newest time[title]")
    moment = page.locator("#newest time").first
    assert moment.get_attribute("title").endswith("UTC")
    utc = moment.get_attribute("datetime")
    assert moment.inner_text()[:2] == f"{(int(utc[11:13]) + 9) % 24:02}"
    context.close()


def test_the_theme_can_be_switched_and_is_stored(page, demo):
    page.emulate_media(color_scheme="light")
    page.goto(demo)
    before = page.evaluate("getComputedStyle(document.body).color")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).color") != before
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_sql_is_shown_and_closed_with_the_keyboard(page, demo):
    page.goto(demo)
    link = page.locator(".panel .sql").first
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] pre")
    assert "WITH" in page.inner_text("dialog pre")
    assert page.inner_text("dialog .shell").startswith("tooltrace query ranking")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def test_sql_is_copied(browser, demo):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(demo)
    page.locator(".panel .sql").first.click()
    page.wait_for_selector("dialog[open] pre")
    page.click("dialog .code [data-copy]")
    until(page, "document.querySelector('dialog .code [data-copy]').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()").startswith("-- Which tools should be looked at first?")
    context.close()


def test_filters_and_older_pages(page, demo):
    page.goto(f"{demo}/calls")
    page.wait_for_selector("#newest tr[id]")
    assert page.locator("table.calls tr[id]").count() == 50
    page.click("#more button")
    until(page, "document.querySelectorAll('table.calls tr[id]').length === 100")
    ids = page.eval_on_selector_all("table.calls tr[id]", "rows => rows.map(row => row.id)")
    assert len(set(ids)) == 100
    page.select_option("select[name=status]", "error")
    page.fill("input[name=tool]", "fetch")
    page.keyboard.press("Enter")
    page.wait_for_url("**status=error**")
    page.wait_for_selector("#newest tr[id]")
    assert set(page.eval_on_selector_all("#newest .status", "all => all.map(one => one.textContent)")) == {"error"}
    assert set(page.eval_on_selector_all("#newest td:nth-child(2)", "all => all.map(one => one.textContent)")) == {
        "fetch"
    }


def test_new_calls_appear_on_request_while_older_pages_stay(shown, page, tmp_path):
    client = shown(*(call() for _ in range(120)))
    page.goto(f"{client.base_url}/calls")
    page.wait_for_selector("#newest tr[id]")
    page.click("#more button")
    until(page, "document.querySelectorAll('table.calls tr[id]').length === 100")
    fresh = call(tool="just_now")
    write(tmp_path / "shown.duckdb", fresh)
    page.click("#arrivals button")
    page.wait_for_selector(f"#a-{fresh.span_id}")
    assert page.locator("table.calls tr[id]").count() == 101
    assert "fresh" in page.locator(f"#a-{fresh.span_id}").get_attribute("class")
    page.wait_for_timeout(1500)
    assert page.locator("table.calls tr[id]").count() == 101


def test_the_focus_stays_on_its_row_while_new_calls_are_announced(shown, page, tmp_path):
    old, fresh = call(tool="held"), call(tool="just_now")
    page.goto(f"{shown(old).base_url}/calls")
    link = page.locator(f"#a-{old.span_id} td:nth-child(2) a")
    link.focus()
    write(tmp_path / "shown.duckdb", fresh)
    page.wait_for_selector("#arrivals >> text=1 new")
    assert page.evaluate("document.activeElement.textContent") == "held"
    assert page.locator("table.calls tr[id]").count() == 1


def test_the_overview_announces_new_calls(shown, page, tmp_path):
    client = shown(call())
    page.goto(str(client.base_url))
    page.wait_for_selector("table.tools")
    write(tmp_path / "shown.duckdb", call())
    page.wait_for_selector("#live .news")
    page.focus("#live .news")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/state" in request.url else None)
    page.wait_for_timeout(2500)
    assert asked == []
    assert page.evaluate("document.activeElement.className") == "news"


def test_a_label_moves_the_calibration(shown, page):
    one = call(confidence=0.9, call_id="guess")
    client = shown(one, call(confidence=0.9))
    page.goto(f"{client.base_url}/call?id=guess")
    page.wait_for_selector(".calibration .empty")
    page.check("input[value=wrong]")
    page.fill("input[name=reason]", "it was <b>not</b>")
    page.click("form.label-form button")
    page.wait_for_selector(".verdicts q")
    assert page.inner_text(".verdicts q").strip('"“”') == "it was <b>not</b>"
    until(page, "document.activeElement.matches('.verdicts')")
    page.wait_for_selector(".calibration td data[value='1']")
    assert "0.0\u00a0%" in page.inner_text(".calibration")


def test_a_label_without_a_script(shown, browser):
    one = call()
    client = shown(one)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{client.base_url}/call?id={one.span_id}")
    page.check("input[value=correct]")
    page.click("form.label-form button")
    page.wait_for_selector(".verdicts .yes")
    context.close()


def test_hostile_text_runs_nowhere(shown, page):
    texts = [*NASTY[:3], NASTY[5]]
    given = [records(text) for text in texts]
    client = shown(*(record for each in given for record in each))
    page.add_init_script("window.boom = () => { window.ran = true; }")
    for path in ("/", "/calls", *(f"/call?id={one.span_id}" for one, *_ in given)):
        page.goto(f"{client.base_url}{path}")
        until(page, SCROLL_TO_WAITING)
        assert page.evaluate("window.ran") is None
    for number in range(len(texts)):
        page.goto(str(client.base_url))
        page.wait_for_selector("table.tools th[scope=row] a")
        tools = page.locator("table.tools th[scope=row] a")
        assert sorted(tools.all_inner_texts()) == sorted(texts)
        tools.nth(number).click()
        page.wait_for_selector("figure .canvas canvas")
        page.hover("figure .canvas canvas")
        page.wait_for_timeout(300)
        assert page.evaluate("window.ran") is None


def test_the_form_stays_filled_in_after_an_invalid_label(shown, page, faults):
    one = call()
    client = shown(one)
    page.goto(f"{client.base_url}/call?id={one.span_id}")
    page.locator("form.label-form input[type=radio]").nth(2).check()
    page.fill("input[name=reason]", "half right")
    page.click("form.label-form button")
    page.wait_for_selector("#labels .error-box")
    assert "400" in faults.pop()
    assert page.input_value("input[name=reason]") == "half right"
    page.fill("input[name=score]", "0.5")
    page.click("form.label-form button")
    page.wait_for_selector(".verdicts q")


def test_the_list_begins_with_the_first_call_ever(shown, page, tmp_path):
    client = shown()
    page.goto(f"{client.base_url}/calls")
    page.wait_for_selector("#newest .empty .command")
    first = call()
    write(tmp_path / "shown.duckdb", first)
    page.wait_for_selector(f"#a-{first.span_id}")


@pytest.mark.parametrize(
    ("language", "units"),
    [("en", ["µs", "ms", "s", "min", "h", "d"]), ("zh", ["微秒", "毫秒", "秒", "分钟", "小时", "天"])],
)
def test_a_language_has_one_set_of_units(page, demo, language, units):
    page.goto(f"{demo}/?lang={language}")
    shown = page.evaluate(
        """() => {
            const box = document.createElement('div');
            box.id = 'units';
            box.innerHTML = [0.5, 12, 1500, 90e3, 7.2e6, 3e8].map((ms) => `<data data-unit="ms" value="${ms}"></data>`).join('');
            document.getElementById('main').append(box);
            return import('/static/scripts/numbers.js').then(({ localize }) => {
                localize(box);
                return [...box.children].map((one) => one.textContent.split('\\u00a0'));
            });
        }"""
    )
    assert [unit for _, unit in shown] == units
    assert [number for number, _ in shown] == ["500", "12", "1.5", "1.5", "2", "3.47"]
    words = Translations(language)
    assert [figure(ms, "ms", words).split()[1] for ms in (0.5, 12, 1500, 90e3, 7.2e6, 3e8)] == units
