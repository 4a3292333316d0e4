"""The spec of a tool: its name, options and signature, determined once at decoration."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, Unpack, get_args

from tooltrace.core.confidence import Score, valid_confidence
from tooltrace.core.keywords import require_known
from tooltrace.core.response import Source
from tooltrace.errors import ConfigError, near
from tooltrace.normalize import RULES, Failed, Rule, checked_rules, rule
from tooltrace.otel import attributes as names
from tooltrace.otel.tool_span import start_attributes
from tooltrace.recording.injected_parameters import InjectedParameters
from tooltrace.recording.retryable import Retryable, RetryRule, checked_retryable
from tooltrace.redact.redaction import Redact, Redaction, as_redaction, redact_name

Capture = Literal["full", "metadata"]
"""``metadata`` records neither arguments nor results."""

ReadConfidence = float | Callable[[Any], float | None]
ReadSources = Iterable[Source] | Callable[[Any], Iterable[Source]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """The identity of a tool, and the settings with which its calls are recorded."""

    name: str
    version: str | None = None
    description: str | None = None
    tool_type: str = "function"
    """``function``, ``extension`` or ``datastore`` (``gen_ai.tool.type``)."""
    capture: Capture | None = None
    """Overrides ``configure(capture=…)`` for this tool."""
    redact: Redaction | None = None
    """Applied after the configured redaction."""
    confidence: ReadConfidence | None = None
    """A fixed confidence, or a function that reads it from a result; used where the result carries none."""
    sources: ReadSources | None = None
    """Fixed sources, or a function that reads them from a result; used where the result carries none."""
    retryable: tuple[RetryRule, ...] = ()
    """Exceptions, and predicates on them or on a response, after which the same call may succeed."""
    rules: tuple[Rule, ...] | None = None
    """Overrides ``configure(rules=…)`` for this tool."""
    parameters: tuple[str, ...] = ()
    """Names of the positional parameters, without ``self`` and ``cls``."""
    skip: int = 0
    """Number of leading arguments that the model does not supply: ``self`` or ``cls``."""
    rest: str = "args"
    """Name of the parameter that receives further positional arguments."""
    keywords: str | None = None
    """Name of the parameter that receives keyword arguments of any name; None where there is none."""
    injected: frozenset[str] = frozenset()
    """Parameters that a framework fills in; they are left out of the recorded arguments."""
    call_id_parameter: str | None = None
    """Injected parameter that receives the model's call id itself."""
    find_injected: Callable[[], InjectedParameters] | None = None
    """Function that finds the injected parameters at the first call; None where decoration found them all."""

    span_name: str = field(init=False)
    start_attributes: dict[str, Any] = field(init=False)
    identity: dict[str, str | None] = field(init=False)
    """The fields of every record of the tool that describe the tool."""

    def __post_init__(self) -> None:
        for name in ("name", "version", "description", "tool_type"):
            object.__setattr__(self, name, redact_name(getattr(self, name), self.redact))
        object.__setattr__(self, "span_name", f"{names.EXECUTE_TOOL} {self.name}")
        object.__setattr__(self, "start_attributes", start_attributes(self.name, self.tool_type))
        identity = {
            "tool": self.name,
            "tool_version": self.version,
            "tool_type": self.tool_type,
            "tool_description": self.description,
        }
        object.__setattr__(self, "identity", identity)

    def redacted(self, redaction: Redaction) -> ToolSpec:
        """Return the spec with the name, version, description and type that ``redaction`` leaves."""
        texts = ("name", "version", "description", "tool_type")
        return replace(self, **{name: redact_name(getattr(self, name), redaction) for name in texts})

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name, as they were passed."""
        if not args:
            return kwargs
        if self.skip:
            args = args[self.skip :]
        # the most frequent call, without zip
        if len(args) == 1 and self.parameters:
            named = {self.parameters[0]: args[0]}
        else:
            named = dict(zip(self.parameters, args))  # noqa: B905 - strict=False costs a tenth of a microsecond
            if len(args) > len(self.parameters):
                named[self.rest] = args[len(self.parameters) :]
        return self._with_keywords(named, kwargs) if kwargs else named

    def _with_keywords(self, named: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return ``named`` and ``kwargs``; those with the name of a positional argument under the name of ``**kwargs``."""
        if self.keywords is None or named.keys().isdisjoint(kwargs):
            return {**named, **kwargs}
        same = {name: kwargs[name] for name in kwargs if name in named}
        return {**kwargs, **named, self.keywords: same}

    def split_injected(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[Any], Any]:
        """Return the ``arguments`` that the model supplied, the injected ones, and the one that is the call id, or None."""
        if self.find_injected is not None:
            found = self.find_injected()
            object.__setattr__(self, "injected", self.injected | found.injected)
            object.__setattr__(self, "call_id_parameter", found.call_id)
            # last: another thread that finds None here needs the two values above
            object.__setattr__(self, "find_injected", None)
        if not self.injected:
            return arguments, [], None
        call_id = None if self.call_id_parameter is None else arguments.get(self.call_id_parameter)
        supplied = dict(arguments)
        injected = [supplied.pop(name) for name in self.injected if name in supplied]
        return supplied, injected, call_id


class ToolSettings(TypedDict, total=False):
    """The options of ``trace_tool`` except the name, as keyword arguments."""

    version: str | None
    description: str | None
    tool_type: str
    capture: Capture | None
    redact: Redaction | Redact | Iterable[str] | None
    confidence: ReadConfidence | None
    sources: ReadSources | None
    retryable: Retryable
    rules: Iterable[Rule] | None
    reads: Failed | None
    inject: str | Iterable[str]


def named_spec(name: str, **options: Unpack[ToolSettings]) -> ToolSpec:
    """Return the spec of the tool ``name`` with a user's options. Raises ConfigError for an invalid value."""
    require_known(options, ToolSettings.__annotations__)
    capture, redact, rules = options.get("capture"), options.get("redact"), options.get("rules")
    if capture not in (None, *get_args(Capture)):
        raise ConfigError(f"capture must be 'full' or 'metadata', got {capture!r} for the tool {name!r}")
    version, description = options.get("version"), options.get("description")
    return ToolSpec(
        name=str(name),
        version=None if version is None else str(version),
        description=None if description is None else str(description),
        tool_type=str(options.get("tool_type", "function")),
        capture=capture,
        redact=None if redact is None else as_redaction(redact),
        confidence=_checked_confidence(options.get("confidence"), name),
        sources=_checked_sources(options.get("sources"), name),
        retryable=checked_retryable(options.get("retryable", ()), name),
        rules=_rules_of(name, rules, options.get("reads")),
        injected=_names_of(options.get("inject", ()), name),
    )


def _rules_of(name: str, rules: Iterable[Rule] | None, reads: Failed | None) -> tuple[Rule, ...] | None:
    """Return the rules of a tool: its own function ``reads``, before ``rules`` or the built-in ones."""
    checked = None if rules is None else checked_rules(rules, f"for the tool {name!r}")
    return checked if reads is None else (rule(f"reads_{name}", failed=reads), *(RULES if checked is None else checked))


def _checked_confidence(confidence: Any, tool: str) -> ReadConfidence | None:
    if confidence is None or callable(confidence) or isinstance(confidence, Score):
        return confidence  # type: ignore[no-any-return]
    found = valid_confidence(confidence)
    if found is None:
        raise ConfigError(
            f"confidence must be a number in [0, 1], or a function that reads it from a result, got {confidence!r} for the "
            f"tool {tool!r}"
        )
    return found


def _checked_sources(sources: Any, tool: str) -> ReadSources | None:
    if sources is None or callable(sources):
        return sources  # type: ignore[no-any-return]
    try:
        if isinstance(sources, str | Mapping):
            raise TypeError(sources)
        return tuple(Source.model_validate(source) for source in sources)
    except (TypeError, ValueError):
        raise ConfigError(
            f"sources must be a list of tooltrace.Source, or a function that reads them from a result, got {sources!r} for "
            f"the tool {tool!r}"
        ) from None


def _names_of(inject: Any, tool: str) -> frozenset[str]:
    names = (inject,) if isinstance(inject, str) or not isinstance(inject, Iterable) else tuple(inject)
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(f"inject must be names of parameters, got {inject!r} for the tool {tool!r}")
    return frozenset(names)


def checked_inject(inject: Any, parameters: Iterable[inspect.Parameter], tool: str) -> frozenset[str]:
    """Return the names in ``inject``. Raises ConfigError for one that is not among ``parameters``."""
    names, accepted = _names_of(inject, tool), list(parameters)
    if not accepted or any(p.kind is p.VAR_KEYWORD for p in accepted):  # no signature, or one that accepts any name
        return names
    known = [p.name for p in accepted]
    for name in sorted(names):
        if name not in known:
            raise ConfigError(
                f"inject names {name!r}, which is not a parameter of the tool {tool!r}: its parameters are {', '.join(known)}{near(name, known)}"
            )
    return names


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def signature_of(func: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of ``func``. Raises TypeError or ValueError where it has none.

    An annotation with an undefined name stays unevaluated.
    """
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(func, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(func)


def parameters_of(func: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of ``func``; an empty list for a callable without a signature."""
    try:
        return list(signature_of(func).parameters.values())
    except (TypeError, ValueError):
        return []


def positional_parameters(parameters: Iterable[inspect.Parameter]) -> tuple[tuple[str, ...], int, str]:
    """Return names of positional parameters, number to skip, and name of ``*args``.

    The names exclude a leading ``self`` or ``cls``; the number to skip counts it (0 or 1).
    """
    parameters = list(parameters)
    names = [p.name for p in parameters if p.kind in _POSITIONAL]
    skip = 1 if names and names[0] in ("self", "cls") else 0
    rest = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    return tuple(names[skip:]), skip, rest


def describe(func: Callable[..., Any]) -> str | None:
    """Return the first paragraph of ``func``'s docstring on one line; None without a docstring."""
    text = inspect.getdoc(func)
    return " ".join(text.split("\n\n", 1)[0].split()) or None if text else None
