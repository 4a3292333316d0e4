"""What a query says in words of its own, in the reader's language. What it has from a trace stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from tooltrace.report.words import Words

Row = tuple[Any, ...]


def told(query: str, names: Sequence[str], rows: Iterable[Row], words: Words) -> list[Row]:
    """The ``rows`` of ``query`` under columns of these ``names``; where a word has no translation, with the query's own."""
    if query == "audit" and {"point", "figures"} <= set(names):
        return [_audited(names, row, words) for row in rows]
    own = [at for at, name in enumerate(names) if words.has_values(query, name)]
    return [_worded(query, names, row, own, words) for row in rows]


def _worded(query: str, names: Sequence[str], row: Row, own: Sequence[int], words: Words) -> Row:
    said = list(row)
    for at in own:
        said[at] = words.value(query, names[at], row[at])
    return tuple(said)


def _audited(names: Sequence[str], row: Row, words: Words) -> Row:
    known = dict(zip(names, row, strict=True))
    said = {
        "name": words.own(f"audit.name.{known['point']}"),
        "evidence": evidence(known["figures"], known.get("example_call_id"), words),
        "fix": words.own(f"audit.fix.{known['point']}"),
    }
    return tuple(said.get(name) or value for name, value in known.items())


def evidence(figures: str, example: str | None, words: Words) -> str:
    """The sentence that is made of the audit's ``figures``; empty where the language has none."""
    numbers = orjson.loads(figures)
    return words.own(f"audit.says.{numbers.pop('says')}").format(**numbers, example=example)
