"""A call that a person has to let through: stopped, kept, and gone on with, here or in another process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError, ReviewError
from tooltrace.tools import ToolRegistry

Calls = Callable[[], list[ToolCall]]
SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"


@pytest.fixture
def done() -> list[str]:
    """Actions that the tools performed."""
    return []


@pytest.fixture
def registry(store: Path, done: list[str]) -> ToolRegistry:
    registry = ToolRegistry()

    @registry.register(requires_confirmation=True, version="3")
    def delete(path: str, force: bool = False, key: str = "") -> str:
        """Delete a file."""
        done.append(path)
        return f"{path} is gone"

    @registry.register(requires_user_input=True, user_input_fields=("to",))
    def mail(body: str, to: str) -> str:
        """Send a mail."""
        done.append(to)
        return f"sent to {to}"

    @registry.register(external_execution=True)
    def deploy(name: str) -> str:
        """Deploy, which somebody else does."""
        raise AssertionError("never run here")

    return registry


def rows(sql: str) -> list[tuple[Any, ...]]:
    with tt.connect() as db:
        return db.execute(sql).fetchall()


def test_a_call_stops_before_the_tool_runs(registry: ToolRegistry, calls: Calls, done: list[str]) -> None:
    answer = registry.execute("delete", {"path": "a"}, call_id="c1")
    assert (done, answer.status, answer.code, answer.next_action) == ([], "partial", "PAUSED", "human_review")
    assert answer.paused is not None
    assert (answer.paused.tool, answer.paused.tool_version, answer.paused.kind) == ("delete", "3", "confirmation")
    (call,) = calls()
    assert (call.status, call.ending, call.duration_ms, call.call_id) == (None, "paused", None, "c1")
    assert call.span_id == answer.paused.span_id == answer.meta.span_id
    assert rows("SELECT kind, decision, span_id FROM gates") == [("confirmation", None, call.span_id)]


def test_an_approved_call_runs_and_its_gate_records_who_when_and_what(
    registry: ToolRegistry, calls: Calls, done: list[str]
) -> None:
    paused = registry.execute("delete", {"path": "a"}, call_id="c1")
    answer = registry.resume(paused, approve=True, answered_by="ann", note="but only b", inputs={"path": "b"})
    assert (answer.status, answer.text, done) == ("success", "b is gone", ["b"])
    stopped, went_on = calls()
    assert (went_on.ending, went_on.attempt, went_on.call_id) == ("returned", 1, "c1")
    assert went_on.duration_ms is not None
    assert json.loads(went_on.arguments or "") == {"path": "b"}
    assert rows(
        """SELECT decision, answered_by, note, changed ->> '$.path', span_id, resumed_span_id, answered_at >= asked_at
        FROM gates"""
    ) == [("approved", "ann", "but only b", "b", stopped.span_id, went_on.span_id, True)]
    assert rows("SELECT call_id, attempts, status, failures FROM calls") == [("c1", 1, "success", 0)]


def test_unchanged_arguments_are_not_recorded_as_changed(registry: ToolRegistry) -> None:
    registry.resume(registry.execute("delete", {"path": "a"}), approve=True, inputs={"path": "a"})
    assert rows("SELECT decision, changed FROM gates") == [("approved", None)]


@pytest.mark.parametrize(
    "no",
    [
        {"decline": "it is needed"},
        {"decline": True, "note": "it is needed"},
        {"approve": False, "note": "it is needed"},
    ],
)
def test_a_decline_is_not_a_failure(registry: ToolRegistry, calls: Calls, done: list[str], no: dict[str, Any]) -> None:
    answer = registry.resume(registry.execute("delete", {"path": "a"}, call_id="c1"), **no, answered_by="ann")
    assert (done, answer.ok, answer.code) == ([], True, "DECLINED")
    assert "it is needed" in answer.to_message("c1", "plain")
    assert (calls()[1].status, calls()[1].ending) == (None, "declined")
    assert rows("SELECT decision, answered_by, note FROM gates") == [("declined", "ann", "it is needed")]
    (row,) = tt.query("failure_rate").rows
    assert row[:3] == ("delete", 0, 0)
    assert rows("SELECT attempts, failures FROM calls") == [(0, 0)]


def test_a_person_provides_parameters_hidden_from_the_model(registry: ToolRegistry, done: list[str]) -> None:
    schema = next(each for each in registry.schemas("plain") if each["name"] == "mail")
    assert list(schema["parameters"]["properties"]) == ["body"]
    paused = registry.execute("mail", '{"body": "hello"}', call_id="c1")
    assert paused.next_action == "ask_user"
    assert paused.paused is not None
    assert paused.paused.wanted == {"to": {"type": "string"}}
    assert registry.resume(paused, inputs={"to": "bob"}).text == "sent to bob"
    assert done == ["bob"]
    assert rows("SELECT kind, decision, changed ->> '$.to' FROM gates") == [("input", "approved", "bob")]


def test_somebody_else_does_the_work_and_its_result_is_judged(registry: ToolRegistry, calls: Calls) -> None:
    fine = registry.resume(registry.execute("deploy", {"name": "x"}, call_id="c1"), result="done")
    failed = registry.resume(
        registry.execute("deploy", {"name": "y"}, call_id="c2"), result=tt.ToolResponse.error("TIMEOUT", "no answer")
    )
    assert (fine.status, failed.status) == ("success", "error")
    ended = [(call.call_id, call.status, call.code, call.duration_ms) for call in calls() if call.ending != "paused"]
    assert ended == [("c1", "success", None, None), ("c2", "error", "TIMEOUT", None)]


def test_the_wait_is_not_the_tools_time(registry: ToolRegistry, calls: Calls) -> None:
    paused = registry.execute("delete", {"path": "a"})
    threading.Event().wait(0.2)  # a person thinks
    started = time.perf_counter()
    registry.resume(paused, approve=True)
    resumed_ms = (time.perf_counter() - started) * 1000
    assert (calls()[1].duration_ms or 0) <= resumed_ms


def test_the_two_spans_are_linked(tmp_path: Path) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tt.configure(store=tmp_path / "t.duckdb", tracer_provider=provider)
    registry = ToolRegistry()
    registry.register(lambda: "x", name="ask", requires_confirmation=True)
    registry.resume(registry.execute("ask"), approve=True)
    tt.shutdown()
    stopped, went_on = exporter.get_finished_spans()
    (link,) = went_on.links
    assert (link.context.span_id, link.context.trace_id) == (stopped.context.span_id, stopped.context.trace_id)


def test_without_a_call_id_both_attempts_are_one_call(registry: ToolRegistry) -> None:
    registry.resume(registry.execute("delete", {"path": "a"}), approve=True)
    assert rows("SELECT count(*), count(DISTINCT call_id) FROM tool_calls") == [(2, 1)]


def test_the_paused_call_has_the_true_arguments_and_the_store_has_not(registry: ToolRegistry, store: Path) -> None:
    paused = registry.execute("delete", {"path": "a", "key": SECRET})
    assert paused.paused is not None
    assert paused.paused.arguments["key"] == SECRET
    registry.resume(paused, approve=True, inputs={"path": f"b-{SECRET}"}, note=SECRET, answered_by=SECRET)
    tt.flush()
    written = b"".join(path.read_bytes() for path in store.parent.rglob("*") if path.is_file())
    assert SECRET.encode() not in written


OTHER = """
import sys, tooltrace as tt
tt.configure(store=sys.argv[1])
registry = tt.ToolRegistry()
@registry.register(requires_confirmation=True)
def delete(path: str, force: bool = False, key: str = "") -> str:
    return f"{path} is gone"
print(registry.resume(sys.stdin.read(), approve=True, answered_by="ann").text)
"""


@pytest.mark.processes
def test_a_paused_call_resumes_in_another_process(registry: ToolRegistry, store: Path, done: list[str]) -> None:
    with tt.context(conversation_id="chat", agent="clerk"):
        paused = registry.execute("delete", {"path": "a"}, call_id="c1").paused
    assert paused is not None
    run = subprocess.run(
        [sys.executable, "-c", OTHER, str(store)],
        input=paused.model_dump_json(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (run.stdout, done) == ("a is gone\n", [])
    assert rows("SELECT ending, conversation_id, agent FROM tool_calls ORDER BY started_at") == [
        ("paused", "chat", "clerk"), ("returned", "chat", "clerk"),
    ]  # fmt: skip
    assert rows("SELECT count(DISTINCT pid) FROM tool_calls") == [(2,)]
    assert rows("SELECT decision, g.span_id = p.span_id FROM gates g JOIN tool_calls p USING (span_id)") == [
        ("approved", True)
    ]
    assert rows("SELECT count(*) FROM tool_calls JOIN gates ON resumed_span_id = tool_calls.span_id") == [(1,)]


async def test_in_an_event_loop(registry: ToolRegistry) -> None:
    @registry.register(requires_confirmation=True)
    async def fetch(url: str) -> str:
        """Fetch."""
        return f"got {url}"

    paused = await registry.aexecute("fetch", {"url": "u"}, call_id="c1")
    assert (await registry.aresume(paused, approve=True)).text == "got u"


def test_an_expired_approval_does_not_run_the_call(store: Path, calls: Calls, done: list[str]) -> None:
    registry = ToolRegistry()
    registry.register(lambda: done.append("x"), name="ask", requires_confirmation=True, expires_after=60)
    paused_call = registry.execute("ask", call_id="c1").paused
    assert paused_call is not None
    assert paused_call.expires_at is not None
    answer = registry.resume(
        paused_call.model_copy(update={"expires_at": paused_call.asked_at}), approve=True, answered_by="ann"
    )
    assert (answer.code, answer.ok, done) == ("EXPIRED", True, [])
    assert calls()[1].ending == "expired"
    assert rows("SELECT decision, answered_by FROM gates") == [("expired", "ann")]


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("delete", {}, "neither yes nor no"),
        ("delete", {"approve": True, "decline": True}, "both yes and no"),
        ("delete", {"result": 1}, "requires approve="),
        ("delete", {"approve": True, "inputs": {"force": "perhaps"}}, "'force'"),
        ("delete", {"approve": True, "inputs": {"pth": "b"}}, "'pth'"),
        ("mail", {"approve": True}, "missing parameter 'to'"),
        ("mail", {"inputs": {"to": 7}}, "'to'"),
        ("deploy", {"approve": True}, "requires result="),
    ],
)
def test_an_answer_that_does_not_fit_does_nothing_and_the_call_waits_on(
    registry: ToolRegistry, calls: Calls, done: list[str], tool: str, arguments: dict[str, Any], message: str
) -> None:
    paused = registry.execute(tool, {"delete": {"path": "a"}, "mail": {"body": "b"}, "deploy": {"name": "n"}}[tool])
    with pytest.raises(ReviewError, match=message):
        registry.resume(paused, **arguments)
    assert (done, len(calls())) == ([], 1)
    assert registry.resume(paused, decline=True).code == "DECLINED"


def test_an_answer_counts_once(registry: ToolRegistry, done: list[str]) -> None:
    paused = registry.execute("delete", {"path": "a"})
    registry.resume(paused, approve=True)
    with pytest.raises(ReviewError, match="already"):
        registry.resume(paused, approve=True)
    assert done == ["a"]


@pytest.mark.parametrize("what", ["{}", "no json", {"tool": "delete"}, tt.ToolResponse.success("x")])
def test_only_a_paused_call_can_be_resumed(registry: ToolRegistry, what: Any) -> None:
    with pytest.raises(ReviewError, match="not a paused call"):
        registry.resume(what, approve=True)


def test_resuming_without_the_tool_is_an_error(registry: ToolRegistry) -> None:
    paused = registry.execute("delete", {"path": "a"})
    with pytest.raises(ReviewError, match="no tool 'delete'"):
        ToolRegistry().resume(paused, approve=True)


def test_wrong_arguments_are_refused_before_the_review(registry: ToolRegistry, calls: Calls) -> None:
    assert registry.execute("delete", {"pth": "a"}).code == "INVALID_PARAM"
    assert [call.ending for call in calls()] == ["refused"]
    assert rows("SELECT count(*) FROM gates") == [(0,)]


def test_a_tool_stops_for_one_thing() -> None:
    with pytest.raises(ConfigError, match="one of them"):
        ToolRegistry().register(lambda: 1, name="x", requires_confirmation=True, external_execution=True)


def test_a_response_reports_whether_it_is_paused(registry: ToolRegistry) -> None:
    assert registry.execute("nothing").paused is None
    paused = registry.execute("delete", {"path": "a"})
    again = tt.ToolResponse.model_validate_json(paused.model_dump_json())
    assert again.paused == paused.paused


@pytest.mark.parametrize("yes", ["false", "no", 0, 1, "true"])
def test_only_true_is_a_yes(registry: ToolRegistry, done: list[str], yes: Any) -> None:
    paused = registry.execute("delete", {"path": "a"})
    with pytest.raises(ReviewError, match="True or False"):
        registry.resume(paused, approve=yes)
    assert done == []


def test_reviewer_and_note_may_be_other_than_text(registry: ToolRegistry) -> None:
    registry.resume(registry.execute("delete", {"path": "a"}), approve=True, answered_by=5, note=7)  # type: ignore[arg-type]
    assert rows("SELECT decision, answered_by, note FROM gates") == [("approved", "5", "7")]


async def test_a_decision_is_stored_although_the_run_is_interrupted(store: Path) -> None:
    import asyncio

    registry = ToolRegistry()

    @registry.register(requires_confirmation=True)
    async def slow() -> None:
        """Wait."""
        started.set()
        await asyncio.Event().wait()

    started = asyncio.Event()
    paused = await registry.aexecute("slow", call_id="c1")
    resuming = asyncio.ensure_future(registry.aresume(paused, approve=True, answered_by="ann"))
    await started.wait()
    resuming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await resuming
    assert rows("SELECT decision, answered_by FROM gates") == [("approved", "ann")]
    assert rows("SELECT ending FROM tool_calls ORDER BY started_at") == [("paused",), ("cancelled",)]


def test_the_answer_fits_the_tool_as_it_is_here(registry: ToolRegistry, done: list[str]) -> None:
    paused_call = registry.execute("delete", {"path": "a"}).paused
    assert paused_call is not None
    forged = paused_call.model_copy(update={"kind": "external"})
    with pytest.raises(ReviewError, match="does not require external"):
        registry.resume(forged, result="forged")
    with pytest.raises(ReviewError, match="inputs must map"):
        registry.resume(paused_call, approve=True, inputs="x")  # type: ignore[arg-type]
    broken = {**json.loads(paused_call.model_dump_json()), "span_id": paused_call.span_id.upper() + "!"}
    with pytest.raises(ReviewError, match="not a paused call"):
        registry.resume(broken, approve=True)


def test_a_person_may_omit_parameters_with_a_default(store: Path) -> None:
    registry = ToolRegistry()
    registry.register(lambda to="all": f"to {to}", name="mail", requires_user_input=True, user_input_fields=("to",))
    assert registry.resume(registry.execute("mail"), approve=True).text == "to all"


def test_the_name_of_an_unknown_tool_is_redacted(registry: ToolRegistry, store: Path) -> None:
    registry.execute(f"find {SECRET}")
    tt.flush()
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in store.parent.rglob("*") if path.is_file())


class TestApprovalType:
    """``approval_type``, as in Agno."""

    @pytest.mark.parametrize(
        ("options", "kind"),
        [
            ({"approval_type": "required"}, "confirmation"),
            ({"approval_type": "required", "external_execution": True}, "external"),
            ({"approval_type": "required", "requires_user_input": True}, "input"),
            ({"approval_type": "audit", "requires_confirmation": True}, "confirmation"),
        ],
    )
    def test_a_call_waits_and_the_paused_call_has_the_type(self, store: Path, options: Any, kind: str) -> None:
        registry = ToolRegistry()
        registry.register(lambda path="a": path, name="delete", **options)
        paused = registry.execute("delete", call_id="c1").paused
        assert paused is not None
        assert (paused.kind, paused.approval_type) == (kind, options["approval_type"])
        again = type(paused).model_validate_json(paused.model_dump_json())
        answer: Any = {"result": "a"} if kind == "external" else {"approve": True}
        assert registry.resume(again, **answer).text == "a"
        assert rows("SELECT kind, decision FROM gates") == [(kind, "approved")]

    def test_without_the_option_there_is_no_type(self, registry: ToolRegistry) -> None:
        paused = registry.execute("delete", {"path": "a"}).paused
        assert paused is not None
        assert paused.approval_type is None

    @pytest.mark.parametrize(("kind", "wrong"), [("audit", "needs a gate to audit"), ("yes", "'required', 'audit'")])
    def test_a_type_that_does_not_fit_is_refused(self, kind: Any, wrong: str) -> None:
        with pytest.raises(ConfigError, match=wrong):
            ToolRegistry().register(lambda: None, name="delete", approval_type=kind)

    def test_the_mark_and_the_registration_complete_each_other(self, store: Path) -> None:
        registry = ToolRegistry()
        registry.register(tt.tool(approval_type="required")(lambda: "done"), name="run", external_execution=True)
        paused = registry.execute("run").paused
        assert paused is not None
        assert (paused.kind, paused.approval_type) == ("external", "required")

    def test_a_function_that_agno_marked_waits(self, store: Path) -> None:
        def delete(path: str) -> str:
            return path

        delete._agno_approval_type = "required"  # type: ignore[attr-defined]
        paused = ToolRegistry(tools=[delete]).execute("delete", {"path": "a"}).paused
        assert paused is not None
        assert paused.approval_type == "required"
