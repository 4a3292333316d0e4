"""Generate the pages that repeat what the code declares: ``python -m docs.generate``, or ``make docs``.

``reference/queries.md`` comes from the headings of ``queries/*.sql``, ``reference/cli.md`` from the commands,
``reference/columns.md`` from the store's schema and the declarations of record fields, ``reference/api.md`` from the
docstrings, the schema and the test vectors of journals from the record types, and the tables of ``reference/telemetry.md``,
``configuration.md`` and ``journal.md`` from the catalog of attributes, ``tt.configure`` and the record types, and
``reference/errors.md`` from the docstrings of ``tooltrace.errors``. ``tests/docs/test_generated.py`` compares the pages.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import get_args

import click

from docs.api_page import api_page
from docs.journal_page import kinds_table, schema, vectors
from docs.markdown import NOTICE, between, safe, table
from docs.settings_page import options_table
from tooltrace import analysis, assets, errors
from tooltrace.analysis import Query, catalogue
from tooltrace.analysis.dimensions import DIMENSIONS
from tooltrace.analysis.header import GROUPS, UNITS
from tooltrace.analysis.reasoning import describe
from tooltrace.cli import cli
from tooltrace.core.begun import Begun
from tooltrace.core.fields import attributes_of, content_of
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, Record, SavedQuery, Span, ToolCall
from tooltrace.otel.catalog import ATTRIBUTES, SOURCES, Attribute, Signal
from tooltrace.store.database.documented_tables import documented_tables
from tooltrace.store.database.macros import MACROS
from tooltrace.store.result import ALL_CONTENT

REFERENCE = Path(__file__).parent / "reference"
LEVELS = ("required", "conditionally required", "recommended", "opt-in", "custom")
TABLES: dict[str, type[Record] | None] = {
    "tool_calls": ToolCall,
    "attempts": ToolCall,
    "calls": None,
    "repeated_calls": None,
    "outcomes": Outcome,
    "judged": None,
    "conversation_labels": None,
    "corrections": Correction,
    "gates": Gate,
    "sources": None,
    "messages": Message,
    "spans": Span,
    "model_spans": None,
    "begun": Begun,
    "saved_queries": SavedQuery,
    "losses": Loss,
}
"""The tables and views for users, in the order of the page, each with the record whose fields are its columns."""
COLUMNS = (
    "`tooltrace sql` and `tt.connect()` read these tables and views. In DuckDB the meanings are the comments of the columns: "
    "`SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'tool_calls'`. NULL is an unknown value. "
    'Columns marked with "content" hold arguments or results, which `capture="metadata"` leaves out.'
)


def main() -> None:
    """Write every page."""
    for page, generate in PAGES.items():
        page.write_text(generate())


# The command line


def cli_page() -> str:
    """Return the page of all commands and their options."""
    parts = [
        NOTICE,
        "# Command line",
        "Every command takes `--help`. Results go to standard output, messages to standard error.",
    ]
    for command, context in _commands(cli, click.Context(cli, info_name="tooltrace", terminal_width=10_000)):
        parts.append(f"## {context.command_path}")
        parts.append(f"```text\n{_usage(command, context)}\n```")
        if command.help:
            parts.append(_help(command.help))
        subcommands = command.commands.values() if isinstance(command, click.Group) else ()
        if subcommands:
            rows = [
                (f"[`{each.name}`](#{_anchor(f'{context.command_path} {each.name}')})", _short(each))
                for each in subcommands
            ]
            parts.append(table(("command", "description"), rows))
        options = [_option(param, context) for param in command.params if isinstance(param, click.Option)]
        if options:
            parts.append(table(("option", "description"), options))
        if command.epilog:
            parts.append(_examples(command.epilog))
    return "\n\n".join(parts) + "\n"


def _commands(command: click.Command, context: click.Context) -> Iterable[tuple[click.Command, click.Context]]:
    yield command, context
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from _commands(below, click.Context(below, context, name, terminal_width=10_000))


def _usage(command: click.Command, context: click.Context) -> str:
    return " ".join((context.command_path, *command.collect_usage_pieces(context)))


def _help(text: str) -> str:
    """Return a help text as Markdown. A backspace in a line of its own marks a paragraph that keeps its lines."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text.partition("\f")[0].strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        if lines[0] != "\b":
            paragraphs.append(safe(" ".join(lines)))
        elif all(line.startswith("- ") for line in lines[1:]):
            paragraphs.append("\n".join(map(safe, lines[1:])))
        else:
            kept = "\n".join(line.removeprefix("    ") for line in paragraph.splitlines()[1:])
            paragraphs.append(f"```text\n{kept}\n```")
    return "\n\n".join(paragraphs)


def _examples(epilog: str) -> str:
    """Return the examples at the end of a command's help as a block of shell code."""
    return "```sh\n" + "\n".join(line.strip() for line in epilog.splitlines()[2:]) + "\n```"


def _short(command: click.Command) -> str:
    return safe(command.get_short_help_str(limit=500))


def _option(param: click.Option, context: click.Context) -> tuple[str, str]:
    names, help_text = param.get_help_record(context) or (", ".join(param.opts), param.help or "")
    return f"`{names}`".replace("|", "\\|"), safe(help_text)


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


# The queries


def queries_page() -> str:
    """Return the page of all named queries: the frequent questions, then each query by group."""
    queries = sorted(catalogue().values(), key=_place)
    first = [query for query in queries if query.header.is_first]
    lists = [
        part
        for group, members in groupby(queries, key=lambda query: query.header.group)
        for part in (f"### {GROUPS[group]}", _questions(members))
    ]
    intro = (
        "Run a query with `tt.query(name, …)` or `tooltrace query NAME`; `tooltrace query NAME --explain` prints its SQL. "
        "A `share` is between 0 and 1. Times are UTC. An unknown value is NULL."
    )
    units = [(f"`{name}`", meaning) for name, meaning in UNITS.items()]
    units.append(("`low(x)`, `high(x)`", "the lower and upper limit of the interval of the column `x`"))
    return (
        "\n\n".join(
            (
                NOTICE,
                "# Queries",
                intro,
                "The questions that people ask most:",
                _questions(first),
                "## Questions by group",
                *lists,
                *(_query(query) for query in queries),
                "## Units of columns",
                table(("unit", "meaning"), units),
            )
        )
        + "\n"
    )


def _place(query: Query) -> tuple[int, bool, str]:
    """Return the place of a query on the page: its group, and in it the frequent questions before the others."""
    return list(GROUPS).index(query.header.group), not query.header.is_first, query.name


def _questions(queries: Iterable[Query]) -> str:
    rows = [(safe(query.header.question), f"[`{query.name}`](#{query.name})") for query in queries]
    return table(("question", "query"), rows)


def _query(query: Query) -> str:
    header = query.header
    parts = [f"## {query.name}", f"**{safe(header.question)}**", _markdown(header.about)]
    parts.append(_grouping(query))
    if header.parameters:
        rows = [
            (f"`{p.name}`", p.type, "required" if p.required else _default(p.default), safe(p.meaning))
            for p in header.parameters
        ]
        parts.append(table(("parameter", "type", "default", "meaning"), rows))
    columns = [(f"`{column.name}`", column.unit, safe(column.meaning)) for column in header.columns]
    parts.append(table(("column", "unit", "meaning"), columns))
    parts.append(_content(header.content))
    parts.append(safe(describe(query)))
    parts.append(f"Next: `tooltrace {header.next}`" if header.next else "")
    parts.append(f"Source: {safe(header.source)}" if header.source else "")
    return "\n\n".join(filter(None, parts))


def _content(columns: tuple[str, ...]) -> str:
    """Return what the query says about calls whose content was removed."""
    if not columns:
        return ""
    if columns == ALL_CONTENT:
        return "Begins on the first day of which [all content](../how-to/retention.md) is there."
    names = ", ".join(f"`{name}`" for name in columns)
    return f"Unknown where [content was removed](../how-to/retention.md): {names}."


def _grouping(query: Query) -> str:
    header = query.header
    if not header.by:
        return ""
    names = ", ".join(f"`{name}`" if name != "attributes" else "`attributes.NAME`" for name in header.by)
    return f"`by`: {names}; default: {', '.join(f'`{name}`' for name in header.default_by) or 'none'}."


def _default(value: object) -> str:
    return "NULL" if value is None else f"`{value}`"


def _markdown(about: str) -> str:
    """Return the text of a heading as paragraphs; an indented line stays a line of its own."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", about):
        lines = paragraph.splitlines()
        if any(line.startswith(("  ", "- ")) for line in lines):
            paragraphs.append("```text\n" + "\n".join(lines) + "\n```")
        else:
            paragraphs.append(safe(" ".join(lines)))
    return "\n\n".join(filter(None, paragraphs))


# The tables and columns


def columns_page() -> str:
    """Return the page of all tables and columns."""
    found = {table.name: (table.comment, table.columns) for table in documented_tables()}
    macros = [
        (f"`{macro.signature.partition(' AS ')[0]}`".replace("|", "\\|"), safe(macro.comment)) for macro in MACROS
    ]
    parts = [
        NOTICE,
        "# Columns",
        COLUMNS,
    ]
    for name_of_table, record in TABLES.items():
        comment, columns = found[name_of_table]
        attributes = attributes_of(record) if record else {}
        content = content_of(record) if record else ()
        rows = [
            (
                f"`{name}`",
                kind,
                safe(meaning) + (" (content)" if name in content else ""),
                f"`{attributes[name]}`" if name in attributes else "",
            )
            for name, kind, meaning in columns
        ]
        parts += [f"## {name_of_table}", safe(comment)]
        if name_of_table == "attempts":
            both = {row[0] for row in columns} & {row[0] for row in found["tool_calls"][1]}
            missing = [f"`{name}`" for name, *_ in found["tool_calls"][1] if name not in both]
            parts.append(f"The columns are those of `tool_calls` without {', '.join(missing)}, and these:")
            parts.append(
                table(("column", "type", "meaning"), [row[:3] for row in rows if row[0].strip("`") not in both])
            )
        elif attributes:
            parts.append(table(("column", "type", "meaning", "OpenTelemetry attribute"), rows))
        else:
            parts.append(table(("column", "type", "meaning"), [row[:3] for row in rows]))
    parts += [
        "## Macros",
        "The queries use these macros; SQL of your own may use them too.",
        table(("macro", "meaning"), macros),
    ]
    return "\n\n".join(parts) + "\n"


# Telemetry


ERRORS = (
    "`tooltrace.errors` has all exceptions and warnings of tooltrace, and `tooltrace.exporters.protocol` those of destinations "
    "too. Every exception is a `TooltraceError`. None of them reaches the caller of a traced tool: a fault of the recorder is "
    "counted in the table `losses` and logged once."
)


def errors_page() -> str:
    """Return the page of all exceptions and warnings, from their docstrings."""
    found = [getattr(errors, name) for name in errors.__all__]
    raised = sorted((each for each in found if issubclass(each, errors.TooltraceError)), key=_lineage)
    issued = [each for each in found if issubclass(each, Warning)]
    exceptions = table(("exception", "is also a", "meaning", "raised by"), map(_error, raised))
    warnings = table(("warning", "is also a", "meaning", "issued by"), map(_error, issued))
    return f"{NOTICE}\n\n# Exceptions\n\n{ERRORS}\n\n{exceptions}\n\n## Warnings\n\n{warnings}\n"


def _lineage(error: type) -> list[str]:
    """Return the names of the classes from ``TooltraceError`` to ``error``."""
    parent = next((base for base in error.__bases__ if issubclass(base, errors.TooltraceError)), None)
    return [*(_lineage(parent) if parent is not None else []), error.__name__]


def _error(error: type) -> tuple[str, ...]:
    meaning, _, origin = (inspect.getdoc(error) or "").rpartition("\n\n")
    bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
    return (
        f"`{error.__name__}`",
        bases,
        safe(meaning.replace("``", "`")),
        safe(origin.partition(": ")[2].replace("``", "`")),
    )


def telemetry_page() -> str:
    """Return the page of telemetry with each table of attributes written anew between its marks."""
    text = (REFERENCE / "telemetry.md").read_text()
    for signal in get_args(Signal):
        text = between(text, signal, signal_table(signal))
    return text


def signal_table(signal: Signal) -> str:
    """Return the table of the attributes of ``signal``, the most needed first."""
    found = [attribute for attribute in ATTRIBUTES if attribute.signal == signal]
    rows = [_attribute(attribute) for level in LEVELS for attribute in found if attribute.level == level]
    return table(("attribute", "level", "type", "meaning", "defined by"), rows)


def _attribute(attribute: Attribute) -> tuple[str, ...]:
    place = SOURCES.get(attribute.source)
    source = f"[{attribute.source}]({place})" if place else attribute.source
    return f"`{attribute.name}`", attribute.level, attribute.kind, attribute.meaning, source


# Configuration and journals


def configuration_page() -> str:
    """Return the page of the configuration with the options of ``tt.configure`` between their marks."""
    return between((REFERENCE / "configuration.md").read_text(), "options", options_table())


def journal_page() -> str:
    """Return the page of the journal's format with the kinds of records between their marks."""
    return between((REFERENCE / "journal.md").read_text(), "kinds", kinds_table())


# Terms


def glossary_page(language: str) -> str:
    """Return the page of the terms, from the table that the pages show."""
    file = assets.path("dashboards") / "strings" / f"{language}.glossary.json"
    terms: dict[str, tuple[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    title, lead = {
        "en": ("Glossary", "The terms of the pages, the queries and the reports. `/glossary` of `tooltrace serve` shows them. In [Chinese](glossary.zh.md)."),
        "zh": ("术语表", "页面、查询和报告所用的术语；`tooltrace serve` 的 `/glossary` 显示同样的内容。[英文](glossary.md)。"),
    }[language]  # fmt: skip
    lines = [f"**{safe(term)}**: {safe(meaning)}" for term, meaning in terms.values()]
    return "\n\n".join((NOTICE, f"# {title}", lead, *lines)) + "\n"


def names_module() -> str:
    """Return the module with the names of queries and dimensions as types."""

    def literal(name: str, members: Iterable[str], meaning: str) -> str:
        lines = "".join(f'    "{member}",\n' for member in members)
        return f'{name} = Literal[\n{lines}]\n"""{meaning}"""\n'

    head = '"""Names of queries and dimensions as types. Generated by ``make docs``; do not edit."""\n'
    parts = (
        f"{head}\nfrom typing import Literal\n",
        literal("QueryName", catalogue(), "Name of a query, as a type for annotations of one's own."),
        literal("DimensionName", DIMENSIONS, "Name of a dimension by which a query can group its rows."),
    )
    return "\n".join(parts)


PAGES: dict[Path, Callable[[], str]] = {
    REFERENCE / "api.md": api_page,
    REFERENCE / "cli.md": cli_page,
    REFERENCE / "configuration.md": configuration_page,
    REFERENCE / "journal.md": journal_page,
    REFERENCE / "journal.schema.json": schema,
    REFERENCE / "journal.vectors.json": vectors,
    REFERENCE / "queries.md": queries_page,
    REFERENCE / "columns.md": columns_page,
    REFERENCE / "telemetry.md": telemetry_page,
    REFERENCE / "errors.md": errors_page,
    REFERENCE / "glossary.md": partial(glossary_page, "en"),
    REFERENCE / "glossary.zh.md": partial(glossary_page, "zh"),
    Path(analysis.__file__).parent / "names.py": names_module,
}

if __name__ == "__main__":
    main()
