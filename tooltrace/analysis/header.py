"""The comment at the head of a query file: its question, parameters and columns.

::

    -- Which tools fail, and how sure is that?
    --
    -- What a row is, what counts, and how to read it (optional, any length).
    --
    -- group: failures (first)
    -- by: tool (default), version, attributes
    -- parameters:
    --   min_n  integer = 20  a group of fewer attempts is marked too_few
    -- columns:
    --   rate   share         failures / attempts
    --   low    low(rate)     Wilson interval, 95 %
    -- content: message
    -- important: rate
    -- hidden: attempts
    -- verdict: max(low) {group} fails most: {rate}, {low} or more.
    -- next: query errors --tool {tool}
    -- source: where the formula comes from
    -- order: rate desc, attempts desc, groups

``group`` is one of GROUPS; ``(first)`` marks a query that ``tooltrace query`` lists without ``--all``. Those of the group
``pages`` are parts of pages and commands, and not listed. Omit ``by`` where rows are not grouped; dimensions behind a ``;`` in
it vary within a history and do not split it (``{history}`` in ``gather``); with ``none (default)`` as its first
item, the rows are grouped only if that is asked for. ``content`` are the columns
that are unknown for calls whose content was removed; ``all`` for a query about content, which then leaves out these calls (optional). ``important`` are the columns that a
narrow table shows first (optional: the order of ``columns``), ``hidden`` the columns without which a row says nothing: a
table omits the rows in which all of them are 0 or NULL (optional). ``verdict`` is a sentence about one row, and ``also`` (optional) one about another, with columns
in braces, ``{n:call}`` for a number with its noun (1 call, 2 calls), and ``{group}`` for its group (optional); the row is the ``first`` one, ``top`` (the first even if it is marked too_few), the one with ``max(column)`` unless that is 0, or the first
one for which ``false(column)``. ``next`` is the command of tooltrace that leads on,
with columns of the first row in braces. Omit ``source`` where there is no formula. ``reasoner`` is the module of
``tooltrace.analysis.reasoners`` that concludes from what the SQL gathers, if any, and ``order`` the order of its rows. A parameter without ``= default`` is required.
Two or more spaces separate names, types and meanings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from tooltrace.analysis.dimensions import ATTRIBUTES, DIMENSIONS
from tooltrace.analysis.parameters import ACCEPTED, ParamValue, QueryParameter
from tooltrace.errors import QueryError
from tooltrace.store.result import ALL_CONTENT, ResultColumn

UNITS = {
    "count": "a number of items",
    "aside": "an additional count: hidden in tables if it is always 0",
    "share": "a part of 1",
    "points": "a difference of shares: shown as percentage points",
    "ratio": "a number relative to 1",
    "ms": "milliseconds",
    "time": "UTC",
    "text": "text",
    "json": "JSON text",
    "parts": "the parts of another text column, often as JSON: for programs, hidden in tables",
    "flag": "true or false",
    "mark": "true where the reader should take care: hidden in tables if it is never true",
    "number": "any other number",
}
"""Units that a column can have; besides them ``low(x)`` and ``high(x)``, the ends of the interval of ``x``."""

GROUPS = {
    "failures": "What fails",
    "changes": "What changed",
    "costs": "What it costs",
    "agents": "What agents do",
    "trust": "What can be trusted",
    "calls": "What was called",
    "pages": "Parts of pages and commands",
}
"""Groups of queries, in the order of lists, with their titles."""

_UNGROUPED = "none (default), "
"""Beginning of ``by`` where the rows are not grouped by default."""
_SECTION = re.compile(
    r"(group|by|parameters|columns|content|important|hidden|verdict|also|next|source|reasoner|order):\s*(.*)"
)
_NAMES = ("content", "important", "hidden")
"""Sections of names of columns, on the line of their name."""
_TEXTS = ("verdict", "also", "next", "source", "reasoner")
"""Sections whose text begins on the line of their name."""
_PICK = re.compile(r"first|top|(?:max|false)\((\w+)\)")
_FIELD = re.compile(r"\{(\w+)(?::[^{}]+)?\}")
_ROW = re.compile(r"([a-z][a-z0-9_]*)\s+(\S+(?: = \S+)?)\s{2,}(\S.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryHeader:
    """The parsed heading of a query file."""

    question: str
    about: str = ""
    group: str = ""
    """The group of questions that the query belongs to."""
    is_first: bool = False
    """Whether short lists of queries have it."""
    by: tuple[str, ...] = ()
    """Dimensions that the rows can be grouped by."""
    within: tuple[str, ...] = ()
    """Dimensions of ``by`` that vary between the attempts of one history and do not split it."""
    default_by: tuple[str, ...] = ()
    parameters: tuple[QueryParameter, ...] = ()
    columns: tuple[ResultColumn, ...] = ()
    content: tuple[str, ...] = ()
    """Columns that are unknown for calls whose content was removed; ``("all",)`` for a query about content."""
    important: tuple[str, ...] = ()
    """Columns that a narrow table shows first."""
    hidden: tuple[str, ...] = ()
    """Columns without which a row says nothing: tables omit the rows in which all of them are 0 or NULL."""
    verdict: str = ""
    """How to choose a row, and a sentence about it, with its columns in braces."""
    also: str = ""
    """The same for a second sentence, about a row of its own."""
    next: str = ""
    """Arguments of the command that leads on, with columns of the first row in braces."""
    source: str = ""
    reasoner: str = ""
    """Module of ``tooltrace.analysis.reasoners`` that concludes from what the SQL gathers; empty: intervals of shares only."""
    order: tuple[tuple[str, bool], ...] = ()
    """Columns that the rows are sorted by, each with whether it descends; ``groups`` for the groups. Empty: the SQL's order."""


@dataclass(slots=True)
class _HeaderParser:
    path: Path
    line: int = 1
    rows: dict[str, list[str]] = field(default_factory=dict)

    def fault(self, cause: str) -> QueryError:
        return QueryError(f"invalid query file {self.path}:{self.line}: {cause}")


def parse(text: str, path: Path) -> QueryHeader:
    """Parse the heading of a file's ``text``. Raises QueryError with the file and the line."""
    parser = _HeaderParser(path)
    heading = QueryHeader(question="")
    section, about = "", []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("--"):
            break
        parser.line = number
        content = line[2:].removeprefix(" ").rstrip()
        found = _SECTION.fullmatch(content)
        if number == 1:
            heading = replace(heading, question=_question(content, parser))
        elif found:
            section = found[1]
            heading = _start_section(heading, section, found[2], parser)
        elif not section:
            about.append(content)
        elif content:
            heading = _row(heading, section, content, parser)
    return _require_complete(replace(heading, about="\n".join(about).strip()), parser)


def _question(content: str, parser: _HeaderParser) -> str:
    if not content.endswith("?"):
        raise parser.fault("the first line must be '-- ' and a question")
    return content


def _start_section(heading: QueryHeader, section: str, rest: str, parser: _HeaderParser) -> QueryHeader:
    if section in parser.rows:
        raise parser.fault(f"section {section!r} occurs twice")
    parser.rows[section] = []
    if section == "by":
        return _by(heading, rest, parser)
    if section == "group":
        return _group(heading, rest, parser)
    names = tuple(part.strip() for part in rest.split(","))
    if section in _NAMES:
        return replace(heading, **{section: names})  # type: ignore[arg-type]  # these sections are names of columns
    if section == "order":
        terms = (name.partition(" ") for name in names)
        return replace(heading, order=tuple((name, direction == "desc") for name, _, direction in terms))
    if section in _TEXTS:
        return replace(heading, **{section: rest})  # type: ignore[arg-type]  # these sections are texts
    if rest:
        raise parser.fault(f"'{section}:' must be followed by one row per line; got text on the same line")
    return heading


def _group(heading: QueryHeader, rest: str, parser: _HeaderParser) -> QueryHeader:
    name, mark, _ = rest.partition(" (first)")
    if name not in GROUPS:
        raise parser.fault(f"'group:' is one of {', '.join(GROUPS)}, with or without ' (first)'; got {rest!r}")
    return replace(heading, group=name, is_first=bool(mark))


def _by(heading: QueryHeader, rest: str, parser: _HeaderParser) -> QueryHeader:
    ungrouped = rest.startswith(_UNGROUPED)
    names = [part.strip() for part in re.split("[,;]", rest.removeprefix(_UNGROUPED))]
    default = tuple(name.removesuffix("(default)").strip() for name in names if name.endswith("(default)"))
    every = tuple(name.removesuffix("(default)").strip() for name in names)
    for name in every:
        if name not in DIMENSIONS and name != ATTRIBUTES:
            raise parser.fault(f"unknown dimension {name!r}: the dimensions are {', '.join([*DIMENSIONS, ATTRIBUTES])}")
    if ATTRIBUTES in default or bool(default) == ungrouped:
        raise parser.fault(
            f"'by' must begin with '{_UNGROUPED}', or mark a dimension other than attributes as '(default)'"
        )
    within = tuple(part.strip() for part in rest.partition(";")[2].split(",") if part.strip())
    return replace(heading, by=every, within=within, default_by=default)


def _row(heading: QueryHeader, section: str, content: str, parser: _HeaderParser) -> QueryHeader:
    if section == "source":
        return replace(heading, source=f"{heading.source} {content.strip()}")
    if section in ("verdict", "also"):
        return replace(heading, **{section: f"{getattr(heading, section)} {content.strip()}"})  # type: ignore[arg-type]
    found = _ROW.fullmatch(content.strip())
    if section not in ("parameters", "columns") or not found:
        raise parser.fault(
            f"a row of '{section}:' is a name, a type or unit, two spaces and a meaning; got {content.strip()!r}"
        )
    name, kind, meaning = found.groups()
    if name in parser.rows[section]:
        raise parser.fault(f"{name!r} occurs twice in '{section}:'")
    parser.rows[section].append(name)
    if section == "parameters":
        return replace(heading, parameters=(*heading.parameters, _parameter(name, kind, meaning, parser)))
    return replace(heading, columns=(*heading.columns, _column(heading, name, kind, meaning, parser)))


def _parameter(name: str, kind: str, meaning: str, parser: _HeaderParser) -> QueryParameter:
    kind, equals, written = kind.partition(" = ")
    if kind not in ACCEPTED:
        raise parser.fault(f"unknown type {kind!r} of {name!r}: the types are {', '.join(ACCEPTED)}")
    default: ParamValue = None
    if equals and written != "NULL":
        quoted = re.fullmatch(r"'([^']*)'", written)
        if kind in ("text", "shares", "rules") and quoted:
            default = quoted[1]
        elif kind in ("integer", "positive") and written.isdecimal():
            default = int(written)
        elif kind in ("number", "share", "objective") and re.fullmatch(r"\d+(\.\d+)?", written):
            default = float(written)
        else:
            raise parser.fault(f"the default of {name!r} must be {ACCEPTED[kind]}; got {written}")
    return QueryParameter(name=name, type=kind, meaning=meaning, default=default, required=not equals)


def _column(heading: QueryHeader, name: str, unit: str, meaning: str, parser: _HeaderParser) -> ResultColumn:
    column = ResultColumn(name=name, unit=unit, meaning=meaning)
    known = [other.name for other in heading.columns]
    if column.end_of is None and unit not in UNITS:
        raise parser.fault(f"unknown unit {unit!r} of {name!r}: the units are {', '.join(UNITS)}, low(x), high(x)")
    if column.end_of is not None and column.end_of[1] not in known:
        raise parser.fault(f"{unit} of {name!r} needs a column {column.end_of[1]!r} above it")
    return column


def _require_complete(heading: QueryHeader, parser: _HeaderParser) -> QueryHeader:
    if not heading.question:
        raise parser.fault("the file must begin with a comment, its heading")
    if not heading.group:
        raise parser.fault(f"the heading must have a 'group:', one of {', '.join(GROUPS)}")
    if not heading.columns:
        raise parser.fault("the heading must have columns")
    columns = {column.name for column in heading.columns}
    about_content = () if heading.content == ALL_CONTENT else heading.content
    for section, names in (("important", heading.important), ("hidden", heading.hidden), ("content", about_content)):
        if unknown := [name for name in names if name not in columns]:
            raise parser.fault(f"'{section}:' names {', '.join(unknown)}, which the heading does not have as a column")
    for sentence in filter(None, (heading.verdict, heading.also)):
        _check_verdict(sentence, {*columns, *heading.default_by, "group"}, parser)
    return heading


def _check_verdict(verdict: str, columns: set[str], parser: _HeaderParser) -> None:
    pick, _, sentence = verdict.partition(" ")
    found = _PICK.fullmatch(pick)
    if not found or not sentence:
        raise parser.fault(f"'verdict:' is first, top, max(column) or false(column), and a sentence; got {verdict!r}")
    names = {*_FIELD.findall(sentence), *filter(None, [found[1]])}
    if unknown := sorted(names - columns):
        raise parser.fault(f"'verdict:' names {', '.join(unknown)}, which the heading does not have as a column")
