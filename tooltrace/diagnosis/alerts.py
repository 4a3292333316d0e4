"""Alerts: the findings that open, worsen and recover, each as one message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, time
from fnmatch import fnmatchcase
from typing import Any, Final, Literal
from urllib.parse import quote

from tooltrace.diagnosis.finding import KINDS, SEVERITIES, Finding
from tooltrace.diagnosis.turns import FAILURES

Event = Literal["opened", "worsened", "recovered"]
State = dict[str, dict[str, Any]]
"""What is remembered of the last message about each finding, by ``key_of`` the finding."""

REMEMBERED: Final = ("kind", "severity", "tools", "since", "value", "link")
"""Members of a message that are remembered: nothing that quotes the content of a call, which may be forgotten."""
PROBLEMS: Final = frozenset(kind for kind, severity in KINDS.items() if severity == "problem")
"""The kinds that are announced by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRules:
    """Which findings are announced, and when."""

    kinds: frozenset[str] = PROBLEMS
    tools: tuple[str, ...] = ("*",)
    """Patterns of names, such as ``search*``."""
    calls: float = 0.0
    """The least number of failed or wrong calls beyond what is normal."""
    quiet: tuple[time, time] | None = None
    """Start and end of the hours, local time, in which nothing is sent; what lasts is announced afterwards."""

    def includes(self, finding: Finding) -> bool:
        """Whether ``finding`` is to be announced while it is open."""
        wanted = any(fnmatchcase(tool, pattern) for tool in finding.tools or ("",) for pattern in self.tools)
        return finding.open and finding.kind in self.kinds and wanted and finding.cost.calls >= self.calls

    def is_quiet(self, now: time) -> bool:
        """Whether ``now`` is in the quiet hours, which may span midnight."""
        if self.quiet is None:
            return False
        start, end = self.quiet
        return start <= now < end if start <= end else now >= start or now < end


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One message about a finding."""

    event: Event
    key: str
    kind: str
    severity: str
    tools: tuple[str, ...]
    sentence: str
    since: str | None
    """ISO 8601, UTC."""
    until: str | None
    value: float | None
    link: str | None
    """Page of the tool, where the address of the pages is known."""
    low: float | None = None
    high: float | None = None
    n: int = 0
    calls: float = 0.0
    seconds: float = 0.0
    tokens: int = 0
    money: float | None = None
    next_step: str = ""
    query: str = "tooltrace findings"
    """Command of ``tooltrace`` that shows more."""

    def as_dict(self) -> dict[str, Any]:
        """Return the message as JSON has it."""
        return asdict(self) | {"tools": list(self.tools)}


def key_of(finding: Finding) -> str:
    """Return the name by which a finding is known again: its tools, and its kind. All kinds about failures are one: a tool may change from one to the other."""
    return f"{'failing' if finding.kind in FAILURES else finding.kind}: {', '.join(finding.tools)}"


@dataclass(slots=True)
class Announced:
    """The alerts that a destination got, as its state; ``changes`` says what it is to get next."""

    state: State = field(default_factory=dict)

    def changes(self, findings: Iterable[Finding], rules: AlertRules, pages: str | None, now: datetime) -> list[Alert]:
        """Return the messages about ``findings`` that the state has not had, the most urgent first.

        A finding has worsened where it became more urgent, or where the lower limit of its figure is above the figure that was announced.
        """
        found = list(findings)
        open_now = {key_of(one): one for one in found if rules.includes(one)}
        alerts = []
        for key, one in open_now.items():
            before = self.state.get(key)
            if before is None:
                alerts.append(alert_of("opened", one, pages))
            elif _has_worsened(one, before):
                alerts.append(alert_of("worsened", one, pages))
        still_open = {key_of(one) for one in found if one.open}
        alerts += [_recovered(key, before, found, now) for key, before in self.state.items() if key not in still_open]
        return alerts

    def sent(self, alert: Alert) -> None:
        """Remember that ``alert`` was sent."""
        if alert.event == "recovered":
            self.state.pop(alert.key, None)
        else:
            self.state[alert.key] = {name: getattr(alert, name) for name in REMEMBERED} | {"tools": list(alert.tools)}


def _has_worsened(finding: Finding, before: Mapping[str, Any]) -> bool:
    if SEVERITIES.index(finding.severity) < SEVERITIES.index(before["severity"]):
        return True
    low, announced = finding.numbers.low, before["value"]
    return low is not None and announced is not None and low > announced


def alert_of(event: Event, finding: Finding, pages: str | None) -> Alert:
    numbers, cost = finding.numbers, finding.cost
    return Alert(
        event=event,
        key=key_of(finding),
        kind=finding.kind,
        severity=finding.severity,
        tools=finding.tools,
        sentence=finding.sentence,
        next_step=finding.next_step,
        query=f"tooltrace {finding.query}",
        link=f"{pages.rstrip('/')}/tool?name={quote(finding.tool)}" if pages and finding.tool else None,
        since=_iso(finding.since),
        until=_iso(finding.until),
        value=numbers.value,
        low=numbers.low,
        high=numbers.high,
        n=numbers.n,
        calls=cost.calls,
        seconds=cost.seconds,
        tokens=cost.tokens,
        money=cost.money,
    )


def _recovered(key: str, before: Mapping[str, Any], found: Iterable[Finding], now: datetime) -> Alert:
    """Return the message that what was announced is over: with the end that the history has, else as of now."""
    ends = [end for one in found if key_of(one) == key and (end := _iso(one.until)) is not None]
    until = max((end for end in ends if end > (before["since"] or "")), default=_iso(now))
    since = f" since {before['since']}" if before["since"] else ""
    return Alert(
        event="recovered",
        key=key,
        tools=tuple(before["tools"]),
        until=until,
        sentence=f"{', '.join(before['tools']) or 'The recording'}: {before['kind']}{since}, over at {until}.",
        **{name: before[name] for name in REMEMBERED if name != "tools"},
    )


def _iso(at: datetime | None) -> str | None:
    return None if at is None else (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
