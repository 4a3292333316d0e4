"""Encode an ``Outcome`` as the conventions' event ``gen_ai.evaluation.result``, and decode it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from tooltrace.core.records import Outcome
from tooltrace.otel import attributes as names
from tooltrace.otel.span_codec import SCOPE
from tooltrace.otel.span_data import LogData
from tooltrace.otel.timestamps import from_log_time, to_unix_ns, valid_parent
from tooltrace.version import __version__

RIGHT: Final = frozenset({"correct", "right", "accurate", "pass", "passed"})
WRONG: Final = frozenset({"incorrect", "wrong", "inaccurate", "fail", "failed", "not_correct"})
"""Labels that state by themselves whether a result was right; lower case, with ``_`` for spaces and hyphens. ``true``,
``positive`` and ``high`` are left out because they may also describe a harm."""

INVERSE: Final = re.compile(
    r"toxic|hallucinat|harm|bias|hate|violen|unsafe|risk|jailbreak|injection|fabricat", re.IGNORECASE
)
"""Names of metrics for which a higher score may be worse: their scores do not measure correctness."""


def to_log(outcome: Outcome, *, trace_id: str | None = None, span_id: str | None = None) -> LogData:
    """Return the event of ``outcome``.

    Score and label are both set, as in the view ``judged``: a missing score is 1 for right and 0 for wrong, a missing
    label is right from 0.5 on. :data:`names.REPORTED` lists which of the two the labeler passed.
    """
    time_ns, late = to_unix_ns(outcome.labeled_at)
    trace_id, span_id = valid_parent(trace_id, span_id or outcome.span_id)
    return LogData(
        event_name=names.EVALUATION_EVENT,
        time_ns=time_ns,
        attributes=_attributes(outcome, late),
        trace_id=trace_id,
        span_id=span_id,
        scope=SCOPE,
        scope_version=__version__,
    )


def _attributes(outcome: Outcome, late: str | None) -> dict[str, Any]:
    correct, score = outcome.correct, outcome.score
    reported = [name for name, value in (("correct", correct), ("score", score)) if value is not None]
    if correct is None and score is not None:
        correct = score >= 0.5
    if score is None and correct is not None:
        score = float(correct)
    known: dict[str, Any] = {
        names.EVALUATION_NAME: names.CORRECTNESS,
        names.EVALUATION_SCORE_VALUE: score,
        names.EVALUATION_SCORE_LABEL: None if correct is None else "correct" if correct else "incorrect",
        names.EVALUATION_EXPLANATION: outcome.reason,
        names.TOOL_CALL_ID: outcome.call_id,
        names.JUDGED_SPAN_ID: outcome.span_id,
        names.LABELER: outcome.labeler,
        names.LABELER_KIND: outcome.labeler_kind,
        names.TARGET_KIND: outcome.target_kind,
        names.CONVERSATION_ID: outcome.conversation_id,
        names.REPORTED: reported,
        names.AT: late,
    }
    return {key: value for key, value in known.items() if value is not None}


def from_log(form: LogData) -> Outcome:
    """Return the outcome that the event encodes; exact for our own events. Raises ValueError."""
    # Only tooltrace writes this attribute.
    return _native(form) if names.LABELER in form.attributes else _external(form)


def _native(form: LogData) -> Outcome:
    value = form.attributes.get(names.REPORTED)
    reported = value if isinstance(value, Sequence) else ()
    label = _text(form, names.EVALUATION_SCORE_LABEL)
    score = _number(form, names.EVALUATION_SCORE_VALUE)
    return Outcome(
        call_id=_text(form, names.TOOL_CALL_ID),
        span_id=_text(form, names.JUDGED_SPAN_ID),
        # The event always has both values; the labeler may have passed only one of them.
        correct=None if label is None or "correct" not in reported else label == "correct",
        score=score if "score" in reported else None,
        labeler=_text(form, names.LABELER) or "unknown",
        labeler_kind=_text(form, names.LABELER_KIND),
        target_kind=_text(form, names.TARGET_KIND),
        conversation_id=_text(form, names.CONVERSATION_ID),
        reason=_text(form, names.EVALUATION_EXPLANATION),
        labeled_at=from_log_time(form),
    )


def _external(form: LogData) -> Outcome:
    """Decode an evaluation of another library.

    The name of the metric becomes the labeler, so that several evaluations of one span count separately. An evaluation
    that names a conversation, and neither a span nor a call, is of the conversation.
    """
    call_id, name = _text(form, names.TOOL_CALL_ID) or None, _text(form, names.EVALUATION_NAME)
    of_call = call_id is not None or form.span_id is not None
    conversation_id = None if of_call else _text(form, names.CONVERSATION_ID) or None
    if not of_call and conversation_id is None:
        raise ValueError("it has neither a span id, a call id nor a conversation id, so the judged call is unknown")
    score, correct = _number(form, names.EVALUATION_SCORE_VALUE), _verdict(_text(form, names.EVALUATION_SCORE_LABEL))
    usable = _usable(score, correct, name or "")
    if correct is None and usable is None:
        raise ValueError(_unusable(form, score, name))
    return Outcome(
        call_id=call_id,
        span_id=form.span_id,
        conversation_id=conversation_id,
        target_kind=None if of_call else "conversation",
        correct=correct,
        score=usable,
        labeler=name or form.scope or "unknown",
        reason=_reason(form, None if score == usable else score),
        labeled_at=from_log_time(form),
    )


def _usable(score: float | None, correct: bool | None, name: str) -> float | None:
    """Return ``score`` if it measures correctness: within [0, 1], higher is better, consistent with the label."""
    if score is None or not 0.0 <= score <= 1.0 or INVERSE.search(name):
        return None
    return score if correct is None or correct == (score >= 0.5) else None


def _verdict(label: str | None) -> bool | None:
    word = "" if label is None else label.strip().lower().replace(" ", "_").replace("-", "_")
    return True if word in RIGHT else False if word in WRONG else None


def _unusable(form: LogData, score: float | None, name: str | None) -> str:
    label = _text(form, names.EVALUATION_SCORE_LABEL)
    if score is None and not label:
        return "it has neither a score nor a label"
    if score is not None and 0.0 <= score <= 1.0:
        return f"a higher {name} may be worse, and the label {label!r} is neither right nor wrong"
    return f"the score {score} is not within [0, 1], and the label {label!r} is neither right nor wrong"


def _reason(form: LogData, score: float | None) -> str | None:
    """Return the explanation, followed by a score that our schema cannot represent and would otherwise lose."""
    explanation = _text(form, names.EVALUATION_EXPLANATION) or None
    if score is None:
        return explanation
    return f"{explanation} (score {score:g})" if explanation else f"score {score:g}"


def _text(form: LogData, key: str) -> str | None:
    value = form.attributes.get(key)
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"{key} must be a text")


def _number(form: LogData, key: str) -> float | None:
    value = form.attributes.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{key} must be a finite number")
    return float(value)
