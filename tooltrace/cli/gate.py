"""The options that make a comparison a gate, and its exit code."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import click

from tooltrace.cli.errors import UsageError
from tooltrace.cli.sanitize import clean
from tooltrace.errors import near
from tooltrace.report.gate import LEVELS, MEASURES, MIN_SLOWDOWN_MS, MIN_SLOWDOWN_PERCENT, RegressionGate
from tooltrace.store.result import QueryResult
from tooltrace.wording.i18n import Translations
from tooltrace.wording.numbers import figure

REGRESSION: Final = 3
"""Exit code if --fail-on found a regression."""
NOT_COMPARABLE: Final = 4
"""Exit code if --fail-on has nothing to compare."""

_F = TypeVar("_F", bound=Callable[..., Any])


def gate_options(meaning: str) -> Callable[[_F], _F]:
    """Add ``--fail-on`` and the options about it; the command gets ``gate``, a RegressionGate, or None without ``--fail-on``."""

    def add(command: _F) -> _F:
        @wraps(command)
        def run(
            *args: Any,
            fail_on: str | None,
            measures: frozenset[str] | None,
            min_slowdown_percent: float | None,
            min_slowdown_ms: float | None,
            **options: Any,
        ) -> Any:
            given = {
                "measures": measures,
                "min_slowdown_percent": min_slowdown_percent,
                "min_slowdown_ms": min_slowdown_ms,
            }
            known = {name: value for name, value in given.items() if value is not None}
            if fail_on is None and known:
                raise UsageError(f"--{next(iter(known)).replace('_', '-')} needs --fail-on")
            gate = None if fail_on is None else RegressionGate(level=fail_on, **known)  # type: ignore[arg-type]
            return command(*args, gate=gate, **options)

        slowdown = "With --fail-on: a latency fails only if it is longer by at least"
        for option in (
            click.option("--min-slowdown-ms", type=click.FloatRange(min=0), metavar="MS",
                         help=f"{slowdown} this many milliseconds. Default: {MIN_SLOWDOWN_MS:g}."),
            click.option("--min-slowdown-percent", type=click.FloatRange(min=0), metavar="PERCENT",
                         help=f"{slowdown} this percentage. Default: {MIN_SLOWDOWN_PERCENT:g}."),
            click.option("--measures", callback=_measures, metavar="NAMES",
                         help=f"With --fail-on: only these measures can fail, comma-separated: {', '.join(MEASURES)}."),
            click.option("--fail-on", type=click.Choice(list(LEVELS)), help=meaning),
        ):  # fmt: skip
            run = option(run)
        return run  # type: ignore[return-value]

    return add


def exit_on_regression(compared: QueryResult, gate: RegressionGate) -> None:
    """End the command with exit code 3 or 4 where the gate fails; say on standard error why."""
    regressions, tolerated = gate.regressions(compared), gate.tolerated(compared)
    for row in regressions:
        click.echo(clean(f"fails: {_change(row)}"), err=True)
    for row in tolerated:
        click.echo(clean(f"passes, because the change is small: {_change(row)}"), err=True)
    if regressions:
        raise click.exceptions.Exit(REGRESSION)
    if not gate.has_compared(compared):  # exit code 0 without a comparison would be mistaken for success
        raise click.exceptions.Exit(NOT_COMPARABLE)


def _change(row: dict[str, Any]) -> str:
    words = Translations("en")
    before, after = (figure(row[side], row["unit"], words) for side in ("before", "after"))
    tool = f"{row['tool']}: " if "tool" in row else ""
    return f"{tool}{row['measure']} {before} to {after} ({row['verdict'].replace('_', ' ')})"


def _measures(_ctx: click.Context, _param: click.Parameter, text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in MEASURES:
            hint = near(name, MEASURES) or f"; the measures are {', '.join(MEASURES)}"
            raise UsageError(f"unknown measure {name!r}{hint}")
    if not names:
        raise UsageError(f"--measures needs a name; the measures are {', '.join(MEASURES)}")
    return frozenset(names)
