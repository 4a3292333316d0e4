"""``tooltrace show``: every attempt of a call, selected by an id or a prefix."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.usefixtures("history")


def shown(done):
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_attempt_with_timing_gap_data_and_judgement(run):
    text = shown(run("show", "call_1"))
    first, second = text.split("attempt 2  ")
    assert "attempt 1  error, raised" in first
    assert "code: TIMEOUT" in first
    assert 'arguments: {"query": "cats"}' in first
    assert "990.0 ms later" in first
    assert "labelled wrong by human" in first
    assert "stale" in first
    assert "success, returned" in second
    assert "(truncated; 70,000 in full)" in second
    assert "redacted" in second
    assert '"bm25": 0.7' in second
    assert "doc-1" in second
    assert f"span {2:016x}" in second


def test_long_json_is_shortened_unless_full_is_set(run):
    assert "more lines (--full)" in run("show", "call_1").stdout
    text = run("show", "call_1", "--full").stdout
    assert "more lines" not in text
    assert f"{39:_>30}" in text


def test_untrusted_text_has_no_escape_sequences_and_is_not_markup(run):
    text = shown(run("show", "call_1"))
    assert "[bold]not bold[/bold]" in text
    assert not set(text) & set("\x1b\x9b\x07\r\u202e")


@pytest.mark.parametrize("given", [f"{2:016x}", "call_1"])
def test_a_span_id_names_its_call(run, given):
    rows = json.loads(shown(run("show", given, "--format", "json")))
    assert [(row["call_id"], row["attempt"]) for row in rows] == [("call_1", 1), ("call_1", 2)]
    assert rows[0]["arguments"] == {"query": "cats"}


def test_the_beginning_of_one_id_is_enough_and_of_several_is_not(run):
    assert "call call_9" in shown(run("show", "call_9"))
    done = run("show", "call_")
    assert done.exit_code == 1
    assert "'call_' begins 23 ids: call call_24 (fetch), " in done.stderr


def test_an_unknown_call_suggests_the_nearest_id(run):
    done = run("show", "cal_23")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "did you mean 'call_23'?" in done.stderr
    assert "query recent" in run("show", "zzzz").stderr


def test_the_models_message_and_the_persons_decision_are_shown(run, tmp_path, monkeypatch):
    import tooltrace as tt
    from tooltrace.tools import ToolRegistry

    store = tmp_path / "reviewed.duckdb"
    tt.configure(store=store)
    registry = ToolRegistry()
    registry.register(lambda path: f"{path} is gone", name="delete", requires_confirmation=True)
    answer = registry.resume(
        registry.execute("delete", {"path": "a"}, call_id="c1"),
        approve=True,
        answered_by="ann",
        note="fine",
        inputs={"path": "b"},
    )
    answer.to_message("c1")
    registry.execute("delete", {"path": "z"}, call_id="c2")
    tt.shutdown()
    text = shown(run("show", "c1", "--store", str(store)))
    assert "approved by ann after" in text
    assert '(confirmation): fine; changed {"path": "b"}' in text
    assert "seen text: b is gone" in text
    assert "waiting for a person (confirmation)" in shown(run("show", "c2", "--store", str(store)))
