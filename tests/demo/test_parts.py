"""The demo's parts: arithmetic with one known fault, a search that is too sure of itself, a plan that its seed
decides, retries that end, and a server that is unwell on purpose."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.demo.agent import retry, retry_async
from tooltrace.demo.calculator import value_of
from tooltrace.demo.docs import DocIndex, Entry
from tooltrace.demo.plan import CASES, PlannedCall, plan
from tooltrace.demo.server import TIMEOUT_HEADER, serving
from tooltrace.demo.workspace import LOCKED_FILE, Library, OutsideWorkspace

numbers = st.integers(0, 50).map(str)
expressions = st.recursive(
    numbers,
    lambda part: st.tuples(part, st.sampled_from(["+", "-", "*", "/", "//", "%"]), part).map(
        "({0[0]} {0[1]} {0[2]})".format
    ),
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("workspace"))


def wishes(library: Library, calls: int, seed: int) -> list[tuple[str, object, str]]:
    return [(call.tool, call.scenario, call.variation) for call in planned_calls(library, calls, seed)]


def planned_calls(library: Library, calls: int, seed: int) -> list[PlannedCall]:
    return [call for task in plan(library, calls, seed) for call in task.calls]


@given(expressions)
def test_arithmetic_is_pythons(expression: str) -> None:
    try:
        truth = eval(expression)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            value_of(expression)
    else:
        assert value_of(expression) == truth


def test_arithmetic_is_right_except_for_the_known_bug() -> None:
    assert value_of("-3 ** 2") == 9
    assert value_of("-3 + 2 ** 3") == 5


@pytest.mark.parametrize("text", ["__import__('os')", "x + 1", "'a' * 3", "[1][0]", "True + 1j"])
def test_other_expressions_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="not an arithmetic expression"):
        value_of(text)


def test_an_expensive_power_is_refused() -> None:
    with pytest.raises(OverflowError):
        value_of("9 ** 9 ** 9")


def test_a_search_with_all_the_words_finds_their_docstring() -> None:
    index = DocIndex([Entry("a.f", "a", 1, "fold the journal"), Entry("a.g", "a", 9, "fold the paper twice")])
    hit = index.search("paper twice")
    assert hit is not None
    assert hit.entry.name == "a.g"
    assert (hit.coverage, hit.margin) == (1.0, 1.0)
    assert index.search("nothing known") is None


def test_search_is_often_right_and_too_sure(library: Library) -> None:
    stated, right = [], []
    for call in planned_calls(library, 2000, 11):
        hit = library.docs.search(call.scenario.arguments["question"]) if call.tool == "search_docs" else None
        if hit and call.scenario.expected:
            stated.append(hit.confidence)
            right.append(hit.entry.name == call.scenario.expected)
    assert len(right) > 300
    accuracy, mean = sum(right) / len(right), sum(stated) / len(stated)
    assert 0.4 < accuracy < 0.85
    assert 0.05 < mean - accuracy < 0.3


@pytest.mark.parametrize("seed", [0, 1, 2, 7])
def test_a_thousand_calls_have_enough_known_truths_of_each_tool_that_states_a_confidence(
    library: Library, seed: int
) -> None:
    known = Counter(call.tool for call in planned_calls(library, 1000, seed) if call.scenario.expected is not None)
    assert known.keys() == {"search_docs", "evaluate"}
    assert min(known.values()) >= 100


def test_a_seed_decides_the_plan(library: Library) -> None:
    assert wishes(library, 300, 1) == wishes(library, 300, 1)
    assert wishes(library, 300, 1) != wishes(library, 300, 2)


@pytest.mark.parametrize("calls", [1, 7, len(CASES), 500])
def test_a_plan_has_the_requested_number_of_calls_with_unique_ids(library: Library, calls: int) -> None:
    ids = Counter(call.call_id for call in planned_calls(library, calls, 0))
    assert len(ids) == calls
    assert set(ids.values()) == {1}


def test_a_second_run_uses_new_ids(library: Library) -> None:
    ids = [{call.call_id for call in planned_calls(library, 50, 0)} for _ in range(2)]
    assert not ids[0] & ids[1]


def test_paths_outside_the_workspace_are_rejected(library: Library) -> None:
    assert library.resolve("stdlib/os.py").is_file()
    for path in ("../x", "/etc/passwd", "stdlib/../../x"):
        with pytest.raises(OutsideWorkspace):
            library.resolve(path)
    assert (library.workspace / LOCKED_FILE).stat().st_mode & 0o777 == 0


def test_retries_end_with_the_last_response() -> None:
    made = []

    def busy() -> tt.ToolResponse:
        made.append(tt.ToolResponse.error("CONFLICT", "busy"))
        return made[-1]

    async def busy_async() -> tt.ToolResponse:
        return busy()

    assert retry(busy) is made[-1]
    assert asyncio.run(retry_async(busy_async)) is made[-1]
    assert len(made) == 6


def test_permanent_errors_are_not_retried() -> None:
    made = []

    def gone() -> tt.ToolResponse:
        made.append(tt.ToolResponse.error("NOT_FOUND", "gone"))
        return made[-1]

    assert retry(gone).code == "NOT_FOUND"
    assert len(made) == 1


def test_the_servers_paths_fail_as_named() -> None:
    with serving({"os": "About os."}) as site, httpx.Client(base_url=site, trust_env=False, timeout=None) as web:
        assert web.get("/doc/os~1").json() == {"module": "os", "doc": "About os."}
        limited = [web.get("/limited/2/os~2") for _ in range(3)]
        assert [answer.status_code for answer in limited] == [429, 429, 200]
        assert float(limited[0].headers["Retry-After"]) > 0
        assert [web.get("/down/1/os~3").status_code for _ in range(2)] == [503, 200]
        assert web.get("/what").status_code == web.get("/missing/os").status_code == 404
        assert web.get("/lines/3").text == "1 of 3\n2 of 3\n3 of 3\n"
        with pytest.raises(httpx.RemoteProtocolError):
            web.get("/cut/3")
        with pytest.raises(httpx.ReadTimeout):
            web.get("/slow/os", headers={TIMEOUT_HEADER: "0.1"}, timeout=httpx.Timeout(120, read=0.1))
        assert web.get("/slow/os").status_code == 200


def test_the_library_is_read_from_a_real_tree(library: Library) -> None:
    assert len(library.docs.entries) > 1000
    assert Path(library.source, "json", "__init__.py").is_file()
    assert "textwrap.TextWrapper.fill" in {entry.name for entry in library.docs.entries}
