"""``tooltrace tail --loops``: a line when a loop begins, and when it has twice as many rounds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from tooltrace.cli.live_rows import LoopFollower
from tooltrace.core.records import ToolCall
from tooltrace.store.base import open_store


@pytest.fixture
def again():
    """Make calls that are equal, of the last minute."""

    def again(first, number, *, tool="search", **given):
        begin = datetime.now(UTC) - timedelta(seconds=50)
        return [
            ToolCall(**{
                "tool": tool, "call_id": f"again_{tool}_{at}", "trace_id": "0" * 32,
                "span_id": f"{hash((tool, at)) % 2**63:016x}", "status": "success", "arguments": '{"q":"tea"}', "text": "nothing",
                "conversation_id": "session", "agent": "support", "duration_ms": 1.0,
                "started_at": begin + timedelta(seconds=at), **given,
            })
            for at in range(first, first + number)
        ]  # fmt: skip

    return again


def test_a_running_loop_is_a_line_of_its_own(run, put, again):
    put(*again(0, 4))
    done = run("tail", "--no-follow", "--loops")
    assert done.exit_code == 0
    *calls, loop = done.stdout.splitlines()
    assert len(calls) == 4
    assert "search" in loop
    assert "loop/repeat" in loop
    assert "4 rounds in session by support" in " ".join(loop.split())
    assert loop.rstrip().endswith('{"q":"tea"}')
    assert "loop/" not in run("tail", "--no-follow").stdout


def test_json_has_the_loop_as_a_member(run, put, again):
    put(*again(0, 3))
    rows = [json.loads(line) for line in run("tail", "--no-follow", "--loops", "-f", "json").stdout.splitlines()]
    assert ["loop" in row for row in rows] == [False, False, False, True]
    assert (rows[-1]["loop"]["kind"], rows[-1]["loop"]["repeats"]) == ("repeat", 3)


@pytest.mark.long
def test_a_loop_is_returned_again_when_it_has_doubled(put, again, where):
    follower = LoopFollower(open_store(where), {})
    assert list(follower.more()) == [], "the store does not exist yet"
    seen = []
    for first, number in ((0, 2), (2, 1), (3, 1), (4, 1), (5, 1), (6, 5), (11, 1)):
        put(*again(first, number))
        seen.append([row["repeats"] for row in follower.more()])
    assert seen == [[], [3], [], [], [6], [], [12]]


@pytest.mark.long
def test_filters_apply_to_loops(put, again, where):
    put(*again(0, 3))
    store = open_store(where)
    for accepted in (
        {"tool": ["search"]},
        {"agent": ["support"]},
        {"conversation": ["session", "other"]},
        {"status": ["error"]},
    ):
        assert len(list(LoopFollower(store, accepted).more())) == 1, accepted
    for refused in ({"tool": ["fetch"]}, {"agent": ["other"]}, {"conversation": ["other"]}):
        assert list(LoopFollower(store, refused).more()) == [], refused
