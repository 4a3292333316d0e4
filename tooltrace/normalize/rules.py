"""The rules, in the order in which they are asked; the first that knows a result reads it.

By class first, then by the members that only one protocol has, then by those that many have, then by words.
"""

from __future__ import annotations

from tooltrace.normalize import (
    agno,
    api_error,
    batches,
    completed_process,
    eino,
    envelope,
    error_member,
    error_status,
    error_text,
    exit_status,
    flags,
    graphql,
    hello_agents,
    hidden,
    http_response,
    incomplete,
    langchain,
    magic,
    mcp,
    notebook,
    pairs,
    problem_json,
    python_text,
    returned_exception,
    tool_blocks,
    tool_response,
)
from tooltrace.normalize.rule import Rule

RULES: tuple[Rule, ...] = (
    returned_exception.RULE,
    *pairs.RULES,
    http_response.RULE,
    completed_process.RULE,
    tool_response.RULE,
    *agno.RULES,
    langchain.RULE,
    *mcp.RULES,
    *tool_blocks.RULES,
    hello_agents.OBJECT,
    eino.RULE,
    envelope.RULE,
    magic.RULE,
    notebook.RULE,
    problem_json.RULE,
    graphql.RULE,
    api_error.RULE,
    batches.BATCH,
    flags.RULE,
    exit_status.RULE,
    error_status.RULE,
    error_member.RULE,
    hello_agents.TEXT,
    hidden.RULE,
    error_text.RULE,
    python_text.RULE,
    batches.ROWS,
    incomplete.RULE,
)

CERTAIN_RULES: tuple[Rule, ...] = tuple(rule for rule in RULES if rule.grade == "certain")
"""Those that go by a protocol's own fields, and never by words or shapes."""
