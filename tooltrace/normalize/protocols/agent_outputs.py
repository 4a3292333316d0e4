"""Rules for the outputs of tools in agent frameworks and hosted tools that state a failure in a field of their own.

Vercel AI SDK, Bedrock Agents, Gemini's code execution, OpenAI's hosted tools, OpenHands, browser-use, Haystack,
and objects with ``is_error`` beside their content (AutoGen, LlamaIndex).
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase
from tooltrace.normalize.member_reader import MemberReader
from tooltrace.normalize.protocols.mcp import content, fault, members_of
from tooltrace.normalize.response_builders import build_error, build_response, merge_context, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import http_status
from tooltrace.normalize.transports.completed_process import exit_code


@builtin("vercel_output", "certain", Matches(members=("type", "state", "error_text")))
def VERCEL(view: ResultView) -> ToolResponse | None:
    """Read a tool output of the Vercel AI SDK: ``error-text``, ``error-json``, ``execution-denied``, ``output-error``."""
    if not isinstance(view.data, dict):
        return None
    reader = members_of(view.data)
    kind = reader.get("type")
    if kind == "tool-result" and isinstance(reader.get("output"), dict):
        inner = VERCEL.read(ResultView(reader.pop("output")))
        # The part around the output has the ids of the call, which the output itself lacks.
        rest = reader.remaining() or {}
        return None if inner is None else inner.model_copy(update={"context": {**rest, **(inner.context or {})}})
    if kind in ("error-text", "error-json") and "value" in reader:
        reader.pop("type")
        value = reader.pop("value")
        return fault(
            value if isinstance(value, str) else "",
            None if isinstance(value, str) else value,
            context=reader.remaining(),
        )
    if kind == "execution-denied":
        message = reader.pop("reason", only=str) or "the execution was denied"
        return build_error(message, ToolErrorCode.PERMISSION_DENIED, type=kind, context=reader.remaining())
    state = reader.get("state")
    if state in ("output-error", "output-denied") and ("tool_call_id" in reader or "error_text" in reader):
        message = reader.pop("error_text", only=str) or str(state)
        code = ToolErrorCode.PERMISSION_DENIED if state == "output-denied" else None
        meta = (
            {"call_id": reader.pop("tool_call_id", only=str)} if isinstance(reader.get("tool_call_id"), str) else None
        )
        return build_error(message, code, type="tool_error", context=reader.remaining(), meta=meta)
    return None


@builtin("bedrock_agent", "certain", Matches(members=("message_version", "response_state", "function_response")))
def BEDROCK_AGENT(view: ResultView) -> ToolResponse | None:
    """Read the answer of a Bedrock Agents action group: ``responseState``, or the HTTP status of an API response."""
    if not isinstance(view.data, dict):
        return None
    response = view.data.get("response", view.data)
    if not isinstance(response, dict):
        return None
    inner = response.get("functionResponse", response)
    if not isinstance(inner, dict):
        return None
    state, status = inner.get("responseState"), response.get("httpStatusCode")
    body = inner.get("responseBody")
    if state in ("FAILURE", "REPROMPT") or (http_status(status) and "actionGroup" in response):
        code = status if state is None else ToolErrorCode.INVALID_PARAM if state == "REPROMPT" else None
        return build_error(_bodies(body) or state, code, type=state, data=body, context=view.data)
    return None


def _bodies(body: Any) -> str:
    """Return the texts of a response body, which holds an object for each content type."""
    parts = body.values() if isinstance(body, dict) else ()
    texts = (part.get("body") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


_OUTCOMES = {"OUTCOME_FAILED": ToolErrorCode.EXECUTION_ERROR, "OUTCOME_DEADLINE_EXCEEDED": ToolErrorCode.TIMEOUT}


@builtin("gemini_code_execution", "certain", Matches(members=("code_execution_result", "outcome")))
def GEMINI_CODE(view: ResultView) -> ToolResponse | None:
    """Read the outcome of code that Gemini executed."""
    if not isinstance(view.data, dict):
        return None
    result = next(
        (view.data[name] for name in ("codeExecutionResult", "code_execution_result") if name in view.data), view.data
    )
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if not isinstance(outcome, str) or not outcome.startswith("OUTCOME_"):
        return None
    output = result.get("output")
    text = output if isinstance(output, str) else ""
    if outcome not in _OUTCOMES:
        return build_response("success", text, context={"outcome": outcome})
    return build_error(text or outcome, _OUTCOMES[outcome], type=outcome, text=text)


@builtin("openai_hosted_tool", "certain", Matches(members=("type", "outcome", "object")))
def OPENAI_HOSTED(view: ResultView) -> ToolResponse | None:
    """Read a failed call of a tool that OpenAI hosts, a failed response, and the outcome of one command of its shell."""
    if not isinstance(view.data, dict):
        return None
    data = view.data
    kind, outcome = data.get("type"), data.get("outcome")
    if data.get("object") == "response" and data.get("status") == "failed" and isinstance(data.get("error"), dict):
        rest = {name: value for name, value in data.items() if name != "error"}
        return build_error(**merge_context(read_error(data["error"]), rest))
    if isinstance(kind, str) and kind.endswith(("_call", "_call_output")) and data.get("status") == "failed":
        error = data.get("error")
        error_fields = read_error(error) if error else {"message": f"{kind} failed"}
        return build_error(
            **merge_context(error_fields, {name: value for name, value in data.items() if name != "error"})
        )
    if not isinstance(outcome, dict) or not {"stdout", "stderr"} & set(data):
        return None
    text = "\n".join(
        data[name] for name in ("stdout", "stderr") if isinstance(data.get(name), str) and data[name].strip()
    )
    status = outcome.get("exit_code")
    if outcome.get("type") == "timeout":
        return build_error("the command timed out", ToolErrorCode.TIMEOUT, text=text or None, data=data)
    if isinstance(status, int) and status:
        return build_error(
            text or f"exit code {status}", exit_code(status), type=f"exit_{status}", text=text or None, data=data
        )
    return build_response("success", text, data)


@builtin("is_error", "certain", Matches(members=("is_error", "tool_error")))
def IS_ERROR(view: ResultView) -> ToolResponse | None:
    """Read an object that states ``is_error`` as true beside its content, whatever its other members."""
    if not isinstance(view.data, dict):
        return None
    reader = members_of(view.data)
    if reader.pop("is_error", only=bool) is not True:
        return None
    member = next(
        (
            name
            for name in ("content", "error", "text", "output", "message", "result", "data", "raw_output")
            if reader.get(name)
        ),
        None,
    )
    if member is None:
        return None
    value = reader.pop(member)
    text, data, rest = content(value)
    context = reader.remaining() or {}
    return fault(text, data, kind="tool_error", context={**context, **({"content": rest} if rest else {})})


_FORMS = (
    frozenset({"output", "error", "system"}),  # Anthropic's computer use demo
    frozenset({"is_done", "error", "extracted_content"}),  # browser-use
    frozenset({"result", "origin", "error"}),  # Haystack
    frozenset({"stdout", "error", "traceback"}),
)
"""Members that stand together only in the results of one framework's tools."""


@builtin("framework_result", "certain", Matches(members=("observation", "error")))
def FRAMEWORK(view: ResultView) -> ToolResponse | None:
    """Read a framework's own class of results, as data: its ``error`` is a failure unless it is empty."""
    if not isinstance(view.data, dict):
        return None
    reader = MemberReader(view.data)
    if reader.get("observation") == "error" and isinstance(reader.get("content"), str):  # OpenHands
        reader.pop("observation")
        return build_error(reader.pop("content"), context=reader.remaining())
    if not any(form <= reader.names() for form in _FORMS):
        return None
    error = reader.pop_nonempty("error")
    if error is True:  # Haystack marks the result as an error
        return build_error(reader.pop("result", "output"), context=reader.remaining())
    if not isinstance(error, str | dict) or (isinstance(error, str) and is_no_error_phrase(error)):
        return None
    return build_error(**merge_context(read_error(error), reader.remaining()))


RULES = (VERCEL, BEDROCK_AGENT, GEMINI_CODE, OPENAI_HOSTED, IS_ERROR)
