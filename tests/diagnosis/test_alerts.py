"""Which findings become messages: each once, when it opens, worsens and recovers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.diagnosis.alerts import Alert, AlertRules, Announced
from tooltrace.diagnosis.finding import Cost, Finding, Numbers
from tooltrace.diagnosis.wording import sentence

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
SINCE = datetime(2026, 11, 1, 8)  # noqa: DTZ001 - findings have naive UTC


def finding(kind: str = "broken", tool: str = "pay", value: float = 0.5, **more: Any) -> Finding:
    numbers = Numbers(value, value - 0.1, value + 0.1, 60)
    known: dict[str, Any] = {"numbers": numbers, "cost": Cost(30.0, 5.0), "since": SINCE}
    return Finding(kind=kind, tools=(tool,), said=sentence("never"), steps=(), query="query errors", **known | more)


def told(announced: Announced, findings: list[Finding], rules: AlertRules = AlertRules()) -> list[str]:  # noqa: B008 - frozen
    """Return the events that are sent, as ``event kind``."""
    alerts = announced.changes(findings, rules, None, NOW)
    for alert in alerts:
        announced.sent(alert)
    return [f"{alert.event} {alert.kind}" for alert in alerts]


def test_a_finding_is_announced_once_when_it_opens_worsens_and_recovers() -> None:
    announced = Announced()
    assert told(announced, [finding()]) == ["opened broken"]
    assert told(announced, [finding()]) == []
    assert told(announced, [finding(value=0.55)]) == [], "within what chance explains"
    assert told(announced, [finding(value=0.8)]) == ["worsened broken"]
    assert told(announced, [finding("regressed", value=0.7)]) == [], "the same tool still fails"
    assert told(announced, [finding("regressed", value=0.7, until=SINCE + timedelta(hours=4))]) == ["recovered broken"]
    assert told(announced, []) == []
    assert told(announced, [finding()]) == ["opened broken"]


def test_a_recovery_names_the_end_that_the_history_has() -> None:
    announced = Announced()
    told(announced, [finding()])
    [over] = announced.changes([finding(until=SINCE + timedelta(hours=4))], AlertRules(), None, NOW)
    assert over.sentence == "pay: broken since 2026-11-01T08:00:00+00:00, over at 2026-11-01T12:00:00+00:00."
    [gone] = announced.changes([], AlertRules(), None, NOW)
    assert gone.until == NOW.isoformat()


def test_a_message_that_was_not_sent_comes_again() -> None:
    announced = Announced()
    for _ in range(2):
        [alert] = announced.changes([finding()], AlertRules(), "http://127.0.0.1:8318/", NOW)
        assert (alert.link, alert.n, alert.query) == (
            "http://127.0.0.1:8318/tool?name=pay",
            60,
            "tooltrace query errors",
        )


@pytest.mark.parametrize(
    ("rules", "events"),
    [
        (AlertRules(), ["opened broken"]),
        (AlertRules(kinds=frozenset({"slow", "broken"})), ["opened broken", "opened slow"]),
        (AlertRules(tools=("sea*",)), []),
        (AlertRules(tools=("p*",)), ["opened broken"]),
        (AlertRules(calls=31), []),
    ],
)
def test_rules_choose_findings(rules: AlertRules, events: list[str]) -> None:
    assert told(Announced(), [finding(), finding("slow", "other"), finding("new", "fresh")], rules) == events


@pytest.mark.parametrize(("now", "quiet"), [(time(23), True), (time(6, 59), True), (time(7), False), (time(12), False)])
def test_quiet_hours_may_span_midnight(now: time, quiet: bool) -> None:
    assert AlertRules(quiet=(time(22), time(7))).is_quiet(now) is quiet
    assert AlertRules(quiet=(time(7), time(22))).is_quiet(now) is not quiet


def test_the_state_keeps_no_text_of_a_call() -> None:
    announced = Announced()
    told(announced, [finding()])
    assert announced.state == {
        "failing: pay": {"kind": "broken", "severity": "problem", "tools": ["pay"], "since": "2026-11-01T08:00:00+00:00", "value": 0.5, "link": None}
    }  # fmt: skip


OPEN = st.lists(st.sets(st.sampled_from(["a", "b", "c"])), max_size=8)


@given(OPEN)
def test_openings_and_recoveries_of_a_tool_alternate(looks: list[set[str]]) -> None:
    announced, events = Announced(), []
    for tools in looks:
        alerts = announced.changes([finding(tool=tool) for tool in sorted(tools)], AlertRules(), None, NOW)
        events += [(alert.tools[0], alert.event) for alert in alerts]
        for alert in alerts:
            announced.sent(replace(alert))
        assert {key.removeprefix("failing: ") for key in announced.state} == tools
    for tool in "abc":
        of_tool = [event for name, event in events if name == tool]
        assert of_tool == ["opened", "recovered"] * (len(of_tool) // 2) + ["opened"] * (len(of_tool) % 2)


def test_a_message_is_plain_data() -> None:
    [alert] = Announced().changes([finding()], AlertRules(), None, NOW)
    assert isinstance(alert, Alert)
    assert alert.as_dict()["tools"] == ["pay"]
