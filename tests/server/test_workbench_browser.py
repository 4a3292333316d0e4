"""The workbench in a browser: filters and the way back, the drawer, the pause, the palette, completion, links with a token."""

from __future__ import annotations

import http.server
import threading
from datetime import UTC, datetime, timedelta

import pytest

from tests.stores import create_empty_store
from tests.waiting import until_page as until
from tooltrace.server.site import Site

from .conftest import call, running, write
from .test_browser import AXE, SERIOUS

pytestmark = pytest.mark.long

IDS = "[...document.querySelectorAll('table.calls tr[data-span]')].map(row => row.dataset.span)"


def rows(page, number: int) -> list[str]:
    until(page, f"document.querySelectorAll('table.calls tr[data-span]').length === {number}")
    return page.evaluate(IDS)


def test_back_and_forward_show_the_same_rows_at_the_same_height(shown, page, tmp_path):
    now = datetime.now(UTC)
    client = shown(*(call(started_at=now - timedelta(seconds=n)) for n in range(120)))
    page.goto(f"{client.base_url}/calls?since=24h")
    rows(page, 50)
    page.click("#more button")
    known = rows(page, 100)
    page.evaluate("scrollTo(0, 1400)")
    until(page, "history.state?.tooltrace?.y === 1400")
    link = page.locator("table.calls tr[data-span]").nth(45).locator("td.id a")
    link.click()
    page.wait_for_url("**/call?**")
    assert "since=24h" in page.url
    write(tmp_path / "shown.duckdb", call())
    page.go_back()
    page.wait_for_url("**/calls?since=24h")
    assert rows(page, 100) == known
    until(page, "scrollY === 1400")
    page.go_forward()
    page.wait_for_url("**/call?**")


def test_chips_heads_and_bars_change_the_list_and_its_address(shown, page):
    client = shown(
        *(call(tool="fetch", status="error", duration_ms=float(n)) for n in range(5)), call(tool="fetch"), call()
    )
    page.goto(f"{client.base_url}/calls?tool=fetch")
    rows(page, 6)
    page.click(".legend a[href*='status=error']")
    page.wait_for_url("**status=error**")
    rows(page, 5)
    page.click("th.c-duration_ms a")
    page.wait_for_url("**sort=-duration_ms**")
    rows(page, 5)
    shown_values = page.eval_on_selector_all("#newest td:nth-child(5) data", "all => all.map(one => Number(one.value))")
    assert shown_values == [4, 3, 2, 1, 0]
    assert page.get_attribute("th.c-duration_ms", "aria-sort") == "descending"
    page.click(".chips li:has-text('fetch') a")
    page.wait_for_url("**/calls?status=error&sort=-duration_ms**")
    page.click(".histogram a", force=True)
    page.wait_for_url("**until=**")
    assert "status=error" in page.url
    page.go_back()
    page.wait_for_url(lambda url: "until=" not in url)
    rows(page, 5)  # the browser goes back only from a page that it shows
    page.go_back()
    page.wait_for_url("**tool=fetch**")
    rows(page, 5)


def test_the_drawer_follows_the_keys_and_stays_in_the_address(shown, page):
    records = [call(text=f"text {n}", started_at=datetime.now(UTC) - timedelta(seconds=n)) for n in range(4)]
    client = shown(*records)
    page.goto(f"{client.base_url}/calls")
    first, second, *_ = rows(page, 4)
    page.keyboard.press("j")
    page.keyboard.press("Space")
    page.wait_for_selector("#drawer >> text=text 0")
    assert f"preview={first}" in page.url
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#drawer >> text=text 1")
    page.reload()
    page.wait_for_selector("#drawer >> text=text 1")
    assert f"preview={second}" in page.url
    page.keyboard.press("Escape")
    assert not page.is_visible("#drawer")
    assert "preview" not in page.url
    page.click(f"tr[data-span='{second}'] td.message")
    page.wait_for_selector("#drawer >> text=text 1")
    page.click("#drawer [data-close]")
    assert not page.is_visible("#drawer")


def test_the_list_stands_still_while_it_is_paused(shown, page, tmp_path):
    client = shown(call(), call())
    page.goto(f"{client.base_url}/calls")
    known = rows(page, 2)
    page.click("#pause")
    page.mouse.move(0, 0)
    write(tmp_path / "shown.duckdb", call(), call(), call())
    page.wait_for_selector("#arrivals >> text=3 new")
    assert page.evaluate(IDS) == known
    page.click("#pause")
    page.mouse.move(0, 0)
    rows(page, 5)


def test_the_list_stands_still_under_the_pointer_until_its_button_is_clicked(shown, page, tmp_path):
    client = shown(call(), call())
    page.goto(f"{client.base_url}/calls")
    known = rows(page, 2)
    page.hover("#newest tr td.message")
    fresh = call(tool="just_now")
    write(tmp_path / "shown.duckdb", fresh)
    page.wait_for_selector("#arrivals >> text=1 new")
    assert page.evaluate(IDS) == known
    page.click("#arrivals button")
    rows(page, 3)
    assert "fresh" in page.get_attribute(f"#a-{fresh.span_id}", "class")


def test_the_list_stands_still_under_a_pointer_that_came_before_its_script(shown, page, tmp_path):
    client = shown(call(), call())
    held = []
    page.route("**/calls.js*", lambda route: held.append(route))
    page.goto(f"{client.base_url}/calls", wait_until="commit")
    known = rows(page, 2)
    page.hover("#newest tr td.message")
    while not held:
        page.wait_for_timeout(50)
    held[0].continue_()
    page.wait_for_load_state("load")
    write(tmp_path / "shown.duckdb", call())
    page.wait_for_selector("#arrivals >> text=1 new")
    assert page.evaluate(IDS) == known


def test_the_palette_opens_tools_queries_and_settings(shown, page):
    client = shown(call(tool="search_docs"), call(tool="fetch"))
    page.emulate_media(color_scheme="light")
    page.goto(f"{client.base_url}/?since=24h")
    page.wait_for_selector("table.tools")
    page.keyboard.press("Control+k")
    page.keyboard.type("docs")
    page.wait_for_selector("#palette [aria-selected=true] >> text=search_docs")
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []
    page.keyboard.press("Enter")
    page.wait_for_url("**/tool?name=search_docs&since=24h")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette [role=option]")
    page.keyboard.type("theme")
    until(
        page, "document.querySelectorAll('#palette [role=option]').length === 2"
    )  # the last one searches for the text
    page.keyboard.press("Enter")
    until(page, "document.documentElement.dataset.theme === 'dark'")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette[open]")
    page.keyboard.press("Escape")
    assert page.locator("#palette[open]").count() == 0
    page.goto(f"{client.base_url}/calls")
    rows(page, 2)
    page.keyboard.press("/")
    until(page, "document.activeElement.name === 'text'")


def test_enter_right_after_a_text_opens_the_first_entry_of_this_text(shown, page):
    client = shown(call(tool="search_docs"), call(tool="fetch"))
    page.goto(f"{client.base_url}/?since=24h")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette [role=option]")
    page.keyboard.insert_text("docs")
    page.keyboard.press("Enter")
    page.wait_for_url("**/tool?name=search_docs&since=24h")


def test_breadcrumbs_lead_back_to_the_filtered_list(shown, page):
    one = call(tool="fetch", status="error")
    client = shown(one, call())
    page.goto(f"{client.base_url}/calls?tool=fetch&since=24h")
    rows(page, 1)
    page.click("#newest td.id a")
    page.wait_for_selector(".crumbs")
    page.click(".crumbs a >> text=Calls")
    page.wait_for_url("**/calls?tool=fetch&since=24h")


def test_the_editor_completes_columns_and_highlights(shown, page):
    client = shown(call())
    page.goto(f"{client.base_url}/sql?q=SELECT%201")
    page.wait_for_selector("#editor .cm-content")
    with page.expect_response("**/sql/schema"):
        page.reload()
    page.wait_for_selector("#result tbody td")  # a statement that runs is not replaced by the next one
    page.click("#editor .cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.type("SELECT call_id FROM tool_calls WHERE conv")
    complete = ".cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled)"  # disabled: an answer to fewer letters
    page.wait_for_selector(f"{complete} li[aria-selected] >> text=conversation_id")
    page.wait_for_timeout(100)  # CodeMirror accepts no completion in the first 75 ms, against a key meant for the text
    page.keyboard.press("Tab")
    until(page, "document.getElementById('q').value.endsWith('conversation_id')")
    colours = page.eval_on_selector_all(
        ".cm-line span", "all => [...new Set(all.map(one => getComputedStyle(one).color))]"
    )
    assert len(colours) > 0
    page.keyboard.type(" = 'session'")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#result td a[href^='/call?']")
    page.wait_for_url("**/sql?q=SELECT+call_id**")
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []
    page.go_back()
    until(page, "document.getElementById('q').value === 'SELECT 1'")
    page.go_forward()
    until(page, "document.getElementById('q').value.startsWith('SELECT call_id')")


def test_a_query_is_saved_on_the_page(shown, page):
    client = shown(call())
    page.goto(f"{client.base_url}/sql")
    page.wait_for_selector("#editor .cm-content")
    page.fill("#q", "SELECT 42 AS answer")
    page.fill("#save-form input[name=name]", "answer")
    page.click("#save-form button")
    page.click("#saved a >> text=answer")
    page.wait_for_url("**/sql?saved=answer**")
    page.wait_for_selector("#result td >> text=42")


@pytest.fixture
def elsewhere():
    """Another site: a page with whatever link or form it was given."""
    content: dict[str, str] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.get(self.path, "").encode())

        def log_message(self, *_arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield content, f"http://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_link_with_a_token_works_from_another_site_and_a_form_does_not(browser, tmp_path, elsewhere):
    content, other = elsewhere
    store = create_empty_store(tmp_path / "t.duckdb")
    one = call(tool="fetch")
    write(store, one)
    context = browser.new_context()
    page = context.new_page()
    with running(Site.of(store, host="127.0.0.1", token="mine")) as address:
        content["/link"] = f'<a href="{address}/calls?tool=fetch&token=mine">open</a>'
        content["/plain"] = f'<a href="{address}/call?id={one.span_id}">open</a>'
        content["/form"] = (
            f'<form method="post" action="{address}/label"><input name="span_id" value="{one.span_id}">'
            '<input name="verdict" value="wrong"><button>send</button></form>'
        )
        page.goto(f"{other}/link")
        page.click("a")
        page.wait_for_url(f"{address}/calls?tool=fetch")
        rows(page, 1)
        page.goto(f"{other}/plain")
        page.click("a")
        page.wait_for_selector("form.label-form, .label-bar")
        page.goto(f"{other}/form")
        with page.expect_response("**/label") as answer:
            page.click("button")
        assert answer.value.status == 403
        assert "mine" not in page.evaluate("document.cookie")
    context.close()
