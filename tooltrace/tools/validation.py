"""From what a model sent to a call that can be run, or to the answer that stands in for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import GateKind, PausedCall, ToolResponse
from tooltrace.faults import report_fault
from tooltrace.recording.config import get_recorder
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.tools import argument_errors, builtin_responses
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.state import RegistryState


@dataclass(slots=True, kw_only=True)
class PreparedCall:
    """A call before it is run."""

    spec: ToolSpec
    call_id: str | None
    given: dict[str, Any]
    """The arguments as they were sent, as JSON data."""
    tool: RegisteredTool | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    """The arguments as the tool wants them, without what is injected."""
    refusal: ToolResponse | Exception | None = None
    """The answer, where the call is not run; or what a validator of the tool's raised."""
    gate: GateKind | None = None
    """What a person is asked for before the call is run."""
    resumed: PausedCall | None = None
    """What the call goes on from."""

    @property
    def recorded(self) -> dict[str, Any]:
        """The arguments to record: as the tool got them; as they were sent, where it got none."""
        return self.given if self.refusal is not None else self.arguments


def prepare(state: RegistryState, name: str, sent: Any, call_id: str | None) -> PreparedCall:
    """The call of the tool ``name`` with what was ``sent`` as its arguments. Never raises."""
    call_id = str(call_id) if call_id else None
    given, broken = argument_errors.parse(sent)
    tool = state.tools.get(name) if isinstance(name, str) else None
    if tool is None:
        refusal = builtin_responses.not_found(str(name), list(state.tools))
        safe = get_recorder().settings.redaction.redact_text(
            builtin_responses.truncate_name(str(name))
        )  # it is the model's own text
        return PreparedCall(spec=named_spec(safe), call_id=call_id, given=given, refusal=refusal)
    prepared = PreparedCall(spec=tool.spec, call_id=call_id, given=given, tool=tool)
    prepared.refusal = state.limits.take(tool) or broken
    for step in (check, ask_person):
        if prepared.refusal is None:
            _guarded(step, prepared, tool)
    return prepared


def _guarded(
    step: Callable[[PreparedCall, RegisteredTool], None], prepared: PreparedCall, tool: RegisteredTool
) -> None:
    """A fault of ours is an answer too, and nothing is run on it."""
    try:
        step(prepared, tool)
    except Exception:
        report_fault(f"{step.__name__} the arguments of", lost=0)
        prepared.refusal = builtin_responses.registry_error(
            ToolErrorCode.INTERNAL_ERROR, "the arguments could not be checked"
        )


def check(prepared: PreparedCall, tool: RegisteredTool) -> None:
    """Check what was given against what the model is asked for."""
    given, asked = prepared.given, tool.asked
    barred = [name for name in given if name in asked.refused]
    try:
        prepared.arguments = asked.validate({name: value for name, value in given.items() if name not in barred})
        faults = []
    except ValidationError as error:
        faults = argument_errors.faults(error, given, asked, _may_quote(tool))
    except Exception as error:  # a validator of the tool's own
        prepared.refusal = error
        return
    faults += [argument_errors.unknown(name, asked) for name in barred]
    if faults:
        prepared.refusal = argument_errors.refused(faults, asked)


def _may_quote(tool: RegisteredTool) -> Callable[[str], bool]:
    """Whether the value of a parameter may stand in an answer, which is recorded: by the rules of redaction, and where
    arguments are recorded at all."""
    settings = get_recorder().settings
    redactions = [each for each in (settings.redaction, tool.spec.redact) if each is not None]
    if (tool.spec.capture or settings.capture) != "full" or any(each.hook for each in redactions):
        return lambda _: False
    return lambda path: not any(each.is_secret_key(part) for each in redactions for part in path.split("."))


def ask_person(prepared: PreparedCall, tool: RegisteredTool) -> None:
    """Whether a person has to agree first."""
    prepared.gate = tool.options.gate
