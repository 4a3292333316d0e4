"""The built-in rules in order of precedence; the first that recognises a result reads it.

Order: rules by class, then by members that only one protocol has, then by members that many protocols have, then by
words.
"""

from __future__ import annotations

from tooltrace.normalize.heuristics import (
    batches,
    embedded_error,
    error_markup,
    error_members,
    error_status,
    error_text,
    exit_status,
    flags,
    partial_results,
    service_envelopes,
    structure,
)
from tooltrace.normalize.protocols import (
    agent_outputs,
    agno,
    api_error,
    crewai,
    eino,
    envelope,
    graphql,
    hello_agents,
    langchain,
    magic,
    mcp,
    notebook,
    problem_json,
    tool_blocks,
    tool_response,
    value_error_pair,
)
from tooltrace.normalize.rule import Rule, RuleSet
from tooltrace.normalize.transports import completed_process, http_response

RULES: tuple[Rule, ...] = RuleSet(
    "tooltrace.RULES",
    (
        # By class: nothing that the result contains can be mistaken for another protocol.
        value_error_pair.RULE,
        *value_error_pair.RULES,
        http_response.RULE,
        completed_process.RULE,
        # Before hello_agents.OBJECT, which accepts any object with a status and a text.
        tool_response.RULE,
        *agno.RULES,
        crewai.RULE,
        langchain.RULE,
        *mcp.RULES,
        # After MCP, whose result contains the same blocks; the bare blocks are the last of these rules.
        *tool_blocks.RULES,
        *agent_outputs.RULES,
        hello_agents.OBJECT,
        # Eino's result allows the fewest members, the envelope more; flags.RULE below reads any object with
        # ``success``.
        eino.RULE,
        envelope.RULE,
        magic.RULE,
        notebook.RULE,
        agent_outputs.FRAMEWORK,
        problem_json.RULE,
        graphql.RULE,
        # Forms that many services share. flags.RULE asks for one member only, so the forms with conditions come first.
        api_error.RULE,
        batches.BATCH,
        flags.RULE,
        service_envelopes.RULE,
        # Mostly heuristics from here on. Those that find a failure come before those that find a gap in a success.
        exit_status.RULE,
        structure.RULE,
        error_status.RULE,
        error_members.RULE,
        hello_agents.TEXT,
        error_markup.RULE,
        embedded_error.RULE,
        embedded_error.FALSE_AND_MESSAGE,
        error_text.RULE,
        # Last: these two only make a success partial, so any rule that finds an error has precedence.
        partial_results.RULE,
    ),
)
"""The built-in rules, in the order in which they are tried."""

CERTAIN_RULES: tuple[Rule, ...] = RuleSet(
    "tooltrace.CERTAIN_RULES", (rule for rule in RULES if rule.grade == "certain")
)
"""The rules that go by a protocol's own fields, never by words or shapes."""
