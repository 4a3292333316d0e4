"""Labels of whole conversations: from code, a terminal, a file and SQL, and as an event."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import tooltrace as tt
from tooltrace.cli import cli
from tooltrace.errors import LabelError
from tooltrace.otel import evaluation_codec
from tooltrace.otel.span_data import LogData

Run = Callable[..., Result]
OUTCOMES = "SELECT conversation_id, correct, score, labeler, labeler_kind FROM conversation_labels ORDER BY ALL"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a call of the conversation ``chat``."""
    path = tmp_path / "t.duckdb"
    tt.configure(store=path)
    with tt.context(conversation_id="chat"):
        tt.TraceLogger().record("t", 1, call_id="c")
    tt.flush()
    return path


@pytest.fixture
def run(path: Path) -> Run:
    return lambda *args: CliRunner().invoke(cli, ["label", *args, "--store", str(path)])


def outcomes(path: Path) -> list[tuple[Any, ...]]:
    tt.flush()
    with tt.connect(path) as db:
        return db.execute(OUTCOMES).fetchall()


def test_a_label_names_a_conversation(path: Path) -> None:
    tt.label(conversation_id="chat", correct=True)
    tt.label(conversation_id="other", score=0.25, labeler="judge", labeler_kind="agent")
    assert outcomes(path) == [("chat", True, 1.0, "human", "person"), ("other", False, 0.25, "judge", "agent")]
    with tt.connect(path) as db:
        assert db.execute("SELECT count(*) FROM judged").fetchall() == [(0,)], "no call of it is labelled"


@pytest.mark.parametrize("named", [{"call_id": "c"}, {"span_id": "0" * 16}])
def test_a_label_has_one_target(path: Path, named: dict[str, str]) -> None:
    with pytest.raises(LabelError, match="pass one; nothing was recorded"):
        tt.label(conversation_id="chat", correct=True, **named)
    assert outcomes(path) == []


def test_the_command_labels_a_conversation(path: Path, run: Run) -> None:
    done = run("--conversation", "chat", "--wrong", "--reason", "no booking")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "chat is labelled wrong by human.\n", "")
    assert outcomes(path) == [("chat", False, 0.0, "human", "person")]
    early = run("--conversation", "later", "--correct")
    assert early.exit_code == 0
    assert early.stderr.startswith("No conversation later has been recorded in ")
    assert run("c", "--conversation", "chat", "--wrong").exit_code == 2


def test_a_file_may_label_calls_and_conversations(path: Path, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(
        "call_id,conversation_id,correct,labeler\nc,,yes,ann\n,chat,no,ann\nc,chat,no,ann\n,later,yes,ann\n"
    )
    done = run("--file", str(file))
    assert done.exit_code == 0
    assert done.stdout == "3 labels recorded, 1 row skipped; 1 without a recorded call.\n"
    assert outcomes(path) == [("chat", False, 0.0, "ann", None), ("later", True, 1.0, "ann", None)]


def test_a_score_of_a_conversation_comes_from_a_terminal_and_a_file(path: Path, run: Run, tmp_path: Path) -> None:
    assert run("--conversation", "chat", "--score", "0.4").exit_code == 0
    file = tmp_path / "scores.csv"
    file.write_text("conversation_id,score,labeler\nchat,0.8,ann\nlater,1,ann\n")
    assert run("--file", str(file)).exit_code == 0
    assert outcomes(path) == [("chat", True, pytest.approx(0.6), "ann", None), ("later", True, 1.0, "ann", None)]


@pytest.mark.long
def test_a_select_labels_each_conversation_once(path: Path) -> None:
    sql = "SELECT conversation_id, bool_and(status = 'success') AS correct FROM tool_calls GROUP BY ALL"
    assert tt.outcome_from(sql, labeler="check") == 1
    assert tt.outcome_from(sql, labeler="check") == 0
    assert tt.outcome_from(sql, labeler="check", again=True) == 1
    assert tt.outcome_from(sql, labeler="other") == 1
    assert outcomes(path) == [("chat", True, 1.0, "other", "rule")]


def test_the_event_of_a_label_names_the_conversation_and_is_read_back(path: Path) -> None:
    tt.label(conversation_id="chat", score=0.5, labeler="judge", labeler_kind="agent", reason="half of it")
    tt.flush()
    (outcome,) = read(path)
    event = evaluation_codec.to_log(outcome)
    assert event.attributes["gen_ai.conversation.id"] == "chat"
    assert event.attributes["tooltrace.judged.kind"] == "conversation"
    assert (event.trace_id, event.span_id) == (None, None)
    assert evaluation_codec.from_log(event) == outcome


def test_an_evaluation_of_another_library_that_names_only_a_conversation_is_its_outcome() -> None:
    event = LogData(
        event_name="gen_ai.evaluation.result",
        time_ns=1_770_000_000_000_000_000,
        attributes={
            "gen_ai.conversation.id": "chat",
            "gen_ai.evaluation.name": "goal reached",
            "gen_ai.evaluation.score.label": "fail",
        },
        trace_id=None,
        span_id=None,
        scope="evals",
        scope_version="1",
    )
    found = evaluation_codec.from_log(event)
    assert (found.conversation_id, found.target_kind, found.correct) == ("chat", "conversation", False)
    assert found.labeled_at == datetime.fromtimestamp(1_770_000_000, UTC)


def read(path: Path) -> list[Any]:
    from tooltrace.core.records import Outcome

    with tt.connect(path) as db:
        cursor = db.execute("SELECT * FROM outcomes")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return [Outcome(**{**row, "labeled_at": row["labeled_at"].replace(tzinfo=UTC)}) for row in rows]
