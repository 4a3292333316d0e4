"""Agno's own tools and results in a registry and a message of tooltrace."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("agno", reason="not installed: pip install 'tooltrace-recorder[agno]'")

from agno.approval import approval
from agno.media import Audio, File, Image, Video
from agno.tools import tool
from agno.tools.function import ToolResult

import tooltrace as tt

pytestmark = pytest.mark.usefixtures("store")


def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


@pytest.mark.parametrize(
    ("made", "kind", "approval_type"),
    [
        (lambda: approval(tool(delete)), "confirmation", "required"),
        (lambda: tool(approval(delete)), "confirmation", "required"),
        (lambda: approval(delete), "confirmation", "required"),
        (lambda: approval(type="audit")(tool(external_execution=True)(delete)), "external", "audit"),
        (lambda: tool(requires_confirmation=True)(delete), "confirmation", None),
    ],
)
def test_an_approval_of_agno_makes_the_call_wait(made: Any, kind: str, approval_type: str | None) -> None:
    vars(delete).pop("_agno_approval_type", None)
    registry = tt.ToolRegistry([made()])
    paused = registry.execute("delete", {"path": "a"}, call_id="c1").paused
    assert paused is not None
    assert (paused.kind, paused.approval_type) == (kind, approval_type)


def test_the_media_of_a_result_are_in_the_message_in_words() -> None:
    result = ToolResult(
        content="Done.",
        images=[
            Image(url="https://a.example/b.png"),
            Image(content=b"\x89PNG1", mime_type="image/png"),
        ],
        videos=[Video(filepath="/tmp/v.mp4")],
        audios=[Audio(content=b"\xff" * 2000, format="wav")],
        files=[File(url="https://a.example/f.pdf", filename="f.pdf")],
    )
    assert tt.normalize(result).to_message("c1", "plain").splitlines() == [
        "Done.",
        "Attached image: https://a.example/b.png",
        "Attached image: image/png, 5 bytes",
        "Attached video: /tmp/v.mp4",
        "Attached audio: wav, 2.0 KB",
        "Attached file: f.pdf, https://a.example/f.pdf",
    ]


def test_a_builtin_tool_of_the_provider_is_passed_on_with_agno_functions() -> None:
    registry = tt.ToolRegistry([{"type": "web_search"}, tool(delete)])
    assert registry.names == ["web_search", "delete"]
    assert registry.schemas()[0] == {"type": "web_search"}
