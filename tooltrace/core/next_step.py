"""The next step of an agent after a tool's response."""

from __future__ import annotations

from typing import Self, cast

from tooltrace.core.codes import NextAction, advice_for, next_step
from tooltrace.core.confidence import Band, band, is_uncertain
from tooltrace.core.response import ErrorInfo, ToolResponse

BY_BAND: dict[Band, NextAction] = {"high": "continue", "middle": "continue", "low": "human_review"}
"""Next action after a success, by confidence: a successful call may still have a wrong answer."""


class NextStep(str):
    """The word of a next step, with the facts that the step depends on.

    It equals its word: ``step == "retry"``.
    """

    __slots__ = ("retryable", "uncertain", "user_message")

    retryable: bool | None
    """Whether the same call may succeed later; None after a success, and where neither the tool nor the code states it.
    """
    user_message: str | None
    """The error's message for the person."""
    uncertain: bool
    """Whether the answer has a confidence below 0.8. The message for the model says so too."""

    def __new__(
        cls,
        action: NextAction,
        *,
        retryable: bool | None = None,
        user_message: str | None = None,
        uncertain: bool = False,
    ) -> Self:
        step = super().__new__(cls, action)
        step.retryable, step.user_message, step.uncertain = retryable, user_message, uncertain
        return step

    @property
    def action(self) -> NextAction:
        """The word alone, typed as a NextAction."""
        return cast("NextAction", str(self))

    def __repr__(self) -> str:
        facts = f"retryable={self.retryable}, user_message={self.user_message!r}, uncertain={self.uncertain}"
        return f"NextStep({str(self)!r}, {facts})"


def resolve_next_step(response: ToolResponse, *, low: NextAction = BY_BAND["low"]) -> NextStep:
    """Return ``continue``, ``retry``, ``ask_user``, ``human_review`` or ``stop`` for ``response``.

    The tool's own advice comes first. Otherwise an error is decided by its ``retryable``, its suggestion and its code, and
    any other response by its confidence: ``continue`` from 0.5, ``low`` below. A response without a confidence gives
    ``continue``. The step also has the error's ``retryable`` and ``user_message``, and ``uncertain``, which is True for
    a confidence below 0.8. Raises TypeError for anything but a response.
    """
    if not isinstance(response, ToolResponse):
        raise TypeError(
            f"resolve_next_step() needs a ToolResponse, got {type(response).__name__}: normalize() makes one of any result"
        )
    error = response.error
    return NextStep(
        response.stated_next_action or _action(response, low),
        retryable=None if error is None else _retryable(error),
        user_message=None if error is None else error.user_message,
        uncertain=response.ok and is_uncertain(response.confidence),
    )


def _action(response: ToolResponse, low: NextAction) -> NextAction:
    error = response.error
    if response.status == "error" and error is not None:
        return next_step(error.code, error.stated_retryable, error.suggestion)
    if response.confidence is None:
        return "continue"
    rank = band(response.confidence)
    return low if rank == "low" else BY_BAND[rank]


def _retryable(error: ErrorInfo) -> bool | None:
    return advice_for(error.code).retryable if error.retryable is None else error.retryable
