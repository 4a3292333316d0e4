"""The placeholders of a query's SQL, which gathers: it filters, groups, counts and adds up.

``{by}``
    the columns that the rows are grouped by, with a comma behind them in the file: ``SELECT {by}, count(*) …``
``{history}``
    those of them that split a history, all but the ones behind a ``;`` in the heading's ``by``
``{window}``
    the condition of the parameters ``since``, ``until`` and ``tool``, as far as the heading has them
``{side}``
    the value, as text, by which the two sides of a comparison differ
``sums(counted, items) AS name``
    six sums over rows of one cluster each, from which a share and its interval are made: ``name_clusters``, ``name_n``,
    ``name_s``, ``name_ss``, ``name_sn``, ``name_nn``
``percentiles(value) AS name``
    the percentiles of :data:`tooltrace.statistics.quantiles.GRID`, a list: ``name_grid``

Rows grouped by an attribute read it from ``facts``; those grouped by conversation have each call as a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from tooltrace.analysis.dimensions import ATTRIBUTES, DIMENSIONS, Dimension
from tooltrace.statistics.quantiles import GRID

SUMS: Final = ("clusters", "n", "s", "ss", "sn", "nn")
"""The sums of ``sums(counted, items)``, in the order of ``tooltrace.statistics.ClusterSums``."""
WINDOW: Final = {
    "since": "($since IS NULL OR started_at >= $since)",
    "until": "($until IS NULL OR started_at < $until)",
    "tool": "($tool IS NULL OR tool = $tool)",
}
"""The condition of each parameter that ``{window}`` stands for."""

_BY: Final = re.compile(r"\{by\}(,\s*)?")
_HISTORY: Final = re.compile(r"\{history\}(,\s*)?")
_BEFORE_BY: Final = re.compile(r",\s*\{by\}(?!,)")
"""The groups as the last items of a list, with the comma before them."""
_HEADING: Final = re.compile(r"(?:--.*\n)*")
"""The comment at the head of a file, whose verdict may name a column ``{window}``."""
_SUMS: Final = re.compile(r"\bsums\((\w+), (\w+)\) AS (\w+)")
_PERCENTILES: Final = re.compile(r"\bpercentiles\((\w+)\) AS (\w+)")
_FACTS: Final = re.compile(r"\b(FROM|JOIN) facts\b")


def is_gather(text: str) -> bool:
    """Whether ``text`` has a placeholder of this module."""
    _, sql = heading_and_sql(text)
    return "{by}" in sql or "{window}" in sql or _SUMS.search(sql) is not None


def is_grouped(text: str) -> bool:
    """Whether ``text`` groups its rows by chosen dimensions."""
    return "{by}" in text


def shares(text: str) -> tuple[str, ...]:
    """Return the names of the shares whose sums ``text`` gathers, in their order."""
    return tuple(found[3] for found in _SUMS.finditer(text))


def render(
    text: str,
    chosen: tuple[Dimension, ...],
    parameters: Collection[str],
    side: Dimension | None = None,
    within: Collection[str] = (),
) -> str:
    """Return ``text`` grouped by ``chosen``, within the window of ``parameters``.

    ``side``: the dimension whose values are compared; ``within``: those that do not split a history.
    """
    heading, text = heading_and_sql(text)
    # dates compare with the value as text
    text = text.replace("{side}", f"CAST({(side or DIMENSIONS['version']).name} AS VARCHAR)")
    if not chosen:
        text = _BEFORE_BY.sub("", text)
    text = _listed(_BY, text, chosen)
    text = _listed(_HISTORY, text, [dimension for dimension in chosen if dimension.column not in within])
    conditions = [condition for name, condition in WINDOW.items() if name in parameters]
    text = text.replace("{window}", " AND ".join(conditions) or "true")
    text = _SUMS.sub(lambda found: _six_sums(*found.groups()), text)
    text = _PERCENTILES.sub(f"quantile_cont(\\1, [{', '.join(map(str, GRID))}]) AS \\2_grid", text)
    return heading + _FACTS.sub(lambda found: f"{found[1]} {_facts((*chosen, side) if side else chosen)}", text)


def _listed(placeholder: re.Pattern[str], text: str, dimensions: Collection[Dimension]) -> str:
    """Return ``text`` with the names of ``dimensions`` in place of ``placeholder``; without any, its comma goes too."""
    names = ", ".join(dimension.name for dimension in dimensions)
    return placeholder.sub(lambda found: names + (found[1] or "") if names else "", text)


def heading_and_sql(text: str) -> tuple[str, str]:
    """Return the heading of a file, and its SQL."""
    found = _HEADING.match(text)
    end = found.end() if found else 0
    return text[:end], text[end:]


def _six_sums(counted: str, items: str, name: str) -> str:
    products = {"ss": (counted, counted), "sn": (counted, items), "nn": (items, items)}
    # as doubles: the square of a sum of many items exceeds 64 bits
    sums = {key: f"sum(CAST({one} AS DOUBLE) * {other})" for key, (one, other) in products.items()}
    plain = {"clusters": f"count(*) FILTER (WHERE {items} > 0)", "n": f"sum({items})", "s": f"sum({counted})"}
    return ", ".join(f"{sql} AS {name}_{key}" for key, sql in {**plain, **sums}.items())


def _facts(chosen: tuple[Dimension, ...]) -> str:
    """Return the table that the rows are read from: ``facts``, where needed with another cluster and with attributes."""
    attributes = [dimension.sql for dimension in chosen if dimension.column.startswith(f"{ATTRIBUTES}.")]
    replaced = (
        " REPLACE (CASE WHEN conversation IS NULL THEN cluster ELSE call_key END AS cluster)"
        if DIMENSIONS["conversation"] in chosen
        else ""
    )
    if not attributes and not replaced:
        return "facts"
    return f"(SELECT {', '.join([f'*{replaced}', *attributes])} FROM facts) AS facts"
