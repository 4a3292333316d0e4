"""Rule for code that ran in a kernel: Jupyter's error output and reply, and E2B's execution."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import build_error, has_members
from tooltrace.normalize.rule import Matches, ResultView, builtin

_OUTPUTS = ("stream", "error", "display_data", "execute_result")
_EXECUTION = frozenset({"results", "logs", "error", "execution_count"})


@builtin("notebook", "certain", Matches(members=("ename", "logs"), arrays=True))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an error with name, value and traceback.

    Of a cell's outputs only the last counts, as nothing runs after an error. Earlier outputs are kept.
    """
    data = view.data
    if isinstance(data, list):
        return _outputs(data)
    if not isinstance(data, dict):
        return None
    return _output(data) or _execution(data)


def _output(data: dict[str, Any]) -> ToolResponse | None:
    """Read nbformat's output of type ``error``, or the messaging protocol's ``execute_reply``."""
    if not _texts(data, "ename", "evalue") or "traceback" not in data:
        return None
    rest = {name: value for name, value in data.items() if name not in ("ename", "evalue", "status")}
    return build_error(data["evalue"], type=data["ename"], context=rest)


def _outputs(outputs: list[Any]) -> ToolResponse | None:
    if not outputs or not all(isinstance(one, dict) and one.get("output_type") in _OUTPUTS for one in outputs):
        return None
    failed = _output(outputs[-1])
    return failed.model_copy(update={"data": outputs}) if failed is not None else None


def _execution(data: dict[str, Any]) -> ToolResponse | None:
    """Read E2B's ``Execution``."""
    error = data.get("error")
    if not isinstance(error, dict) or not set(data) <= _EXECUTION or not has_members(data, "results", "logs"):
        return None
    # All three members, because ``error`` with a name occurs in answers of other services.
    if not _texts(error, "name", "value") or set(error) != {"name", "value", "traceback"}:
        return None
    rest = {name: value for name, value in data.items() if name != "error"}
    return build_error(error["value"], type=error["name"], context={**rest, "error": {"traceback": error["traceback"]}})


def _texts(data: dict[str, Any], *names: str) -> bool:
    return all(isinstance(data.get(name), str) for name in names)
