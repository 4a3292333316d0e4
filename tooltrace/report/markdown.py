"""A report for a pull request: Markdown for GitHub and GitLab.

Text from a trace is put into code spans: markup, mentions, references and links have no effect there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from tooltrace.analysis.sentence import Sentence
from tooltrace.analysis.sides import Comparison, Side
from tooltrace.core.visible import visible_name
from tooltrace.diagnosis.summary import Summary
from tooltrace.report.build import Report, SectionResult
from tooltrace.report.narrative import calibration_sentence, chance_note, top_rows, translate_rows, verdict_counts
from tooltrace.report.time_range import TimeRange
from tooltrace.wording.i18n import Translations
from tooltrace.wording.numbers import NUMERIC_UNITS, UNKNOWN, figure, interval
from tooltrace.wording.sentences import TRACED_UNITS, pieces

MAX_TEXT_LENGTH = 160
"""Maximum characters of a text from a trace."""
MAX_DOCUMENT_LENGTH = 60_000
"""Maximum characters of a document: a GitHub comment holds 65,536, and a workflow may add some text."""
MAX_ROWS = 50
"""Maximum rows of one table."""
_MAX_COMMAND_LENGTH = 2000

_TICKS = re.compile(r"`+")


def as_markdown(report: Report, words: Translations) -> str:
    """Return the short report: figures, tools and changes; for each tool its failures."""
    title = "report.title" if report.comparison is None else "report.compared"
    lines = [f"# {words(title)}", ""]
    if report.compared is not None and report.comparison is not None:
        lines += _compared(report.compared, report.comparison, words)
    elif report.scope is not None:
        lines += [_window(report.scope, words), ""]
        lines += _document(report, words) if report.tools and report.tools.result.rows else [words("empty.window")]
    lines += [line for note in report.notes for line in ("", note)]
    return "\n".join(lines).rstrip() + "\n"


def code(text: str, longest: int = MAX_TEXT_LENGTH) -> str:
    """Return ``text`` as a code span for a table cell; no content can end the span."""
    shown = _visible(text, longest)
    if not shown:
        return ""
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}".replace("|", r"\|")


def table(heads: Sequence[str], numbers: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; cells must already be escaped."""
    rules = ["---:" if number else "---" for number in numbers]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows)]


def _document(report: Report, words: Translations) -> list[str]:
    lines = list(_findings(report.summary, words)) if report.summary else []
    for section in (report.figures, report.gap, report.tools, *report.overview):
        if section is not None and section.part.brief:
            lines += _section_lines(section, words, "##")
    room, left = MAX_DOCUMENT_LENGTH - _length(lines), len(report.tools.result.rows) if report.tools else 0
    for tool in report.sections:
        tool_lines = list(_tool_section(report, tool, words))
        room -= _length(tool_lines)
        if room < 0:
            break
        lines, left = lines + tool_lines, left - 1
    return [*lines, words("report.tools.more", n=left)] if left else lines


def _findings(summary: Summary, words: Translations) -> Iterator[str]:
    """Yield what was seen, and a point for each finding with its next step; text from a trace is in code spans."""
    yield from (_sentence(summary.seen, words), "")
    for finding in summary.findings[:MAX_ROWS]:
        said = f"- {words(f'severity.{finding.severity}')}: {_sentence(finding.said, words)}"
        yield " ".join([said, *(_sentence(step, words) for step in finding.steps)])
    if summary.findings:
        yield ""


def _sentence(sentence: Sentence, words: Translations) -> str:
    return "".join(
        code(str(piece.figure.value)) if piece.figure and piece.figure.unit in TRACED_UNITS else piece.text
        for piece in pieces(sentence, words)
    )


def _tool_section(report: Report, tool: str, words: Translations) -> Iterator[str]:
    yield from (
        "<details>",
        f"<summary>{words('tool')} <code>{html.escape(_visible(tool, MAX_TEXT_LENGTH))}</code></summary>",
        "",
    )
    for section in report.section(tool):
        if section.part.brief:
            yield from _section_lines(section, words, "###")
            if section.part.query == "calibration":
                yield from (calibration_sentence(section.result.dicts()[0], words), "")
    yield from ("</details>", "")


def _length(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _section_lines(section: SectionResult, words: Translations, level: str) -> Iterator[str]:
    shown = section.shown()
    yield from (f"{level} {words(section.part.title)}", "")
    if not section.result.rows or not shown:
        yield from (f"{words('empty.panel')} {_command(section)}", "")
        return
    columns = [section.result.fields[at] for at, _, _ in shown]
    translated = translate_rows(
        section.part.query, section.result.columns, section.result.rows[: min(section.part.rows, MAX_ROWS)], words
    )
    rows = [[_cell(section, row, place, words) for place in shown] for row in translated]
    yield from table(
        [words.column(c.name, section.part.query) for c in columns], [c.unit in NUMERIC_UNITS for c in columns], rows
    )
    yield from ("", _command_and_rest(section, len(section.result.rows) - len(rows), words), "")


def _cell(
    section: SectionResult, row: tuple[Any, ...], place: tuple[int, int | None, int | None], words: Translations
) -> str:
    at, low, high = place
    value, unit = row[at], section.result.fields[at].unit
    if value is None:
        return UNKNOWN
    if section.result.fields[at].name == "period":
        return words("now" if value == "now" else "tiles.before")
    if isinstance(value, str):
        return code(value)
    if isinstance(value, bool):
        return words("yes" if value else "no")
    text = figure(value, unit, words)
    if low is None or high is None or (row[low] is None and row[high] is None):
        return text
    return f"{text} {interval(row[low], row[high], unit, words)}"


def _command(section: SectionResult) -> str:
    return f"<sub>{code(section.command, _MAX_COMMAND_LENGTH)}</sub>"


def _command_and_rest(section: SectionResult, left: int, words: Translations) -> str:
    """Return the query's command, and the number of rows that are not shown."""
    return f"{words('report.rows.more', n=left)} {_command(section)}" if left else _command(section)


def _compared(compared: Comparison, section: SectionResult, words: Translations) -> Iterator[str]:
    yield from (f"{words('report.before')}: {_side(compared.before, words)}  ", "")
    yield from (f"{words('report.after')}: {_side(compared.after, words)}", "")
    yield from (f"**{verdict_counts(section, words)}**", "", chance_note(section, words), "")
    if not section.result.rows:
        yield from (words("empty.window"), "")
        return
    heads = [words.column(name) for name in ("tool", "measure", "before", "after", "difference", "verdict", "n")]
    rows = [_difference(row, words) for row in top_rows(section, MAX_ROWS)]
    yield from table(heads, [False, False, True, True, True, False, True], rows)
    yield from ("", _command_and_rest(section, len(section.result.rows) - len(rows), words), "")


def _difference(row: dict[str, Any], words: Translations) -> list[str]:
    unit = row["unit"]
    apart = "points" if unit == "share" else unit
    verdict = words(f"verdict.{row['verdict']}")
    return [
        UNKNOWN if row.get("tool") is None else code(row["tool"]),
        words(f"measure.{row['measure']}"),
        figure(row["before"], unit, words),
        figure(row["after"], unit, words),
        UNKNOWN
        if row["difference"] is None
        else f"{signed(row['difference'], apart, words)} {interval(row['low'], row['high'], apart, words)}".strip(),
        f"**{verdict}**" if row["verdict"] in ("worse", "better") else verdict,
        f"{row['n_before']:,} / {row['n_after']:,}",
    ]


def signed(value: float, unit: str, words: Translations) -> str:
    """Return a difference with its sign."""
    text = figure(value, unit, words)
    return text if unit == "points" or value < 0 or text.startswith(("+", "-")) else f"+{text}"


def _side(side: Side, words: Translations) -> str:
    value = "" if side.dimension is None else f"{words.dimension(side.dimension)} {code(str(side.value))}, "
    return f"{value}{_span(side.since, side.until, words)}"


def _window(scope: TimeRange[datetime], words: Translations) -> str:
    tool = "" if scope.tool is None else f"{words('tool')} {code(scope.tool)}, "
    return f"{tool}{words(f'report.begins.{scope.begins}')}{_span(scope.since, scope.until, words)}"


def _span(since: datetime | None, until: datetime | None, words: Translations) -> str:
    begin = words("report.beginning") if since is None else f"{since:%Y-%m-%d %H:%M}"
    return f"{begin} – {words('now') if until is None else f'{until:%Y-%m-%d %H:%M}'} UTC"


def _visible(text: str, longest: int) -> str:
    """Return ``text`` on one line, with escapes for characters that reverse or hide other text."""
    shown = visible_name(" ".join(text.split()) or " ") if text else ""
    return shown if len(shown) <= longest else f"{shown[:longest]}…"
