"""The tools that measure costs, without a statement about time."""

from __future__ import annotations

import json
import re

import pytest

import tooltrace as tt
from benchmarks.__main__ import PAGES
from benchmarks.bare_span import in_bare_span, provider
from benchmarks.page import COSTS_PAGE, PERFORMANCE_PAGE, write_block
from benchmarks.payloads import SearchError, payloads
from benchmarks.rivals import tool_response
from benchmarks.rounds import burst, figure, geometric_mean

KINDS = list(payloads())
BLOCKS = [*PAGES.items(), ("instructions", COSTS_PAGE), ("peers", PERFORMANCE_PAGE)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_measured_tool_returns_or_raises_the_same_inside_a_span_and_traced(kind: str) -> None:
    payload = payloads(tool_response())[kind]
    tool = payload.tool()
    for function in (tool, in_bare_span(provider(), tool), tt.trace_tool(tool)):
        if isinstance(payload.result, Exception):
            with pytest.raises(SearchError, match=str(payload.result)):
                function(**payload.arguments)
        else:
            assert function(**payload.arguments) is payload.result
        payload.caller(function)()  # raises nothing


def test_the_kinds_of_the_mean_have_at_most_6_kb() -> None:
    for payload in payloads().values():
        if not isinstance(payload.result, Exception | str):
            size = len(json.dumps([payload.arguments, payload.result], default=str))
            assert not payload.in_mean or size <= 6_200, payload.kind


def test_a_burst_makes_the_calls_between_two_flushes() -> None:
    done: list[str] = []
    found = burst(lambda: done.append("call"), 3, lambda: done.append("flush"))
    assert done == ["flush", "call", "call", "call", "flush"]
    assert found.caller > 0


def test_a_figure_is_the_median_of_the_values_and_of_their_ratios() -> None:
    assert figure([(2, 1), (30, 10), (4, 1)]) == (4, 3)
    assert geometric_mean([1, 4]) == pytest.approx(2)


@pytest.mark.parametrize(("name", "page"), BLOCKS)
def test_every_measured_table_of_the_documentation_names_its_day_and_machine(name, page) -> None:
    block = re.search(f"<!-- {name} -->\n(.*?)<!-- /{name} -->", page.read_text("utf-8"), re.DOTALL)
    assert block is not None, f"{page.name} has no block {name}"
    assert re.match(r"\d{4}-\d\d-\d\d, \d+ cores, \w+ \w+, Python 3", block[1]), block[1][:80]
    assert "|---" in block[1].replace("| ---", "|---")


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_by_kind_states_the_size_of_its_payload(kind: str) -> None:
    row = f"| {kind} | {payloads(tool_response())[kind].sizes} |"
    assert row in PERFORMANCE_PAGE.read_text("utf-8"), "run: python -m benchmarks kinds --write"


def test_a_table_replaces_the_one_before_and_nothing_else(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- costs -->\nold\n<!-- /costs -->\nz\n")
    write_block(page, "costs", ["new", "\\1"])
    assert page.read_text() == "a\n<!-- costs -->\nnew\n\\1\n<!-- /costs -->\nz\n"
    with pytest.raises(ValueError, match="no block <!-- other -->"):
        write_block(page, "other", [])
