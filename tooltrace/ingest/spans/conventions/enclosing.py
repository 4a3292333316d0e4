"""The agent, the conversation and the model that any span states, for the tool calls inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tooltrace.ingest.spans.conventions.attributes import READS, TEMPLATE
from tooltrace.ingest.spans.conventions.base import structure, text
from tooltrace.otel import attributes as names

_AGENT_RUN: Final = "Agent run: {name!r}"
"""Message template of Logfire for the run of an agent of openai-agents."""
_METADATA: Final = "metadata"
"""OpenInference's attribute with any data of the user or the framework, as JSON."""
_METADATA_AGENT: Final = ("lc_agent_name", "agent_name")
_METADATA_CONVERSATION: Final = ("session_id", "conversation_id", "thread_id")

_AGENT: Final = tuple(dict.fromkeys(key for reads in READS.values() for key in reads.get("agent", ())))
_CONVERSATION: Final = tuple(dict.fromkeys(key for reads in READS.values() for key in reads.get("conversation_id", ())))
_GENERAL: Final = frozenset({"session.id", "agent.name"})
"""Attributes that other spans have as well, such as those of a browser session."""
_ABOUT_AGENTS: Final = (
    *("gen_ai.operation.name", "gen_ai.system", "gen_ai.provider.name", "openinference.span.kind"),
    *("traceloop.span.kind", "langfuse.observation.type", TEMPLATE),
)
"""A span with one of these attributes is about a model, an agent or a tool, so general attributes are read."""
CONTEXT: Final = frozenset(
    (*_AGENT, *_CONVERSATION, *names.MODEL_NAMES, *_ABOUT_AGENTS, _METADATA, "agent_name", "group_id", "name")
)
"""All attributes that :func:`stated_context` reads."""
_MAX_METADATA_LENGTH: Final = 8192
"""Maximum length of metadata that are parsed, in characters."""


class StatedContext(NamedTuple):
    """What a span says about the calls inside it; None where it says nothing."""

    agent: str | None = None
    conversation: str | None = None
    model: str | None = None

    def completed(self, other: StatedContext) -> StatedContext:
        """Return this context with the values of ``other`` where it has none."""
        return StatedContext(*(mine or its for mine, its in zip(self, other, strict=True)))


NOTHING_STATED: Final = StatedContext()


def stated_context(attributes: Mapping[str, Any]) -> StatedContext:
    """Return what a span with ``attributes`` states."""
    # Asked for every span, also those of databases and HTTP, which have none of these attributes.
    if CONTEXT.isdisjoint(attributes):
        return NOTHING_STATED
    about_agents = any(key in attributes for key in _ABOUT_AGENTS)
    agent = _first(attributes, _AGENT, about_agents)
    conversation = _first(attributes, _CONVERSATION, about_agents)
    if about_agents and (agent is None or conversation is None):
        other_agent, other_conversation = (
            _logfire(attributes) if TEMPLATE in attributes else metadata_context(attributes)
        )
        agent, conversation = agent or other_agent, conversation or other_conversation
    return StatedContext(agent, conversation, _first(attributes, names.MODEL_NAMES))


def metadata_context(attributes: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the agent and the conversation in OpenInference's metadata."""
    value = attributes.get(_METADATA)
    known = structure(value) if isinstance(value, str) and len(value) <= _MAX_METADATA_LENGTH else None
    if not isinstance(known, dict):
        return None, None
    return _first(known, _METADATA_AGENT), _first(known, _METADATA_CONVERSATION)


def _logfire(attributes: Mapping[str, Any]) -> tuple[str | None, str | None]:
    run = attributes.get(TEMPLATE) == _AGENT_RUN
    agent = text(attributes.get("agent_name")) or (text(attributes.get("name")) if run else None)
    return agent, text(attributes.get("group_id"))


def _first(values: Mapping[str, Any], keys: tuple[str, ...], general: bool = True) -> str | None:
    """Return the first text among ``keys``; attributes with general names only if ``general`` is true."""
    known = (text(values.get(key)) for key in keys if key in values and (general or key not in _GENERAL))
    return next((value for value in known if value is not None), None)
