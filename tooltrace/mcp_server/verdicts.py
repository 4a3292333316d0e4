"""The sentences that head an answer: computed values in the text, copied ones beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tooltrace.analysis import Query
from tooltrace.analysis.query_verdict import query_verdicts
from tooltrace.analysis.sentence import Sentence
from tooltrace.mcp_server.answer import cell
from tooltrace.store.result import QueryResult
from tooltrace.wording.i18n import Translations
from tooltrace.wording.sentences import pieces

MAX_COPIED: Final = 120
"""Characters of a copied text beside a sentence; the rows have more."""
_ENGLISH: Final = Translations("en")


def verdict_of(query: Query, result: QueryResult) -> list[dict[str, Any]]:
    """Return what ``result`` of ``query`` says."""
    return as_json(query_verdicts(query, result))


def as_json(sentences: Sequence[Sentence]) -> list[dict[str, Any]]:
    """Return each sentence as text, with names in braces for the texts of a trace, which are in ``copied``."""
    found = []
    for sentence in sentences:
        text, copied = "", {}
        for piece in pieces(sentence, _ENGLISH):
            if piece.figure is not None and isinstance(piece.figure.value, str):
                copied[piece.name] = cell(piece.figure.value, MAX_COPIED)[0]
                text += f"{{{piece.name}}}"
            else:
                text += piece.text
        found.append({"text": text, "copied": copied})
    return found
