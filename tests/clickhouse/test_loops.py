"""Loops, the footprint of results, and what goes along with failed conversations are the same in both engines where there are some."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from tests.clickhouse.compare import both, differences
from tests.clickhouse.conftest import Fill
from tests.queries.loop_histories import counted, honest, honest_counts, planted, records
from tests.stores import create_empty_store
from tooltrace.core.records import Outcome
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader

LOOPS = "loops"


def outcomes(conversations: list[str], at: datetime) -> Iterator[Outcome]:
    """Every second conversation reached its goal; each agent says of itself that it did the opposite."""
    for place, conversation in enumerate(conversations):
        for labeler, correct in (("ann", place % 2 == 0), ("agent:planner", place % 2 == 1)):
            yield Outcome(
                conversation_id=conversation,
                target_kind="conversation",
                correct=correct,
                labeler=labeler,
                labeled_at=at,
            )


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory, fill: Fill) -> Any:
    path = tmp_path_factory.mktemp(LOOPS) / "loops.duckdb"
    made: list[Any] = [*records(planted(2)), *records(honest(1)), *records(counted(1)), *records(honest_counts(1))]
    made += outcomes(sorted({record.conversation_id for record in made}), max(record.started_at for record in made))
    journal = Journal(StorePaths.of(path).journal)
    journal.write(b"".join(map(encode, made)))
    journal.close()
    create_empty_store(path)
    fill(LOOPS, made)
    with open_reader(path) as con:
        yield con


@pytest.mark.parametrize("given", [{}, {"k": 4}, {"window_s": 60}, {"tool": "fetch"}, {"until": "2026-03-01T12:02:00"}])
def test_both_engines_find_the_same_loops(con: Any, engine: Any, given: dict[str, Any]) -> None:
    duck, house = both(con, engine, LOOPS, "loops", **given)
    assert duck
    assert not differences(duck, house)[:5]


@pytest.mark.parametrize("given", [{}, {"by": ["agent"]}, {"by": ["conversation"]}, {"cut": 5}, {"tool": "job_status"}])
def test_both_engines_count_the_same_footprint(con: Any, engine: Any, given: dict[str, Any]) -> None:
    duck, house = both(con, engine, LOOPS, "footprint", **given)
    assert duck
    assert not differences(duck, house)[:5]


def test_both_engines_find_the_loops_of_listed_conversations(con: Any, engine: Any) -> None:
    listed = [row[0] for row in con.execute("SELECT DISTINCT conversation_id FROM tool_calls ORDER BY ALL").fetchall()][
        :9
    ]
    duck, house = both(con, engine, LOOPS, "loops", conversations="\n".join(listed))
    assert {row[0] for row in duck} <= set(listed)
    assert duck
    assert not differences(duck, house)[:5]


@pytest.mark.parametrize("given", [{}, {"by": ["agent"]}, {"repeats": 4, "window_s": 60}])
def test_both_engines_associate_the_same_signs(con: Any, engine: Any, given: dict[str, Any]) -> None:
    duck, house = both(con, engine, LOOPS, "blame", **given)
    assert duck
    assert not differences(duck, house)[:5]


def test_an_agents_own_label_counts_in_neither_engine(con: Any, engine: Any) -> None:
    duck, house = both(con, engine, LOOPS, "conversations", limit=1000)
    assert not differences(duck, house)[:5]
    labels = con.execute("SELECT DISTINCT labeler, labelers FROM conversation_labels").fetchall()
    assert labels == [("ann", 1)]
