"""The hooks, options, markers and fixtures that tooltrace adds to pytest.

pytest loads this module in every run of an environment that has tooltrace. It stands outside of the package, because loading
``tooltrace.pytest_plugin`` would import tooltrace; that happens where a test uses the fixture or a marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tooltrace.pytest_plugin.trajectory import ToolCalls

STORE = "tooltrace_store"
"""Name of the property of a test with the path of its store; it reaches the process that writes the report, and JUnit files."""
VERDICT = "tool_rate"
"""Name of the property of a test with its verdict, numbers included."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the command line."""
    group = parser.getgroup("tooltrace")
    group.addoption(
        "--tooltrace-report",
        metavar="FILE",
        type=Path,
        help="Write a report of the calls of all tests with the fixture tool_calls: .html, .md or .json.",
    )
    group.addoption(
        "--tooltrace-undecided",
        choices=("fail", "pass", "xfail"),
        default="fail",
        help="Outcome of a test with the marker tool_rate that is neither shown to hold nor to fail. Default: fail.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line(
        "markers",
        "tool_rate(success=0.9, risk=0.05, runs=(5, 60)): repeat the test until its rate of success is shown to be above or "
        "below `success`, wrong with a probability of at most `risk`, or until the larger number of runs.",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check the arguments of the markers."""
    for item in items:
        if marker := item.get_closest_marker("tool_rate"):
            from tooltrace.pytest_plugin.repetition import Objective

            Objective.of(item, marker)


@pytest.fixture
def tool_calls(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ToolCalls]:
    """Record the tool calls of the test into a store of its own; yield them, with assertions about them."""
    from tooltrace.pytest_plugin.trajectory import recorded

    properties = request.node.user_properties
    run = 1 + sum(name == STORE for name, _ in properties)
    with recorded(tmp_path, request.node.nodeid, run) as calls:
        properties.append((STORE, str(calls.store)))
        monkeypatch.setenv("TOOLTRACE_STORE", str(calls.store))  # of the programs that the test starts
        if hasattr(request.instance, "assertEqual"):  # a method of unittest takes no fixtures
            request.instance.tool_calls = calls
        yield calls


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Repeat a test that has the marker ``tool_rate``."""
    marker = item.get_closest_marker("tool_rate")
    if marker is None or item.config.getoption("setuponly", False):
        return None
    from tooltrace.pytest_plugin.repetition import repeat

    repeat(item, nextitem, marker)
    return True


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the verdicts of ``tool_rate``, and write the report."""
    found: dict[str, dict[str, str]] = {STORE: {}, VERDICT: {}}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name in found:
                    found[name][value] = report.nodeid
    if found[VERDICT]:
        terminalreporter.section("rates of success")
        for verdict, test in found[VERDICT].items():
            terminalreporter.write_line(f"{test}: {verdict}")
    if file := config.getoption("--tooltrace-report"):
        terminalreporter.section("tooltrace")
        if not found[STORE]:
            terminalreporter.write_line(f"no test used the fixture tool_calls: {file} was not written")
            return
        from tooltrace.pytest_plugin.report import write_report

        terminalreporter.write_line(write_report([Path(store) for store in found[STORE]], file))
