"""A report for people: one self-contained HTML file without requests to any host."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING

from tooltrace.analysis.message import row_message_parts
from tooltrace.diagnosis.summary import cost, marks
from tooltrace.report import sections
from tooltrace.report.audit_matrix import audit_matrix
from tooltrace.report.build import Report, SectionResult
from tooltrace.report.js_bundle import assert_inline_safe, asset, bundle
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

_MODULES = ("zone", "numbers", "chart_parts", "time_marks", "time_selection", "timeline", "charts", "sparks", "sort")
_STYLES = (
    "styles/tooltrace.css",
    "styles/verdict.css",
    "styles/time.css",
    "styles/compare.css",
    "report/report.css",
    "report/print.css",
)
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
