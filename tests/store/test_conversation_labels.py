"""The outcome of a conversation: which label counts, and how it shares the fate of the conversation's calls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tooltrace.core.records import Outcome
from tooltrace.redact.redaction import Redaction
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.reader import open_reader
from tooltrace.store.upkeep.backup import backup
from tooltrace.store.upkeep.forget import Selection, forget
from tooltrace.store.upkeep.merge import merge
from tooltrace.store.upkeep.prune import prune
from tooltrace.store.upkeep.redact_stored import redact_stored
from tooltrace.store.upkeep.retention import PrunePolicy

from .conftest import START, MakeCall, Write, write_records

Rows = Callable[[str], list[tuple[Any, ...]]]
OUTCOMES = "SELECT conversation_id, correct, score, labeler, labelers FROM conversation_labels ORDER BY ALL"


def of(conversation: str, correct: bool | None = None, seconds: float = 0, **more: Any) -> Outcome:
    return Outcome(
        conversation_id=conversation,
        correct=correct,
        target_kind="conversation",
        labeled_at=START + timedelta(seconds=seconds),
        **more,
    )


def test_the_latest_of_a_labeler_counts_and_labelers_count_alike(write: Write, rows: Rows) -> None:
    write(
        of("a", True, 0, labeler="x"),
        of("a", False, 1, labeler="x"),
        of("a", True, 2, labeler="y", labeler_kind="agent"),
        of("a", False, 3, labeler="z", labeler_kind="rule"),
        of("b", score=0.7, labeler="x"),
        of("b", score=0.2, labeler="y"),  # of the same microsecond: the worse one decides
    )
    assert rows(OUTCOMES) == [("a", False, 1 / 3, "z", 3), ("b", False, pytest.approx(0.45), "y", 2)]
    assert rows("SELECT labeler_kind FROM conversation_labels WHERE conversation_id = 'a'") == [("rule",)]


def test_labels_by_an_agent_about_itself_do_not_count(write: Write, rows: Rows) -> None:
    """As in ``judged``: an agent that judges itself is not the truth, neither against a person nor alone."""
    write(
        of("a", True, 0, labeler="human"),
        of("a", False, 1, labeler="agent:planner", labeler_kind="agent"),
        of("b", True, 0, labeler="agent:planner", labeler_kind="agent"),
        of("c", score=0.9, labeler="judge", labeler_kind="agent"),  # somebody chose this labeler's name
    )
    assert rows(OUTCOMES) == [("a", True, 1.0, "human", 1), ("c", True, 0.9, "judge", 1)]


def test_a_retraction_takes_the_labelers_earlier_labels_back(write: Write, rows: Rows) -> None:
    write(of("a", True, 0), of("a", None, 1), of("b", True, 0), of("b", None, 1), of("b", False, 2))
    assert rows(OUTCOMES) == [("b", False, 0.0, "human", 1)]


def test_a_label_of_a_conversation_is_not_one_of_its_calls_and_the_other_way_round(
    write: Write, call: MakeCall, rows: Rows
) -> None:
    one = call(1, conversation_id="a")
    write(one, of("a", True), Outcome(call_id="c1", correct=False, labeled_at=START + timedelta(seconds=1)))
    assert rows(OUTCOMES) == [("a", True, 1.0, "human", 1)]
    assert rows("SELECT span_id, correct FROM judged") == [(one.span_id, False)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("selection", "left"),
    [
        (Selection(conversation_id="a"), ["b"]),
        (Selection(where="conversation_id = 'a'"), ["b"]),
        (Selection(call_id="c1"), ["a", "b"]),
        (Selection(where="call_id = 'c3'"), ["a"]),
    ],
)
def test_labels_are_forgotten_with_the_last_call_of_their_conversation(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows, selection: Selection, left: list[str]
) -> None:
    labels = [of("a", True, reason="the secret"), of("b", False)]
    write(
        call(1, conversation_id="a"),
        call(2, conversation_id="a"),
        call(3, conversation_id="b", trace_id="b" * 32),
        *labels,
    )
    forget(store, selection)
    named = "SELECT conversation_id FROM outcomes ORDER BY 1"
    assert rows(named) == [(one,) for one in left]
    write(*labels)
    fold(store)
    assert rows(named) == [(one,) for one in left], "a forgotten label that arrives again is left out"


def test_labels_are_pruned_with_the_last_call_of_their_conversation(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    later = START + timedelta(days=20)
    write(
        call(1, conversation_id="old"),
        call(2, conversation_id="lasting"),
        call(3, conversation_id="lasting", started_at=later),
        of("old", True),
        of("lasting", True),
        of("old, labelled later", True, 20 * 86_400),
    )
    prune(store, PrunePolicy(rows_before=START + timedelta(days=10)))
    assert [name for name, *_ in rows(OUTCOMES)] == ["lasting", "old, labelled later"]
    assert rows("SELECT * FROM losses") == []


@pytest.mark.long
def test_a_merge_unites_labels_and_a_backup_has_them(
    store: StorePaths, tmp_path: Path, write: Write, call: MakeCall, rows: Rows
) -> None:
    other = StorePaths.of(tmp_path / "other.duckdb")
    write(call(1, conversation_id="a"), of("a", True, labeler="x"))
    write_records(other, of("a", True, labeler="x"), of("a", False, 1, labeler="y"), of("b", True))
    merge([other.database], store)
    merge([other.database], store)
    assert rows(OUTCOMES) == [("a", False, 0.5, "y", 2), ("b", True, 1.0, "human", 1)]
    assert rows("SELECT count(*) FROM outcomes") == [(3,)]
    backup(store, tmp_path / "copy.duckdb")
    with open_reader(StorePaths.of(tmp_path / "copy.duckdb")) as con:
        assert len(con.execute(OUTCOMES).fetchall()) == 2


@pytest.mark.long
def test_a_forgotten_conversation_does_not_come_back_by_a_merge(
    store: StorePaths, tmp_path: Path, write: Write, call: MakeCall, rows: Rows
) -> None:
    other = StorePaths.of(tmp_path / "other.duckdb")
    write_records(other, call(1, conversation_id="a"), of("a", True), of("b", True))
    write(call(1, conversation_id="a"))
    forget(store, Selection(conversation_id="a"))
    merge([other.database], store)
    assert [name for name, *_ in rows(OUTCOMES)] == ["b"]


@pytest.mark.long
def test_a_stored_reason_is_redacted_and_the_id_is_kept(store: StorePaths, write: Write, rows: Rows) -> None:
    write(of("a", True, reason="the key sk-1234"))
    redact_stored(store, Redaction(patterns=("sk-[0-9]+",)))
    assert rows("SELECT conversation_id, strpos(reason, 'sk-1234') FROM outcomes") == [("a", 0)]
