"""Assertions about the calls of a test: each holds and fails where it should, and prints the calls when it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tooltrace as tt
from tooltrace.pytest_plugin.trajectory import TEST, ToolCalls, recorded
from tooltrace.recording import config


@tt.trace_tool
def find_order(order_id: str, note: object = None) -> dict[str, str]:
    if order_id == "missing":
        raise KeyError(order_id)
    return {"order": order_id, "state": "paid"}


@tt.trace_tool
def pay(order_id: str, amount: float) -> str:
    return f"{amount} paid"


@tt.trace_tool
def cheerful() -> tt.ToolResponse:
    return tt.ToolResponse.error("NETWORK", "connection reset", text="All done, saved.")


@tt.trace_tool
def nested() -> str:
    return pay("A-17", 1.0)


def refund() -> None:
    find_order("A-17", note={"urgent": True})
    find_order("A-18")
    pay("A-17", amount=12.5)


def missing_then_found() -> None:
    with pytest.raises(KeyError):
        find_order("missing")
    find_order("A-17")


def found_then_missing() -> None:
    find_order("A-17")
    with pytest.raises(KeyError):
        find_order("missing")
    pay("A-17", amount=1.0)


def stuck() -> None:
    for _ in range(3):
        find_order("A-17")


def nothing() -> None:
    pass


@pytest.fixture
def trajectory(tmp_path: Path) -> Iterator[ToolCalls]:
    with recorded(tmp_path, "test_x") as calls:
        yield calls


Check = Callable[[ToolCalls], object]


@pytest.mark.parametrize(
    ("agent", "check"),
    [
        (refund, lambda calls: calls.called("find_order").before("pay").at_most(2).with_args(order_id="A-17")),
        (refund, lambda calls: calls.called("find_order").with_args(order_id="A-18").at_most(1)),
        (refund, lambda calls: calls.called("find_order").with_args(note={"urgent": True})),
        (refund, lambda calls: calls.called("pay").with_args(amount=pytest.approx(12.4999999))),
        (refund, lambda calls: calls.never("delete").no_loops().no_hidden_errors().recovered_from_errors()),
        (refund, lambda calls: calls.tokens(under=100).duration(under="1h").duration(under=3600)),
        (missing_then_found, lambda calls: calls.recovered_from_errors()),
        (found_then_missing, lambda calls: calls.recovered_from_errors(find_order="pay")),
        (nothing, lambda calls: calls.never()),
    ],
)
def test_an_assertion_holds(trajectory: ToolCalls, agent: Callable[[], None], check: Check) -> None:
    agent()
    check(trajectory)


@pytest.mark.parametrize(
    ("agent", "check", "message"),
    [
        (refund, lambda calls: calls.called("delete"), "expected that delete was called, found no such call"),
        (refund, lambda calls: calls.never("pay"), "expected no call of pay, found 1"),
        (refund, lambda calls: calls.never(), "expected no call of any tool, found 3"),
        (
            refund,
            lambda calls: calls.called("pay").before("find_order"),
            "pay was called before find_order, found it after",
        ),
        (refund, lambda calls: calls.called("pay").before("delete"), "delete was not called"),
        (nested, lambda calls: calls.called("pay").before("nested"), "found it after"),
        (
            refund,
            lambda calls: calls.called("find_order").at_most(1),
            "find_order was called 2 times, expected at most 1",
        ),
        (
            refund,
            lambda calls: calls.called("find_order").with_args(order_id="B"),
            "find_order was called with order_id='B', found no such call",
        ),
        (refund, lambda calls: calls.called("find_order").with_args(id=1), "found no such call"),
        (stuck, lambda calls: calls.no_loops(), r"expected no loop, found find_order \(repeat, 3 rounds\)"),
        (
            cheerful,
            lambda calls: calls.no_hidden_errors(),
            r"cheerful \(NETWORK: connection reset\) as 'All done, saved.'",
        ),
        (found_then_missing, lambda calls: calls.recovered_from_errors(), "expected a later success of find_order"),
        (
            found_then_missing,
            lambda calls: calls.recovered_from_errors(find_order="pay").never("pay"),
            "expected no call of pay, found 1",
        ),
        (refund, lambda calls: calls.tokens(under=1), r"fewer than 1 tokens of results, found \d+ \(by estimate\)"),
        (refund, lambda calls: calls.duration(under=0), "expected less than 0 s"),
        (nothing, lambda calls: calls.never("pay"), "no call was recorded: trace the tools"),
        (nothing, lambda calls: calls.no_loops(), "expected a recorded call"),
    ],
)
def test_an_assertion_fails(trajectory: ToolCalls, agent: Callable[[], None], check: Check, message: str) -> None:
    agent()
    with pytest.raises(AssertionError, match=message):
        check(trajectory)


def test_a_failure_prints_the_calls_and_the_store(trajectory: ToolCalls) -> None:
    found_then_missing()
    with pytest.raises(AssertionError) as failed:
        trajectory.never("pay")
    assert re.sub(r"[\d.e-]+ ms", "… ms", str(failed.value)).splitlines() == [
        "expected no call of pay, found 1",
        "  1  find_order(order_id='A-17'): success, … ms",
        "  2  find_order(order_id='missing'): error NOT_FOUND 'missing', … ms",
        "  3  pay(order_id='A-17', amount=1.0): success, … ms",
        f"tooltrace --store {trajectory.store}",
    ]


def test_a_redacted_argument_equals_nothing_and_the_failure_says_so(trajectory: ToolCalls) -> None:
    @tt.trace_tool
    def log_in(password: str) -> str:
        return "welcome"

    log_in("hunter2-hunter2")
    with pytest.raises(AssertionError, match="1 of its calls have redacted or truncated fields"):
        trajectory.called("log_in").with_args(password="hunter2-hunter2")


def test_unknown_tokens_are_an_error_and_not_zero(trajectory: ToolCalls) -> None:
    tt.configure(capture="metadata")
    refund()
    with pytest.raises(AssertionError, match="tokens are unknown.*capture='metadata'"):
        trajectory.tokens(under=10)


def test_calls_that_go_to_another_store_are_no_empty_trajectory(trajectory: ToolCalls, tmp_path: Path) -> None:
    tt.configure(store=tmp_path / "other.duckdb")
    refund()
    with pytest.raises(AssertionError, match=r"other\.duckdb.*leave store= out"):
        trajectory.never("pay")


def test_a_query_of_the_test_itself_changes_nothing(trajectory: ToolCalls) -> None:
    refund()
    assert tt.query("failure_rate").values("attempts") == [2, 1]
    pay("A-18", amount=2.0)
    assert [call["tool"] for call in trajectory] == ["find_order", "find_order", "pay", "pay"]
    assert [call["result"] for call in trajectory.called("pay").calls] == ["12.5 paid", "2.0 paid"]


def test_every_call_has_the_id_of_the_test(trajectory: ToolCalls) -> None:
    refund()
    assert tt.query("failure_rate", by=[tt.attribute(TEST)]).values(f"attributes.{TEST}") == ["test_x"]


def test_the_former_configuration_is_restored(tmp_path: Path, store: Path) -> None:
    tt.configure(attributes={"team": "search"}, field_limit=100)
    with recorded(tmp_path / "inner", "test_x") as calls:
        assert config.get_recorder().settings.attributes == {"team": "search", TEST: "test_x"}
        tt.configure(field_limit=200)
        refund()
        assert len(calls) == 3
    settings = config.get_recorder().settings
    assert (settings.store, settings.attributes, settings.field_limit) == (store, {"team": "search"}, 100)
    pay("A-17", amount=1.0)
    assert tt.query("failure_rate").values("tool") == ["pay"]


def test_where_nothing_was_configured_nothing_is(tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tt.shutdown()
    monkeypatch.setattr(config, "active_recorder", None)
    monkeypatch.setattr(config, "_given", {})
    with recorded(tmp_path / "inner", "test_x"):
        refund()
    assert config.configured_store() is None
    assert config._given == {}
