"""The built-in rules in order of precedence; the first that recognises a result reads it.

Order: rules by class, then by members that only one protocol has, then by members that many protocols have, then by
words.
"""

from __future__ import annotations

from tooltrace.normalize.heuristics import (
    api_error,
    batches,
    coded_errors,
    embedded_error,
    error_markup,
    error_members,
    error_status,
    error_text,
    exit_status,
    flags,
    partial_results,
    python_literal,
    service_envelopes,
)
from tooltrace.normalize.protocols import (
    agent_outputs,
    agno,
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
        value_error_pair.RULE,
        *value_error_pair.RULES,
        http_response.RULE,
        completed_process.RULE,
        tool_response.RULE,
        *agno.RULES,
        langchain.RULE,
        *mcp.RULES,
        *tool_blocks.RULES,
        *agent_outputs.RULES,
        hello_agents.OBJECT,
        eino.RULE,
        envelope.RULE,
        magic.RULE,
        notebook.RULE,
        agent_outputs.FRAMEWORK,
        problem_json.RULE,
        graphql.RULE,
        api_error.RULE,
        batches.BATCH,
        flags.RULE,
        service_envelopes.RULE,
        exit_status.RULE,
        error_status.RULE,
        error_members.RULE,
        coded_errors.RULE,
        hello_agents.TEXT,
        error_markup.RULE,
        embedded_error.RULE,
        embedded_error.FALSE_AND_MESSAGE,
        error_text.RULE,
        python_literal.RULE,
        batches.ROWS,
        partial_results.RULE,
    ),
)
"""The built-in rules, in the order in which they are tried."""

CERTAIN_RULES: tuple[Rule, ...] = RuleSet(
    "tooltrace.CERTAIN_RULES", (rule for rule in RULES if rule.grade == "certain")
)
"""The rules that go by a protocol's own fields, never by words or shapes."""
