"""Grafana's panels in ClickHouse's own engine: each shows what plain Python counts in the same calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from random import Random
from typing import Any
from urllib.parse import quote

import clickhouse_connect
import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from tests.clickhouse.compare import Row, differences
from tests.clickhouse.conftest import Fill
from tests.docs.grafana import BOARDS, panels
from tooltrace.core.records import Loss, Message, Outcome, ToolCall

NAMES = ["it's", "a\\", "' UNION SELECT 1 --", "日本 語", "100%27", "a+b c", "${database}", "$__toTime_ms", "{x:String}", "x\ny"]  # fmt: skip
START, BIN = datetime(2026, 3, 1, tzinfo=UTC), timedelta(hours=4)
WINDOW = START + timedelta(hours=2, milliseconds=5), START + timedelta(hours=30, milliseconds=5)
Calls = list[ToolCall]


def make_calls() -> Calls:
    """1,500 attempts of two days; some repeat the attempt before, and some did not finish."""
    draw = Random(7)
    made: Calls = []
    for number in range(1_500):
        ending = draw.choices(["returned", "raised", "refused", "cancelled", "lost", "paused"], [70, 10, 5, 5, 5, 5])[0]
        wrong = ending in ("raised", "refused") or (ending == "returned" and draw.random() < 0.2)
        same = {
            "tool": NAMES[min(int(draw.expovariate(0.5)), 9)],
            "call_id": f"c{number}",
            "conversation_id": draw.choice([None, "k"]),
        }
        last = made[-1] if made and draw.random() < 0.3 else None
        made.append(ToolCall(
            **({name: getattr(last, name) for name in same} if last else same), attempt=last.attempt + 1 if last else 1,
            tool_version=draw.choice([None, "1", "2"]), trace_id=f"{number + 1:032x}", span_id=f"{number + 1:016x}",
            started_at=START + timedelta(microseconds=number * 115_200_003), host="h", pid=1, agent="a", ending=ending,
            status="error" if wrong else draw.choice(["success", "partial"]) if ending == "returned" else None,
            code=draw.choice(["TIMEOUT", "NOT_FOUND", None]) if wrong or ending == "cancelled" else None, error_message=f"no {number}" if wrong else None,
            duration_ms=draw.choice([None, draw.expovariate(0.01)]), result_tokens=draw.choice([None, number]),
            confidence=draw.choice([None, 1.5, 0.5, 0.8, draw.random()]),
        ))  # fmt: skip
    return made


CALLS = make_calls()
RIGHT = {call.span_id: at % 3 > 0 for at, call in enumerate(CALLS) if at % 2}
TOKENS = {call.span_id: at for at, call in enumerate(CALLS) if at % 5 == 0}
LOSSES = [Loss(reason=("full", "torn")[at % 2], count=at, at=START + timedelta(hours=at), host="h") for at in range(48)]


def within(at: datetime) -> bool:
    return WINDOW[0] <= at <= WINDOW[1]


def finished(call: ToolCall) -> bool:
    return call.status is not None and call.ending in ("returned", "raised")


def failed(call: ToolCall) -> bool:
    return finished(call) and call.status == "error"


def cut(call: ToolCall) -> bool:
    if call.ending == "abandoned":
        return call.first_item_ms is None
    return call.ending == "lost" or (call.ending, call.code) == ("cancelled", "TIMEOUT")


def time(call: ToolCall) -> datetime:
    return START + (call.started_at - START) // BIN * BIN


def end(call: ToolCall) -> str | None:
    return "cut off" if cut(call) else call.status if finished(call) else call.ending


def band(call: ToolCall) -> str:
    return "low" if (call.confidence or 0) < 0.5 else "middle" if (call.confidence or 0) < 0.8 else "high"


def grouped(calls: Iterable[ToolCall], *keys: str | Callable[[ToolCall], Any]) -> list[tuple[Row, Calls]]:
    """The calls by attributes, or by the values of functions."""
    found: dict[Row, Calls] = defaultdict(list)
    for call in calls:
        found[tuple(attrgetter(key)(call) if isinstance(key, str) else key(call) for key in keys)].append(call)
    return list(found.items())


def total(calls: Calls, of: Callable[[ToolCall], bool]) -> int:
    return sum(map(of, calls))


def share(k: int, n: int) -> Row:
    """The share with Wilson's limits."""
    return (k / n, *proportion_confint(k, n, 2 * norm.sf(1.96), "wilson")) if n else (None, None, None)


def rates(calls: Calls, *keys: Any) -> list[Row]:
    return [
        (*key, total(of, failed), len(of), *share(total(of, failed), len(of)))
        for key, of in grouped(filter(finished, calls), *keys)
    ]


def counts(calls: Calls) -> Row:
    n, k = total(calls, finished), total(calls, failed)
    return len(calls), n, k, *share(k, n), total(calls, cut), total(calls, lambda call: call.ending == "refused")


def quantiles(calls: Calls) -> Row:
    known = [call.duration_ms for call in calls if finished(call) and call.duration_ms is not None]
    return tuple(map(float, np.quantile(known, [0.5, 0.95]))) if known else (None, None)


def groups(calls: Calls, key: str) -> list[Row]:
    last = [max((call.started_at for call in of if failed(call)), default=None) for _, of in grouped(calls, key)]
    return [
        (*group, *counts(of), *quantiles(of), at) for (group, of), at in zip(grouped(calls, key), last, strict=True)
    ]


def codes(calls: Calls, *keys: str) -> list[Row]:
    wrong = [call for call in calls if call.status == "error"]
    return [
        (*key, total(of, failed), len(of) - total(of, failed), len({call.call_id for call in of}), of[0].started_at,
            of[-1].started_at, of[-1].error_message) for key, of in grouped(wrong, *keys, "code")
    ]  # fmt: skip


def bands(calls: Calls, *keys: str) -> list[Row]:
    rows: list[Row] = []
    sure = [call for call in calls if finished(call) and call.confidence is not None and call.confidence <= 1]
    for key, of in grouped(sure, *keys, band):
        known = [(call.confidence, RIGHT[call.span_id]) for call in of if call.span_id in RIGHT]
        mean, right = float(np.mean([one for one, _ in known])) if known else None, sum(right for _, right in known)
        rows.append((*key, len(of), len(known), mean, right, *share(right, len(known))))
    return rows


def tokens(calls: Calls) -> list[Row]:
    known = [
        (key, [TOKENS.get(call.span_id, call.result_tokens) for call in of]) for key, of in grouped(calls, time, "tool")
    ]
    return [(*key, sum(filter(None, of))) for key, of in known if any(one is not None for one in of)]


def retries(calls: Calls) -> list[Row]:
    found: dict[str, list[Calls]] = defaultdict(list)
    for (tool, _), of in grouped(filter(finished, calls), "tool", "call_id"):
        found[tool].append(of)
    return [
        (tool, len(of), sum(map(len, of)), sum(map(len, of)) / len(of), len(again), sum(not failed(call[-1]) for call in again),
            sum(failed(call[-1]) for call in again), sum((one.duration_ms or 0 for call in of for one in call[:-1]), 0.0))
        for tool, of in found.items() if (again := [call for call in of if len(call) > 1])
    ]  # fmt: skip


def losses(_calls: Calls) -> list[Row]:
    lost = [[one for one in LOSSES if within(one.at) and one.reason == reason] for reason in ("full", "torn")]
    return [(of[0].reason, None, "h", sum(one.count for one in of), of[-1].at) for of in lost]


def latest(calls: Calls) -> list[Row]:
    show = attrgetter("started_at", "ending", "code", "error_message", "duration_ms", "attempt", "agent", "conversation_id", "call_id", "trace_id", "span_id")  # fmt: skip
    return [show(call) for call in calls if call.status == "error" or cut(call)][:-101:-1]


EXPECTED: dict[str, dict[str, Callable[[Calls], list[Row]]]] = {
    "overview": {
        "In this time range": lambda calls: [counts(calls)],
        "Failure rate with its limits": lambda calls: rates(calls, time),
        "Failure rate by tool": lambda calls: [(*row[:2], row[4]) for row in rates(calls, time, "tool")],
        "Tools": lambda calls: groups(calls, "tool"),
        "Attempts by their end": lambda calls: [(*key, len(of)) for key, of in grouped(calls, time, end)],
        "Tokens of results": tokens,
        "Codes of errors": lambda calls: codes(calls, "tool"),
        "Retries": retries,
        "Confidence and labels": lambda calls: bands(calls, "tool"),
        "Lost records": losses,
    },
    "tool": {
        "Failure rate with its limits": lambda calls: rates(calls, time),
        "p50 and p95": lambda calls: [(*key, *quantiles(of)) for key, of in grouped(filter(finished, calls), time)],
        "Versions": lambda calls: groups(calls, "tool_version"),
        "Codes of errors": codes,
        "Confidence and labels": bands,
        "Latest failures": latest,
    },
}


@pytest.fixture(scope="module")
def ask(engine: Any, fill: Fill) -> Iterator[Callable[..., list[Row]]]:
    """Run a statement as Grafana's plugin does: without settings, with variables and then macros written out."""
    labels = [Outcome(span_id=span, correct=right, labeled_at=START) for span, right in RIGHT.items()]
    messages = [Message(call_id="c", span_id=span, style="tool", text="x", sha256="0", length=1, error=False, at=START, tokens=n) for span, n in TOKENS.items()]  # fmt: skip
    fill("grafana", [*CALLS, *labels, *messages, *LOSSES])
    fill("grafana_empty", [])
    client = clickhouse_connect.get_client(interface="chdb", path=engine.path)
    since, until = (f"fromUnixTimestamp64Milli({int(end.timestamp() * 1000)})" for end in WINDOW)

    def ask(sql: str, tool: str = "", database: str = "grafana") -> list[Row]:
        values = {"database:raw": database, "tool:percentencode": quote(tool, safe="-_.~")}
        sql = re.sub(r"\$\{([\w:]+)\}", lambda found: values[found[1]], sql)
        sql = re.sub(r"\$__timeFilter_ms\((\w+)\)", rf"\1 >= {since} AND \1 <= {until}", sql)
        sql = re.sub(
            r"\$__timeInterval\((\w+)\)", rf"toStartOfInterval(toDateTime(\1), INTERVAL {BIN.seconds} second)", sql
        )
        return [tuple(row) for row in client.query(sql, query_tz="UTC", tz_mode="aware").result_rows]

    yield ask
    client.close()


@pytest.mark.parametrize(("board", "title"), [(board, title) for board, of in EXPECTED.items() for title in of])
def test_a_panel_shows_what_python_counts(ask: Callable[..., list[Row]], board: str, title: str) -> None:
    sql = panels(board)[title]
    tools = NAMES if title == "Latest failures" else NAMES[:2] if board == "tool" else [None]
    for tool in tools:
        calls = [call for call in CALLS if within(call.started_at) and tool in (None, call.tool)]
        expected, found = (sorted(rows, key=repr) for rows in (EXPECTED[board][title](calls), ask(sql, tool or "")))
        assert not differences(expected, found), tool
    assert all(value in (None, 0) for row in ask(sql, database="grafana_empty") for value in row)


def test_every_panel_and_variable_is_tested(ask: Callable[..., list[Row]]) -> None:
    assert {name: list(panels(name)) for name in BOARDS} == {name: list(of) for name, of in EXPECTED.items()}
    offered = {
        one["name"]: one["query"]["rawSql"] for one in BOARDS["tool"]["templating"]["list"] if one["type"] == "query"
    }
    assert {tool for (tool,) in ask(offered["tool"])} == set(NAMES)
    assert ("grafana",) in ask(offered["database"])
