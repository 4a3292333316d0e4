"""The parts of a query's text that depend on what its rows are grouped by.

``/* by */ tool, /* end by */``
    the dimensions with their expressions, where rows of ``tool_calls`` are read
``/* by names */ tool, /* end by */``
    the names of their columns, further down
``/* by history */``, ``/* by within */``, and with ``names``
    only those that part histories, and only those that change from one attempt of a history to the next: what stands
    before and behind the ``;`` in the heading
``/* unless by code */ code, /* end unless */``
    a column of the answer that is left out where the rows are grouped by it: it stands among the groups then
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tooltrace.analysis.dimensions import Dimension

_BY = re.compile(r"/\* by( history| within)?( names)? \*/ ?(.*?) ?/\* end by \*/", re.DOTALL)
_UNLESS = re.compile(r"/\* unless by (\w+) \*/ (.*?) /\* end unless \*/")
_EDGE = re.compile(r"/\* (end )?(by|unless)")

Within = Callable[[Dimension], bool]
"""Whether a dimension changes within a history."""


def render_groups(text: str, chosen: tuple[Dimension, ...], within: Within) -> str:
    """``text`` grouped by ``chosen``."""
    columns = {dimension.column for dimension in chosen}
    kept = _UNLESS.sub(lambda region: "" if region[1] in columns else region[0], text)
    return _BY.sub(lambda region: _region(region, chosen, within), kept)


def is_grouped(text: str) -> bool:
    """Whether there is any region of ``by``."""
    return _BY.search(text) is not None


def omitted_columns(text: str) -> set[str]:
    """Columns that are left out where the rows are grouped by them."""
    return {region[1] for region in _UNLESS.finditer(text)}


def validate(text: str, default: tuple[Dimension, ...], within: Within) -> Iterator[tuple[int, str]]:
    """Where a region of ``text`` is not what it should be for ``default``, and why."""
    for region in _BY.finditer(text):
        if region[0] != (expected := _region(region, default, within)):
            yield region.start(), f"the region is not the default grouping, {expected!r}"
    rest = _UNLESS.sub(_blank, _BY.sub(_blank, text))
    if cut := _EDGE.search(rest):
        yield cut.start(), f"a region of /* {cut[2]} */ … /* end {cut[2]} */ is cut short"


def _region(region: re.Match[str], chosen: tuple[Dimension, ...], within: Within) -> str:
    part, names = region[1] or "", region[2] or ""
    taken = [dimension for dimension in chosen if not part or within(dimension) == (part == " within")]
    written = "".join(f"{dimension.name if names else dimension.sql}, " for dimension in taken)
    return f"/* by{part}{names} */ {written}/* end by */"


def _blank(region: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", region[0])
