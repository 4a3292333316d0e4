"""Magic's result: what the tool said, and what its loop added."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from tests.normalize.shapes import read

DONE = {
    "output": "3 files",
    "error": None,
    "system": "cwd=/tmp",
    "tool_call_id": "call_1",
    "name": "list_dir",
    "execution_time": 0.25,
    "explanation": "to see what is there",
}


class ToolResult(BaseModel):
    output: object = None
    error: str | None = None
    system: str | None = None
    tool_call_id: str | None = None
    name: str | None = None
    execution_time: float = 0.0
    explanation: str | None = None


class TerminalToolResult(ToolResult):
    command: str = ""


class Newer:
    class ToolResult(BaseModel):
        content: str
        ok: bool = True
        data: dict = {}
        system: str | None = None
        tool_call_id: str | None = None
        name: str | None = None
        execution_time: float = 0.0


@pytest.mark.parametrize("value", [DONE, ToolResult(**DONE)])
def test_every_member_has_its_place(value: object) -> None:
    found = read(value)
    assert (found.status, found.text, found.system, found.explanation) == (
        "success",
        "3 files",
        "cwd=/tmp",
        "to see what is there",
    )
    assert (found.meta.call_id, found.meta.tool_name, found.meta.duration_ms) == ("call_1", "list_dir", 250)
    assert (found.stats, found.context) == ({"execution_time": 0.25}, None)
    assert (found.meta.rule, found.meta.rule_grade) == ("magic", "certain")


def test_an_error_reaches_the_model() -> None:
    found = read({**DONE, "output": "", "error": "no such directory: /x"})
    assert (found.status, found.code, found.text) == ("error", "NOT_FOUND", "no such directory: /x")


def test_error_and_output_are_both_preserved() -> None:
    found = read({**DONE, "error": "then it timed out"})
    assert (found.status, found.code, found.context) == ("error", "TIMEOUT", {"output": "3 files"})


def test_fields_of_a_subclass_are_preserved() -> None:
    found = read(TerminalToolResult(output="ok", command="ls"))
    assert (found.status, found.meta.rule, found.context) == ("success", "magic", {"command": "ls"})


def test_the_newer_form_with_ok_and_content_is_read() -> None:
    failed = Newer.ToolResult(content="permission denied", ok=False, tool_call_id="c")
    for value in (failed, failed.model_dump()):
        found = read(value)
        assert (found.status, found.code, found.text, found.meta.rule) == (
            "error",
            "PERMISSION_DENIED",
            "permission denied",
            "magic",
        )
        assert (found.payload, found.context) == (None, None)
    fine = read(Newer.ToolResult(content="done", data={"n": 1}))
    assert (fine.status, fine.text, fine.payload) == ("success", "done", {"n": 1})


def test_structured_output_is_data() -> None:
    assert read({**DONE, "output": {"n": 3}}).payload == {"n": 3}


def test_a_failure_hidden_in_its_output() -> None:
    found = read({**DONE, "output": "Error: disk full"})
    assert (found.status, found.meta.rule, found.text) == ("error", "magic/error_text", "Error: disk full")


@pytest.mark.parametrize("empty", [None, "", [], {}, False])
def test_an_empty_error_is_none(empty: object) -> None:
    assert read({**DONE, "error": empty}).status == "success"


@pytest.mark.parametrize(
    "value",
    [
        {"name": "nightly", "error": "boom", "execution_time": 12.0},  # a job
        {"output": "x", "name": "y"},
        {"id": 3, "tool_call_id": "c", "name": "search", "error": "boom", "execution_time": 1.0},  # a row of history
        {"name": "x", "system": "linux", "explanation": "y"},
        {"content": "x", "ok": True, "data": {}},
    ],
)
def test_similar_objects_are_not_read_as_magic(value: dict) -> None:
    assert read(value).meta.rule != "magic"
    assert read(value).status == "success"
