"""``tooltrace check``: whether the tools are as good as is wanted, as an exit code for CI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

import click

from tooltrace.cli.findings import print_findings
from tooltrace.cli.options import examples, history_options, named_place_option, output_options
from tooltrace.cli.wrapping import echo_sentence
from tooltrace.core.plural import format_count
from tooltrace.diagnosis.diagnose import diagnose_store
from tooltrace.diagnosis.finding import as_result
from tooltrace.report.history_window import ALL
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, ResultColumn

if TYPE_CHECKING:
    from tooltrace.diagnosis.checks import Checked

BROKEN: Final = 3
"""Exit code if a check is broken, or a problem is open."""
UNDECIDED: Final = 4
"""Exit code if no check is broken, and one is undecided."""

_COLUMNS: Final = (
    ("tool", "VARCHAR", "text", "name of the tool"),
    ("wanted", "VARCHAR", "text", "what is wanted of its calls"),
    ("verdict", "VARCHAR", "text", "holds, broken or undecided"),
    ("success", "DOUBLE", "share", "calls that succeeded / calls"),
    ("low", "DOUBLE", "low(success)", "95 % interval of success"),
    ("high", "DOUBLE", "high(success)", "95 % interval of success"),
    ("calls", "BIGINT", "count", "calls that finished, without those that the infrastructure failed"),
    ("baseline", "DOUBLE", "share", "the same share of the baseline"),
    ("baseline_calls", "BIGINT", "count", "calls of the baseline"),
    ("infrastructure", "BIGINT", "aside", "calls that the infrastructure failed, which are left out"),
)


@click.command(
    short_help="Fail where tools are not as good as is wanted.",
    epilog=examples(
        "tooltrace check",
        "tooltrace check checks.toml --store evaluation.duckdb",
        "tooltrace check checks.toml --format markdown",
        "tooltrace check checks.toml --format junit -o checks.xml",
    ),
)
@click.argument("checks", required=False, type=click.Path(path_type=Path, dir_okay=False))
@history_options
@output_options("table", "markdown", "junit", "json", "csv")
@named_place_option
def check(*, checks: Path | None, since: str | None, until: str | None, form: str, store: StoreBackend) -> None:
    """Check the tools for CI: with the file CHECKS by its checks, else for problems that are open.

    A check of the file is a table [[check]] with success = 0.9, or with a baseline and a margin; tool, risk, since and until are
    optional. A check is broken or holds only where the calls show it; with too few calls it is undecided.

    Exit codes: 0 every check holds, or no problem is open; 1 failure, 2 wrong usage, 3 broken, 4 undecided.
    """
    start = None if since == ALL else since
    if checks is None:
        _check_findings(store, start, until, form)
        return
    from tooltrace.diagnosis.checks import read_checks, run_checks, within

    found = run_checks(store, within(read_checks(checks), start, until))
    if form == "junit":
        click.echo(_junit(found))
    else:
        _write(_as_result(found), form)
    counted = Counter(one.verdict for one in found)
    click.echo(
        f"{format_count(len(found), 'check')}: {', '.join(f'{n} {verdict}' for verdict, n in sorted(counted.items()))}."
        if found
        else "No tool has been called: nothing could be checked.",
        err=True,
    )
    if counted["broken"]:
        raise click.exceptions.Exit(BROKEN)
    if counted["undecided"] or not found:
        raise click.exceptions.Exit(UNDECIDED)


def _check_findings(store: StoreBackend, since: str | None, until: str | None, form: str) -> None:
    found = diagnose_store(store, since, until=until)
    problems = [one for one in found if one.open and one.severity == "problem"]
    if form == "table":
        print_findings(problems)
    elif form == "junit":
        click.echo(_junit_of([(one.tool or "recording", one.kind, one.sentence, "broken") for one in problems]))
    else:
        _write(as_result(problems), form)
    if problems:
        raise click.exceptions.Exit(BROKEN)
    echo_sentence("No problem is open.", err=True)


def _write(result: QueryResult, form: str) -> None:
    from tooltrace.cli.output import write

    write(result, form)


def _as_result(found: Sequence[Checked]) -> QueryResult:
    rows: list[tuple[Any, ...]] = []
    for one in found:
        low, high = one.seen.limits
        share = one.seen.share if one.seen.calls else None
        base = (None, None) if one.base is None else (one.base.share if one.base.calls else None, one.base.calls)
        rows.append(
            (one.check.tool, one.check.wanted, one.verdict, share, low, high, one.seen.calls, *base, one.seen.infrastructure)
        )  # fmt: skip
    fields = [ResultColumn(name=name, unit=unit, meaning=meaning) for name, _, unit, meaning in _COLUMNS]
    return QueryResult(fields, [kind for _, kind, _, _ in _COLUMNS], rows, groups=1)


def _junit(found: Sequence[Checked]) -> str:
    return _junit_of([(str(one.check.tool), one.check.wanted, one.words, one.verdict) for one in found])


def _junit_of(cases: Sequence[tuple[str, str, str, str]]) -> str:
    """Return JUnit's XML of cases: the tool, what is wanted, what was seen, and the verdict. What is undecided counts as skipped."""
    verdicts = Counter(verdict for _, _, _, verdict in cases)
    suite = ET.Element(
        "testsuite", name="tooltrace", tests=str(len(cases)), failures=str(verdicts["broken"]), skipped=str(verdicts["undecided"])
    )  # fmt: skip
    for tool, wanted, words, verdict in cases:
        case = ET.SubElement(suite, "testcase", classname=tool, name=wanted)
        if verdict != "holds":
            ET.SubElement(case, "failure" if verdict == "broken" else "skipped", message=words)
    return ET.tostring(suite, encoding="unicode")
