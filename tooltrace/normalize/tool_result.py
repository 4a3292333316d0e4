"""``ToolResult``: the constructor that the protocols of confidence and of Magic have under this name."""

from __future__ import annotations

from typing import Any

from tooltrace.core.confidence import Score
from tooltrace.core.response import Source, ToolResponse
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.protocols import envelope, magic


class ToolResult:
    """The members of the envelope, or those of Magic's result, as a ToolResponse.

    With ``success``, the members are read as those of the envelope; without, as those of Magic's result. A call returns
    a ToolResponse: the class is only a name for annotations.
    """

    def __new__(  # type: ignore[misc]
        cls,
        *,
        success: bool | None = None,
        data: Any = None,
        confidence: float | None = None,
        source: Any = None,
        nextAction: str | None = None,  # noqa: N803 - the protocol's name
        error: Any = None,
        meta: dict[str, Any] | None = None,
        output: Any = "",
        system: str | None = None,
        tool_call_id: str | None = None,
        name: str | None = None,
        execution_time: float | None = None,
        explanation: str | None = None,
    ) -> ToolResponse:
        """Return the response with these members; see the two protocols for what they mean."""
        magic_members = {
            "output": output,
            "system": system,
            "tool_call_id": tool_call_id,
            "name": name,
            "execution_time": execution_time,
        }
        shared = {"data": data, "error": error, "explanation": explanation}
        if success is None:
            about = {"confidence": confidence, "source": source, "nextAction": nextAction, "meta": meta}
            _refuse(about, "success=")
            return magic.read(MemberReader(_given(magic_members | shared)))
        _refuse({**magic_members, "output": output or None}, "no success=")
        members = shared | {"confidence": confidence, "source": _plain(source), "nextAction": nextAction, "meta": meta}
        if isinstance(confidence, Score):
            members["signals"] = confidence.signals
        return envelope.read(success, MemberReader(_given(members)))


def _plain(source: Any) -> Any:
    """Return the sources as dicts."""
    if isinstance(source, Source):
        return source.model_dump(exclude_none=True)
    return [_plain(each) for each in source] if isinstance(source, list | tuple) else source


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _refuse(members: dict[str, Any], needed: str) -> None:
    if given := _given(members):
        raise TypeError(
            f"ToolResult({', '.join(f'{name}=…' for name in given)}) needs {needed}: these are members of another protocol"
        )
