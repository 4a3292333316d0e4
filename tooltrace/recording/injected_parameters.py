"""Parameters that an agent framework fills in instead of the model, recognised by their annotations.

A run context carries the application's dependencies and the whole conversation. Neither belongs in the record
of a call. Each table below maps a package or module of a framework to the names of its classes. A class is
recognised by its module and its name, so that no framework is imported.
"""

from __future__ import annotations

import ast
import collections.abc
import inspect
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ForwardRef, NamedTuple, Union, get_args, get_origin

CONTEXTS: Mapping[str, frozenset[str]] = {
    "agent_framework": frozenset({"FunctionInvocationContext"}),
    "agents.run_context": frozenset({"RunContextWrapper"}),  # openai-agents
    "agents.tool_context": frozenset({"ToolContext"}),
    "agno.run": frozenset({"RunContext"}),
    "fastmcp": frozenset({"Context"}),
    "google.adk": frozenset({"CallbackContext", "Context", "InvocationContext", "ReadonlyContext", "ToolContext"}),
    "langgraph": frozenset({"ToolRuntime"}),
    "llama_index.core.workflow": frozenset({"Context"}),
    "mcp.server": frozenset({"Context"}),
    "pydantic_ai": frozenset({"RunContext"}),
    "strands": frozenset({"ToolContext"}),
    "workflows.context": frozenset({"Context"}),  # llama-index-workflows, which llama_index.core uses
}
"""Classes with which a framework passes the context of its run to a tool."""

OTHER_VALUES: Mapping[str, frozenset[str]] = {
    "agent_framework": frozenset({"AgentSession"}),
    "agno": frozenset({"Agent", "Audio", "File", "Image", "Team", "Video", "Workflow"}),
    "autogen_core": frozenset({"CancellationToken"}),
    "docket": frozenset({"Dependency"}),
    "google.adk": frozenset({"LiveRequestQueue"}),
    "langchain_core": frozenset(
        {
            "AsyncCallbackManagerForToolRun",
            "CallbackManagerForToolRun",
            "InjectedToolArg",  # also the base of InjectedState, InjectedStore and InjectedToolCallId
            "RunnableConfig",
        }
    ),
    "langgraph": frozenset({"BaseStore", "InjectedState", "InjectedStore", "Runtime"}),
    "semantic_kernel": frozenset({"AIServiceClientBase", "Kernel", "KernelArguments", "PromptExecutionSettings"}),
    "strands": frozenset({"Agent"}),
    "uncalled_for": frozenset({"Dependency"}),  # what fastmcp's Depends(), CurrentContext() and Progress() make
}
"""Classes of other values that a framework fills in: markers in ``Annotated``, defaults, agents, kernels, media."""

RESERVED_NAMES: Mapping[str, frozenset[str]] = {
    "agno": frozenset({"agent", "run_context", "session_state", "team"}),
    "google.adk": frozenset({"tool_context"}),
    "pydantic_ai": frozenset({"ctx"}),
    "semantic_kernel": frozenset({"kernel"}),
    "strands": frozenset({"agent", "tool_context"}),
}
"""Parameter names that a framework fills in, whatever their annotation.

They count where the framework is loaded and the annotation allows any value or mapping: ``team: str`` is an argument
of the model.
"""


class InjectedParameters(NamedTuple):
    """The injected parameters of a function, as far as they are known."""

    injected: frozenset[str]
    call_id: str | None
    """The parameter among them that receives the model's call id itself."""
    undecided: bool
    """Whether a later search may find more parameters.

    True where an annotation uses a name that is not defined yet, or where a reserved name belongs to a framework that
    is not loaded.
    """


def find(parameters: Iterable[inspect.Parameter], names: Mapping[str, Any]) -> InjectedParameters:
    """Return the injected ones of ``parameters``. Never raises.

    ``names``: the globals to which annotations refer.
    """
    injected, call_id, undecided = set(), None, False
    for parameter in parameters:
        try:
            verdict = _decide(parameter, names)
        except Exception:  # a metaclass or an annotation may raise anything; the parameter then counts as the model's
            verdict = False
        if verdict:
            injected.add(parameter.name)
            if _is_call_id(parameter.annotation):
                call_id = parameter.name
        undecided = undecided or verdict is None
    return InjectedParameters(frozenset(injected), call_id, undecided)


def is_injected(annotation: Any, names: Mapping[str, Any] | None = None) -> bool:
    """Return whether a framework fills in parameters with ``annotation``, an object or its text. Never raises."""
    try:
        return bool(_annotated(annotation, names or {}))
    except Exception:  # as above
        return False


def _decide(parameter: inspect.Parameter, names: Mapping[str, Any]) -> bool | None:
    """Return whether ``parameter`` is injected; None where that is not known yet."""
    verdict = _known(type(parameter.default)) or _annotated(parameter.annotation, names)
    if verdict:
        return True
    owners = [framework for framework, reserved in RESERVED_NAMES.items() if parameter.name in reserved]
    if owners and _is_unspecific(parameter.annotation):
        return True if any(framework in sys.modules for framework in owners) else None
    return verdict


# annotations that are objects


def _annotated(annotation: Any, names: Mapping[str, Any]) -> bool | None:
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _node(ast.parse(annotation.strip(), mode="eval").body, names)
    if isinstance(annotation, typing.NewType):
        return _annotated(annotation.__supertype__, names)
    if type(annotation).__name__ == "TypeAliasType":
        return _annotated(annotation.__value__, names)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _any([_annotated(args[0], names), *map(_marker, args[1:])])
    if origin in (Union, types.UnionType) or origin in _SEVERAL:
        return _any(_annotated(each, names) for each in args)
    return _known(origin or annotation)


_SEVERAL = frozenset({list, tuple, collections.abc.Sequence, collections.abc.Iterable})


def _any(verdicts: Iterable[bool | None]) -> bool | None:
    """Return True where a verdict is True, else None where one is None (not known yet), else False."""
    known = list(verdicts)
    return True if True in known else None if None in known else False


def _marker(value: Any) -> bool:
    """Return whether ``value``, a class or an instance, marks a parameter in ``Annotated``."""
    return _known(value if isinstance(value, type) else type(value))


def _known(kind: Any) -> bool:
    """Return whether ``kind`` is a class of the tables, or derives from one."""
    return isinstance(kind, type) and any(
        _within(base.__module__, module) for base in kind.__mro__ for module in _BY_NAME.get(base.__qualname__, ())
    )


def _is_call_id(annotation: Any) -> bool:
    """Return whether ``annotation`` has LangChain's marker of the call id. Never raises."""
    if isinstance(annotation, str):
        return _CALL_ID_MARKER in annotation
    markers = getattr(annotation, "__metadata__", ())
    return any(getattr(each, "__name__", type(each).__name__) == _CALL_ID_MARKER for each in markers)


_CALL_ID_MARKER = "InjectedToolCallId"


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _by_name() -> dict[str, list[str]]:
    modules: dict[str, list[str]] = {}
    for table in (CONTEXTS, OTHER_VALUES):
        for module, classes in table.items():
            for name in classes:
                modules.setdefault(name, []).append(module)
    return modules


_BY_NAME = _by_name()
"""Packages and modules of the tables above, by class name."""


# annotations that are text: parsed instead of evaluated, so that one unknown name does not hide the others


def _node(node: ast.expr, names: Mapping[str, Any]) -> bool | None:
    if isinstance(node, ast.Constant):
        return _annotated(node.value, names) if isinstance(node.value, str) else False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _any((_node(node.left, names), _node(node.right, names)))
    if isinstance(node, ast.Subscript):
        return _subscript(node, names)
    if isinstance(node, ast.Call):  # Annotated[dict, InjectedState("messages")]
        return _node(node.func, names)
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    value = _look_up(node, names)
    if isinstance(value, _Missing):
        return _missing(value)
    if isinstance(value, type) or get_origin(value) is not None:
        return _annotated(value, names)
    return _marker(value) or _annotated(value, names)


def _subscript(node: ast.Subscript, names: Mapping[str, Any]) -> bool | None:
    outer = _look_up(node.value, names)
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    word = outer.name if isinstance(outer, _Missing) else getattr(outer, "__name__", None)
    if outer is Annotated or word == "Annotated":
        markers = [each for each in inner[1:] if not isinstance(each, ast.Constant)]  # a string is a description
        return _any(_node(each, names) for each in (inner[0], *markers))
    if word in ("Optional", "Union") or (get_origin(outer) or outer) in _SEVERAL:
        return _any(_node(each, names) for each in inner)
    return _node(node.value, names)


class _Missing(NamedTuple):
    """A name that is not defined, or not yet."""

    name: str
    package: str | None = None
    """The module in which the name was looked up, where known."""


def _look_up(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the object that ``node`` names, or ``_Missing``.

    Runs no code of the application: a module attribute that would be loaded on demand is missing.
    """
    if isinstance(node, ast.Name):
        builtins = vars(sys.modules["builtins"])
        return names[node.id] if node.id in names else builtins.get(node.id, _Missing(node.id))
    if not isinstance(node, ast.Attribute):
        return None
    owner = _look_up(node.value, names)
    if isinstance(owner, _Missing):
        return _Missing(node.attr)
    if isinstance(owner, types.ModuleType):
        return vars(owner).get(node.attr, _Missing(node.attr, owner.__name__))
    return vars(owner).get(node.attr) if isinstance(owner, type) else None


def _missing(value: _Missing) -> bool | None:
    """Return True where the name alone identifies a framework's class, else None (not known yet).

    Where the module of the name is unknown, only run contexts of loaded frameworks count.
    """
    if value.package is not None:
        modules = _BY_NAME.get(value.name, ())
        return any(_within(value.package, each) or _within(each, value.package) for each in modules) or None
    return any(value.name in classes and module in sys.modules for module, classes in CONTEXTS.items()) or None


def _is_unspecific(annotation: Any) -> bool:
    """Return whether ``annotation`` is absent, or allows any value or any mapping."""
    if isinstance(annotation, str):
        return annotation.partition("[")[0].rpartition(".")[2].split(" ")[0] in _UNSPECIFIC_NAMES
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return all(_is_unspecific(each) for each in get_args(annotation) if each is not type(None))
    return (origin or annotation) in _UNSPECIFIC


_UNSPECIFIC = (inspect.Parameter.empty, Any, object, dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNSPECIFIC_NAMES = frozenset({"Any", "Dict", "Mapping", "MutableMapping", "dict", "object"})
