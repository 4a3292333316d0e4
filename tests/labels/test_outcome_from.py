"""Labels that a program gives: by SQL over the store, and by a function that is shown each attempt."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tooltrace as tt
from tests.stores import create_empty_store
from tooltrace.errors import LabelError, StoreError, StoreMissing
from tooltrace.labels import from_function
from tooltrace.recording import config
from tooltrace.redact.redaction import MASK
from tooltrace.store.fold.fold import fold

Rows = list[tuple[Any, ...]]
LABELS = "SELECT call_id, correct, score, labeler, reason FROM outcomes ORDER BY call_id, labeled_at"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three calls that succeeded, one of them after a failure; one that nobody finished; folded."""
    path, before = tmp_path_factory.mktemp("recorded") / "t.duckdb", config.active_recorder
    tt.configure(store=path)
    log = tt.TraceLogger()
    log.record("search", tt.ToolResponse.error("TIMEOUT", "late"), call_id="a")
    log.record("search", tt.ToolResponse.success("Paris", confidence=0.9), call_id="a")
    log.record("search", tt.ToolResponse.success("Rome", confidence=0.2), call_id="b")
    log.record("add", 3, call_id="c")

    @tt.trace_tool
    def count() -> Any:
        yield 1
        yield 2

    with tt.context(call_id="d"):
        next(count())
    tt.shutdown()
    with config._lock.current:
        config.active_recorder = before
    create_empty_store(path)
    fold(path)
    return path


@pytest.fixture
def history(recorded: Path, store: Path) -> Path:
    """The store that the process records into, with a copy of the recorded calls."""
    shutil.copytree(recorded.parent, store.parent, dirs_exist_ok=True)
    return store


def ask(sql: str = LABELS, store: Path | None = None) -> Rows:
    with tt.connect(store) as db:
        return db.execute(sql).fetchall()


class TestSelect:
    def test_the_rows_of_a_select_become_labels(self, history: Path) -> None:
        sql = "SELECT call_id, confidence > 0.5 AS correct, text AS reason FROM tool_calls WHERE confidence IS NOT NULL"
        assert tt.outcome_from(sql, labeler="sure") == 2
        assert ask() == [("a", True, None, "sure", "Paris"), ("b", False, None, "sure", "Rome")]
        assert ask("SELECT t.call_id, j.correct FROM judged AS j JOIN tool_calls AS t USING (span_id) ORDER BY 1") == [
            ("a", True),
            ("b", False),
        ]

    def test_columns_are_matched_by_name_in_any_order_and_case(self, history: Path) -> None:
        assert tt.outcome_from("SELECT 0.25 AS Score, 'b' AS CALL_ID; -- that is all", labeler="x") == 1
        assert ask() == [("b", None, 0.25, "x", None)]

    @pytest.mark.parametrize("correct", ["1", "'yes'", "1.0", "true", "CAST(1 AS DECIMAL(3, 1))"])
    def test_correct_may_have_several_types(self, history: Path, correct: str) -> None:
        assert tt.outcome_from(f"SELECT 'b' AS call_id, {correct} AS correct", labeler="x") == 1
        assert ask() == [("b", True, None, "x", None)]

    def test_an_attempt_is_labelled_by_its_span(self, history: Path) -> None:
        sql = "SELECT span_id, false AS correct FROM tool_calls WHERE code = 'TIMEOUT'"
        assert tt.outcome_from(sql, labeler="x") == 1
        assert ask("SELECT t.code FROM judged JOIN tool_calls AS t USING (span_id)") == [("TIMEOUT",)]

    def test_rows_without_a_judgement_are_skipped(self, history: Path) -> None:
        assert tt.outcome_from("SELECT call_id, NULL AS correct FROM tool_calls", labeler="x") == 0
        assert tt.outcome_from("SELECT call_id, true AS correct FROM tool_calls WHERE false", labeler="x") == 0
        assert ask() == []

    @pytest.mark.long
    def test_a_labeler_judges_a_call_once_unless_repeated(self, history: Path) -> None:
        sql = "SELECT DISTINCT call_id, true AS correct FROM tool_calls WHERE tool = 'search'"
        assert [tt.outcome_from(sql, labeler="x") for _ in range(2)] == [2, 0]
        assert tt.outcome_from(sql, labeler="y") == 2
        assert tt.outcome_from(sql, labeler="x", again=True) == 2
        assert len(ask()) == 6

    def test_an_attempt_judged_by_its_call_is_judged_and_the_other_way_round(self, history: Path) -> None:
        by_call = "SELECT 'a' AS call_id, true AS correct"
        by_span = "SELECT span_id, true AS correct FROM tool_calls WHERE call_id = 'a' AND status = 'success'"
        assert tt.outcome_from(by_call, labeler="x") == 1
        assert tt.outcome_from(by_span, labeler="x") == 0
        assert tt.outcome_from(by_span, labeler="y") == 1
        assert tt.outcome_from(by_call, labeler="y") == 0
        first = "SELECT span_id, true AS correct FROM tool_calls WHERE call_id = 'a' AND status = 'error'"
        assert tt.outcome_from(first, labeler="x") == 1

    def test_a_call_that_has_not_come_yet_is_labelled_once(self, history: Path) -> None:
        assert [tt.outcome_from("SELECT 'later' AS call_id, 1 AS correct", labeler="x") for _ in range(2)] == [1, 0]

    def test_labels_of_persons_and_programs_are_separate(self, history: Path) -> None:
        tt.label(call_id="b", correct=False, labeler="ann")
        assert tt.outcome_from("SELECT 'b' AS call_id, true AS correct", labeler="x") == 1
        assert tt.outcome_from("SELECT 'b' AS call_id, true AS correct", labeler="ann") == 0

    def test_rows_that_agree_are_one_label(self, history: Path) -> None:
        assert tt.outcome_from("SELECT call_id, 0.5 AS score FROM tool_calls WHERE call_id = 'a'", labeler="x") == 1

    def test_contradictory_rows_refuse_the_statement(self, history: Path) -> None:
        sql = "SELECT call_id, status = 'success' AS correct FROM tool_calls ORDER BY call_id DESC"
        with pytest.raises(
            LabelError, match=r"two different judgements of a: use span_id to label one attempt; nothing was recorded"
        ):
            tt.outcome_from(sql, labeler="x")
        assert ask() == []

    @pytest.mark.parametrize(
        ("sql", "message"),
        [
            ("SELECT 'a' AS call_id", "needs a column correct or score"),
            ("SELECT true AS correct", "needs a column call_id, span_id or conversation_id"),
            ("SELECT 'a' AS call_id, true AS corect, 1 AS score", "unknown columns corect"),
            ("SELECT 'a' AS call_id, true AS correct, false AS Correct", "unknown columns|twice|already"),
            ("SELECT 'a' AS call_id, 1.5 AS score", r"score of a must be from 0 to 1; got 1.5"),
            ("SELECT 'a' AS call_id, 'NaN'::DOUBLE AS score", "got nan"),
            ("SELECT 'a' AS call_id, 'perhaps' AS correct", "got 'perhaps'"),
            ("SELECT NULL AS call_id, true AS correct", "needs a call_id, a span_id or a conversation_id"),
            ("SELECT nothing FROM tool_calls", "cannot run the SELECT: Binder Error"),
            ("SELEC 1", "cannot run the SELECT: Parser Error"),
            ("SELECT error('no') AS call_id, true AS correct", "cannot run the SELECT: Invalid Input Error: no"),
            ("SELECT 'a' AS call_id, 1 AS correct; SELECT 'b' AS call_id, 1 AS correct", "accepts one SELECT"),
            ("DROP VIEW outcomes", "accepts one SELECT"),
            ("", "accepts one SELECT"),
        ],
    )
    def test_a_select_that_is_not_of_labels_is_refused(self, history: Path, sql: str, message: str) -> None:
        with pytest.raises(LabelError, match=f"({message})(.|\n)*; nothing was recorded$"):
            tt.outcome_from(sql, labeler="x")
        assert ask() == []

    def test_one_bad_row_refuses_all_rows(self, history: Path) -> None:
        with pytest.raises(LabelError):
            tt.outcome_from("SELECT i AS call_id, i / 9 AS score FROM range(12) AS t(i)", labeler="x")
        assert ask() == []

    def test_another_store_than_the_configured_one(self, history: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.duckdb"
        with pytest.raises(StoreMissing):
            tt.outcome_from("SELECT 'a' AS call_id, 1 AS correct", labeler="x", store=other)
        tt.configure(store=other)
        tt.TraceLogger().record("t", 1, call_id="elsewhere")
        tt.configure(store=history)
        assert tt.outcome_from("SELECT call_id, 1 AS correct FROM tool_calls", labeler="x", store=other) == 1
        assert ask(store=other) == [("elsewhere", True, None, "x", None)]
        assert ask() == []

    def test_the_reason_is_redacted_by_the_hook_too(self, history: Path) -> None:
        tt.configure(
            store=history, redact=lambda field, value: value.replace("Ann", "A.") if field == "reason" else value
        )
        tt.outcome_from("SELECT 'b' AS call_id, 0 AS correct, 'Ann: password=hunter22222' AS reason", labeler="x")
        tt.label(call_id="c", correct=True, reason="Ann says so")
        assert [row[-1] for row in ask()] == [f"A.: password={MASK}", "A. says so"]


@dataclass
class Verdict:
    correct: bool | None = None
    score: float | None = None
    reason: str | None = None


class TestFunction:
    def test_it_is_shown_each_finished_attempt_as_its_row(self, history: Path) -> None:
        rows: list[dict[str, Any]] = []
        assert tt.outcome_from(lambda row: rows.append(row), labeler="x") == 0
        assert [(row["call_id"], row["status"], row["ending"]) for row in rows] == [
            ("a", "error", "returned"),
            ("a", "success", "returned"),
            ("b", "success", "returned"),
            ("c", "success", "returned"),
        ]
        with tt.connect() as db:
            assert list(rows[0]) == db.sql("SELECT * FROM tool_calls").columns
        assert rows[1]["text"] == "Paris"

    @pytest.mark.parametrize(
        ("returned", "stored"),
        [
            (True, (True, None, None)),
            (False, (False, None, None)),
            (0.25, (None, 0.25, None)),
            (1, (None, 1.0, None)),
            (np.bool_(True), (True, None, None)),
            (np.float32(0.5), (None, 0.5, None)),
            ({"correct": True, "score": 0.75, "reason": "so"}, (True, 0.75, "so")),
            ({"score": np.float64(0.5)}, (None, 0.5, None)),
            (Verdict(correct=False, reason="so"), (False, None, "so")),
        ],
    )
    def test_the_function_may_return_these_values(self, history: Path, returned: Any, stored: Any) -> None:
        assert tt.outcome_from(lambda row: returned if row["call_id"] == "b" else None, labeler="x") == 1
        assert ask("SELECT correct, score, reason FROM outcomes") == [stored]

    @pytest.mark.parametrize("returned", [{}, {"correct": None}, Verdict()])
    def test_an_empty_judgement_is_not_a_label(self, history: Path, returned: Any) -> None:
        assert tt.outcome_from(lambda _: returned, labeler="x") == 0

    @pytest.mark.parametrize(
        ("returned", "cause"),
        [
            ("yes", "must return True, False, a score, a dict or None; got 'yes'"),
            (1.5, r"must be from 0 to 1; got 1.5"),
            (float("nan"), "got nan"),
            ({"corect": True}, "a judgement may have correct, score, reason; got corect"),
            ({"correct": "yes"}, "correct must be True or False; got 'yes'"),
            ({"correct": True, "reason": 5}, "reason must be text; got 5"),
            ([True], r"got \[True\]"),
        ],
    )
    def test_the_function_may_not_return_other_values(self, history: Path, returned: Any, cause: str) -> None:
        with pytest.raises(LabelError, match=rf"{cause}.*\(attempt [0-9a-f]{{16}} of a\); nothing was recorded"):
            tt.outcome_from(lambda _: returned, labeler="x")
        assert ask() == []

    def test_the_function_may_change_its_row(self, history: Path) -> None:
        assert tt.outcome_from(lambda row: not row.clear(), labeler="x") == 4

    def test_it_judges_the_attempt_it_was_shown(self, history: Path) -> None:
        assert tt.outcome_from(lambda row: row["code"] != "TIMEOUT", labeler="x") == 4
        judged = ask(
            "SELECT t.call_id, t.attempt, j.correct FROM judged AS j JOIN tool_calls AS t USING (span_id) ORDER BY 1, 2"
        )
        assert judged == [("a", 1, False), ("a", 2, True), ("b", 1, True), ("c", 1, True)]

    def test_the_function_gets_unlabelled_rows_unless_repeated(self, history: Path) -> None:
        tt.label(call_id="a", correct=True, labeler="x")
        tt.label(call_id="b", correct=True, labeler="somebody else")
        shown = lambda **more: tt.outcome_from(lambda row: 1.0, labeler="x", **more)  # noqa: E731
        assert [shown(), shown(), shown(again=True)] == [3, 0, 4]

    def test_labels_before_an_exception_are_stored(self, history: Path) -> None:
        def judge(row: dict[str, Any]) -> bool:
            if row["tool"] == "add":
                raise KeyError("mine")
            return True

        with pytest.raises(KeyError, match="mine"):
            tt.outcome_from(judge, labeler="x")
        assert len(ask()) == 3
        assert tt.outcome_from(lambda row: True, labeler="x") == 1

    def test_labels_before_an_invalid_value_are_stored_and_counted(self, history: Path) -> None:
        with pytest.raises(LabelError, match="3 labels before it were recorded"):
            tt.outcome_from(lambda row: "?" if row["tool"] == "add" else True, labeler="x")
        assert len(ask()) == 3

    @pytest.mark.long
    def test_the_function_may_query_the_store_and_call_traced_tools(self, history: Path) -> None:
        @tt.trace_tool
        def model(text: str) -> bool:
            return "i" in text

        def judge(row: dict[str, Any]) -> bool | None:
            with tt.connect() as db:
                assert db.execute("SELECT count(*) FROM tool_calls").fetchone()
            return model(row["text"]) if row["text"] else None

        assert tt.outcome_from(judge, labeler="model") == 3

    def test_pages_are_without_seam(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(from_function, "PAGE", 7)
        log = tt.TraceLogger()
        for number in range(30):
            log.record("t", number, call_id=f"c{number:02}")
        rows: list[str] = []
        tt.outcome_from(lambda row: rows.append(row["call_id"]), labeler="x")
        assert rows == [f"c{number:02}" for number in range(30)]

    @pytest.mark.filterwarnings("error")
    def test_a_coroutine_is_not_a_judgement(self, history: Path) -> None:
        async def judge(row: dict[str, Any]) -> bool:
            return True

        with pytest.raises(LabelError, match="SQL or a function that is not async"):
            tt.outcome_from(judge, labeler="x")
        with pytest.raises(LabelError, match="must return True, False"):
            tt.outcome_from(lambda row: judge(row), labeler="x")


class TestWrongUse:
    @pytest.mark.parametrize("labeler", ["", None, 5])
    def test_a_label_requires_a_labeler(self, history: Path, labeler: Any) -> None:
        with pytest.raises(LabelError, match="labeler must be the name"):
            tt.outcome_from(lambda row: True, labeler=labeler)

    @pytest.mark.parametrize("source", [None, 5, ["SELECT 1"]])
    def test_a_source_must_be_sql_or_a_function(self, history: Path, source: Any) -> None:
        with pytest.raises(LabelError, match="accepts SQL or a function that is not async"):
            tt.outcome_from(source, labeler="x")

    @pytest.mark.parametrize("source", ["SELECT 'a' AS call_id, 1 AS correct", lambda row: True])
    def test_a_missing_store_is_reported(self, tmp_path: Path, store: Path, source: Callable[..., Any] | str) -> None:
        with pytest.raises(StoreMissing):
            tt.outcome_from(source, labeler="x")
        tt.configure(store=None)
        with pytest.raises(LabelError, match="has no store: pass store="):
            tt.outcome_from(source, labeler="x")

    @pytest.mark.usefixtures("lenient")
    def test_a_journal_that_cannot_be_written_is_an_error(self, history: Path) -> None:
        tt.shutdown()
        assert ask("SELECT count(*) FROM tool_calls") == [(5,)]
        journal = history.with_name(f"{history.name}.journal")
        shutil.rmtree(journal)
        journal.write_text("in the way")
        with pytest.raises(StoreError, match="cannot write the journal"):
            tt.outcome_from("SELECT 'a' AS call_id, 1 AS correct", labeler="x")
