"""The marker ``tool_rate``: how often a test runs, what is reported, and what fixtures live through."""

from __future__ import annotations

import pytest

PLUGIN = "-p", "pytest_tooltrace", "-rA"
EVERY_OTHER = """
import itertools
import pytest

run = itertools.count()

@pytest.mark.tool_rate(success={success}, risk=0.05, runs={runs})
def test_rate():
    assert next(run) % {fails} != 0, "the agent gave up"
"""


@pytest.mark.parametrize(
    ("success", "runs", "fails", "option", "outcome", "line"),
    [
        (0.5, (5, 60), 1000, "fail", {"passed": 1}, "PASS: 11 of 12 runs succeeded; the rate is shown to be above 0.5 (risk 0.05)"),
        (0.9, (5, 60), 2, "pass", {"failed": 1}, "FAIL: 2 of 5 runs succeeded; the rate is shown to be below 0.9 (risk 0.05)"),
        (0.5, (5, 10), 2, "fail", {"failed": 1}, "UNDECIDED: 5 of 10 runs succeeded; the rate is shown to be neither *"),
        (0.5, (5, 10), 2, "pass", {"passed": 1}, "UNDECIDED: 5 of 10 runs succeeded; *"),
        (0.5, (5, 10), 2, "xfail", {"xfailed": 1}, "UNDECIDED: 5 of 10 runs succeeded; *"),
    ],
)  # fmt: skip
def test_a_test_runs_until_its_rate_is_shown(
    pytester: pytest.Pytester,
    success: float,
    runs: tuple[int, int],
    fails: int,
    option: str,
    outcome: dict[str, int],
    line: str,
) -> None:
    pytester.makepyfile(EVERY_OTHER.format(success=success, runs=runs, fails=fails))
    done = pytester.runpytest_inprocess(*PLUGIN, "--tooltrace-undecided", option)
    done.assert_outcomes(**outcome)
    done.stdout.fnmatch_lines(f"*::test_rate: {line}")
    if "failed" in outcome:
        done.stdout.fnmatch_lines(["E * the agent gave up", f"FAILED *::test_rate - {line[:10]}*"])


@pytest.mark.long
def test_each_run_has_its_own_fixtures_and_those_of_the_module_stay(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_first="""
import asyncio
import unittest
import pytest
import tooltrace as tt

begun, ended, stores = [], [], set()

@tt.trace_tool
def find_order():
    return "found"

@pytest.fixture(scope="module")
def model():
    begun.append(1)
    yield
    ended.append(1)

@pytest.mark.asyncio
@pytest.mark.tool_rate(success=0.5)
async def test_agent(model, tool_calls):
    await asyncio.sleep(0)
    find_order()
    tool_calls.called("find_order").at_most(1)
    stores.add(tool_calls.store)

@pytest.mark.tool_rate(success=0.5)
class TestOldStyle(unittest.TestCase):
    def test_agent(self):
        assert begun == [1] and len(stores) == 6 and not ended
""",
        test_second="""
def test_the_module_ended_once():
    from test_first import begun, ended
    assert begun == ended == [1]
""",
    )
    done = pytester.runpytest_inprocess(*PLUGIN, "--tooltrace-report", "calls.md")
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines("wrote calls.md, about the stores of 6 test runs")


def test_what_is_no_run_of_the_test_ends_the_repetition(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
import pytest

@pytest.fixture
def no_network():
    raise OSError("no network")

@pytest.fixture
def leaky():
    yield
    raise OSError("still open")

@pytest.mark.tool_rate
def test_setup(no_network): pass

@pytest.mark.tool_rate
def test_teardown(leaky): pass

@pytest.mark.tool_rate
def test_skipped(): pytest.skip("no key")

def test_after(): pass
"""
    )
    done = pytester.runpytest_inprocess(*PLUGIN)
    done.assert_outcomes(passed=2, errors=3, skipped=1)
    done.stdout.fnmatch_lines(["*no network", "*still open", "SKIPPED * no key"])


@pytest.mark.parametrize("arguments", ["success=1.0", "0.9", "runs=(10, 5)", "rate=0.9"])
def test_arguments_that_cannot_be_used_are_refused_before_any_test_runs(
    pytester: pytest.Pytester, arguments: str
) -> None:
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.tool_rate({arguments})\ndef test_rate(): pass\n")
    done = pytester.runpytest_inprocess(*PLUGIN)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(
        f"ERROR: *::test_rate: tool_rate needs success and risk between 0 and 1* got tool_rate({arguments})"
    )
