"""The calls of one test: where they are recorded, and assertions about them that print them when they fail."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self

from tooltrace.analysis.api import query
from tooltrace.recording import config
from tooltrace.recording.context import context
from tooltrace.redact.plain_data import json_of
from tooltrace.store.files.paths import StorePaths

TEST: Final = "test.case.name"
"""Attribute of every call: the id of the test, by the semantic conventions of OpenTelemetry."""
_SHOWN: Final = 50
"""Calls that a failed assertion prints."""
_WIDTH: Final = 100
"""Characters of the arguments and of the error that it prints of each."""
_CUT_OFF: Final = ("cancelled", "abandoned", "lost")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

Call = dict[str, Any]
"""A row of the query ``conversation_calls``, its arguments and its result parsed."""


@contextmanager
def recorded(folder: Path, test: str, run: int = 1) -> Iterator[ToolCalls]:
    """Record the calls of a block into a new store in ``folder``, with the id of the ``test`` as an attribute.

    The ``run`` of the test is a conversation, unless the agent names its own: without one, calls outside of a trace have
    nothing in common, and no query would find a loop.
    """
    store = folder / "tooltrace.duckdb"
    conversation = test if run == 1 else f"{test} run {run}"
    with config.configured(store=store, attributes={TEST: test}), context(conversation_id=conversation):
        yield ToolCalls(store)


class ToolCalls:
    """The calls of a test so far, in the order in which they began: a call of the model, whatever its attempts.

    Each assertion reads the store anew. It fails where no call was recorded at all: it would show nothing.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        """Path of the store; ``tooltrace --store`` and ``tt.query(store=…)`` read it."""

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls())

    def __len__(self) -> int:
        return len(self.calls())

    def calls(self, tool: str | None = None) -> list[Call]:
        """Return the calls, or those of one tool: rows of the query ``conversation_calls`` as dicts."""
        rows = self._query("conversation_calls")
        for row in rows:
            for name in ("arguments", "result"):
                row[name] = None if row[name] is None else json.loads(row[name])
        return [row for row in rows if tool in (None, row["tool"])]

    def called(self, tool: str) -> Called:
        """Assert that the tool was called; return its calls, for further assertions."""
        __tracebackhide__ = True
        return Called(self, self.calls(tool), f"{tool} was called")

    def never(self, tool: str | None = None) -> Self:
        """Assert that the tool was not called; without a name, that no tool was."""
        __tracebackhide__ = True
        calls = self.calls()
        if tool is not None and not calls:
            raise self.failure(f"{tool} was never called, and no other tool was: expected a recorded call")
        if found := [call for call in calls if tool in (None, call["tool"])]:
            raise self.failure(f"expected no call of {tool or 'any tool'}, found {len(found)}")
        return self

    def no_loops(self, k: int = 3) -> Self:
        """Assert that nothing repeats without progress ``k`` times (the query ``loops``); polling is no loop."""
        __tracebackhide__ = True
        self._require_calls()
        if loops := [row for row in self._query("loops", k=k) if row["kind"] != "poll"]:
            found = "; ".join(f"{row['tools']} ({row['kind']}, {row['repeats']} rounds)" for row in loops)
            raise self.failure(f"expected no loop, found {found}")
        return self

    def no_hidden_errors(self) -> Self:
        """Assert that the model saw each error (the query ``laundering``)."""
        __tracebackhide__ = True
        self._require_calls()
        if hidden := [row for row in self._query("laundering") if row["span_id"] is not None]:
            found = "; ".join(
                f"{row['tool']} ({row['code'] or 'no code'}: {_cut(row['error_message'])}) as "
                f"{_cut(row['seen_text'] if row['evidence'] == 'seen' else row['text'])!r}"
                for row in hidden
            )
            raise self.failure(f"expected no error that is hidden from the model, found {found}")
        return self

    def recovered_from_errors(self, **fallbacks: str) -> Self:
        """Assert that after each failed call its tool, or its fallback, succeeded in a later call.

        ``fallbacks``: by the name of a tool that of another one which may take its place, such as ``bing="wiki"``. An error
        that a further attempt of the same call repaired is no failed call. Holds where no call failed.
        """
        __tracebackhide__ = True
        self._require_calls()
        calls = self.calls()
        for place, call in enumerate(calls):
            names = {call["tool"], fallbacks.get(call["tool"])}
            later = [other for other in calls[place + 1 :] if other["tool"] in names]
            if _failed(call) and not any(other["status"] in ("success", "partial") for other in later):
                expected = " or ".join(sorted(name for name in names if name))
                raise self.failure(f"{call['tool']} failed (call {place + 1}); expected a later success of {expected}")
        return self

    def tokens(self, *, under: int) -> Self:
        """Assert that the results have fewer tokens than ``under``, each read once (the query ``footprint``)."""
        __tracebackhide__ = True
        self._require_calls()
        rows = self._query("footprint")
        if unknown := sum(row["unknown"] or 0 for row in rows):
            raise self.failure(
                f"tokens are unknown: neither a message nor a result of {unknown} of the calls is recorded; leave out "
                "capture='metadata'"
            )
        tokens = sum(row["tokens"] or 0 for row in rows)
        if tokens >= under:
            sources = ", ".join(sorted({row["tokens_by"] for row in rows if row["tokens_by"]}))
            parts = ", ".join(f"{row['tool']} {row['tokens']}" for row in rows)
            raise self.failure(f"expected fewer than {under} tokens of results, found {tokens} (by {sources}): {parts}")
        return self

    def duration(self, *, under: str | float | timedelta) -> Self:
        """Assert that less time passed from the first start to the last end: ``"5s"``, ``"250ms"``, ``"2m"``, or seconds."""
        __tracebackhide__ = True
        self._require_calls()
        limit, calls = _seconds(under), self.calls()
        took = max(call["ended_at"] for call in calls) - min(call["started_at"] for call in calls)
        if took.total_seconds() >= limit:
            raise self.failure(
                f"expected less than {limit:g} s from first start to last end, got {took.total_seconds():g} s"
            )
        return self

    def failure(self, message: str) -> AssertionError:
        """Return the exception of an assertion that failed: its message, the calls, and where to look further."""
        calls = self.calls()
        lines = [f"{place:>3}  {_line(call)}" for place, call in enumerate(calls[:_SHOWN], 1)]
        if len(calls) > _SHOWN:
            lines.append(f"     and {len(calls) - _SHOWN} more")
        if not calls:
            lines = [
                "no call was recorded: trace the tools (tt.trace_tool, tt.install), and let the test run the agent"
            ]
        return AssertionError("\n".join([message, *lines, f"tooltrace --store {self.store}"]))

    def _require_calls(self) -> None:
        __tracebackhide__ = True
        if not self.calls():
            raise self.failure("expected a recorded call")

    def _query(self, name: Any, **parameters: Any) -> list[Call]:
        __tracebackhide__ = True
        now = config.configured_store()
        if now is None or StorePaths.of(now) != (paths := StorePaths.of(self.store)):
            raise AssertionError(
                f"the calls of this test are recorded into {now}, and not into the store of the fixture tool_calls: leave "
                "store= out of tt.configure, or call it before the test"
            )
        # without a database, which only a query of the test itself makes, the journals are all, and take a fifth of the time
        only = not paths.database.exists()
        return query(name, store=self.store, journals_only=only, **parameters).dicts()


class Called:
    """Calls of one tool, of which each assertion holds; those about arguments narrow them."""

    def __init__(self, trajectory: ToolCalls, calls: list[Call], said: str, among: list[Call] | None = None) -> None:
        __tracebackhide__ = True
        self._all = trajectory
        self._said = said
        self.calls = calls
        """The calls, as those of :class:`ToolCalls`."""
        if not calls:
            hidden = sum(bool(call["redacted"] or call["truncated"]) for call in among or ())
            note = f"; {hidden} of its calls have redacted or truncated fields, which equal nothing" if hidden else ""
            raise trajectory.failure(f"expected that {said}, found no such call{note}")

    def with_args(self, **arguments: Any) -> Called:
        """Assert that a call has these arguments, whatever others it has; go on with the calls that have them."""
        __tracebackhide__ = True
        calls = [call for call in self.calls if _has(call["arguments"], arguments)]
        said = f"{self._said} with {_shown(arguments)}"
        return Called(self._all, calls, said, among=self.calls)

    def before(self, tool: str) -> Self:
        """Assert that both were called, and that the first of these calls began before the first one of ``tool``."""
        __tracebackhide__ = True
        order = self._all.calls()
        place = next((place for place, call in enumerate(order) if call["tool"] == tool), None)
        if place is None:
            raise self._all.failure(f"expected that {self._said} before {tool}, but {tool} was not called")
        if self.calls[0]["span_id"] not in {call["span_id"] for call in order[:place]}:
            raise self._all.failure(f"expected that {self._said} before {tool}, found it after")
        return self

    def at_most(self, n: int) -> Self:
        """Assert that these are ``n`` calls or fewer."""
        __tracebackhide__ = True
        if len(self.calls) > n:
            raise self._all.failure(f"{self._said} {len(self.calls)} times, expected at most {n}")
        return self


def _failed(call: Call) -> bool:
    return call["status"] == "error" or call["ending"] in _CUT_OFF


def _has(recorded: object, expected: Mapping[str, Any]) -> bool:
    if not isinstance(recorded, dict):
        return not expected
    return all(name in recorded and _equal(recorded[name], value) for name, value in expected.items())


def _equal(recorded: Any, expected: Any) -> bool:
    """Return whether the recorded JSON is ``expected``, as it is or in JSON. A ``pytest.approx`` compares itself."""
    if recorded == expected:
        return True
    try:
        return bool(recorded == json.loads(json_of(expected)))
    except (TypeError, ValueError, RecursionError):
        return False


def _line(call: Call) -> str:
    arguments = call["arguments"]
    named = _shown(arguments) if isinstance(arguments, dict) else ""
    outcome = call["status"] or call["ending"]
    error = " ".join(part for part in (call["code"], _cut(call["error"])) if part)
    tries = f", {call['attempts']} attempts" if call["attempts"] > 1 else ""
    took = "" if call["duration_ms"] is None else f", {call['duration_ms']:.4g} ms"
    return f"{call['tool']}({named}): {outcome}{f' {error}' if error else ''}{took}{tries}"


def _shown(arguments: Mapping[str, Any]) -> str:
    return _cut(", ".join(f"{name}={value!r}" for name, value in arguments.items()))


def _cut(text: str | None) -> str:
    line = " ".join((text or "").split())
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…"


def _seconds(limit: str | float | timedelta) -> float:
    if isinstance(limit, timedelta):
        return limit.total_seconds()
    if isinstance(limit, int | float):
        return float(limit)
    if found := re.fullmatch(r"(\d+(?:\.\d+)?) ?(ms|s|m|h)", limit):
        return float(found[1]) * _UNITS[found[2]]
    raise ValueError(f"under must be a time such as '5s', '250ms' or '2m', or a number of seconds, got {limit!r}")
