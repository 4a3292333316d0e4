"""The SQL page in a browser: accepted and rejected statements, keyboard and downloads."""

from __future__ import annotations

import html
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import httpx
import pytest

from tests.store.sandbox_program import answers_of_one_process
from tests.waiting import until_page as until
from tooltrace.analysis import catalogue, find, query_store
from tooltrace.server.site import Site
from tooltrace.store.sandbox import SandboxLimits

from .conftest import call, running, write
from .test_browser import AXE, SERIOUS
from .test_hostile import BREAKS_OUT, NASTY

pytestmark = pytest.mark.long

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
TOOLS = "SELECT tool, count(*) AS n, max(started_at) AS newest FROM tool_calls GROUP BY tool ORDER BY tool"
SHOWN = "!document.getElementById('result').hidden"
TOLD = "!document.getElementById('error').hidden"
WAITING = "!document.getElementById('stop').hidden"


@pytest.fixture
def opened(shown, page):
    """The page over three calls of two tools, with these limits."""

    def opened(*records, path="/sql", limits=None):
        records = records or (call(tool="fetch"), call(tool="fetch"), call(tool="search"))
        client = shown(*records, limits=limits or SandboxLimits(seconds=120))
        page.goto(f"{client.base_url}{path}")
        page.wait_for_selector("#q")
        return client

    return opened


def run(page, sql: str) -> None:
    """Type it, and run it; wait for what comes of it."""
    page.fill("#q", sql)
    page.click("#run")
    until(page, "document.getElementById('stop').hidden")


def rows(page) -> list[list[str]]:
    return page.eval_on_selector_all(
        "#result tbody tr", "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )


def refused(page, faults, sql: str) -> str:
    """Messages to the page; the browser's console has the refusal too."""
    run(page, sql)
    until(page, TOLD)
    assert not page.is_visible("#result")
    assert "422" in faults.pop()
    return page.inner_text("#error")


@pytest.mark.processes
def test_it_runs_with_the_button_and_with_the_keyboard(new_processes, opened, page):
    opened()
    run(page, TOOLS)
    assert [row[:2] for row in rows(page)] == [["fetch", "2"], ["search", "1"]]
    assert "rows: 2" in page.inner_text("#status")
    page.fill("#q", "SELECT 42 AS answer")
    page.press("#q", "Control+Enter")
    until(page, "document.querySelector('#result th')?.textContent === 'answer'")
    assert rows(page) == [["42"]]


def test_it_is_used_with_the_keyboard_alone(opened, page):
    opened()
    page.fill("#q", TOOLS)
    page.focus("#q")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "run"
    page.keyboard.press("Enter")
    until(page, SHOWN)
    page.focus(".catalogue button[data-text]")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.matches('#q, #editor .cm-content')")
    assert page.input_value("#q").startswith("-- ")


def test_a_query_of_the_catalogue_is_inserted_and_run(opened, page, tmp_path):
    opened()
    page.click(".catalogue button[data-text*='/failure_rate']")
    until(page, SHOWN)
    assert page.input_value("#q").startswith("-- Which tools fail")
    expected = query_store(tmp_path / "shown.duckdb", "failure_rate").select("tool", "attempts", "failures").rows
    assert [row[:3] for row in rows(page)] == [[tool, str(n), str(bad)] for tool, n, bad in expected]


def test_a_query_of_the_catalogue_without_a_required_parameter_is_refused(opened, page, faults):
    opened()
    page.click(".catalogue button[data-text*='/call?'], .catalogue button[data-text$='/call']")
    until(page, TOLD)
    assert "parameters without a value" in page.inner_text("#error")
    assert "422" in faults.pop()


@pytest.mark.processes
def test_each_query_of_the_catalogue_runs_or_names_missing_parameters(shown, tmp_path):
    client = shown(call(tool="fetch"), call(tool="fetch"), call(tool="search"))
    buttons = re.findall('<button [^>]*data-text="([^"]+)"', client.get("/sql").text)
    names = [button.partition("/text/")[2].partition("?")[0] for button in buttons]
    assert names == list(catalogue())
    texts = [client.get(html.unescape(button)).text for button in buttons]
    answers = answers_of_one_process(tmp_path / "shown.duckdb", texts, SandboxLimits(seconds=120))
    for name, found in zip(names, answers, strict=True):
        if any(parameter.required for parameter in find(name).header.parameters):
            assert "parameters without a value" in found, name
        else:
            columns = [column["name"] for column in found["columns"]]
            # Python makes the further columns of what SQL gathers
            expected = find(name).groups() if find(name).gathers else find(name).columns()
            assert set(expected) <= set(columns) if find(name).gathers else columns == list(expected), name


REFUSED = {
    "COPY tool_calls TO '{file}'": "COPY is not allowed",
    "SELECT $tool": "without a value ($tool)",
    "SELEC 1": "syntax error",
}
REFUSED_TOO = {
    "SELECT * FROM read_csv('/etc/passwd')": "only the store can be read here",
    "FROM '/etc/passwd'": "does not exist",
    "ATTACH '{file}' AS other": "ATTACH is not allowed",
    "SELECT 1; SELECT 2": "pass exactly one statement",
    "SELECT nothing FROM tool_calls": "nothing",
}
"""Refusals of the same kinds; tests/store/test_sandbox.py has all of them."""


@pytest.mark.parametrize("statements", [REFUSED, pytest.param(REFUSED_TOO, marks=pytest.mark.simulations)])
def test_statements_that_do_not_read_the_store_are_rejected(opened, page, faults, tmp_path, statements):
    opened()
    file = tmp_path / "elsewhere"
    for sql, words in statements.items():
        assert words in refused(page, faults, sql.replace("{file}", str(file))), sql
    assert not file.exists()
    run(page, "SELECT 1 AS one")
    assert rows(page) == [["1"]], "and then it goes on"
    assert not page.is_visible("#error")


def test_an_endless_statement_stops_at_its_limit(opened, page, faults):
    opened(limits=SandboxLimits(seconds=1))
    assert "Limits: 1 s" in page.inner_text("#q-help")
    assert "took longer than 1 s and was stopped" in refused(page, faults, ENDLESS)
    run(page, TOOLS)
    while not page.is_visible("#result"):  # a busy machine takes longer than 1 s for this one too
        run(page, TOOLS)
    faults.clear()
    assert len(rows(page)) == 2


def test_stop_ends_the_statement_and_the_next_one_runs(opened, page):
    opened(limits=SandboxLimits(seconds=120))
    for _ in range(3):  # one more than are asked at the same time
        page.fill("#q", ENDLESS)
        page.click("#run")
        until(page, WAITING)
        page.wait_for_timeout(200)
        page.click("#stop")
        until(page, "document.getElementById('status').textContent === 'Stopped.'")
    run(page, "SELECT 7 AS seven")
    assert rows(page) == [["7"]]


def test_a_truncated_result_is_reported(opened, page):
    opened(limits=SandboxLimits(seconds=120, rows=5))
    run(page, "SELECT * FROM range(9)")
    assert len(rows(page)) == 5
    assert "Cut off at the maximum number of rows" in page.inner_text("#status")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_answer_as_a_file(opened, page, tmp_path, kind):
    opened()
    page.fill("#q", "SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool ORDER BY tool")
    with page.expect_download() as coming:
        page.click(f"button[value={kind}]")
    assert coming.value.suggested_filename == f"answer.{kind}"
    file = tmp_path / f"kept.{kind}"
    coming.value.save_as(file)
    read = {"csv": "read_csv", "parquet": "read_parquet"}[kind]
    assert duckdb.sql(f"SELECT * FROM {read}('{file}')").fetchall() == [("fetch", 2), ("search", 1)]
    assert "Saved as answer" in page.inner_text("#status")
    assert page.input_value("#q").startswith("SELECT tool")


def test_an_error_of_a_download_is_shown_on_the_page(opened, page, faults):
    opened()
    page.fill("#q", "COPY tool_calls TO 'x'")
    page.click("button[value=csv]")
    until(page, TOLD)
    assert "COPY is not allowed" in page.inner_text("#error")
    assert "422" in faults.pop()
    assert page.input_value("#q") == "COPY tool_calls TO 'x'"


@pytest.mark.parametrize(
    "text", [BREAKS_OUT, *(pytest.param(text, marks=pytest.mark.simulations) for text in NASTY[:2])]
)
def test_hostile_values_and_names_stay_text(opened, page, text):
    page.add_init_script("window.boom = () => { window.ran = true; }")
    opened(call(tool=text), call(tool=text))
    name = text.replace('"', "'")
    run(page, f'SELECT tool AS "{name}", count(*) AS n FROM tool_calls GROUP BY tool')
    assert rows(page) == [[text, "2"]]
    assert page.text_content("#result th") == name
    page.select_option("#chart", "bar")
    page.wait_for_selector("#figure canvas")
    page.hover("#figure canvas")
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None


def test_hostile_sql_in_a_link_and_in_a_complaint_stays_text(opened, page, faults):
    page.add_init_script("window.boom = () => { window.ran = true; }")
    opened(path="/sql?q=%3C/textarea%3E%3Cscript%3Eboom()%3C/script%3E")
    until(page, TOLD)
    assert "422" in faults.pop()
    assert "<script>boom()</script>" in page.inner_text("#error")
    assert page.input_value("#q") == "</textarea><script>boom()</script>"
    assert page.evaluate("window.ran") is None


def test_numbers_become_a_chart_and_go_again(opened, page):
    opened()
    run(page, TOOLS)
    assert page.locator("#figure canvas").count() == 0
    for kind in ("bar", "line"):
        page.select_option("#chart", kind)
        page.wait_for_selector("#figure canvas")
        painted = page.evaluate("""() => { const c = document.querySelector('#figure canvas');
            return new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size; }""")
        assert painted > 4, kind
    page.select_option("#chart", "")
    assert not page.is_visible("#figure")


def test_a_chart_that_is_chosen_before_its_library_has_loaded_is_drawn_later(shown, page):
    held = []
    page.route("**/echarts*", lambda route: held.append(route))
    page.goto(f"{shown(call(), call()).base_url}/sql", wait_until="commit")
    page.wait_for_selector("#editor .cm-content")  # the page's script has run
    run(page, TOOLS)
    page.select_option("#chart", "bar")
    assert not page.is_visible("#figure")
    while not held:
        page.wait_for_timeout(50)
    held[0].continue_()
    page.wait_for_selector("#figure canvas")


def test_a_panel_links_to_the_editor_with_its_parameters(opened, page):
    client = opened()
    page.goto(f"{client.base_url}/tool?name=fetch&since=24h")
    page.locator(".sql[href*='/errors']").click()
    page.wait_for_selector("dialog[open] pre")
    page.click("dialog .run")
    page.wait_for_url("**/sql?*")
    until(page, SHOWN)
    assert "tool = 'fetch'" in page.input_value("#q")


def test_the_typed_sql_survives_a_change_of_the_time_range(opened, page):
    opened()
    page.fill("#q", "SELECT 'mine'")
    page.click(".windows a >> nth=0")
    page.wait_for_url("**since=**")
    until(page, "document.getElementById('q').value === \"SELECT 'mine'\"")


@pytest.mark.parametrize("theme", ["dark", pytest.param("light", marks=pytest.mark.simulations)])
def test_nothing_serious_for_axe(opened, page, faults, theme):
    page.emulate_media(color_scheme=theme)
    opened()
    run(page, TOOLS)
    page.select_option("#chart", "bar")
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []
    refused(page, faults, "PRAGMA database_list")
    assert page.evaluate(SERIOUS) == []


@pytest.mark.parametrize("width", [360, pytest.param(768, marks=pytest.mark.simulations)])
def test_the_page_fits_the_screen(opened, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    opened(call(tool="a_very_long_name_of_a_tool_" * 6))
    run(page, "SELECT * FROM tool_calls")
    page.select_option("#chart", "line")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_is_in_chinese_too(opened, page, faults):
    opened(path="/sql?lang=zh")
    assert page.inner_text("label[for=q]") == "SQL（只读）"
    run(page, TOOLS)
    assert page.inner_text("#status").startswith("2 行")
    assert page.text_content("#chart option[value=line]") == "折线"
    assert page.inner_text("#run") == "运行"
    assert "PRAGMA" in refused(page, faults, "PRAGMA database_list")


def test_without_a_script_the_files_can_be_had(shown, browser):
    client = shown(call())
    context = browser.new_context(java_script_enabled=False, accept_downloads=True)
    page = context.new_page()
    page.goto(f"{client.base_url}/sql")
    page.fill("#q", "SELECT 1 AS one")
    with page.expect_download() as coming:
        page.click("button[value=csv]")
    assert coming.value.suggested_filename == "answer.csv"
    context.close()


def children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread ended after it was listed
            found.update((task / "children").read_text().split())
    return found


@pytest.mark.processes
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for the processes that were started")
def test_a_running_statement_gets_503_at_shutdown(new_processes, tmp_path):
    write(tmp_path / "asked.duckdb", call())
    with ThreadPoolExecutor(1) as pool:
        with running(Site.of(tmp_path / "asked.duckdb", host="127.0.0.1")) as address:
            before = children()
            asked = pool.submit(httpx.post, f"{address}/sql/ask", data={"q": ENDLESS}, timeout=None)
            while children() <= before and not asked.done():
                time.sleep(0.01)
        assert asked.result().status_code == 503


@pytest.mark.processes
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for the processes that were started")
def test_queued_statements_get_503_at_shutdown(new_processes, tmp_path, caplog):
    write(tmp_path / "asked.duckdb", call())
    body = urlencode({"q": ENDLESS})
    with ExitStack() as open_until:
        with running(Site.of(tmp_path / "asked.duckdb", host="127.0.0.1")) as address:
            before, host = len(children()), address.removeprefix("http://")
            asked = [open_until.enter_context(closing(HTTPConnection(host))) for _ in range(5)]
            for one in asked:
                one.request("POST", "/sql/ask", body, {"Content-Type": "application/x-www-form-urlencoded"})
            while len(children()) < before + 2:
                httpx.get(f"{address}/calls/newest", timeout=None)  # and all that came before it was read
        assert [one.getresponse().status for one in asked] == [503] * 5
    assert [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_large_numbers_keep_their_digits(opened, page):
    opened()
    run(page, "SELECT 1234567.25::DOUBLE AS large, 0.123456789::DOUBLE AS small")
    until(page, SHOWN)
    assert rows(page) == [["1234567.25", "0.123457"]]


def test_a_chart_follows_the_theme(opened, page):
    opened()
    run(page, "SELECT tool, count(*) AS n FROM tool_calls GROUP BY tool")
    page.select_option("#chart", "bar")
    until(page, "document.querySelector('#figure canvas')")
    page.evaluate("window.old = document.querySelector('#figure canvas')")
    page.click("#theme")
    until(page, "document.querySelector('#figure canvas') && document.querySelector('#figure canvas') !== window.old")
