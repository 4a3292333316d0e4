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
def VERCEL(seen: ResultView) -> ToolResponse | None:
    """Read a tool output of the Vercel AI SDK: ``error-text``, ``error-json``, ``execution-denied``, ``output-error``."""
    if not isinstance(seen.data, dict):
        return None
    taken = members_of(seen.data)
    kind = taken.get("type")
    if kind == "tool-result" and isinstance(taken.get("output"), dict):
        inner = VERCEL.read(ResultView(taken.pop("output")))
        rest = taken.remaining() or {}
        return None if inner is None else inner.model_copy(update={"context": {**rest, **(inner.context or {})}})
    if kind in ("error-text", "error-json") and "value" in taken:
        taken.pop("type")
        value = taken.pop("value")
        return fault(
            value if isinstance(value, str) else "",
            None if isinstance(value, str) else value,
            context=taken.remaining(),
        )
    if kind == "execution-denied":
        message = taken.pop("reason", only=str) or "the execution was denied"
        return build_error(message, ToolErrorCode.PERMISSION_DENIED, type=kind, context=taken.remaining())
    state = taken.get("state")
    if state in ("output-error", "output-denied") and ("tool_call_id" in taken or "error_text" in taken):
        message = taken.pop("error_text", only=str) or str(state)
        code = ToolErrorCode.PERMISSION_DENIED if state == "output-denied" else None
        meta = {"call_id": taken.pop("tool_call_id", only=str)} if isinstance(taken.get("tool_call_id"), str) else None
        return build_error(message, code, type="tool_error", context=taken.remaining(), meta=meta)
    return None


@builtin("bedrock_agent", "certain", Matches(members=("message_version", "response_state", "function_response")))
def BEDROCK_AGENT(seen: ResultView) -> ToolResponse | None:
    """Read the answer of a Bedrock Agents action group: ``responseState``, or the HTTP status of an API response."""
    if not isinstance(seen.data, dict):
        return None
    response = seen.data.get("response", seen.data)
    if not isinstance(response, dict):
        return None
    inner = response.get("functionResponse", response)
    if not isinstance(inner, dict):
        return None
    state, status = inner.get("responseState"), response.get("httpStatusCode")
    body = inner.get("responseBody")
    if state in ("FAILURE", "REPROMPT") or (http_status(status) and "actionGroup" in response):
        code = status if state is None else ToolErrorCode.INVALID_PARAM if state == "REPROMPT" else None
        return build_error(_bodies(body) or state, code, type=state, data=body, context=seen.data)
    return None


def _bodies(body: Any) -> str:
    """Return the texts of a response body, which holds an object for each content type."""
    parts = body.values() if isinstance(body, dict) else ()
    texts = (part.get("body") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


_OUTCOMES = {"OUTCOME_FAILED": ToolErrorCode.EXECUTION_ERROR, "OUTCOME_DEADLINE_EXCEEDED": ToolErrorCode.TIMEOUT}


@builtin("gemini_code_execution", "certain", Matches(members=("code_execution_result", "outcome")))
def GEMINI_CODE(seen: ResultView) -> ToolResponse | None:
    """Read the outcome of code that Gemini executed."""
    if not isinstance(seen.data, dict):
        return None
    result = next(
        (seen.data[name] for name in ("codeExecutionResult", "code_execution_result") if name in seen.data), seen.data
    )
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if not isinstance(outcome, str) or not outcome.startswith("OUTCOME_"):
        return None
    output = result.get("output")
    text = output if isinstance(output, str) else ""
    if outcome not in _OUTCOMES:
        return build_response("success", text, context={"outcome": outcome})
    return build_error(text or outcome, _OUTCOMES[outcome], type=outcome, text=text)


@builtin("openai_hosted_tool", "certain", Matches(members=("type", "outcome")))
def OPENAI_HOSTED(seen: ResultView) -> ToolResponse | None:
    """Read a failed call of a tool that OpenAI hosts, and the outcome of one command of its shell."""
    if not isinstance(seen.data, dict):
        return None
    data = seen.data
    kind, outcome = data.get("type"), data.get("outcome")
    if isinstance(kind, str) and kind.endswith(("_call", "_call_output")) and data.get("status") == "failed":
        error = data.get("error")
        said = read_error(error) if error else {"message": f"{kind} failed"}
        return build_error(**merge_context(said, {name: value for name, value in data.items() if name != "error"}))
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
def IS_ERROR(seen: ResultView) -> ToolResponse | None:
    """Read an object that states ``is_error`` as true beside its content, whatever its other members."""
    if not isinstance(seen.data, dict):
        return None
    taken = members_of(seen.data)
    if taken.pop("is_error", only=bool) is not True:
        return None
    said = next(
        (
            name
            for name in ("content", "error", "text", "output", "message", "result", "data", "raw_output")
            if taken.get(name)
        ),
        None,
    )
    if said is None:
        return None
    value = taken.pop(said)
    text, data, rest = content(value)
    context = taken.remaining() or {}
    return fault(text, data, kind="tool_error", context={**context, **({"content": rest} if rest else {})})


_FORMS = (
    frozenset({"output", "error", "system"}),  # Anthropic's computer use demo
    frozenset({"is_done", "error", "extracted_content"}),  # browser-use
    frozenset({"result", "origin", "error"}),  # Haystack
    frozenset({"stdout", "error", "traceback"}),
)
"""Members that stand together only in the results of one framework's tools."""


@builtin("framework_result", "certain", Matches(members=("observation", "error")))
def FRAMEWORK(seen: ResultView) -> ToolResponse | None:
    """Read a framework's own class of results, as data: its ``error`` is a failure unless it is empty."""
    if not isinstance(seen.data, dict):
        return None
    taken = MemberReader(seen.data)
    if taken.get("observation") == "error" and isinstance(taken.get("content"), str):  # OpenHands
        taken.pop("observation")
        return build_error(taken.pop("content"), context=taken.remaining())
    if not any(form <= taken.names() for form in _FORMS):
        return None
    error = taken.pop_nonempty("error")
    if error is True:  # Haystack marks the result as an error
        return build_error(taken.pop("result", "output"), context=taken.remaining())
    if not isinstance(error, str | dict) or (isinstance(error, str) and is_no_error_phrase(error)):
        return None
    return build_error(**merge_context(read_error(error), taken.remaining()))


RULES = (VERCEL, BEDROCK_AGENT, GEMINI_CODE, OPENAI_HOSTED, IS_ERROR)
