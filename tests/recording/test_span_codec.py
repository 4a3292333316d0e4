"""A call as span data, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import examples
from tooltrace.core.fields import fields_of
from tooltrace.core.records import ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import span_codec
from tooltrace.redact.snapshot import Json

texts = st.text(st.characters(codec="utf-8"))


hexes = st.text("0123456789abcdef", min_size=16, max_size=16).filter(lambda h: int(h, 16) > 0)


moments = st.datetimes(timezones=st.just(__import__("datetime").UTC))


numbers = st.floats(0, 1e12, allow_nan=False)


leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)


jsons = st.recursive(leaves, lambda x: st.lists(x, max_size=3) | st.dictionaries(texts, x, max_size=3), max_leaves=8)


def as_json(value: Any) -> Json:
    import orjson

    return Json(orjson.dumps(value).decode())


def field(name: str, kind: str) -> st.SearchStrategy[Any]:
    if name == "attributes":
        own = texts.filter(lambda key: key not in names.RESERVED)
        return st.none() | st.dictionaries(own, jsons, min_size=1, max_size=4).map(as_json)
    by_kind = {"str": texts, "int": st.integers(1, 2**31), "float": numbers, "bool": st.booleans(), "datetime": moments,
               "Json": jsons.map(as_json)}  # fmt: skip
    base = by_kind[kind.removesuffix(" | None")]
    if name == "status":
        base = st.sampled_from(["success", "partial", "error"])
    return st.none() | base if kind.endswith("| None") else base


def tool_calls() -> st.SearchStrategy[ToolCall]:
    drawn = {f.name: field(f.name, f.type_name + " | None" * f.nullable) for f in fields_of(ToolCall)}
    ids = {"trace_id": st.tuples(hexes, hexes).map("".join), "span_id": hexes, "parent_span_id": st.none() | hexes}
    return st.builds(ToolCall, **{**drawn, **ids})


@given(tool_calls())
def test_the_otel_form_of_a_call_loses_nothing(call: ToolCall) -> None:
    assert span_codec.decode(span_codec.encode(call)) == call


@settings(max_examples=examples(20))
@given(tool_calls(), hexes)
def test_a_call_without_an_id_of_its_own(call: ToolCall, span_id: str) -> None:
    call = replace(call, span_id=span_id, call_id=span_id)
    form = span_codec.encode(call)
    assert names.TOOL_CALL_ID not in form.attributes and span_codec.decode(form) == call


def test_a_text_without_data_is_the_result_that_other_backends_show() -> None:
    call = ToolCall(
        tool="t", call_id="2" * 16, trace_id="1" * 32, span_id="2" * 16, started_at=datetime(2026, 1, 1, tzinfo=UTC),
        status="success", text="It was \ud800sent.",
    )  # fmt: skip
    form = span_codec.encode(call)
    assert form.attributes["gen_ai.tool.call.result"] == '"It was ?sent."'
    assert span_codec.decode(form) == call
    failed = span_codec.encode(replace(call, status="error"))
    assert "gen_ai.tool.call.result" not in failed.attributes
