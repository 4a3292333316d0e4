"""The tool ``advice``: what the history says about a call that the agent is about to make."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from tooltrace.analysis.advice import MAX_SAME, NOW, ToolAdvice, advise
from tooltrace.analysis.proportion import Proportion, failed_proportion
from tooltrace.mcp_server.answer import cell, computed
from tooltrace.mcp_server.arguments import ToolArgument
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.mcp_server.tools import SINCE, Caller, ServedTool

_RATE: Final = ("attempts", "failures", "rate", "low", "high", "clusters", "design_effect", "too_few")
_CHANGE: Final = (
    *("changed_at", "failed_since", "open_failures", "baseline_rate", "baseline_calls"),
    *("excess_failures", "excess_low", "excess_high"),
)
_ERROR: Final = (
    *("n", "share", "share_low", "share_high", "last_seen", "retryable_share", "retryable_low", "retryable_high"),
)
_CALIBRATION: Final = (
    *("n", "mean_confidence", "accuracy", "accuracy_low", "accuracy_high", "gap", "gap_low", "gap_high"),
    *("clusters", "design_effect", "too_few"),
)


async def _advice(store: ServedStore, _caller: Caller, given: dict[str, Any]) -> dict[str, Any]:
    since = given["since"] or NOW
    run = partial(advise, store.store, given["tool"], given["arguments"], since=since)
    return _answer(await store.run(run), since, given["arguments"] is not None)


def _answer(found: ToolAdvice, since: str, asked: bool) -> dict[str, Any]:
    """Return the evidence; each text of a trace stands in a member ``copied``."""
    now: dict[str, Any] = {
        "since": since,
        "fails_more_than_usual": found.is_failing,
        "failure_rate": _of(found.rate, _RATE),
    }
    if found.is_failing:
        now["change"] = _of(found.ranking, _CHANGE)
    answer: dict[str, Any] = {
        "now": now,
        "errors": [
            {"computed": _of(row, _ERROR), "copied": _texts(row, ("code", "message", "example_call_id"))}
            for row in found.errors
        ],
        "retry": None if found.retry is None else _proportion(found.retry),
        "confidence": _of(found.calibration, _CALIBRATION),
        "fails_with": [
            {
                "computed": {
                    "with": _proportion(one.failed),
                    "without": _proportion(one.others),
                    "match": "host" if one.is_host else "equal",
                },
                "copied": {"argument": cell(one.name)[0], "value": cell(one.value)[0]},
            }
            for one in found.arguments[:MAX_SAME]
        ],
        "worked_after_failure": [
            {"computed": _proportion(one.worked), "copied": {"tool": cell(one.tool)[0]}}
            for one in found.alternatives[:MAX_SAME]
        ],
        "written_by": {"code": "tool", "message": "tool", "tool": "application", "argument": "model", "value": "model"},
    }
    if asked:
        failed = [row for row in found.same if row["status"] == "error"]
        answer["same_arguments"] = {
            "computed": {"failed": _proportion(failed_proportion(found.same)), "of_attempts_read": found.same_read},
            "last_failures": [
                {
                    "computed": {"started_at": computed(row["started_at"])},
                    "copied": _texts(row, ("code", "message", "call_id")),
                }
                for row in failed[:MAX_SAME]
            ],
        }
    answer["cut"] = None
    return answer


def _of(row: Mapping[str, Any] | None, names: tuple[str, ...]) -> dict[str, Any] | None:
    return None if row is None else {name: computed(row[name]) for name in names}


def _texts(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str | None]:
    return {name: cell(row[name])[0] for name in names if row[name] is not None}


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
