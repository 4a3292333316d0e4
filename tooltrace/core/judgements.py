"""The records of judgements after a call: whether a result was right, and how it is read."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from tooltrace.core.fields import About


class Outcome(Struct, frozen=True, kw_only=True):
    """A later judgement: whether the result of an attempt or a call was right, or a conversation reached its goal."""

    call_id: Annotated[
        str | None, About("Id of the judged call; unknown where only an attempt is named.", "gen_ai.tool.call.id")
    ] = None
    span_id: Annotated[
        str | None,
        About("Id of the judged attempt; unknown where the whole call is judged.", "tooltrace.judged.span_id"),
    ] = None
    correct: Annotated[bool | None, About("Whether the result was right.")] = None
    score: Annotated[
        float | None, About("Degree to which the result was right, 0 to 1.", "gen_ai.evaluation.score.value")
    ] = None
    labeler: Annotated[
        str, About("Who judged the result: human, or the name of a check.", "tooltrace.labeler", prose=True)
    ] = "human"
    reason: Annotated[
        str | None, About("Reason of the judgement, redacted.", "gen_ai.evaluation.explanation", prose=True)
    ] = None
    labeled_at: Annotated[datetime, About("Time of the judgement, UTC.")]
    labeler_kind: Annotated[
        str | None,
        About("Kind of the labeler: person, rule (a program) or agent (a model).", "tooltrace.labeler_kind", made=True),
    ] = None
    target_kind: Annotated[
        str | None,
        About(
            "What is judged: attempt, call or conversation; unknown: the attempt of span_id, else the call of call_id.",
            "tooltrace.judged.kind",
            made=True,
        ),
    ] = None
    conversation_id: Annotated[
        str | None,
        About("Id of the judged conversation, where target_kind is conversation.", "gen_ai.conversation.id"),
    ] = None


class Correction(Struct, frozen=True, kw_only=True):
    """A later reading of an attempt, in place of the recorded one. It is not a label.

    Of several corrections of one attempt, those of a person precede those of an agent, and these precede those of a
    rule; of one kind the latest applies.
    """

    call_id: Annotated[
        str | None,
        About(
            "Id of the corrected call; unknown where only an attempt is named. The correction applies to the call's "
            "last attempt before corrected_at that reported a status.",
            "gen_ai.tool.call.id",
        ),
    ] = None
    span_id: Annotated[
        str | None,
        About("Id of the corrected attempt; unknown where only the call is named.", "tooltrace.corrected.span_id"),
    ] = None
    status: Annotated[
        str | None,
        About(
            "Status of the attempt: success, partial or error; unknown: the reading as it was recorded.",
            "tooltrace.corrected.status",
            made=True,
        ),
    ] = None
    code: Annotated[str | None, About("Error code of the attempt.", "tooltrace.corrected.code")] = None
    rule: Annotated[str | None, About("Rule that read the result again; unknown for a person.", "tooltrace.rule")] = (
        None
    )
    rule_grade: Annotated[
        str | None,
        About("Reliability of that reading: certain, heuristic or unread.", "tooltrace.rule_grade", made=True),
    ] = None
    labeler: Annotated[
        str, About("Who corrected the reading: human, or the name of a program.", "tooltrace.labeler", prose=True)
    ] = "human"
    labeler_kind: Annotated[
        str,
        About("Kind of the labeler: person, rule (a program) or agent (a model).", "tooltrace.labeler_kind", made=True),
    ] = "person"
    reason: Annotated[
        str | None, About("Reason of the correction, redacted.", "tooltrace.corrected.reason", prose=True)
    ] = None
    corrected_at: Annotated[datetime, About("Time of the correction, UTC.")]
