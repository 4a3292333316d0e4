"""The record of a failed attempt says where the exception was raised: frames without lines of source, bounded and redacted."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import tooltrace as tt
from tests.recording.shared_endings import Calls
from tooltrace.otel.log_codec import exception_log
from tooltrace.otel.span_codec import decode, encode
from tooltrace.recording.tracebacks import MAX_CHARS, MAX_FRAMES, take_frames, write_traceback


def deep(levels: int) -> None:
    if levels:
        deep(levels - 1)
    raise ValueError(f"no level {levels} below")


def caught(levels: int) -> ValueError:
    try:
        deep(levels)
    except ValueError as error:
        return error
    raise AssertionError


def test_a_raised_exception_is_recorded_with_its_frames(calls: Calls) -> None:
    @tt.trace_tool
    def lookup() -> None:
        try:
            deep(1)
        except ValueError as error:
            raise LookupError("no book") from error

    with pytest.raises(LookupError):
        lookup()
    [call] = calls()
    first, second = call.traceback.split("The above exception was the direct cause of the following exception:")
    lines = first.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert [line.rsplit(", in ", 1)[1].rsplit(".", 1)[-1] for line in lines[1:4]] == ["lookup", "deep", "deep"]
    assert lines[4] == "ValueError"
    assert second.splitlines()[-1] == "LookupError"
    assert f'File "{Path(__file__)}", line {deep.__code__.co_firstlineno + 3}, in deep' in first
    assert "levels" not in call.traceback, "no line of source"
    assert "recording" not in first.replace(str(Path(__file__)), ""), "no frame of the recorder"
    assert decode(encode(call)) == call
    assert exception_log(call).attributes["exception.stacktrace"] == call.traceback


def test_results_and_cancelled_calls_have_no_traceback(calls: Calls) -> None:
    @tt.trace_tool
    def fine() -> tt.ToolResponse:
        return tt.ToolResponse.error("GONE", "no book")

    @tt.trace_tool
    def stopped() -> None:
        raise KeyboardInterrupt

    fine()
    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert [call.traceback for call in calls()] == [None, None]


def test_only_the_innermost_frames_are_kept() -> None:
    text = write_traceback(take_frames(caught(300)))
    assert text.count('  File "') == MAX_FRAMES
    assert f"  … {302 - MAX_FRAMES} more frames" in text


def test_a_long_chain_and_long_names_are_bounded() -> None:
    error = caught(1)
    for _ in range(10):
        try:
            raise type("E" * 5_000, (RuntimeError,), {}) from error
        except RuntimeError as met:
            error = met
    text = write_traceback(take_frames(error))
    assert len(text) == MAX_CHARS
    assert text.endswith("E" * 50)


def test_a_chain_that_is_a_circle_ends() -> None:
    first, second = caught(1), caught(2)
    first.__cause__, second.__cause__ = second, first
    assert write_traceback(take_frames(first)).count("Traceback") == 2


def test_a_suppressed_context_is_left_out() -> None:
    try:
        try:
            deep(0)
        except ValueError:
            raise KeyError from None
    except KeyError as error:
        assert "ValueError" not in write_traceback(take_frames(error))


def test_an_exception_that_was_never_raised_has_no_traceback() -> None:
    assert write_traceback(take_frames(ValueError("made, not raised"))) is None


def test_an_exception_that_lies_about_itself_does_no_harm() -> None:
    class Hostile(Exception):
        @property
        def __traceback__(self):
            raise SystemExit

        @property
        def __cause__(self):
            raise SystemExit

    try:
        raise Hostile
    except Hostile as error:
        assert "Hostile" in write_traceback(take_frames(error))


def test_the_frames_keep_no_variable_of_the_tool_alive() -> None:
    class Held:
        pass

    def tool() -> None:
        held = Held()
        alive.append(weakref.ref(held))
        raise ValueError

    alive: list[weakref.ref[Held]] = []
    try:
        tool()
    except ValueError as error:
        taken = take_frames(error)
    gc.collect()
    assert alive[0]() is None
    assert taken[0].depth == 2


def test_secrets_in_a_traceback_are_redacted(calls: Calls) -> None:
    secret = "sk-" + "a1B2" * 12
    code = compile("def tool():\n    raise ValueError('x')", f"/srv/{secret}/tool.py", "exec")
    names: dict[str, object] = {}
    exec(code, names)
    traced = tt.trace_tool(names["tool"])
    with pytest.raises(ValueError, match="x"):
        traced()
    [call] = calls()
    assert secret not in call.traceback
    assert "line 2, in tool" in call.traceback
    assert call.redacted
