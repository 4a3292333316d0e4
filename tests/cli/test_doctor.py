"""``tooltrace doctor``: the state of a store in words and in JSON."""

from __future__ import annotations

import json


def test_pending_records_are_reported_and_folded(run, pending_history):
    found = json.loads(run("doctor", "--format", "json").stdout)
    assert (found["exists"], found["unfolded_lines"]) == (True, 25)
    done = run("doctor", "--mend", "--format", "json")
    mended = json.loads(done.stdout)
    assert (mended["unfolded_lines"], mended["rows"]["tool_calls"], mended["problems"]) == (0, 24, [])
    assert mended["done"]
    assert done.exit_code == 0
    text = run("doctor").stdout
    assert "tool_calls" in text
    assert "24" in text


def test_a_damaged_store_is_reported_and_put_right(run, pending_history, where):
    where.write_bytes(b"this is no database" * 1000)
    done = run("doctor")
    assert done.exit_code == 1
    assert "problems" in done.stdout
    assert "Traceback" not in done.output
    mended = json.loads(run("doctor", "--mend", "--format", "json").stdout)
    assert mended["rows"]["tool_calls"] == 24
    assert mended["asides"]


def test_no_store_is_a_sentence(run):
    done = run("doctor")
    assert done.exit_code == 1
    assert "found no store at" in done.stderr
