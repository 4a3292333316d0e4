"""A report for people: one self-contained HTML file without requests to any host."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import orjson

from tooltrace.report import sections
from tooltrace.report.build import PartResult, Report
from tooltrace.report.i18n import Translations
from tooltrace.report.js_bundle import assert_inline_safe, asset, bundle
from tooltrace.report.json import plain
from tooltrace.report.narrative import belief, chance_note, counts, explain_rows, top_rows
from tooltrace.report.numbers import figure, interval
from tooltrace.report.templates import templates
from tooltrace.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

_MODULES = ("numbers", "charts", "sparks")
_STYLES = ("styles/tooltrace.css", "report/report.css")
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
        most_tools=sections.MOST_TOOLS,
        version=__version__,
        belief=belief,
        figure=partial(figure, words=words),
        interval=partial(interval, words=words),
        counts=counts,
        foremost=top_rows,
        noise=chance_note,
        said=explain_rows,
    )  # fmt: skip


def listed(answer: PartResult) -> str:
    """Return the result of ``answer`` as JSON for a chart, safe inside a script element."""
    return _json(
        {"columns": answer.result.columns, "rows": [list(map(_short, row)) for row in answer.result.rows[:_CHART_ROWS]]}
    )


def described(answer: PartResult) -> str:
    """Return the result as JSON with described columns, as the data addresses of the server return it."""
    columns = [{"name": column.name, "unit": column.unit} for column in answer.result.fields]
    return _json({"columns": columns, "rows": [list(map(_short, row)) for row in answer.result.rows]})


def _json(value: Any) -> str:
    text = orjson.dumps(value, default=plain, option=orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shortened(answer: PartResult) -> PartResult:
    """Return ``answer`` with floats rounded to six significant digits."""
    return replace(answer, result=answer.result.with_rows([tuple(map(_short, row)) for row in answer.result.rows]))


def _short(value: Any) -> Any:
    """Round a float to six significant digits, more than a chart shows."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _marks(report: Report) -> str:
    """Return the incidents as JSON for marks on the time axis."""
    found = [answer for answer in report.overview if answer.part.query == "incidents"]
    return described(found[0]) if found else "{}"


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
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


@cache
def _environment() -> Environment:
    return templates(rows=_json, listed=listed, described=described, shortened=shortened)
