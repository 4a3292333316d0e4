"""The pages of traces and calls in a browser: the keys of the tree and of the label bar, and a trace of 1,000 steps.

The trace of 100 steps has lines of the same kinds, and more of them than a screen: axe takes ten times as long for 1,000.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import SCREEN
from tests.grids import covering
from tests.stores import create_empty_store
from tests.waiting import until_page as until
from tooltrace.core.records import Json, Outcome, Record, Span
from tooltrace.server.site import Site

from .conftest import UNSTARTED, call, running, write
from .test_browser import AXE, SERIOUS

pytestmark = pytest.mark.long

TRACE = "a" * 32
STEPS = 1_000
FEW_STEPS = 100
AGENT_STEPS = 9
FOCUS = "document.activeElement.dataset.span"


def agents(steps: int) -> Iterator[Record]:
    """A trace of that many steps: agents with model calls and tools, some of which are retried."""
    start = datetime.now(UTC) - timedelta(minutes=5)
    yield Span(
        name="workflow", span_id="f" * 16, trace_id=TRACE, started_at=start, duration_ms=300_000.0, scope="agents"
    )
    for number in range((steps - 1) // AGENT_STEPS):
        at = start + timedelta(seconds=2.5 * number)
        agent = f"{number:016x}".replace("0", "e", 1)
        given = {"trace_id": TRACE, "started_at": at}
        yield Span(
            name="invoke_agent clerk", span_id=agent, parent_span_id="f" * 16, duration_ms=2000.0,
            attributes=Json('{"gen_ai.operation.name": "invoke_agent"}'), **given,
        )  # fmt: skip
        for inner in range(8):
            given["started_at"] = at + timedelta(milliseconds=200 * inner + 1)
            if inner % 2:
                retried = inner > 4
                yield call(
                    tool="lookup", parent_span_id=agent, attempt=1 + (inner - 5) // 2 if retried else 1, duration_ms=90.0,
                    **given, **({"call_id": f"again_{number}"} if retried else {}), status="error" if inner == 5 else "success",
                    conversation_id="long", text=f"shelf {number}",
                )  # fmt: skip
            else:
                yield Span(
                    name="chat m", span_id=f"{number * 10 + inner:016x}".replace("0", "d", 1), parent_span_id=agent,
                    duration_ms=150.0, attributes=Json('{"gen_ai.operation.name": "chat"}'), **given,
                )  # fmt: skip


def short() -> Iterator[Record]:
    """A conversation to compare, with differences of each kind."""
    start = datetime.now(UTC) - timedelta(minutes=5)
    for number in range(4):
        yield call(
            tool="lookup" if number % 2 else "login", conversation_id="short", started_at=start + timedelta(seconds=number),
            duration_ms=5000.0, text="another shelf", status="error" if number == 3 else "success",
        )  # fmt: skip


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server over a store with a trace of 1,000 steps."""
    with serving(tmp_path_factory.mktemp("long"), STEPS) as address:
        yield address


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server over a store with a trace of 100 steps."""
    with serving(tmp_path_factory.mktemp("steps"), FEW_STEPS) as address:
        yield address


@contextmanager
def serving(folder: Path, steps: int) -> Iterator[str]:
    store = create_empty_store(folder / "long.duckdb")
    write(store, *agents(steps), *short())
    with running(Site.of(store, host="127.0.0.1")) as address:
        yield address


def test_a_trace_of_1000_steps_is_one_tree_and_the_browser_lays_out_what_is_in_view(page, long_trace):
    page.goto(f"{long_trace}/trace/{TRACE}")
    page.wait_for_selector("[role=treeitem][tabindex='0']")
    assert page.locator("[role=treeitem]").count() > STEPS - 10
    laid_out = page.evaluate(
        "[...document.querySelectorAll('.lines')].filter(one => one.checkVisibility({contentVisibilityAuto: true}) && "
        "one.querySelector('svg')?.checkVisibility({contentVisibilityAuto: true})).length"
    )
    assert laid_out < page.locator(".lines").count() / 2, "lines out of view are not laid out"


def test_the_keys_move_fold_and_open(page, trace):
    page.goto(f"{trace}/trace/{TRACE}?span={'f' * 16}")
    page.wait_for_selector("[role=treeitem].chosen[tabindex='0']")
    page.keyboard.press("j")
    agent = page.evaluate(FOCUS)
    until(page, f"document.querySelector('#detail [data-detail]')?.dataset.detail === '{agent}'")
    assert agent in page.url
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute(f"[data-span='{agent}']", "aria-expanded") == "false"
    page.keyboard.press("ArrowDown")
    second = page.evaluate(FOCUS)
    assert page.get_attribute(f"[data-span='{second}']", "aria-level") == "2", "the folded lines are skipped"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(f"[data-span='{agent}']", "aria-expanded") == "true"
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    group = page.locator(":focus")
    assert "group" in group.get_attribute("class")
    assert group.get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    attempt = page.evaluate(FOCUS)
    assert page.locator(":focus .status.error").count() == 1
    until(page, f"document.querySelector('#detail [data-detail]')?.dataset.detail === '{attempt}'")
    page.keyboard.press("Enter")
    page.wait_for_url("**/call?id=**")
    assert page.inner_text("h1").startswith("Call lookup")


def test_the_arrows_follow_the_pattern_of_a_tree(page, trace):
    """WAI-ARIA's pattern: right opens, then goes to the first child; left closes, then goes to the parent."""
    page.goto(f"{trace}/trace/{TRACE}")
    page.wait_for_selector("[role=treeitem][tabindex='0']")
    page.keyboard.press("j")
    page.keyboard.press("Home")
    assert page.evaluate(FOCUS) == "f" * 16, "the first line"
    page.keyboard.press("ArrowRight")
    agent = page.evaluate(FOCUS)
    assert page.get_attribute(":focus", "aria-level") == "2", "an open node: its first child"
    page.keyboard.press("ArrowRight")
    leaf = page.evaluate(FOCUS)
    assert (page.get_attribute(":focus", "aria-level"), page.get_attribute(":focus", "aria-expanded")) == ("3", None)
    page.keyboard.press("ArrowRight")
    assert page.evaluate(FOCUS) == leaf, "a leaf has nothing to open"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(FOCUS) == agent, "a leaf: its parent"
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute(":focus", "aria-expanded") == "false"
    assert page.evaluate(FOCUS) == agent, "an open node closes first"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(FOCUS) == "f" * 16, "a closed node: its parent"
    page.keyboard.press("End")
    last = page.evaluate(FOCUS)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUS) == last, "the last line stays"
    assert page.locator("[role=treeitem][tabindex='0']").count() == 1, "one line is in the order of Tab"
    assert page.locator("[role=treeitem][aria-selected='true']").count() == 1


def test_a_click_shows_a_step_and_the_address_keeps_it(page, trace):
    page.goto(f"{trace}/trace/{TRACE}")
    page.wait_for_selector("[role=treeitem][tabindex='0']")
    model = page.locator(".step.k-model").first
    model.click()
    span = model.get_attribute("data-span")
    until(page, f"document.querySelector('#detail [data-detail]')?.dataset.detail === '{span}'")
    page.reload()
    page.wait_for_selector(f".step.chosen[data-span='{span}']")


@pytest.mark.parametrize(
    ("path", "theme", "width"),
    covering(
        [f"/trace/{TRACE}", "/conversation/long", "/diff", "/diff?a=long&b=short", "/label", "/call?id=again_3"],
        [("light", 390), ("dark", 1440)],
    ),
)
def test_the_pages_fit_the_screen_and_nothing_is_serious_for_axe(page, trace, path, theme, width):
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(trace + path)
    until(page, "!document.querySelector('.wait:not(.folding)')")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size(SCREEN)
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []


def test_a_whole_value_is_copied_and_viewed_as_json(browser, shown):
    one = call(arguments=Json('{"shelf": 12}'))
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{shown(one).base_url}/call?id={one.span_id}")
    page.click(".values [data-copy-from]")
    until(page, "document.querySelector('.values [data-copy-from]').textContent === 'Copied'")
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == {"shelf": 12}
    page.locator(".values .views a", has_text="JSON").first.click()
    page.wait_for_selector(".values pre.text")
    assert '"shelf": 12' in page.inner_text(".values pre.text")
    context.close()


def press(page, key: str, *, shows: str) -> None:
    """Press a key once the page listens to keys, and wait for what it shows."""
    page.wait_for_load_state()
    page.wait_for_selector(UNSTARTED, state="detached")
    page.keyboard.press(key)
    page.wait_for_selector(shows)


def test_the_keys_of_the_label_bar_label_and_take_back(shown, page):
    one = call(confidence=0.9)
    page.goto(f"{shown(one, call(confidence=0.8)).base_url}/call?id={one.span_id}")
    page.wait_for_selector(".calibration table, .calibration .empty")
    for key, mark in (("1", "yes"), ("2", "no"), ("u", "yes")):
        press(page, key, shows=f"#label-bar .mark.{mark}")
    page.focus("#label-bar [name=labeler]")
    page.keyboard.press("2")
    assert page.locator("#label-bar .mark.yes").count() == 1, "a key in a field is text"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("n")
    page.wait_for_url(lambda url: one.span_id not in url)


def test_an_undo_of_somebody_elses_label_says_why_not(shown, page, faults):
    one = call()
    other = Outcome(span_id=one.span_id, correct=True, labeler="bob", labeled_at=one.started_at)
    page.goto(f"{shown(one, other).base_url}/call?id={one.span_id}")
    press(page, "u", shows="#label-bar .form-error .error-box")
    assert "no label by 'human' to take back" in page.inner_text("#label-bar .form-error")
    assert "400" in faults.pop()


def test_a_queue_is_labelled_with_the_keyboard(shown, page):
    client = shown(*(call(confidence=0.2 * n) for n in range(1, 5)))
    page.goto(f"{client.base_url}/label?n=3&seed=1")
    page.wait_for_selector("table.queue")
    for key, done in (("n", 0), ("1", 1), ("2", 2), ("u", 1), ("1", 2)):
        press(page, key, shows=f"#label-bar progress[value='{done}']")
    press(page, "1", shows="progress[value='3']")
    assert "All calls of this queue are labelled." in page.inner_text("main")
    assert page.locator("table.queue .mark.yes").count() == 3


def test_labelling_ends_when_every_call_has_a_label(shown, page):
    """By keys alone: the number left falls with each label, and after the last queue nothing is proposed."""
    client = shown(*(call(confidence=0.2 * n) for n in range(1, 5)))
    page.goto(f"{client.base_url}/label?n=3&seed=1")
    page.wait_for_selector("table.queue")
    for key, done in (("n", 0), ("1", 1), ("2", 2)):
        press(page, key, shows=f"#label-bar progress[value='{done}']")
        assert f"{done} of 3" in page.inner_text("#label-bar .progress")
    press(page, "1", shows="main p.progress progress[value='3']")
    assert "3 of 3" in page.inner_text("main p.progress")
    press(page, "n", shows="table.queue tbody tr:only-child")
    press(page, "n", shows="#label-bar progress[max='1'][value='0']")
    press(page, "1", shows="main p.progress progress[value='1']")
    assert "All calls of this queue are labelled." in page.inner_text("main")
    press(page, "n", shows="main .empty")
    assert page.locator("table.queue, [data-key='n']").count() == 0
    assert page.inner_text("main .empty") == "No unlabelled call in this time range."


def test_the_name_of_the_labeler_is_kept_for_the_next_call(shown, page):
    first, second = call(), call()
    client = shown(first, second)
    page.goto(f"{client.base_url}/call?id={first.span_id}")
    page.fill("#label-bar [name=labeler]", "ann")
    page.click("#label-bar [data-key='1']")
    page.wait_for_selector("#label-bar .mark.yes")
    assert page.input_value("#label-bar [name=labeler]") == "ann"
    page.goto(f"{client.base_url}/call?id={second.span_id}")
    until(page, "document.querySelector('#label-bar [name=labeler]').value === 'ann'")


def test_the_filter_narrows_the_steps_and_stays_in_the_address(page, trace):
    page.goto(f"{trace}/conversation/long")
    page.wait_for_selector("[role=treeitem][tabindex='0']")
    press(page, "/", shows="[data-filter-steps]:focus")
    page.keyboard.type("clerk")
    until(
        page,
        "document.querySelectorAll('.step:not(.out)').length === document.querySelectorAll('.k-agent, .k-span').length",
    )
    assert page.inner_text("[data-filtered]").startswith(f"{(FEW_STEPS - 1) // AGENT_STEPS} of ")
    page.keyboard.press("Enter")
    assert "k-" in page.locator(":focus").get_attribute("class"), "Enter moves into the tree"
    page.reload()
    page.wait_for_selector(".filtered .step.out", state="attached")
    assert page.input_value("[data-filter-steps]") == "clerk"
    page.focus("[data-filter-steps]")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.step.out')")
    assert "filter=" not in page.url


def test_a_filter_that_matches_an_attempt_unfolds_its_call(page, trace):
    page.goto(f"{trace}/conversation/long?filter=error")
    page.wait_for_selector(".filtered .step.out", state="attached")
    failed = page.locator(".step:not(.group):not(.out) .status.error")
    assert failed.count() == (FEW_STEPS - 1) // AGENT_STEPS
    assert failed.first.is_visible()


def test_a_click_into_the_strip_jumps_to_a_step(page, long_trace):
    page.goto(f"{long_trace}/trace/{TRACE}")
    page.wait_for_selector("[role=treeitem][tabindex='0']")
    box = page.locator("[data-minimap]").bounding_box()
    page.locator("[data-minimap]").click(position={"x": box["width"] - 2, "y": 5})
    until(page, "[...document.querySelectorAll('.step:not([hidden])')].slice(-5).includes(document.activeElement)")
    span = page.evaluate(FOCUS)
    until(page, f"document.querySelector('#detail [data-detail]')?.dataset.detail === '{span}'")
    assert span in page.url
    marks = int(page.get_attribute("[data-minimap]", "viewBox").split()[2])
    assert float(page.get_attribute("[data-minimap] .here", "x")) >= marks - 5


def test_the_step_of_a_running_loop_has_a_mark(shown, page):
    start = datetime.now(UTC) - timedelta(seconds=20)
    client = shown(
        *(
            call(tool="search", arguments=Json('{"q": "same"}'), result=Json('"nothing"'), conversation_id="stuck",
                 started_at=start + timedelta(seconds=number))
            for number in range(5)
        )
    )  # fmt: skip
    page.goto(f"{client.base_url}/conversation/stuck")
    page.wait_for_selector(".step .looping.running")
    assert page.inner_text(".step .looping") == "running loop"


def test_two_conversations_stand_side_by_side_and_below_each_other_on_a_narrow_screen(page, trace):
    page.goto(f"{trace}/conversation/long")
    page.fill(".compare-with [name=b]", "short")
    page.click(".compare-with button")
    page.wait_for_url("**/diff?a=long&b=short")
    sides = "[...document.querySelector('.pair-row').querySelectorAll('.side')].map(one => one.getBoundingClientRect())"
    assert page.evaluate(f"(([a, b]) => a.right <= b.left)({sides})")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(f"(([a, b]) => a.bottom <= b.top)({sides})")
    page.set_viewport_size(SCREEN)
