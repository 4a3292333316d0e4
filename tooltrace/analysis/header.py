"""The comment at the head of a query file: its question, parameters and columns.

::

    -- Which tools fail, and how sure is that?
    --
    -- What a reader should know besides (optional, any length).
    --
    -- alias: failures
    -- by: tool (default), version, attributes
    -- parameters:
    --   min_n  integer = 20  fewer attempts than this are too few
    -- columns:
    --   rate   share         failures of attempts
    --   low    low(rate)     Wilson interval, 95 %
    -- source: where the formula comes from

``alias`` is a second name of the query (optional). Omit ``by`` where rows are not grouped; dimensions behind a ``;`` in
it vary within a history and do not split it (see the regions in ``templating``). Omit ``source`` where there is no
formula. A parameter without ``= default`` is required.
Two or more spaces separate names, types and meanings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from tooltrace.analysis.dimensions import ATTRIBUTES, DIMENSIONS
from tooltrace.analysis.parameters import TAKES, Parameter, ParamValue
from tooltrace.errors import QueryError
from tooltrace.store.result import Column

UNITS = {
    "count": "a number of things",
    "aside": "a count beside the question: shown to people only where it is not 0",
    "share": "a part of 1",
    "points": "a share minus a share: shown as percentage points",
    "ratio": "a number beside 1",
    "ms": "milliseconds",
    "time": "UTC",
    "text": "text",
    "json": "JSON text",
    "parts": "what a text beside it is made of, as JSON: for programs, not shown to people",
    "flag": "true or false",
    "mark": "true where the reader should take care: shown to people only where it is",
    "number": "any other number",
}
"""Units that a column can have; besides them ``low(x)`` and ``high(x)``, the ends of the interval of ``x``."""

_SECTION = re.compile(r"(alias|by|parameters|columns|source):\s*(.*)")
_ROW = re.compile(r"([a-z][a-z0-9_]*)\s+(\S+(?: = \S+)?)\s{2,}(\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryHeader:
    """The parsed heading of a query file."""

    question: str
    about: str = ""
    alias: str = ""
    """Second name of the query."""
    by: tuple[str, ...] = ()
    """Dimensions that the rows can be grouped by."""
    within: tuple[str, ...] = ()
    """Dimensions of ``by`` that vary between the attempts of one history and do not split it."""
    default_by: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    columns: tuple[Column, ...] = ()
    source: str = ""


@dataclass(slots=True)
class _Place:
    path: Path
    line: int = 1
    rows: dict[str, list[str]] = field(default_factory=dict)

    def fault(self, cause: str) -> QueryError:
        return QueryError(f"{cause}; the query cannot be used: {self.path}:{self.line}")


def parse(text: str, path: Path) -> QueryHeader:
    """Parse the heading of a file's ``text``. Raises QueryError with the file and the line."""
    place = _Place(path)
    heading = QueryHeader(question="")
    section, about = "", []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("--"):
            break
        place.line = number
        content = line[2:].removeprefix(" ").rstrip()
        found = _SECTION.fullmatch(content)
        if number == 1:
            heading = replace(heading, question=_question(content, place))
        elif found:
            section = found[1]
            heading = _begin(heading, section, found[2], place)
        elif not section:
            about.append(content)
        elif content:
            heading = _row(heading, section, content, place)
    return _whole(replace(heading, about="\n".join(about).strip()), place)


def _question(content: str, place: _Place) -> str:
    if not content.endswith("?"):
        raise place.fault("the first line is not a question after '-- '")
    return content


def _begin(heading: QueryHeader, section: str, rest: str, place: _Place) -> QueryHeader:
    if section in place.rows:
        raise place.fault(f"a second section {section!r}")
    place.rows[section] = []
    if section == "by":
        return _by(heading, rest, place)
    if section == "alias":
        if not rest.isidentifier():
            raise place.fault(f"the alias {rest!r} is not a name: letters, digits and _ were expected")
        return replace(heading, alias=rest)
    if section == "source":
        return replace(heading, source=rest)
    if rest:
        raise place.fault(f"text behind '{section}:', which takes one row a line")
    return heading


def _by(heading: QueryHeader, rest: str, place: _Place) -> QueryHeader:
    names = [part.strip() for part in re.split("[,;]", rest)]
    default = tuple(name.removesuffix("(default)").strip() for name in names if name.endswith("(default)"))
    every = tuple(name.removesuffix("(default)").strip() for name in names)
    for name in every:
        if name not in DIMENSIONS and name != ATTRIBUTES:
            raise place.fault(f"no dimension {name!r}; there are {', '.join([*DIMENSIONS, ATTRIBUTES])}")
    if not default or ATTRIBUTES in default:
        raise place.fault("'by' names no dimension as '(default)'")
    within = tuple(part.strip() for part in rest.partition(";")[2].split(",") if part.strip())
    return replace(heading, by=every, within=within, default_by=default)


def _row(heading: QueryHeader, section: str, content: str, place: _Place) -> QueryHeader:
    if section == "source":
        return replace(heading, source=f"{heading.source} {content.strip()}")
    found = _ROW.fullmatch(content.strip())
    if section in ("alias", "by") or not found:
        raise place.fault(f"{content.strip()!r} is no row of '{section}:' (name, type or unit, two spaces, meaning)")
    name, kind, meaning = found.groups()
    if name in place.rows[section]:
        raise place.fault(f"{name!r} stands twice in '{section}:'")
    place.rows[section].append(name)
    if section == "parameters":
        return replace(heading, parameters=(*heading.parameters, _parameter(name, kind, meaning, place)))
    return replace(heading, columns=(*heading.columns, _column(heading, name, kind, meaning, place)))


def _parameter(name: str, kind: str, meaning: str, place: _Place) -> Parameter:
    kind, equals, written = kind.partition(" = ")
    if kind not in TAKES:
        raise place.fault(f"no type {kind!r} for {name!r}; there are {', '.join(TAKES)}")
    default: ParamValue = None
    if equals and written != "NULL":
        quoted = re.fullmatch(r"'([^']*)'", written)
        if kind in ("text", "shares") and quoted:
            default = quoted[1]
        elif kind in ("integer", "positive") and written.isdecimal():
            default = int(written)
        elif kind in ("number", "share", "objective") and re.fullmatch(r"\d+(\.\d+)?", written):
            default = float(written)
        else:
            raise place.fault(f"{written} is no default for {name!r}, a {kind}")
    return Parameter(name=name, type=kind, meaning=meaning, default=default, required=not equals)


def _column(heading: QueryHeader, name: str, unit: str, meaning: str, place: _Place) -> Column:
    column = Column(name=name, unit=unit, meaning=meaning)
    known = [other.name for other in heading.columns]
    if column.end_of is None and unit not in UNITS:
        raise place.fault(f"no unit {unit!r} for {name!r}; there are {', '.join(UNITS)}, low(x), high(x)")
    if column.end_of is not None and column.end_of[1] not in known:
        raise place.fault(f"{unit} of {name!r}: no column {column.end_of[1]!r} above it")
    return column


def _whole(heading: QueryHeader, place: _Place) -> QueryHeader:
    if not heading.question:
        raise place.fault("no heading: the file begins without a comment")
    if not heading.columns:
        raise place.fault("the heading names no columns")
    return heading
