"""``tooltrace label``: one label, and a file of them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tooltrace as tt
from tests.cli.conftest import read_terminal
from tests.examples import examples

KEY = "sk-abcdefghijklmnopqrstuvwx"


@pytest.fixture
def outcomes(where):
    def outcomes(columns="call_id, correct, score, labeler, reason"):
        with tt.connect(where) as db:
            return db.execute(f"SELECT {columns} FROM outcomes WHERE labeler <> 'human' ORDER BY labeled_at").fetchall()

    return outcomes


@pytest.fixture
def file(tmp_path):
    def file(text, name="labels.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return file


class TestOne:
    def test_a_label_is_stored_with_its_labeler(self, run, history, outcomes):
        done = run("label", "call_3", "--wrong", "--labeler", "ann", "--reason", "stale")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "call_3 is labelled wrong by ann.\n", "")
        assert outcomes() == [("call_3", False, None, "ann", "stale")]

    def test_an_attempt_is_judged_by_its_span(self, run, history, outcomes):
        done = run("label", f"{3:016x}", "--span", "--correct", "--score", "0.75", "--labeler", "ann")
        assert (done.exit_code, done.stderr) == (0, "")
        assert outcomes("call_id, span_id, correct, score") == [(None, f"{3:016x}", True, 0.75)]

    def test_a_label_counts_in_the_view_judged(self, run, history, where):
        assert run("label", "call_3", "--score", "0.4").exit_code == 0
        with tt.connect(where) as db:
            assert db.execute("SELECT correct, score FROM judged WHERE span_id = ?", [f"{3:016x}"]).fetchall() == [
                (False, 0.4)
            ]

    def test_the_store_may_follow_a_conversation_or_a_file(self, run, file, tmp_path):
        other = tmp_path / "other.duckdb"
        assert run("label", "--conversation", "chat", "--wrong", str(other)).exit_code == 0
        assert run("label", "--file", file("conversation_id,correct\nlater,yes\n"), str(other)).exit_code == 0
        assert run("label", "call_3", "--conversation", "chat", "--wrong").exit_code == 2, "call_3 is not a store"
        with tt.connect(other) as db:
            found = db.execute("SELECT conversation_id, correct FROM outcomes ORDER BY labeled_at").fetchall()
        assert found == [("chat", False), ("later", True)]

    def test_a_label_before_its_call_is_reported(self, run, where, outcomes):
        done = run("label", "later", "--correct", "--labeler", "ann")
        assert (done.exit_code, done.stdout) == (0, "later is labelled right by ann.\n")
        assert done.stderr == f"No call later has been recorded in {where}; the label applies once it is.\n"
        assert outcomes("call_id") == [("later",)]

    @pytest.mark.parametrize(
        "arguments",
        [
            (), ("c",), ("c", "--correct", "--wrong"), ("c", "--score", "1.5"), ("c", "--score", "nan"), ("c", "--score", "x"),
            ("c", "--correct", "--labeler", " "), ("", "--correct"), ("c", "--correct", "--file", "f"), ("--file", "f", "--wrong"),
            ("--file", "f", "--reason", "r"), ("--file", "f", "--span"),
        ],
    )  # fmt: skip
    def test_no_verdict_or_two_verdicts_are_wrong_usage(self, run, where, arguments):
        done = run("label", *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.strip()
        assert not where.with_name(f"{where.name}.journal").exists()

    def test_no_secret_reaches_the_disk(self, run, tmp_path):
        assert run("label", "c", "--wrong", "--reason", f"it gave {KEY}").exit_code == 0
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert b"it gave" in kept
        assert KEY.encode() not in kept

    def test_an_id_that_is_not_text_is_stored_as_the_call_stores_it(self, run, put, made, where):
        put(made(1, call_id="a\udcffb"))
        done = run("label", "a\udcffb", "--correct")
        assert (done.exit_code, done.stderr) == (0, "")
        with tt.connect(where) as db:
            assert db.execute("SELECT count(*) FROM judged").fetchone() == (1,)

    def test_a_name_that_would_play_with_the_terminal_does_not(self, run):
        done = run("label", "a\x1b[31mred", "--correct", "--labeler", "\x1b]0;title\x07me")
        assert done.exit_code == 0
        assert "\x1b" not in done.output

    def test_a_journal_that_cannot_be_written_fails(self, run, where):
        where.with_name(f"{where.name}.journal").write_text("in the way")
        done = run("label", "c", "--correct")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "cannot write the journal" in done.stderr
        assert "Traceback" not in done.output


class TestFile:
    def test_a_csv_by_call_and_by_span(self, run, history, file, outcomes):
        path = file(f"call_id,span_id,correct\ncall_3,,yes\n,{4:016x},no\n")
        done = run("label", "--file", path, "--labeler", "ann")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "2 labels recorded, 0 rows skipped.\n", "")
        assert outcomes("call_id, span_id, correct") == [("call_3", None, True), (None, f"{4:016x}", False)]

    def test_every_column_of_a_file_is_stored(self, run, file, outcomes):
        path = file(
            "call_id,correct,score,labeler,reason,labeled_at\n"
            'c1,right,0.75,bob,"two\nlines, ""quoted""",2026-01-01T10:00:00+02:00\n'
            "c2,,0.25,,,2026-01-02\n"
        )
        assert run("label", "--file", path, "--labeler", "ann").exit_code == 0
        assert outcomes("call_id, correct, score, labeler, reason, CAST(labeled_at AS VARCHAR)") == [
            ("c1", True, 0.75, "bob", 'two\nlines, "quoted"', "2026-01-01 08:00:00"),
            ("c2", None, 0.25, "ann", None, "2026-01-02 00:00:00"),
        ]

    @pytest.mark.parametrize("word", ["true", "1", "Yes", "RIGHT", " t ", "correct", "1.0"])
    def test_words_for_right(self, run, file, outcomes, word):
        run("label", "--file", file(f"call_id,correct\nc,{word}\n"), "--labeler", "ann")
        assert outcomes("correct") == [(True,)]

    @pytest.mark.parametrize("word", ["false", "0", "No", "WRONG", "f", "incorrect"])
    def test_words_for_wrong(self, run, file, outcomes, word):
        run("label", "--file", file(json.dumps({"call_id": "c", "correct": word})), "--labeler", "ann")
        assert outcomes("correct") == [(False,)]

    def test_an_invalid_row_is_reported_with_its_line_and_skipped(self, run, history, file, outcomes):
        path = file(
            b'\ncall_id,correct,reason,other\ncall_3,true,"a\nb",\ncall_4,maybe\n\n,true\ncall_5,,\ncall_6,no,a,b,c\n'
            b"call_7,no,\xff\ncall_8,wrong\n"
        )
        done = run("label", "--file", path, "--labeler", "ann")
        assert done.exit_code == 0
        assert done.stdout == "2 labels recorded, 5 rows skipped.\n"
        unused, *skipped = done.stderr.splitlines()
        assert unused == f"{path}: ignored columns: other"
        assert [line.removeprefix(f"{path}:").split(":")[0] for line in skipped] == ["5", "7", "8", "9", "10"]
        assert "got 'maybe'; skipped" in skipped[0]
        assert "5 fields, but the header has 4" in skipped[3]
        assert [row[0] for row in outcomes()] == ["call_3", "call_8"]

    def test_bad_lines_of_json(self, run, history, file, outcomes):
        lines = [
            '{"call_id":"call_3","correct":true,"other":1}', "", "{torn", '["call_4", true]',
            '{"call_id":"call_4","score":NaN}', '{"call_id":"call_4","score":true}', '{"call_id":"call_4","score":-0.1}',
            '{"call_id":"call_4","correct":[1]}', '{"call_id":{"a":1},"correct":1}', '{"call_id":"call_4","correct":0,"labeled_at":7}',
            '{"call_id":"call_4","correct":1,"reason":[]}', '{"Call_ID":5,"correct":0,"score":"0.25"}',
        ]  # fmt: skip
        path = file("\n".join(lines), "labels.txt")
        done = run("label", "--file", path, "--labeler", "ann")
        assert done.stdout == "2 labels recorded, 9 rows skipped; 1 without a recorded call.\n"
        assert [line.split(":")[1] for line in done.stderr.splitlines()[1:]] == [str(n) for n in range(3, 12)]
        assert outcomes() == [("call_3", True, None, "ann", None), ("5", False, 0.25, "ann", None)]

    def test_only_the_first_bad_rows_are_shown(self, run, file):
        path = file("call_id,correct\n" + "c,perhaps\n" * 25)
        done = run("label", "--file", path)
        assert done.stdout == "0 labels recorded, 25 rows skipped.\n"
        assert len(done.stderr.splitlines()) == 11
        assert done.stderr.endswith(f"{path}: 15 more rows skipped\n")

    @pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
    def test_the_delimiter_is_detected_from_the_header(self, run, file, outcomes, sign):
        text = sign.join(["\ufeffcall_id", "score", "reason"]) + "\r\n" + sign.join(["c", "0.5", '"a,b;c|d"']) + "\r\n"
        run("label", "--file", file(text), "--labeler", "ann")
        assert outcomes() == [("c", None, 0.5, "ann", "a,b;c|d")]

    @pytest.mark.parametrize(
        "correct", ["i % 2 = 0", "1 - i % 2", "1.0 - i % 2", "CASE WHEN i % 2 = 0 THEN 'yes' ELSE 'no' END"]
    )
    def test_parquet_of_any_types(self, run, tmp_path, outcomes, correct):
        path = tmp_path / "labels.parquet"
        sql = f"""SELECT 10 + i AS call_id, {correct} AS correct, i / 2 AS score, NULL AS reason,
                         TIMESTAMPTZ '2026-01-01 00:00:00+01' + to_seconds(i) AS "Labeled_At", 1 AS "a ""b"
                  FROM range(4) AS t(i)"""
        with duckdb.connect() as con:
            con.execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")
        done = run("label", "--file", str(path), "--labeler", "ann")
        assert done.stdout == "3 labels recorded, 1 row skipped; 3 without a recorded call.\n"
        assert f"{path}:4: the score of 13 must be from 0 to 1; got 1.5" in done.stderr
        assert outcomes("call_id, correct, score, CAST(labeled_at AS VARCHAR)") == [
            ("10", True, 0.0, "2025-12-31 23:00:00"),
            ("11", False, 0.5, "2025-12-31 23:00:01"),
            ("12", True, 1.0, "2025-12-31 23:00:02"),
        ]

    def test_labels_without_a_call_are_counted(self, run, history, file):
        path = file(f"call_id,span_id,correct\ncall_3,,1\nnone,,1\nnone,,0\n,{4:016x},1\n,{99:016x},1\ncall_3,,0\n")
        done = run("label", "--file", path)
        assert done.stdout == "6 labels recorded, 0 rows skipped; 3 without a recorded call.\n"

    def test_the_last_of_several_rows_of_a_call_counts(self, run, history, file, where):
        run("label", "--file", file("call_id,correct\ncall_3,yes\ncall_3,no\n"), "--labeler", "ann")
        with tt.connect(where) as db:
            assert db.execute("SELECT correct, labelers FROM judged WHERE span_id = ?", [f"{3:016x}"]).fetchall() == [
                (False, 1)
            ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("id,correct\nc,1\n", "it needs a column call_id, span_id or conversation_id"),
            ("call_id,verdict\nc,1\n", "it needs a column correct or score"),
            ("call_id,correct,Correct\nc,1,0\n", "column correct occurs twice"),
            ('[{"call_id": "c"}]', "a JSON array"),
            (b"PAR1 and no more", "PAR1 and no more"),
        ],
    )
    def test_a_file_without_labels_fails(self, run, file, where, text, message):
        done = run("label", "--file", path := file(text))
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith(f"tooltrace: {path}")
        assert done.stderr.count("\n") == 1
        assert message in done.stderr or isinstance(text, bytes)
        assert not where.with_name(f"{where.name}.journal").exists()

    def test_a_file_that_is_not_there_fails(self, run, tmp_path):
        assert run("label", "--file", str(tmp_path / "none.csv")).stderr.endswith(
            "none.csv: No such file or directory\n"
        )
        assert run("label", "--file", str(tmp_path)).exit_code == 1

    @pytest.mark.parametrize("text", ["", "\n\n", "call_id,correct\n"])
    def test_an_empty_file_has_no_labels(self, run, file, text):
        done = run("label", "--file", file(text))
        assert (done.exit_code, done.stdout, done.stderr) == (0, "0 labels recorded, 0 rows skipped.\n", "")

    def test_no_secret_reaches_the_disk(self, run, file, tmp_path):
        path = file(f"call_id,correct,reason\nc,no,it gave {KEY}\n")
        assert run("label", "--file", path).exit_code == 0
        os.unlink(path)
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert b"it gave" in kept
        assert KEY.encode() not in kept

    def test_thousands_all_arrive(self, run, file, where):
        path = file("call_id,score\n" + "".join(f"c{n},{n / 5000}\n" for n in range(5000)))
        assert run("label", "--file", path).stdout.startswith("5,000 labels recorded, 0 rows skipped")
        with tt.connect(where) as db:
            assert db.execute("SELECT count(*), count(DISTINCT call_id) FROM outcomes").fetchall() == [(5000, 5000)]

    @pytest.mark.long
    def test_a_terminal_is_shown_how_far_it_is(self, file, tmp_path):
        path = file("call_id,score\n" + "".join(f"c{n},0.5\n" for n in range(20_000)))
        ours, theirs = pty.openpty()
        command = [
            sys.executable,
            "-m",
            "tooltrace",
            "label",
            "--file",
            path,
            "--store",
            str(tmp_path / "t.duckdb"),
        ]
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True) as process:
            os.close(theirs)
            shown = read_terminal(ours)
            assert process.stdout.read().startswith("20,000 labels recorded")
        assert "Labelling" in shown
        assert process.returncode == 0

    @pytest.mark.long
    @settings(max_examples=examples(6))
    @given(
        st.lists(
            st.tuples(
                st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(
                    lambda t: t.strip() == t
                ),
                st.booleans(),
                st.none() | st.floats(0, 1),
            ),
            max_size=8,
            unique_by=lambda row: row[0],
        )
    )
    def test_files_of_duckdb_are_read_in_every_format(self, run, tmp_path_factory, rows):
        folder = tmp_path_factory.mktemp("forms")
        with duckdb.connect() as con:
            con.execute("CREATE TABLE labels (call_id VARCHAR, correct BOOLEAN, score DOUBLE)")
            if rows:
                con.executemany("INSERT INTO labels VALUES (?, ?, ?)", rows)
            for form in ("csv", "parquet", "json"):
                con.execute(f"COPY labels TO '{folder}/labels.{form}' (FORMAT {form})")
                path, store = folder / f"labels.{form}", folder / "t.duckdb"
                done = run("label", "--file", str(path), "--labeler", form, "--store", str(store))
                assert done.exit_code == 0, done.output
        if rows:
            with tt.connect(store) as db:
                kept = db.execute("SELECT labeler, call_id, correct, score FROM outcomes").fetchall()
            for form in ("csv", "parquet", "json"):
                assert sorted((row[1:] for row in kept if row[0] == form), key=repr) == sorted(rows, key=repr), form


def test_the_command_is_listed(run):
    assert "label" in run("--help").stdout
