"""The short way to the line and the record of a plain call gives what the general way gives, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tooltrace as tt
from tooltrace.normalize.rule import ResultView, Rule
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording import context as contexts
from tooltrace.recording import plain_call, reading
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.queued_item import line_of
from tooltrace.recording.record_builder import build_any_record
from tooltrace.recording.recorder import Recorder, activate
from tooltrace.recording.settings import Settings
from tooltrace.recording.sinks import structlog
from tooltrace.recording.tool_spec import named_spec
from tooltrace.store.journal_format import encode

WORDS = ("ok", "status", "error", "token=", "password", "eyJ", "\\u0041", "rows", "100 %", "%b", "\n", "\x7f", "é", "密", "\ud800", "{", "[1]",
         "404", "failed", " ", "-", "data", "\x00", "total")  # fmt: skip
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), max_size=6).map("".join)
leaves = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | texts
values = st.recursive(leaves, lambda x: st.lists(x, max_size=3) | st.dictionaries(texts, x, max_size=4), max_leaves=8)
names = st.none() | texts


class Configuration:
    """A recorder that keeps the ended attempts instead of queueing them."""

    def __init__(self, **options: Any) -> None:
        self.ended: list[Attempt] = []
        self.recorder = Recorder(Settings(**options))
        self.recorder.worker.put = lambda item, urgent=False: self.ended.append(item)  # type: ignore[method-assign,assignment]

    def attempt(self, arguments: Any, result: Any, **options: Any) -> Attempt:
        call = options.pop("call_id", None)
        under = options.pop("under", False)
        spec = named_spec(options.pop("name", "search"), **options)
        outer = self.recorder.begin(named_spec("outer"), {}) if under else None
        token = activate(outer) if outer is not None else None
        attempt = self.recorder.begin(spec, arguments, call_id=call)
        if token is not None:
            detach(token)
        assert attempt is not None
        self.recorder.returned(attempt, result)
        return self.ended.pop()


@pytest.fixture(scope="module")
def configurations(tmp_path_factory: pytest.TempPathFactory) -> list[Configuration]:
    store = tmp_path_factory.mktemp("plain") / "t.duckdb"
    return [
        Configuration(store=store, durability="batch", service_name="shop"),
        Configuration(store=store, durability="batch", service_name=None, field_limit=40),
        Configuration(store=store, durability="batch", capture="metadata", service_name="100 % \ud800"),
        Configuration(store=store, durability="batch", redaction=tt.Redaction(keys=["rows"])),
        Configuration(store=store, durability="batch", rules=(tt.rule("own")(lambda value: None), *tt.RULES)),
    ]


@given(
    which=st.integers(0, 4),
    arguments=st.none() | st.dictionaries(texts, values, max_size=3),
    result=values,
    name=texts.filter(bool) | st.just("search"),
    described=names,
    call_id=names,
    conversation=names,
    agent=names,
    under=st.booleans(),
    duration=st.integers(0, 10**15),
    started=st.integers(0, 4 * 10**18),
)
@example(
    0, {"query": "x"}, {"rows": [1, 2]}, "search", "A % b.", None, None, None, True, 99_000, 1_700_000_000_000_000_000
)
@example(0, {}, 5, "search", None, "", None, None, False, 0, 1_000)
@example(0, None, "Sunny in Paris, 21 degrees.", "search", None, "call_1", "chat", "clerk", False, 0, 1)
def test_the_short_way_writes_the_line_and_makes_the_record_of_the_general_way(
    configurations: list[Configuration],
    which: int,
    arguments: Any,
    result: Any,
    name: str,
    described: str | None,
    call_id: str | None,
    conversation: str | None,
    agent: str | None,
    under: bool,
    duration: int,
    started: int,
) -> None:
    token = contexts.current.set(contexts.CallContext(conversation_id=conversation, agent=agent))
    try:
        attempt = configurations[which].attempt(
            arguments, result, name=name, description=described, call_id=call_id, under=under
        )
    finally:
        contexts.current.reset(token)
    attempt.duration_ns, attempt.started_ns = duration, started
    record = build_any_record(attempt)
    line = plain_call.write_line(attempt)
    assert line is None or line == encode(record)
    short = plain_call.make_record(attempt)
    assert short is None or short == record
    if attempt.plain:
        fields, expected = plain_call.log_fields(attempt), structlog.fields_of(record)
        assert list(fields.items()) == list(expected.items()), "the log line differs"


PLAIN: tuple[Any, ...] = (
    None,
    5,
    True,
    1.5,
    "Sunny in Paris, 21 degrees.",
    {"rows": [1, None], "total": 2},
    {"a": None},
)


@pytest.mark.parametrize("result", PLAIN, ids=repr)
def test_an_ordinary_result_takes_the_short_way(configurations: list[Configuration], result: Any) -> None:
    attempt = configurations[0].attempt({"query": "how to open a file"}, result)
    assert plain_call.write_line(attempt) == encode(build_any_record(attempt)), "the line is not written the short way"


NOT_PLAIN: tuple[Any, ...] = (
    {"ok": False, "error": "not found"},
    "Error: not found",
    "password=hunter2hunter2",
    [False, "user not found"],
    '{"status": "failed"}',
    tt.ToolResponse.success("fine"),
)


@pytest.mark.parametrize("result", NOT_PLAIN, ids=repr)
def test_a_result_that_a_rule_or_a_redaction_may_change_takes_the_general_way(
    configurations: list[Configuration], result: Any
) -> None:
    attempt = configurations[0].attempt({"query": "how to open a file"}, result)
    assert plain_call.write_line(attempt) is None
    assert plain_call.make_record(attempt) is None


def test_a_forked_child_writes_its_own_process_id(configurations: list[Configuration], tmp_path: Path) -> None:
    import os

    from tooltrace.core import forking

    if not hasattr(os, "fork"):
        pytest.skip("this platform has no forks")
    attempt = configurations[0].attempt({}, 5)
    assert f'"pid":{os.getpid()}'.encode() in (plain_call.write_line(attempt) or b"")
    place = tmp_path / "line"
    child = os.fork()
    if not child:
        try:
            assert forking.generation
            place.write_bytes(plain_call.write_line(attempt) or b"")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert f'"pid":{child}'.encode() in place.read_bytes()


class Row(NamedTuple):
    number: int
    title: str


UNREAD: tuple[Any, ...] = (
    {"status": "ok", "data": {"id": 4711, "name": "Ada"}},
    [{"id": 1, "title": "open"}, {"id": 2, "title": "close"}],
    "The page lists what may fail, and why. " * 60,
    Row(1, "open"),
)


@pytest.mark.parametrize("result", UNREAD, ids=["envelope", "rows", "long text", "named tuple"])
def test_a_result_that_the_rules_read_and_do_not_recognise_takes_the_short_way(
    configurations: list[Configuration], result: Any
) -> None:
    attempt = configurations[0].attempt({"query": "how to open a file"}, result)
    line = plain_call.write_line(attempt)
    attempt.is_read, attempt.plain = False, None
    assert line == encode(build_any_record(attempt)), "the line is not written the short way"


def test_a_result_is_read_once(configurations: list[Configuration], monkeypatch: pytest.MonkeyPatch) -> None:
    attempt = configurations[0].attempt({}, {"ok": False, "error": "no such customer"})
    seen: list[object] = []
    apply = reading.apply_rules_to_view

    def counted(view: ResultView, rules: Sequence[Rule]) -> tt.ToolResponse | None:
        seen.append(view)
        return apply(view, rules)

    monkeypatch.setattr(reading, "apply_rules_to_view", counted)
    assert line_of(attempt, has_journal=True) == encode(attempt.record())
    assert len(seen) == 1
