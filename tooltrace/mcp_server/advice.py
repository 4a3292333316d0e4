"""The tool ``advice``: what the history says about a call that the agent is about to make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from tooltrace.core.plural import format_count
from tooltrace.diagnosis.advice import NOW, ToolAdvice, advise
from tooltrace.mcp_server.answer import MAX_CELL, cell, computed, dumped
from tooltrace.mcp_server.arguments import ToolArgument
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.mcp_server.tools import SINCE, Caller, ServedTool
from tooltrace.mcp_server.verdicts import as_json
from tooltrace.statistics.shares import Proportion, failed_proportion

T = TypeVar("T")

_RATE: Final = ("attempts", "failures", "rate", "low", "high", "clusters", "design_effect", "too_few")
_ERROR: Final = (
    *("n", "share", "share_low", "share_high", "last_seen", "retryable_share", "retryable_low", "retryable_high"),
)
_WRITTEN_BY: Final = {
    "code": "tool",
    "message": "tool",
    "tool": "application",
    **dict.fromkeys(("argument", "value", "call_id", "example_call_id"), "model"),
}
_CALIBRATION: Final = (
    *("n", "mean_confidence", "accuracy", "accuracy_low", "accuracy_high", "gap", "gap_low", "gap_high"),
    *("clusters", "design_effect", "too_few"),
)


_LIMITS: Final = ((3, 5, MAX_CELL), (3, 5, 100), (2, 3, 60), (1, 1, 40), (1, 1, 15), (0, 0, 0))
"""Errors, entries of each other list, and characters of a text; the first that fits into an answer is used."""


async def _advice(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    since = given["since"] or NOW
    found = await store.run(partial(advise, store.store, given["tool"], given["arguments"], since=since))
    for errors, entries, characters in _LIMITS:
        answer = _AdviceAnswer(found, errors, entries, characters).made(since, given["arguments"] is not None)
        if len(dumped(answer)) <= store.characters:
            break
    return answer


class _AdviceAnswer:
    """The evidence as an answer; each text of a trace stands in a member ``copied``."""

    def __init__(self, found: ToolAdvice, errors: int, entries: int, characters: int) -> None:
        self._found = found
        self._errors = errors
        self._entries = entries
        self._characters = characters
        self._shortened = 0
        self._missing: dict[str, Any] = {}

    def made(self, since: str, asked: bool) -> dict[str, Any]:
        """Return the answer. ``asked``: whether the arguments of the call are known."""
        found = self._found
        now: dict[str, Any] = {
            "since": since,
            "failure_rate": _of(found.rate, _RATE),
        }
        if found.finding is not None:
            [said] = as_json([found.finding.said])
            now["finding"] = {
                "kind": found.finding.kind,
                "severity": found.finding.severity,
                "sentence": said["text"],
                "copied": self._texts(said["copied"]),
                "since": computed(found.finding.since),
                "next_step": found.finding.next_step,
            }
        answer: dict[str, Any] = {
            "now": now,
            "errors": [
                {
                    "computed": _of(row, _ERROR),
                    "copied": self._texts({name: row[name] for name in ("code", "message", "example_call_id")}),
                }
                for row in self._first("errors", found.errors, self._errors)
            ],
            "retry": None if found.retry is None else _proportion(found.retry),
            "confidence": _calibration(found.calibration),
            "fails_with": [
                {
                    "computed": {
                        "with": _proportion(one.failed),
                        "without": _proportion(one.others),
                        "match": "host" if one.is_host else "equal",
                    },
                    "copied": self._texts({"argument": one.name, "value": one.value}),
                }
                for one in self._first("fails_with", found.arguments, self._entries)
            ],
            "worked_after_failure": [
                {"computed": _proportion(one.worked), "copied": self._texts({"tool": one.tool})}
                for one in self._first("worked_after_failure", found.alternatives, self._entries)
            ],
            "written_by": _WRITTEN_BY,
        }
        if asked:
            failed = [row for row in found.same if row["status"] == "error"]
            answer["same_arguments"] = {
                "computed": {
                    "failed": _proportion(failed_proportion(found.same)),
                    "of_attempts_read": found.same_read,
                },
                "last_failures": [
                    {
                        "computed": {"started_at": computed(row["started_at"])},
                        "copied": self._texts({name: row[name] for name in ("code", "message", "call_id")}),
                    }
                    for row in self._first("last_failures", failed, self._entries)
                ],
            }
        answer["cut"] = self._cut()
        return answer

    def _first(self, name: str, entries: Sequence[T], most: int) -> Sequence[T]:
        if len(entries) > most:
            self._missing[name] = {"shown": most, "of": len(entries)}
        return entries[:most]

    def _texts(self, given: Mapping[str, Any]) -> dict[str, str]:
        texts = {}
        for name, value in given.items():
            text, is_cut = cell(value, self._characters)
            if text is not None:
                texts[name] = text
                self._shortened += is_cut
        return texts

    def _cut(self) -> dict[str, Any] | None:
        cut: dict[str, Any] = dict(self._missing)
        if self._shortened:
            cut["texts"] = f"{format_count(self._shortened, 'text')} shortened to {self._characters} characters"
        if cut:
            cut["more"] = "ask(question='errors', tool=…), attempts(tool=…, status='error'), call(call_id=…)"
        return cut or None


def _of(row: Mapping[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any] | None:
    return None if row is None else {name: computed(row[name]) for name in names}


def _calibration(row: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the calibration; only n and too_few where no labelled attempt reports a confidence."""
    if row is None or not row["n"]:
        return {"n": 0, "too_few": True}
    return {name: computed(row[name]) for name in _CALIBRATION}


def _proportion(found: Proportion) -> dict[str, Any]:
    names = ("k", "n", "share", "low", "high", "clusters", "design_effect", "too_few")
    return {name: computed(getattr(found, name)) for name in names}


def tools() -> tuple[ServedTool, ...]:
    """Return the tool of this module."""
    return (
        ServedTool(
            name="advice",
            description="Before a call: failure rate now, errors, does a retry help, calibrated confidence, did these "
            "arguments fail before, what works instead.",
            arguments=(
                ToolArgument(name="tool", required=True),
                ToolArgument(name="arguments", kind="object"),
                SINCE,
            ),
            handler=_advice,
        ),
    )
