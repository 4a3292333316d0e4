"""What the system did not run, and whether a breaker is still open."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.queries.answers import run
from tests.queries.conftest import START


def test_refusals_by_code_and_process(engine, make):
    def refused(code, at, pid=1, message="no"):
        started = START + timedelta(seconds=at)
        return make(
            status=None,
            ending="refused",
            code=code,
            error_message=message,
            pid=pid,
            host="a",
            duration_ms=None,
            started_at=started,
        )

    con = engine(
        refused("CIRCUIT_OPEN", 1),
        refused("CIRCUIT_OPEN", 3, message="open after 3 failures"),
        refused("CIRCUIT_OPEN", 5, pid=2),
        refused("CALL_LIMIT", 6),
        make(pid=1, host="a", started_at=START + timedelta(seconds=4)),
        make(pid=2, host="a", started_at=START + timedelta(seconds=2)),
        make(status=None, ending="declined"),
    )
    rows = run(con, "refusals").project("code, pid, n, finished, breaker, message").fetchall()
    assert sorted(rows) == [
        ("CALL_LIMIT", 1, 1, 0, None, "no"),
        ("CIRCUIT_OPEN", 1, 2, 1, "closed", "open after 3 failures"),
        ("CIRCUIT_OPEN", 2, 1, 0, "open", "no"),
    ]


@pytest.mark.long
def test_a_refusal_is_in_no_rate_and_in_a_column_of_its_own(engine, make):
    con = engine(
        *(make(conversation_id="c") for _ in range(5)),
        *(make(conversation_id="c", status=None, ending="refused", code="CALL_LIMIT") for _ in range(45)),
    )
    for name in (
        "failure_rate",
        "overview",
        "breaker",
        "timeline",
        "retries",
        "latency",
        "retry_storms",
        "burn_rate",
        "recorded",
        "drift",
        "retry_survival",
        "conversations",
    ):
        options = {"until": START + timedelta(hours=1)} if name == "burn_rate" else {}
        row = run(con, name, **options).dicts()[0]
        assert row["refused"] == 45, name
        assert row.get("attempts", 5) == (5 if name != "conversations" else 50), name
        assert row.get("left_out", 0) == 0, name
        assert row.get("failures", 0) == 0, name
    for name in ("errors", "incidents"):
        assert run(con, name).fetchall() == [], name
    calls = con.execute(
        "SELECT sum(attempts), sum(refused), count(*) FILTER (WHERE status IS NULL) FROM calls"
    ).fetchall()
    assert calls == [(5, 45, 45)]


def test_a_comparison_has_the_refusals_of_each_side(engine, make):
    con = engine(
        *(make(tool_version=version) for version in "1122"),
        *(make(tool_version=version, status=None, ending="refused") for version in "1222"),
        make(tool="never_run", tool_version="2", status=None, ending="refused"),
    )
    rows = run(con, "compare", before="version:1", after="version:2").dicts()
    assert {(row["tool"], row["refused_before"], row["refused_after"]) for row in rows} == {("search", 1, 3)}
    assert {row["n_after"] for row in rows if row["measure"] == "failure_rate"} == {2}
