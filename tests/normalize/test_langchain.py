"""LangChain's ToolMessage, as an object, a dump and in its serialised forms."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from tests.normalize.junk import JUNK, lost
from tooltrace.core.response import ToolResponse
from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.langchain import RULE
from tooltrace.normalize.protocols.mcp import RULES as MCP_RULES
from tooltrace.normalize.protocols.tool_blocks import RULES as BLOCK_RULES

RULES = (RULE, *MCP_RULES, *BLOCK_RULES)


def read(value: Any) -> ToolResponse:
    return normalize(value, rules=RULES)


class ToolMessage(BaseModel):
    """The fields of langchain-core's class."""

    model_config = ConfigDict(extra="allow")

    content: Any
    additional_kwargs: dict[str, Any] = {}
    response_metadata: dict[str, Any] = {}
    type: str = "tool"
    name: str | None = None
    id: str | None = None
    tool_call_id: str
    artifact: Any = None
    status: str = "success"


class ToolMessageChunk(ToolMessage):
    type: str = "ToolMessageChunk"


for kind in (ToolMessage, ToolMessageChunk):
    kind.__module__ = "langchain_core.messages.tool"


def constructed(message: ToolMessage) -> dict[str, Any]:
    """Return the form that ``langchain_core.load.dumpd`` makes."""
    fields = {k: v for k, v in message.model_dump().items() if v not in (None, {})}
    path = ["langchain", "schema", "messages", type(message).__name__]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": fields}


@pytest.mark.parametrize("kind", [ToolMessage, ToolMessageChunk])
@pytest.mark.parametrize("status", ["success", "error"])
@pytest.mark.parametrize("artifact", [None, {"rows": [1, 2]}])
def test_object_dump_and_serialised_forms_read_the_same(kind, status, artifact):
    message = kind(content="connection refused", tool_call_id="c1", name="fetch", status=status, artifact=artifact)
    dump = message.model_dump()
    forms = [message, dump, message.model_dump_json(), {"type": "tool", "data": dump}, constructed(message), [dump]]
    first, *others = map(read, forms)
    assert [other == first for other in others] == [True] * 5
    assert first.status == status
    assert first.code == ("NETWORK_ERROR" if status == "error" else None)
    assert (first.text, first.payload, first.context) == ("connection refused", artifact, None)
    assert (first.meta.call_id, first.meta.tool_name) == ("c1", "fetch")
    assert (first.meta.rule, first.meta.rule_grade) == ("langchain", "certain")


def test_a_tool_exceptions_text_is_the_message():
    found = read(ToolMessage(content="no such city: Atlantis", tool_call_id="c", status="error"))
    assert (found.code, found.error.message, found.error.type) == ("NOT_FOUND", "no such city: Atlantis", None)


def test_content_blocks_and_metadata_are_preserved():
    message = ToolMessage(
        content=[{"type": "text", "text": "chart"}, "below", {"type": "image_url", "image_url": {"url": "u"}}],
        tool_call_id="c",
        id="m1",
        additional_kwargs={"k": 1},
        response_metadata={"model": "x"},
    )
    found = read(message)
    assert found.text == "chart\nbelow\n<image_url>"
    assert found.context == {
        "id": "m1",
        "additional_kwargs": {"k": 1},
        "response_metadata": {"model": "x"},
        "content": [{"type": "image_url", "image_url": {"url": "u"}}],
    }


def test_a_failure_inside_a_successful_message_is_found():
    words = '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}}'
    found = read(ToolMessage(content=words, tool_call_id="c"))
    assert (found.status, found.code, found.meta.rule) == ("error", "INTERNAL_ERROR", "langchain/json_rpc")


@pytest.mark.parametrize(
    "value",
    [
        {"type": "tool", "name": "hammer", "price": 3},
        {"type": "tool", "data": {"content": "x"}},
        {"type": "ai", "content": "x", "tool_call_id": "c"},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "x"},
        },
        {"lc": 1, "type": "constructor", "id": [], "kwargs": {}},
        {"lc": 1, "type": "not_implemented", "id": ["a", "ToolMessage"], "kwargs": "x"},
        ["content", {"artifact": 1}],
    ],
)
def test_other_messages_are_not_tool_messages(value):
    assert (read(value).meta.rule, read(value).payload) == ("plain", value)


def test_a_tuple_of_content_and_artifact_is_unchanged():
    assert read(("words", {"artifact": 1})).meta.rule == "plain"


NAMES = st.text(max_size=8) | st.sampled_from(
    ["Content", "context", "content_", "said", "Status", "cls", "is_error", "lc"]
)
FIELDS = st.builds(
    lambda extra, known: {**extra, **known},
    st.dictionaries(NAMES, JUNK, max_size=4),
    st.fixed_dictionaries(
        {"content": JUNK, "tool_call_id": st.text() | JUNK},
        optional={
            "status": st.sampled_from(["success", "error"]) | JUNK,
            "artifact": JUNK,
            "name": JUNK,
            "id": JUNK,
            "additional_kwargs": JUNK,
            "response_metadata": JUNK,
        },
    ),
)


def held(fields: dict[str, Any]) -> ToolMessage:
    """A message with these fields, unchecked; of any name, also those that a constructor has for itself."""
    message = ToolMessage.model_construct(**{k: v for k, v in fields.items() if k in ToolMessage.model_fields})
    message.__pydantic_extra__.update({k: v for k, v in fields.items() if k not in ToolMessage.model_fields})
    return message


@given(FIELDS, st.sampled_from(["dict", "nested", "lc", "object"]))
def test_any_field_values_are_accepted_and_preserved(fields, form):
    forms = {
        "dict": {**fields, "type": "tool"},
        "nested": {"type": "tool", "data": fields},
        "lc": {"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"], "kwargs": fields},
        "object": held(fields),
    }
    found = read(forms[form])
    assert found.meta.rule.startswith("langchain")
    assert set(lost(fields, found)) <= {"success", "error"}
    assert fields.get("status") != "error" or found.status == "error"
