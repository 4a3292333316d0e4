"""Random and hostile lines: no crash, no record that the journal refuses, and no call that disappears."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tooltrace.store.journal.line_format import encode

from . import claude_lines, test_codex
from .conftest import Imported, imported, write_lines
from .test_claude_code import ENDINGS

HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 2**200, 1e308, "", "x" * 5000, "\x00\ud800", "NaN", "9999-99-99T99:99:99Z", "0001-01-01T00:00:00Z",
    [], [[]], [None, 1, "x"], {}, {"type": "tool_use"}, {"type": {}}, [{"type": "tool_result", "tool_use_id": []}], [[{}]] * 3,
    {"Ok": 1}, {"Err": None}, {"secs": "x"}, {"subagent": [1]},
)  # fmt: skip


def claude(choose: random.Random, number: int) -> list[dict[str, Any]]:
    second, call_id = number * 10.0, f"toolu_{number:024d}"
    content, is_error, *_ = choose.choice(ENDINGS)
    tool = choose.choice(["Bash", "Read", "Task", "mcp__a__b"])
    return [
        claude_lines.prompt(second, choose.choice(["go", "[Request interrupted by user]"])),
        claude_lines.asks(second + 1, call_id, tool),
        claude_lines.answers(second + 2, call_id, content, is_error),
    ]


def codex(choose: random.Random, number: int) -> list[dict[str, Any]]:
    second, call_id = number * 10.0, f"call_{number:024d}"
    return [
        test_codex.line(second, "turn_context", turn_id=str(number), model="m"),
        test_codex.asks(second + 1, call_id),
        test_codex.event(
            second + 1.5, "mcp_tool_call_end", call_id=call_id, duration={"secs": 1, "nanos": 5}, result={"Ok": {}}
        ),
        test_codex.answers(second + 2, choose.choice(test_codex.ENDINGS)[0], call_id),
    ]


def mutated(value: Any, choose: random.Random) -> Any:
    """Return ``value`` with one member of it, at any depth, replaced or removed."""
    if isinstance(value, dict) and value and choose.random() < 0.8:
        name = choose.choice(list(value))
        if choose.random() < 0.2:
            return {key: item for key, item in value.items() if key != name}
        return {**value, name: mutated(value[name], choose)}
    if isinstance(value, list) and value and choose.random() < 0.8:
        at = choose.randrange(len(value))
        return [*value[:at], mutated(value[at], choose), *value[at + 1 :]]
    return choose.choice(HOSTILE)


@pytest.mark.parametrize("turns", [300, pytest.param(3_000, marks=pytest.mark.simulations)])
@pytest.mark.parametrize(("make", "first"), [(claude, None), (codex, test_codex.BEGIN[0])], ids=["claude", "codex"])
def test_every_line_is_accounted_for(tmp_path, make, first, turns):
    choose = random.Random(46)
    lines: list[Any] = [first or claude_lines.prompt(0)]
    whole = set()
    for number in range(turns):
        turn = make(choose, number)
        broken = choose.randrange(len(turn)) if choose.random() < 0.7 else None
        if broken is None:
            whole.add(number)
        else:
            text = json.dumps(mutated(turn[broken], choose))
            turn[broken] = text[: choose.randrange(2, 40)] if choose.random() < 0.1 else text
        lines += turn
    found: Imported = imported(write_lines(tmp_path / "session.jsonl", lines))
    for record in found.records:
        encode(record)
    seen = {call.call_id for call in found.calls}
    assert {f"{'toolu' if make is claude else 'call'}_{number:024d}" for number in whole} <= seen
    assert found.result.skipped >= sum(not is_object(line) for line in lines if isinstance(line, str))


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
