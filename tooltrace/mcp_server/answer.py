"""Answers: one JSON object, in which computed values stand apart from texts copied out of traces, cut to a size.

An answer about rows::

    {"about": {…}, "columns": {"computed": ["n", "rate"], "copied": ["tool"]}, "written_by": {"tool": "application"},
     "rows": [{"computed": [40, 0.78], "copied": ["fetch"]}], "cut": null}

``cut`` says what was left out, and how to ask for less or for the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from tooltrace.core.plural import format_count
from tooltrace.core.visible import visible_evidence
from tooltrace.mcp_server.provenance import Writer, column_name, is_computed, writer_of
from tooltrace.redact.plain_data import json_of
from tooltrace.store.result import QueryResult

MAX_CHARACTERS: Final = 16_000
"""Characters of one answer by default: about 4,000 tokens of English, and 6,000 of numbers."""
MAX_CELL: Final = 300
"""Characters of one text in a row; ``call`` shows texts in full."""
MIN_CELL: Final = 10
"""The same for a row whose columns would not fit otherwise."""
CUT_RESERVE: Final = 600
"""Characters kept free for the member ``cut``."""
CHARACTERS_PER_TOKEN: Final = 3.0
"""Characters of JSON for each token, at least, where it is mostly words: the tokenizers of 2024 to 2026 reach 3 to 4."""

Json = dict[str, Any]


def dumped(value: object) -> str:
    """Return ``value`` as compact JSON."""
    return json_of(value).decode()


def computed(value: Any) -> Any:
    """Return a computed value for JSON: numbers with 4 significant digits, times as ISO text in UTC."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        rounded = float(f"{value:.4g}")
        return rounded if math.isfinite(rounded) else None
    if isinstance(value, datetime):
        return f"{value.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"
    return value.isoformat() if isinstance(value, date) else str(value)


def copied(value: Any) -> str | None:
    """Return a value of a trace as text, with escapes for characters that hide or rearrange it."""
    if value is None:
        return None
    if isinstance(value, dict | list):
        value = dumped(value)
    return visible_evidence(value if isinstance(value, str) else str(computed(value)))


def cell(value: Any, most: int = MAX_CELL) -> tuple[str | None, bool]:
    """Return the beginning of a copied value, and whether it is longer than ``most`` characters."""
    text = copied(value)
    if text is None or len(text) <= most:
        return text, False
    return f"{text[: most - 1]}…", True


def table_answer(
    result: QueryResult,
    about: Mapping[str, Any],
    *,
    rows: int,
    more: str,
    characters: int = MAX_CHARACTERS,
    writer: Writer | None = None,
    total: int | None = None,
) -> Json:
    """Return the answer with the first ``rows`` rows of ``result``, as many as fit into ``characters``.

    ``more``: how to ask for the rest. ``writer``: who wrote the texts, where the columns do not tell. ``total``: number of
    rows where ``result`` does not have all of them.
    """
    values = list(zip(*result.rows, strict=True)) if result.rows else [()] * len(result.fields)
    kept = [
        at
        for at, field in enumerate(result.fields)
        if result.rows and (field.unit == "mark" or any(v is not None for v in values[at]))
    ]
    found = _about(result, about)
    shown = kept
    while True:
        ours = [at for at in shown if is_computed(result.fields[at], list(values[at]))]
        theirs = [at for at in shown if at not in ours]
        names = {at: column_name(result.columns[at]) for at in shown}
        answer: Json = {
            "about": found,
            "columns": {"computed": [names[at] for at in ours], "copied": [names[at] for at in theirs]},
            "written_by": {names[at]: writer or writer_of(result.columns[at]) for at in theirs},
        }
        space = characters - CUT_RESERVE - len(dumped(answer))
        if space >= (characters - CUT_RESERVE) // 2 or len(shown) <= 1:
            break
        # The names of very many columns would fill the answer; half of the space is for rows.
        shown = shown[: len(shown) // 2]
    answer["rows"], shortened, most = _rows(result.rows[:rows], ours, theirs, space)
    count, of = len(answer["rows"]), total or len(result.rows)
    reason = None
    if count < len(result.rows[:rows]):
        reason = f"the answer has at most {characters} characters"
    elif result.cut or count < of:
        reason = f"limit={rows}"
    cut: Json = {}
    if len(shown) < len(kept):
        cut["columns"] = {"shown": len(shown), "of": len(kept), "because": f"their names fill {characters} characters"}
    if reason is not None:
        cut["rows"] = {"shown": count, "of": of if result.cut is None else f"more than {of}", "because": reason}
    if cut:
        cut["more"] = more
    if shortened:
        cut["texts"] = (
            f"{format_count(shortened, 'text')} shortened to {most} characters: call(call_id=…) has them in full"
        )
    answer["cut"] = cut or None
    return answer


def _about(result: QueryResult, about: Mapping[str, Any]) -> Json:
    """Return the member ``about``, with the mark ``too_few`` and the note of ``result``."""
    found = dict(about)
    if marked := _too_few(result):
        found["too_few"] = marked
    if result.note:
        found["note"] = result.note
    return found


def _too_few(result: QueryResult) -> str | None:
    if "too_few" not in result.columns:
        return None
    marks = result.values("too_few")
    count = sum(map(bool, marks))
    return (
        f"{count} of {format_count(len(marks), 'row')} marked too_few: read their intervals and give no verdict on them"
        if count
        else None
    )


def _rows(rows: Sequence[Sequence[Any]], ours: list[int], theirs: list[int], space: int) -> tuple[list[Json], int, int]:
    """Return as many rows as fit into ``space`` characters, how many of their texts were shortened, and to what length.

    Texts are shortened to MAX_CELL characters, and further where the first row would not fit.
    """

    def made(row: Sequence[Any], most: int) -> tuple[Json, int]:
        cells = [cell(row[at], most) for at in theirs]
        one = {"computed": [computed(row[at]) for at in ours], "copied": [text for text, _ in cells]}
        return one, sum(cut for _, cut in cells)

    most = MAX_CELL
    while rows and most > MIN_CELL and len(dumped(made(rows[0], most)[0])) >= space:
        most //= 2
    found: list[Json] = []
    shortened = 0
    for row in rows:
        one, cut = made(row, most)
        space -= len(dumped(one)) + 1
        if space < 0:
            break
        found.append(one)
        shortened += cut
    return found, shortened, most
