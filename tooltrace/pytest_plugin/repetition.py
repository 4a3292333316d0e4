"""Repetition of a test until its rate of success is shown to be above or below an objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from _pytest.runner import call_and_report

from pytest_tooltrace import VERDICT
from tooltrace.statistics.sequential import rate_shown

Verdict = Literal["PASS", "FAIL", "UNDECIDED"]
_TITLE = "rate of success"


@dataclass(frozen=True, slots=True)
class Objective:
    """The arguments of the marker ``tool_rate``."""

    success: float = 0.9
    risk: float = 0.05
    runs: tuple[int, int] = (5, 60)

    @classmethod
    def of(cls, item: pytest.Item, marker: pytest.Mark) -> Objective:
        """Return the objective of ``marker``. Raises pytest.UsageError for arguments that cannot be used."""
        try:
            found = cls(**marker.kwargs)
            least, most = found.runs
            right = not marker.args and 0 < found.success < 1 and 0 < found.risk < 1 and 1 <= least <= most
        except (TypeError, ValueError):
            right = False
        if not right:
            given = ", ".join(
                [*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items())]
            )
            raise pytest.UsageError(
                f"{item.nodeid}: tool_rate needs success and risk between 0 and 1, both excluded, and runs=(least, most), as in "
                f"tool_rate(success=0.9, risk=0.05, runs=(5, 60)); got tool_rate({given})"
            )
        return found

    def verdict(self, successes: int, failures: int) -> Verdict | None:
        """Return the verdict after these runs; None where the test is to run again."""
        least, most = self.runs
        if successes + failures < least:
            return None
        shown = rate_shown(successes, failures, self.success, self.risk)
        if shown is not None:
            return "PASS" if shown == "above" else "FAIL"
        return "UNDECIDED" if successes + failures >= most else None


def repeat(item: pytest.Item, nextitem: pytest.Item | None, marker: pytest.Mark) -> None:
    """Run ``item``, fixtures included, until there is a verdict; report it as one test."""
    hook, objective = item.ihook, Objective.of(item, marker)
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports(item, nextitem, objective):
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _reports(item: pytest.Item, nextitem: pytest.Item | None, objective: Objective) -> Iterator[pytest.TestReport]:
    """Yield the reports of the last run, that of the call with the verdict, and of fixtures that failed to end before."""
    runs: list[pytest.TestReport] = []
    broken: list[pytest.TestReport] = []
    while True:
        reports, is_last = _run(item, nextitem, objective, runs, stop=bool(broken))
        if is_last:
            break
        broken += [report for report in reports if report.failed and report.when == "teardown"]
    call = next((report for report in reports if report.when == "call"), None)
    verdict = objective.verdict(*_counts(runs))
    if verdict is None or call is None or call not in runs:
        yield from (*broken, *reports)  # skipped, a fixture that failed, or the end of the session
        return
    yield reports[0]
    yield _judged(item, objective, verdict, runs)
    yield from (*broken, *reports[2:])


def _run(
    item: Any, nextitem: pytest.Item | None, objective: Objective, runs: list[pytest.TestReport], *, stop: bool
) -> tuple[list[pytest.TestReport], bool]:
    """Run the test once; return its reports, and whether this was the last run. Adds the call to ``runs``.

    Whether it is the last run is known before the fixtures end: those of the module and the session end with the last one.
    """
    if hasattr(item, "_request") and not item._request:  # noqa: SLF001 - as in pytest-rerunfailures
        item._initrequest()  # noqa: SLF001
    reports = [call_and_report(item, "setup", log=False)]
    if reports[0].passed:
        call = call_and_report(item, "call", log=False)
        reports.append(call)
        if not call.skipped or hasattr(call, "wasxfail"):
            runs.append(call)
        else:
            stop = True
    ends = item.session.shouldfail or item.session.shouldstop
    stop = bool(stop or ends or not reports[0].passed or objective.verdict(*_counts(runs)))
    after = item.parent if not stop else None if ends else nextitem
    reports.append(call_and_report(item, "teardown", log=False, nextitem=after))
    if hasattr(item, "_request"):
        item._request, item.funcargs = False, None  # noqa: SLF001
    return reports, stop


def _counts(runs: list[pytest.TestReport]) -> tuple[int, int]:
    successes = sum(run.passed for run in runs)
    return successes, len(runs) - successes


def _judged(
    item: pytest.Item, objective: Objective, verdict: Verdict, runs: list[pytest.TestReport]
) -> pytest.TestReport:
    """Return the report of the call: that of the first failed run, or of the last one, with the verdict as its outcome."""
    successes, failures = _counts(runs)
    shown = {"PASS": "above", "FAIL": "below"}.get(verdict, "neither above nor below")
    text = (
        f"{verdict}: {successes} of {successes + failures} runs succeeded; the rate is shown to be {shown} "
        f"{objective.success:g} (risk {objective.risk:g})"
    )
    report = next((run for run in runs if not run.passed), runs[-1])
    policy = "fail" if verdict == "FAIL" else item.config.getoption("--tooltrace-undecided")
    if verdict == "PASS" or policy == "pass":
        report.outcome, report.longrepr = "passed", None
        report.__dict__.pop("wasxfail", None)
    elif policy == "xfail":
        report.outcome, report.longrepr = "skipped", text
        report.wasxfail = text
    else:
        report.outcome = "failed"
        report.__dict__.pop("wasxfail", None)
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is None:
            report.longrepr = "\n".join(filter(None, [text, str(report.longrepr or "")]))
        else:
            crash.message = text  # the line of the short summary; the traceback has the message of the failure
    report.sections.append((_TITLE, text))
    report.duration = sum(run.duration for run in runs)
    report.user_properties = [*item.user_properties, (VERDICT, text)]
    return report
