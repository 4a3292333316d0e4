"""The plugin in runs of pytest: kinds of tests, processes, the report, and what it costs those who do not use it."""

from __future__ import annotations

import json

import pytest

TOOLS = """
import asyncio, os, subprocess, sys, unittest
import pytest
import tooltrace as tt

@tt.trace_tool
def find_order(order_id):
    return {"order": order_id}

@tt.trace_tool
async def pay(order_id):
    return "paid"
"""
PLUGIN = "-p", "pytest_tooltrace"


@pytest.mark.processes
def test_a_run_without_the_fixture_imports_nothing_of_tooltrace(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_imported(pytestconfig):
            assert pytestconfig.pluginmanager.has_plugin("pytest_tooltrace")
            assert not [name for name in sys.modules if name.partition(".")[0] == "tooltrace"]
        """
    )
    pytester.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)


@pytest.mark.long
def test_sync_async_and_unittest_record_into_a_store_each(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_kinds=f"""{TOOLS}
def test_sync(tool_calls):
    find_order("A-17")
    tool_calls.called("find_order").with_args(order_id="A-17").at_most(1)
    assert tt.query("failure_rate").values("tool") == ["find_order"]  # this store gets a database, the others have journals

@pytest.mark.asyncio
async def test_async(tool_calls):
    await asyncio.gather(pay("A-17"), pay("A-18"))
    tool_calls.called("pay").at_most(2)
    tool_calls.never("find_order")

@pytest.mark.usefixtures("tool_calls")
class TestOldStyle(unittest.TestCase):
    def test_unittest(self):
        find_order("A-19")
        self.tool_calls.called("find_order").with_args(order_id="A-19").at_most(1)
"""
    )
    done = pytester.runpytest_inprocess(*PLUGIN, "--tooltrace-report", "calls.json", "--junitxml", "junit.xml")
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines("wrote calls.json, about the stores of 3 test runs")
    report = json.loads((pytester.path / "calls.json").read_text())
    tools = next(answer for answer in report["answers"] if answer["by"] == ["tool"])
    assert sorted(row[0] for row in tools["rows"]) == ["find_order", "pay"]
    assert (pytester.path / "junit.xml").read_text().count("tooltrace_store") == 3


def test_a_failed_assertion_prints_the_calls_without_our_frames(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""{TOOLS}
def test_refund(tool_calls):
    find_order("A-17")
    tool_calls.called("find_order").before("pay")
"""
    )
    done = pytester.runpytest_inprocess(*PLUGIN)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E *pay was not called", "E *1  find_order(order_id='A-17'): success, * ms"])
    done.stdout.no_fnmatch_line("*trajectory.py*")


@pytest.mark.processes
def test_workers_and_the_programs_of_tests_record_into_the_stores_of_their_tests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""{TOOLS}
@pytest.mark.parametrize("order", ["A", "B", "C"])
def test_refund(tool_calls, order):
    find_order(order)
    tool_calls.called("find_order").at_most(1).with_args(order_id=order)
    if order == "C":
        subprocess.run([sys.executable, "-c", "import tooltrace as tt; tt.trace_tool(lambda: 1, name='inner')()"], check=True)
        tool_calls.called("find_order").before("inner")

@pytest.mark.tool_rate(success=0.5)
def test_rate(tool_calls):
    find_order("D")
"""
    )
    done = pytester.runpytest_subprocess(*PLUGIN, "-n", "2", "--tooltrace-report", "calls.md")
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines("*::test_rate: PASS: 6 of 6 runs succeeded*")
    report = (pytester.path / "calls.md").read_text()
    assert "find_order" in report
    assert "inner" in report


def test_a_report_without_calls_says_why_there_is_none(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    done = pytester.runpytest_inprocess(*PLUGIN, "--tooltrace-report", "calls.md")
    done.stdout.fnmatch_lines("no test used the fixture tool_calls: calls.md was not written")
