"""Convention of the Model Context Protocol: client and server spans of the method ``tools/call``.

Source: the MCP page of the conventions for generative AI. Observed with mcp 2.3 (``MCP send tools/call add``, without
the tool's name in an attribute) and fastmcp 4.1 (client, server). Logfire's spans of mcp 1 have the request and the
response.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.ingest.spans.conventions.attributes import MCP_METHOD, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention, structure
from tooltrace.otel.span_data import SpanData

NAME = "mcp"
_METHODS = ("mcp.method.name", "rpc.method")


def _knows(_name: str, attributes: Mapping[str, Any]) -> bool:
    return any(attributes.get(key) == MCP_METHOD for key in _METHODS)


def _correct(fields: dict[str, Any], form: SpanData) -> None:
    fields.setdefault("tool_type", "extension")
    if "tool" not in fields and f"{MCP_METHOD} " in form.name:
        fields["tool"] = form.name.partition(f"{MCP_METHOD} ")[2]
    request = structure(form.attributes.get("request"))
    params = request.get("params") if isinstance(request, dict) else None
    if isinstance(params, dict):
        fields.setdefault("arguments", params.get("arguments"))
        if isinstance(params.get("name"), str):
            fields["tool"] = params["name"]


CONVENTION = SpanConvention(
    NAME,
    _knows,
    READS["mcp"],
    _correct,
)
