"""The sentences that head an answer: computed values in the text, copied ones beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tooltrace.analysis import Query
from tooltrace.analysis.query_verdict import query_verdict
from tooltrace.analysis.verdict import INCIDENT_FAILURES, Sentence, tools_verdict
from tooltrace.mcp_server.answer import cell
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.report.i18n import Translations
from tooltrace.report.sentences import pieces
from tooltrace.store.result import QueryResult

MAX_COPIED: Final = 120
"""Characters of a copied text beside a sentence; the rows have more."""
_ENGLISH: Final = Translations("en")


async def verdict_of(
    store: ServedStore, query: Query, result: QueryResult, *, by: str | None = None, **window: Any
) -> list[dict[str, Any]]:
    """Return what ``result`` says: of the ranking of tools the sentences of the pages, of another query its own one."""
    if query.name == "ranking" and by in (None, "", "tool"):
        incidents = await store.query("incidents", None, failing=INCIDENT_FAILURES, **window)
        return as_json(tools_verdict(result, incidents).sentences)
    sentence = query_verdict(query, result)
    return as_json([sentence] if sentence is not None else [])


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
