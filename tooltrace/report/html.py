"""A report for people: one self-contained HTML file without requests to any host."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tooltrace import assets
from tooltrace.analysis.normal_forms import row_message_parts
from tooltrace.diagnosis.summary import cost, marks
from tooltrace.report import sections
from tooltrace.report.build import Report, SectionResult
from tooltrace.report.json_values import json_for_script
from tooltrace.report.narrative import calibration_sentence, chance_note, top_rows, translate_rows, verdict_counts
from tooltrace.report.templates import templates
from tooltrace.store.result import Row, with_rows
from tooltrace.version import __version__
from tooltrace.wording.i18n import Translations
from tooltrace.wording.numbers import figure, interval
from tooltrace.wording.sentences import pieces

if TYPE_CHECKING:
    from jinja2 import Environment


_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function|const) (\w+))", re.MULTILINE)
_OTHER_FORM = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)

_FETCH = """const fetch = async (address) => ({
  json: async () => JSON.parse(document.getElementById(address)?.textContent ?? "{}"),
});"""
"""Replacement of ``fetch`` in reports.

Results are embedded in the document, under the address that a page would fetch.
"""


def bundle(modules: Sequence[str], main: str) -> str:
    """Return the dashboard scripts ``modules`` and then the text ``main`` as one script.

    ``modules`` lists each script after those that it imports. Modules become functions because the document has no
    module loader.
    """
    parts = [_FETCH, *(f"const of_{name} = (() => {{\n{_body(name)}\n}})();" for name in modules)]
    # In a block: the names of the report must not become global, where the chart library has its own.
    return "{\n" + "\n".join([*parts, "{", _without_imports(main, "the report"), "}"]) + "\n}"


def assert_inline_safe(script: str) -> str:
    """Return ``script`` if it can stand inside a script element. Raises ValueError otherwise."""
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise ValueError("the script contains '</script' or '<!--': a document would end early")
    return script


def asset(name: str) -> str:
    """Return the text of a file of the dashboards."""
    return (assets.path("dashboards") / name).read_text(encoding="utf-8")


def _body(name: str) -> str:
    script = asset(f"scripts/{name}.js")
    exported = [found[1] for found in _EXPORT.finditer(script)]
    return f"{_without_imports(_EXPORT.sub('', script), name)}\nreturn {{ {', '.join(exported)} }};"


def _without_imports(script: str, name: str) -> str:
    """Return ``script`` with its imports as variables. Raises ValueError for imports and exports of other forms."""
    script = _IMPORT.sub(r"const { \1 } = of_\2;", script)
    if found := _OTHER_FORM.search(script):
        raise ValueError(
            f"{name}: {found[0].strip()!r} in a form that cannot be bundled; expected {{ a, b }} from './x.js'"
        )
    return script


@dataclass(frozen=True, slots=True)
class AuditMatrix:
    """The result of the query ``audit``, by tool and point."""

    points: dict[int, str]
    """Names of the points by number, in order."""
    tools: dict[str, dict[int, dict[str, Any]]]
    """Rows of each tool by point, the most important tool first."""

    def missed(self) -> list[tuple[int, str, list[str]]]:
        """Return the points that a tool did not pass: number, what to change, and the tools."""
        found = []
        for point in self.points:
            rows = {tool: by_point[point] for tool, by_point in self.tools.items() if point in by_point}
            missing = [tool for tool, row in rows.items() if row["passed"] is False]
            if missing:
                found.append((point, str(rows[missing[0]]["fix"]), missing))
        return found


def audit_matrix(section: SectionResult, tools: list[str], words: Translations) -> AuditMatrix:
    """Return the matrix of ``tools``, in their order; a tool without rows is left out."""
    columns = section.result.columns
    rows = [
        dict(zip(columns, row, strict=True)) for row in translate_rows("audit", columns, section.result.rows, words)
    ]
    points = {row["point"]: row["name"] for row in sorted(rows, key=lambda row: row["point"])}
    by_tool = {tool: {row["point"]: row for row in rows if row["tool"] == tool} for tool in tools}
    return AuditMatrix(points, {tool: by_point for tool, by_point in by_tool.items() if by_point})


_MODULES = ("zone", "numbers", "chart_parts", "time_marks", "time_selection", "timeline", "charts", "sparks", "sort")
_STYLES = (
    "styles/tooltrace.css", "styles/verdict.css", "styles/time.css", "styles/compare.css", "report/report.css",
    "report/print.css",
)  # fmt: skip
_CHART_ROWS = 2000


def as_html(report: Report, words: Translations) -> str:
    """Return the report as a document: charts, tables, and the query of each figure."""
    styles = "\n".join(map(asset, _STYLES))
    scripts = [
        assert_inline_safe(asset("vendor/echarts.common.min.js")),
        assert_inline_safe(bundle(_MODULES, asset("report/report.js"))),
    ]
    template = "report/report.html" if report.comparison is None else "report/compare.html"
    return _environment().get_template(template).render(
        t=words,
        language=words.language,
        report=report,
        styles=styles,
        scripts=scripts,
        licence=assert_inline_safe(f"{asset('vendor/echarts.NOTICE.txt').strip()}\n\n{asset('vendor/echarts.LICENSE.txt')}"),
        policy=_policy([styles], scripts),
        marks=_marks(report),
        audit=audit_matrix(report.audit, report.sections, words) if report.audit is not None else None,
        most_tools=sections.MAX_TOOLS,
        most_findings=sections.MAX_FINDINGS,
        version=__version__,
        calibration_sentence=calibration_sentence,
        figure=partial(figure, words=words),
        interval=partial(interval, words=words),
        verdict_counts=verdict_counts,
        top_rows=top_rows,
        chance_note=chance_note,
        translate_rows=translate_rows,
        pieces=pieces,
        cost=cost,
    )  # fmt: skip


def chart_data(section: SectionResult) -> str:
    """Return the result as JSON for a chart, safe inside a script element."""
    return json_for_script({"columns": section.result.columns, "rows": _rounded_rows(section)[:_CHART_ROWS]})


def data_json(section: SectionResult) -> str:
    """Return the result as JSON with described columns, as the data addresses of the server return it."""
    columns = [{"name": column.name, "unit": column.unit} for column in section.result.fields]
    ends = {name: section.params.get(name) for name in ("since", "until")}
    return json_for_script({"columns": columns, "rows": _rounded_rows(section), **ends})


def rounded(section: SectionResult) -> SectionResult:
    """Return ``section`` with floats rounded to six significant digits."""
    return replace(section, result=with_rows(section.result, _rounded_rows(section)))


def _rounded_rows(section: SectionResult) -> list[Row]:
    """Return the rows with floats of six significant digits, more than a chart shows."""
    return [
        tuple(float(f"{value:.6g}") if isinstance(value, float) else value for value in row)
        for row in section.result.rows
    ]


def _marks(report: Report) -> str:
    """Return the times of findings as JSON for marks on the time axis."""
    found = report.summary.findings if report.summary is not None else ()
    return json_for_script(marks(found))


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return the document's Content-Security-Policy: its own scripts and styles, and nothing else."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src {_hashes(styles)}",
            f"script-src {_hashes(scripts)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(texts: Sequence[str]) -> str:
    # A file has no server that could send a nonce: the hash of its own text permits each script.
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


@cache
def _environment() -> Environment:
    return templates(
        rows=json_for_script,
        chart_data=chart_data,
        data_json=data_json,
        rounded=rounded,
        message_parts=row_message_parts,
        zip=zip,
    )
