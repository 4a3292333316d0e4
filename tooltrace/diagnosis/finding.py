"""A finding: one thing that is wrong with a tool, with its numbers, what it costs, a sentence, and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from tooltrace.analysis.sentence import Sentence
from tooltrace.diagnosis.wording import english
from tooltrace.store.result import QueryResult, ResultColumn

Severity = Literal["problem", "warning", "note"]

KINDS: Final[Mapping[str, Severity]] = {
    "broken": "problem",
    "cut_off": "problem",
    "regressed": "problem",
    "chronic": "problem",
    "misused": "warning",
    "slow": "warning",
    "useless_retries": "warning",
    "overconfident": "warning",
    "underconfident": "warning",
    "looping": "warning",
    "hidden": "warning",
    "misleading_source": "warning",
    "unread": "note",
    "recording": "warning",
    "new": "note",
}
"""Every kind of finding, with its severity.

``broken``: the last calls all failed; ``cut_off``: they were cancelled by a deadline, lost, or streams that were left before their first item; ``regressed``: the rate rose and
has not come back; ``chronic``: it was bad all along; ``misused``: the same, by failures of the caller; ``slow``: as slow as its own
timeout, or slower than before; ``useless_retries``: another attempt hardly ever helps; ``overconfident``, ``underconfident``: the
confidence does not agree with the labels; ``looping``: conversations are stuck in equal calls; ``hidden``: the model did not see
errors; ``misleading_source``: results that stand on it are wrong more often; ``unread``: nothing states whether most calls worked;
``recording``: records were lost; ``new``: too few calls to compare with.
"""
SEVERITIES: Final = ("problem", "warning", "note")
"""The severities, the most urgent first."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The figure that decided: a share between 0 and 1 unless the kind says otherwise, with the limits of its 95 % interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Items that the figure is of: calls, labels or retries."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a finding costs, as far as it is known."""

    calls: float = 0.0
    """Failed, wrong or repeated calls beyond what is normal."""
    seconds: float = 0.0
    """Time that was spent on them."""
    tokens: int = 0
    """Tokens of the model calls that they led to; without those in the store, of results that the model read for nothing."""
    money: float | None = None
    """Price of these tokens, in the currency of ``configure(prices=…)``; None where no model has a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong. A finding is open, or it has ended ``until`` then."""

    kind: str
    """One of ``KINDS``."""
    tools: tuple[str, ...]
    """The tools that it is about, the costliest first: several where they have one cause. Empty for ``recording``."""
    said: Sentence
    """What is wrong, with the numbers; it may quote a name, a code or a message of the history."""
    steps: tuple[Sentence, ...]
    """What a person can do, from the history."""
    query: str
    """The command of ``tooltrace`` that shows more."""
    numbers: Numbers = field(default_factory=Numbers)
    cost: Cost = field(default_factory=Cost)
    version: str | None = None
    """The version with which it began."""
    since: datetime | None = None
    """Naive UTC; None where no beginning is known."""
    until: datetime | None = None
    last: datetime | None = None
    """Start of the last call that it is about, naive UTC; None where that is not known."""
    code: str | None = None
    """The error code of most failures."""

    @property
    def sentence(self) -> str:
        """What is wrong, in English."""
        return english(self.said)

    @property
    def next_step(self) -> str:
        """What a person can do, in English."""
        return " ".join(map(english, self.steps))

    @property
    def tool(self) -> str | None:
        """The tool that it costs most."""
        return self.tools[0] if self.tools else None

    @property
    def severity(self) -> Severity:
        """How urgent it is: ``problem``, ``warning`` or ``note``. What has ended is a note."""
        return KINDS[self.kind] if self.open else "note"

    @property
    def open(self) -> bool:
        """Whether it lasts."""
        return self.until is None

    @property
    def began(self) -> datetime | None:
        """When it began, for what is looked for since then; None where it was so all along."""
        return None if self.kind in ("chronic", "misused") else self.since

    def key(self) -> tuple[int, float, float, float, str, str]:
        """Return the sort key: open and urgent ones first, then by cost in calls, seconds and tokens."""
        urgency = SEVERITIES.index(self.severity) if self.open else len(SEVERITIES)
        cost = self.cost
        return urgency, -cost.calls, -cost.seconds, -float(cost.tokens), self.kind, self.tool or ""


COLUMNS: Final = (
    ("kind", "VARCHAR", "text", "kind of the finding"),
    ("severity", "VARCHAR", "text", "problem, warning or note"),
    ("tools", "VARCHAR", "text", "tools that it is about, the costliest first"),
    ("version", "VARCHAR", "text", "version with which it began"),
    ("since", "TIMESTAMP", "time", "when it began; NULL where that is unknown"),
    ("until", "TIMESTAMP", "time", "when it ended; NULL if it lasts"),
    ("value", "DOUBLE", "number", "the figure that decided"),
    ("low", "DOUBLE", "number", "lower limit of its 95 % interval"),
    ("high", "DOUBLE", "number", "upper limit of its 95 % interval"),
    ("n", "BIGINT", "count", "items that the figure is of"),
    ("calls", "DOUBLE", "number", "failed or wrong calls beyond what is normal"),
    ("seconds", "DOUBLE", "number", "time that was spent on them"),
    ("tokens", "BIGINT", "count", "tokens of the model calls that they led to"),
    ("money", "DOUBLE", "number", "price of these tokens"),
    ("sentence", "VARCHAR", "text", "what is wrong"),
    ("next_step", "VARCHAR", "text", "what a person can do"),
    ("query", "VARCHAR", "text", "command that shows more"),
)
"""Name, DuckDB type, unit and meaning of each column of findings as rows."""


def as_result(findings: Iterable[Finding]) -> QueryResult:
    """Return findings as rows, for the formats that results have."""
    rows: list[tuple[Any, ...]] = [
        (
            *(one.kind, one.severity, ", ".join(one.tools), one.version, one.since, one.until),
            *(one.numbers.value, one.numbers.low, one.numbers.high, one.numbers.n),
            *(
                one.cost.calls,
                one.cost.seconds,
                one.cost.tokens,
                one.cost.money,
                one.sentence,
                one.next_step,
                one.query,
            ),
        )
        for one in findings
    ]
    fields = [ResultColumn(name=name, unit=unit, meaning=meaning) for name, _, unit, meaning in COLUMNS]
    return QueryResult(fields, [kind for _, kind, _, _ in COLUMNS], rows)
