"""The next step of an agent after a tool's response."""

from __future__ import annotations

from tooltrace.core.codes import NextAction, next_step
from tooltrace.core.confidence import Band, band
from tooltrace.core.response import ToolResponse

BY_BAND: dict[Band, NextAction] = {"high": "continue", "middle": "ask_user", "low": "human_review"}
"""Next action after a success, by confidence: a successful call may still have a wrong answer."""


def resolve_next_step(response: ToolResponse) -> NextAction:
    """Return ``continue``, ``retry``, ``ask_user``, ``human_review`` or ``stop`` for ``response``.

    The tool's own advice comes first. Otherwise an error is decided by its code and ``retryable``, and any other
    response by its confidence: ``continue`` from 0.8, ``ask_user`` from 0.5, ``human_review`` below. A response
    without a confidence gives ``continue``.
    """
    if response.next_action is not None:
        return response.next_action
    error = response.error
    if response.status == "error" and error is not None:
        return next_step(error.code, error.retryable)
    return "continue" if response.confidence is None else BY_BAND[band(response.confidence)]
