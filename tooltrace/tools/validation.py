"""Turn the arguments that a model sent into a call that can be run, or into a response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.paused_call import GateKind, PausedCall
from tooltrace.core.response import ToolResponse
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
    sent: dict[str, Any]
    """The arguments as the model sent them, as JSON data."""
    tool: RegisteredTool | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    """The validated arguments of the tool, without the injected ones."""
    refusal: ToolResponse | Exception | None = None
    """The response, if the call is not run; or an exception of the tool's own validators."""
    incomplete: ToolResponse | None = None
    """The response if the tool raises, where parameters are missing and the tool may answer that itself."""
    gate: GateKind | None = None
    """The kind of decision that a person has to make before the call is run."""
    resumed: PausedCall | None = None
    """The paused call that this call resumes."""

    @property
    def recorded(self) -> dict[str, Any]:
        """The arguments to record: the validated ones; if the call is refused, those that the model sent."""
        return self.sent if self.refusal is not None else self.arguments


def prepare(state: RegistryState, name: str, sent: Any, call_id: str | None) -> PreparedCall:
    """Return the call of the tool ``name`` with the arguments ``sent``. Never raises."""
    call_id = str(call_id) if call_id else None
    sent, broken = argument_errors.parse(sent)
    tool = state.tools.get(name) if isinstance(name, str) else None
    if tool is None:
        refusal = builtin_responses.not_found(str(name), list(state.tools))
        # The name comes from the model, and may contain a secret.
        safe = get_recorder().settings.redaction.redact_text(builtin_responses.truncate_name(str(name)))
        return PreparedCall(spec=named_spec(safe), call_id=call_id, sent=sent, refusal=refusal)
    prepared = PreparedCall(spec=tool.spec, call_id=call_id, sent=sent, tool=tool)
    if tool.definition is not None:
        prepared.refusal = builtin_responses.provider_tool(tool.name)
        return prepared
    # Counted even if the arguments are broken, so that a model that repeats a mistake reaches the limit.
    prepared.refusal = state.limits.count_call(tool) or broken
    for step in (check, set_gate):
        if prepared.refusal is None:
            _guarded(step, prepared, tool)
    return prepared


def _guarded(
    step: Callable[[PreparedCall, RegisteredTool], None], prepared: PreparedCall, tool: RegisteredTool
) -> None:
    """Run ``step``; turn an internal fault into a response, so that the tool is not run."""
    try:
        step(prepared, tool)
    except Exception:
        report_fault(f"{step.__name__} the arguments of", lost=0)
        prepared.refusal = builtin_responses.registry_error(
            ToolErrorCode.INTERNAL_ERROR, "the arguments could not be checked"
        )


def check(prepared: PreparedCall, tool: RegisteredTool) -> None:
    """Validate the arguments against the parameters that the model sees."""
    sent, from_model = prepared.sent, tool.from_model
    refused = [name for name in sent if name in from_model.refused]
    try:
        prepared.arguments = from_model.validate({name: value for name, value in sent.items() if name not in refused})
        faults = []
    except ValidationError as error:
        faults = argument_errors.faults(error, sent, from_model, _may_quote(tool))
        if tool.checks_itself and not refused and all(fault["type"] == "missing" for fault in error.errors()):
            prepared.arguments, prepared.incomplete = dict(sent), argument_errors.refused(faults, from_model)
            return
    except Exception as error:  # raised by a validator of the tool
        prepared.refusal = error
        return
    faults += [argument_errors.unknown(name, from_model) for name in refused]
    if faults:
        prepared.refusal = argument_errors.refused(faults, from_model)


def _may_quote(tool: RegisteredTool) -> Callable[[str], bool]:
    """Return a function that says whether a response, which is recorded, may quote a parameter's value.

    Redaction rules may forbid it, and so does a ``capture`` that leaves out the arguments.
    """
    settings = get_recorder().settings
    redactions = [each for each in (settings.redaction, tool.spec.redact) if each is not None]
    if (tool.spec.capture or settings.capture) != "full" or any(each.hook for each in redactions):
        return lambda _: False
    return lambda path: not any(each.is_secret_key(part) for each in redactions for part in path.split("."))


def set_gate(prepared: PreparedCall, tool: RegisteredTool) -> None:
    """Set the gate if a person has to agree first."""
    prepared.gate = tool.options.gate
