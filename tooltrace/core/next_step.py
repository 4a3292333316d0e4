"""What an agent does next, from what a tool said."""

from __future__ import annotations

from tooltrace.core.codes import NextAction, next_step
from tooltrace.core.confidence import Band, band
from tooltrace.core.response import ToolResponse

BY_BAND: dict[Band, NextAction] = {"high": "continue", "middle": "ask_user", "low": "human_review"}
"""Success is not right: how sure the tool is decides whether its answer goes on unseen."""


def resolve_next_step(response: ToolResponse) -> NextAction:
    """``continue``, ``retry``, ``ask_user``, ``human_review`` or ``stop``.

    What the tool itself advised; else, for an error, what its code and ``retryable`` suggest; else what its confidence
    allows: from 0.8 it continues, from 0.5 the user is asked, below that a person looks at it. An answer without a
    confidence continues.
    """
    if response.next_action is not None:
        return response.next_action
    error = response.error
    if response.status == "error" and error is not None:
        return next_step(error.code, error.retryable)
    return "continue" if response.confidence is None else BY_BAND[band(response.confidence)]
