"""A result that a person has to review: held, kept, and passed on, corrected or declined, here or in another process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ReviewError
from tooltrace.tools import ToolRegistry

WEAK = {"success": True, "data": {"rows": [1]}, "confidence": 0.3, "nextAction": "human_review"}
Calls = Callable[[], list[ToolCall]]


@pytest.fixture
def registry(store: Path) -> ToolRegistry:
    registry = ToolRegistry()
    registry.register(lambda: WEAK, name="weak")
    return registry


def gates() -> list[tuple[Any, ...]]:
    tt.flush()
    with tt.connect() as db:
        return db.execute("SELECT kind, decision, answered_by, note, resumed_span_id FROM gates").fetchall()


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_result_waits_and_is_passed_on(registry: ToolRegistry, calls: Calls, how: str) -> None:
    execute: Any = registry.execute if how == "sync" else lambda *a, **k: asyncio.run(registry.aexecute(*a, **k))
    resume: Any = registry.resume if how == "sync" else lambda *a, **k: asyncio.run(registry.aresume(*a, **k))
    waiting = execute("weak", {}, call_id="c1")
    assert (waiting.paused.kind, waiting.next_action, waiting.ok) == ("review", "human_review", False)
    assert tt.resolve_next_step(waiting) == "human_review"
    assert "rows" not in waiting.to_message("c1", "json")
    assert waiting.paused.result["data"] == {"rows": [1]}
    assert gates() == [("review", None, None, None, None)]
    passed = resume(waiting, approve=True, answered_by="ann", note="fine")
    assert (passed.data, passed.confidence, passed.next_action, passed.paused) == ({"rows": [1]}, 0.3, "continue", None)
    assert gates() == [("review", "approved", "ann", "fine", None)]
    (call,) = calls()  # the tool was run once, and its row says what it said
    assert (call.ending, call.status, call.next_action, json.loads(call.result or "")) == (
        "returned", "success", "human_review", {"rows": [1]},
    )  # fmt: skip
    with pytest.raises(ReviewError, match="already answered"):
        resume(waiting, approve=True)


def test_a_result_is_corrected_or_declined(registry: ToolRegistry) -> None:
    corrected = registry.resume(registry.execute("weak", call_id="c1"), result={"rows": [1, 2]})
    assert (corrected.data, corrected.meta.call_id) == ({"rows": [1, 2]}, "c1")
    declined = registry.resume(registry.execute("weak", call_id="c2"), decline="wrong table")
    assert (declined.code, declined.payload) == ("DECLINED", None)
    assert "wrong table" in declined.to_message("c2", "plain")
    waiting = registry.execute("weak", call_id="c3")
    with pytest.raises(ReviewError, match="takes no inputs"):
        registry.resume(waiting, inputs={"a": 1})
    assert registry.resume(waiting, approve=True).ok


def test_nobody_reviews_in_time(store: Path) -> None:
    registry = ToolRegistry()
    registry.register(lambda: WEAK, name="weak", expires_after=1e-6)
    waiting = registry.execute("weak")
    assert registry.resume(waiting, approve=True).code == "EXPIRED"
    assert gates()[0][:2] == ("review", "expired")


def test_only_a_stated_review_waits(store: Path) -> None:
    registry, off = ToolRegistry(), ToolRegistry(review=False)
    off.register(lambda: WEAK, name="weak")
    assert off.execute("weak").paused is None
    registry.register(lambda: tt.ToolResponse.error("MINE", "no", False), name="advised")
    assert registry.execute("advised").next_action == "human_review"
    assert registry.execute("advised").paused is None
    assert gates() == []


def test_any_data_is_kept_for_the_reviewer(store: Path) -> None:
    @dataclass
    class Row:
        n: int

    class Odd:
        pass

    registry = ToolRegistry()
    registry.register(lambda: tt.ToolResponse.success(data=[Row(1), Odd()], next_action="human_review"), name="odd")
    kept = registry.execute("odd").paused
    assert kept is not None
    passed = registry.resume(kept.model_dump_json(), approve=True)
    assert passed.data[0] == {"n": 1}


PROGRAM = """
import sys
import tooltrace as tt
tt.configure(store=sys.argv[1])
registry = tt.ToolRegistry()
@registry.register(version="2")
def estimate(item: str) -> tt.ToolResponse:
    return tt.ToolResponse.success(f"{item}: 7", {"n": 7}, confidence=0.2, next_action="human_review")
"""


@pytest.mark.processes
def test_another_process_resumes_with_the_decision(tmp_path: Path) -> None:
    store, kept = tmp_path / "s.duckdb", tmp_path / "kept.json"
    steps = (
        f"open({str(kept)!r}, 'w').write(registry.execute('estimate', {{'item': 'a'}}, call_id='c1').paused.model_dump_json())",
        f"print(registry.resume(open({str(kept)!r}).read(), approve=True, answered_by='ann').text)",
    )
    for step in steps:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM + step, str(store)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout == "a: 7\n"
    with tt.connect(store) as db:
        assert db.execute("SELECT decision, answered_by, call_id FROM gates").fetchall() == [("approved", "ann", "c1")]
        assert db.execute("SELECT ending, call_id, tool_version FROM tool_calls").fetchall() == [
            ("returned", "c1", "2")
        ]
