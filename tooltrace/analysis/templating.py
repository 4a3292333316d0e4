"""Regions of a query's text that depend on the dimensions of its grouping.

``/* by */ tool, /* end by */``
    the dimensions with their expressions, where rows of ``tool_calls`` are read
``/* by names */ tool, /* end by */``
    the names of their columns, further down
``/* by history */``, ``/* by within */``, and with ``names``
    only the dimensions that split histories, and only those that vary between the attempts of one history: the
    dimensions before and behind the ``;`` in the heading
``/* unless by code */ code, /* end unless */``
    a result column that is omitted where the rows are grouped by it, because it is then a group column
``/* side */ tool_version /* end side */``
    the dimension whose values are the sides of a comparison
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tooltrace.analysis.dimensions import Dimension

_BY = re.compile(r"/\* by( history| within)?( names)? \*/ ?(.*?) ?/\* end by \*/", re.DOTALL)
_UNLESS = re.compile(r"/\* unless by (\w+) \*/ (.*?) /\* end unless \*/")
_SIDE = re.compile(r"/\* side \*/ .*? /\* end side \*/")
_EDGE = re.compile(r"/\* (end )?(by|unless|side)")

Within = Callable[[Dimension], bool]
"""Function that returns whether a dimension varies within a history."""


def render_groups(text: str, chosen: tuple[Dimension, ...], within: Within) -> str:
    """Return ``text`` grouped by ``chosen``."""
    columns = {dimension.column for dimension in chosen}
    columns_omitted = _UNLESS.sub(lambda region: "" if region[1] in columns else region[0], text)
    return _BY.sub(lambda region: _region(region, chosen, within), columns_omitted)


def render_sides(text: str, dimension: Dimension | None) -> str:
    """Return ``text`` with ``dimension`` as that of the sides; None where they are windows of time."""
    if dimension is None:
        return text
    # dates compare with the value as text
    of = (
        dimension.expression if dimension.expression == dimension.column else f"CAST({dimension.expression} AS VARCHAR)"
    )
    return _SIDE.sub(lambda _: f"/* side */ {of} /* end side */", text)


def is_grouped(text: str) -> bool:
    """Whether ``text`` has any region of ``by``."""
    return _BY.search(text) is not None


def omitted_columns(text: str) -> set[str]:
    """Return the columns that are omitted where the rows are grouped by them."""
    return {region[1] for region in _UNLESS.finditer(text)}


def validate(text: str, default: tuple[Dimension, ...], within: Within) -> Iterator[tuple[int, str]]:
    """Yield the offset and the fault of each invalid region of ``text`` under the ``default`` grouping."""
    for region in _BY.finditer(text):
        if region[0] != (expected := _region(region, default, within)):
            yield region.start(), f"the region must be the default grouping {expected!r}"
    # Blanked, not removed: the offsets of what is left are those of the file.
    rest = _UNLESS.sub(_blank, _BY.sub(_blank, _SIDE.sub(_blank, text)))
    if edge := _EDGE.search(rest):
        yield edge.start(), f"a region /* {edge[2]} */ … /* end {edge[2]} */ is incomplete"


def _region(region: re.Match[str], chosen: tuple[Dimension, ...], within: Within) -> str:
    part, names = region[1] or "", region[2] or ""
    dimensions = [dimension for dimension in chosen if not part or within(dimension) == (part == " within")]
    select_list = "".join(f"{dimension.name if names else dimension.sql}, " for dimension in dimensions)
    return f"/* by{part}{names} */ {select_list}/* end by */"


def _blank(region: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", region[0])
