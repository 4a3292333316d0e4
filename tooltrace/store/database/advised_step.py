"""The next action that the table of codes advises, as SQL: :func:`tooltrace.core.codes.next_step` over columns."""

from __future__ import annotations

from typing import Final

from tooltrace.core.codes import ADVICE, NextAction


def _has_code(action: NextAction) -> str:
    codes = ", ".join(f"'{code}'" for code, advice in ADVICE.items() if advice.next_action == action)
    return f"code IN ({codes})"


def _advised(action: NextAction) -> str:
    return f"WHEN {_has_code(action)} THEN '{action}'"


ADVISED_NEXT_STEP: Final = (
    f"CASE {_advised('stop')} WHEN retryable THEN 'retry' WHEN suggestion IS NOT NULL THEN 'continue' "
    f"WHEN NOT retryable AND {_has_code('retry')} THEN 'human_review' "
    f"{_advised('retry')} {_advised('continue')} {_advised('ask_user')} ELSE 'human_review' END"
)
"""An expression over ``code``, ``retryable`` and ``suggestion``."""
