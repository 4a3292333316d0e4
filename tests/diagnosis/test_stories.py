"""Every planted problem is the finding that it should be, and nothing else is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.diagnosis.stories import STORIES, Story, healthy
from tests.queries.conftest import START, empty_store, engine, instances, stored  # noqa: F401 - fixtures
from tooltrace.diagnosis.diagnose import diagnose, diagnose_in
from tooltrace.diagnosis.finding import KINDS, SEVERITIES, Finding
from tooltrace.store.result import QueryResult, Statement, read

MANY = {
    "five_bad_tools", "one_shared_outage_is_one_finding", "one_of_many_tools", "a tool that rarely fails", "a_daily_rhythm_is_no_change",
    "a rise two thousand calls ago", "a small rise in many calls", "three thousand calls, all failed",
}  # fmt: skip
"""Stories of more than 1,500 calls."""


class Session:
    """A session of a store over one connection."""

    def __init__(self, con: Any) -> None:
        self.con = con

    def query(self, statement: Statement, *, cancellation: Any = None) -> QueryResult:
        return read(self.con, statement)


def found_in(con: Any) -> list[Finding]:
    return diagnose_in(Session(con), {})


def said(findings: list[Finding]) -> set[tuple[str, str]]:
    return {(one.kind, ", ".join(sorted(one.tools))) for one in findings if one.severity != "note"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in MANY else name for name in STORIES]
)
def test_each_planted_problem_is_named_and_nothing_else(engine, name):  # noqa: F811
    told = STORIES[name]()
    findings = found_in(engine(*told.records))
    assert said(findings) == told.truth, "\n".join(one.sentence for one in findings)
    for one in findings:
        assert one.kind in KINDS
        assert one.sentence.endswith(".")
        assert one.next_step
        assert all(shown in one.sentence for shown in one.tools[:1])


@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 204), marks=pytest.mark.simulations)], ids=["few", "200"]
)
def test_healthy_histories_have_no_problem(engine, seeds):  # noqa: F811
    with_problem = [
        seed for seed in seeds if any(one.severity == "problem" for one in found_in(engine(*healthy(seed))))
    ]
    assert len(with_problem) <= 0.05 * len(seeds), with_problem


@pytest.mark.long
def test_the_costliest_problem_comes_first_and_what_is_over_last(engine):  # noqa: F811
    told = STORIES["two_at_once"]()
    told.calls("steady", "1:500 100:40 1:500")
    findings = found_in(engine(*told.records))
    assert [(one.tool, one.open) for one in findings][-1] == ("steady", False)
    assert {one.tool for one in findings[:2]} == {"fetch", "search"}
    keys = [(SEVERITIES.index(one.severity) if one.open else 3, -one.cost.calls) for one in findings]
    assert keys == sorted(keys)


def test_the_version_that_came_with_a_rise_is_the_one_to_leave(engine):  # noqa: F811
    told = STORIES["a rise that lasts"]()
    versions = [*["3.0.2"] * 400, *["3.1.0"] * 80]
    con = engine(
        *(
            msgspec.structs.replace(record, tool_version=version)
            for record, version in zip(told.records, versions, strict=True)
        )
    )
    [finding] = [one for one in found_in(con) if one.severity == "problem"]
    assert finding.version == "3.1.0"
    assert "Roll back to version 3.0.2" in finding.next_step
    assert finding.since is not None
    assert abs(finding.since - (START + timedelta(days=10 * 400 / 480)).replace(tzinfo=None)) < timedelta(hours=12)


@pytest.mark.long
def test_a_range_leaves_out_only_what_ended_before_it(stored):  # noqa: F811
    told = STORIES["a rise two thousand calls ago"]()
    told.calls("steady", "1:500 100:40 1:500")
    store = str(stored(*told.records))
    everything = diagnose(store=store)
    assert {(one.tool, one.open) for one in everything} == {("search", True), ("steady", False)}
    last = diagnose(since=START + timedelta(days=9, hours=23), store=store)
    assert [one.tool for one in last] == ["search"]
    assert last[0] == next(one for one in everything if one.tool == "search")
    assert diagnose(tool="steady", store=store) == [one for one in everything if one.tool == "steady"]


def test_a_store_that_does_not_exist_has_no_finding(tmp_path):
    assert diagnose(store=tmp_path / "none.duckdb") == []


def test_a_tool_that_kills_its_process_is_named_with_the_number_of_its_lost_calls(engine):  # noqa: F811
    told = Story(truth={("cut_off", "load")})
    told.calls("search", "0:200")
    told.calls("load", "0:100 50!:60", ending="lost", duration_ms=None)
    [finding] = [one for one in found_in(engine(*told.records)) if one.severity != "note"]
    assert (finding.kind, finding.tools) == ("cut_off", ("load",))
    assert "of them was gone before their end" in finding.sentence
    assert finding.next_step.startswith("It may kill its process")
