"""History goes to a destination once, at its pace, and goes on where it was broken off."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

from tests.delivery.shared import QUICK, START, delivery, drained, ids, made, otlp, python
from tests.exporters.otlp.receiver import Answer, HttpReceiver
from tests.stores import write_records as write
from tooltrace.cli import cli
from tooltrace.core.records import Gate, Loss, Message, Outcome, Record, Span
from tooltrace.delivery.backfill import Progress, ProgressFile, Replay, export_to_file
from tooltrace.errors import StoreError, StoreMissing
from tooltrace.exporters.protocol import Unavailable
from tooltrace.redact.snapshot import Json
from tooltrace.store.database.rewrite import rewrite
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.read.history import History

EVERY: list[Record] = [
    made(1, confidence=0.5, retryable=False, result=Json('{"a":[1,null]}'), attempt=2),
    Outcome(call_id="c1", span_id=f"{2:016x}", correct=True, score=0.5, labeled_at=START),
    Gate(call_id="c1", span_id=f"{2:016x}", kind="input", asked_at=START, changed=Json('{"a":1}')),
    Message(call_id="c1", span_id=f"{2:016x}", text="x", sha256="0" * 64, length=1, error=False, at=START),
    Loss(reason="queue_full", count=3, at=START),
    Span(trace_id="a" * 32, span_id="f" * 16, name="chat", started_at=START, attributes=Json('{"a":1}')),
]


def read(history: History, **more: Any) -> list[Record]:
    return [record for part in history.batches(**more) for record in part.records]


def command(*arguments: object, **more: Any) -> Result:
    return CliRunner().invoke(cli, ["export", *map(str, arguments)], catch_exceptions=False, **more)


@pytest.mark.long
def test_every_record_is_read_as_it_was(paths: StorePaths) -> None:
    write(paths, *EVERY)
    history = History(paths)
    assert history.count() == len(EVERY)
    assert sorted(map(repr, read(history))) == sorted(map(repr, EVERY))
    assert [part.kind for part in history.batches()] == ["call", "span", "outcome", "gate", "message", "loss"]


@pytest.mark.long
def test_history_can_be_limited_to_a_time_range_and_a_tool(paths: StorePaths) -> None:
    calls = [made(number, tool="ab"[number % 2], started_at=START + timedelta(hours=number)) for number in range(6)]
    write(paths, *calls, *(Outcome(call_id=f"c{n}", correct=True, labeled_at=START) for n in range(6)),
          Outcome(call_id="c2", span_id=f"{3:016x}", correct=False, labeled_at=START))  # fmt: skip
    some = read(History(paths, since=START + timedelta(hours=1), until=START + timedelta(hours=4)))
    assert some == calls[1:4]
    found = read(History(paths, tool="a"))
    assert [record for record in found if record in calls] == calls[::2]
    assert Counter(record.call_id for record in found if isinstance(record, Outcome)) == {"c0": 1, "c2": 2, "c4": 1}


@pytest.mark.long
def test_records_made_during_an_export_are_left_for_the_next_one(paths: StorePaths) -> None:
    write(paths, made(1), made(2))
    history = History(paths, batch=1)
    parts = history.batches()
    first = next(parts)
    write(paths, made(3))
    fold(paths)
    assert [record for part in parts for record in part.records] == [made(2)]
    again = History(paths)
    assert read(again, places=first.places) == [made(2), made(3)]
    assert again.count(first.places) == 2


@pytest.mark.long
def test_a_recreated_database_is_detected(paths: StorePaths) -> None:
    write(paths, *(made(number) for number in range(10)))
    history = History(paths, batch=4)
    parts = history.batches()
    place = next(parts).places
    parts.close()
    with duckdb.connect(str(paths.database)) as con:
        con.execute("CREATE TABLE kept AS SELECT * FROM attempts WHERE call_id <> 'c1' ORDER BY rowid")
        con.execute("DELETE FROM attempts")
        con.execute("CHECKPOINT")
        con.execute("INSERT INTO attempts SELECT * FROM kept")
        con.execute("DROP TABLE kept")
    assert read(History(paths), places=place) == [made(number) for number in range(4, 10)]
    with duckdb.connect(str(paths.database)) as con:
        con.execute("DELETE FROM attempts WHERE call_id = 'c3'")
    with pytest.raises(StoreError, match="start the export again"):
        read(History(paths), places=place)


@pytest.mark.long
@pytest.mark.parametrize("keep", [{}, {"attempts": "call_id NOT IN ('c1', 'c2')"}])
def test_an_export_goes_on_after_a_rewrite_of_the_database(paths: StorePaths, keep: dict[str, str]) -> None:
    write(paths, *(made(number) for number in range(6)))
    parts = History(paths, batch=3).batches()
    file = ProgressFile.of(DestinationFiles.of(paths, "otlp"), "question")
    file.save(Progress(places=next(parts).places))
    parts.close()
    rewrite(paths, keep=keep)
    assert read(History(paths), places=file.load().places) == [made(number) for number in range(3, 6)]


def test_a_missing_store_has_no_history(paths: StorePaths) -> None:
    with pytest.raises(StoreMissing):
        History(paths)


def replay(paths: StorePaths, receiver: HttpReceiver, progress: Progress, **more: Any) -> Replay:
    files = DestinationFiles.of(paths, "otlp")
    return Replay(files, History(paths, batch=100), otlp(receiver.endpoint), progress, **{"policy": QUICK} | more)


@pytest.mark.long
def test_a_replay_that_is_broken_off_anywhere_sends_each_record_once(paths: StorePaths, receiver: HttpReceiver) -> None:
    """It is stopped at each request in turn, and goes on from what was written down."""
    write(paths, *(made(number, status="error", ending="raised") for number in range(350)),
          *(Outcome(call_id=f"c{number}", correct=True, labeled_at=START) for number in range(150)))  # fmt: skip
    file = ProgressFile.of(DestinationFiles.of(paths, "otlp"), "this")
    for _ in range(40):
        stop = threading.Event()
        seen = len(receiver.requests)

        def refuse(_signal: str, _message: Any, stop: threading.Event = stop, seen: int = seen) -> Answer | None:
            if len(receiver.requests) - seen > 1:
                stop.set()
                return Answer(503)
            return None

        receiver.rule = refuse
        try:
            replay(paths, receiver, file.load(), save=file.save, stop=stop).run()
        except Unavailable:
            continue
        break
    else:
        raise AssertionError("it does not come to an end")
    assert receiver.spans == dict.fromkeys(ids(*range(350)), 1)
    assert receiver.counted == 350
    assert Counter(log.event_name for log in receiver.logs) == {
        "gen_ai.execute_tool.exception": 350,
        "gen_ai.evaluation.result": 150,
    }
    assert file.load().sent == 500


@pytest.mark.long
def test_export_waits_for_a_slow_receiver_and_fails_for_a_dead_one(paths: StorePaths, receiver: HttpReceiver) -> None:
    write(paths, made(1))
    receiver.script.extend([Answer(503), Answer(429)])
    waits: list[Unavailable] = []
    replay(paths, receiver, Progress(), on_wait=waits.append).run()
    assert len(waits) == 2
    receiver.stop()
    from tooltrace.delivery.retry import RetryPolicy

    pace = RetryPolicy(first=0.01, longest=0.02, give_up=0.2)
    with pytest.raises(Unavailable, match="could not be reached"):
        replay(paths, receiver, Progress(), policy=pace).run()


def test_a_file_that_cannot_be_finished_is_abandoned(paths: StorePaths) -> None:
    class File:
        ends: list[str] = []

        def send(self, records: Sequence[Record]) -> None:
            raise RuntimeError("full")

        def close(self) -> None:
            self.ends.append("closed")

        def abandon(self) -> None:
            self.ends.append("abandoned")

    write(paths, made(1))
    with pytest.raises(RuntimeError):
        export_to_file(History(paths), File())
    assert File.ends == ["abandoned"]


# the command


@pytest.mark.long
def test_the_command_sends_each_record_once_unless_restarted(paths: StorePaths, receiver: HttpReceiver) -> None:
    write(paths, made(1), made(2))
    arguments = ("otlp", "--store", paths.database, "--endpoint", receiver.endpoint)
    assert command(*arguments).output == "2 records sent; 0 rejected.\n"
    assert command(*arguments).output == "0 records sent, 2 sent earlier; 0 rejected.\n"
    write(paths, made(3))
    assert command(*arguments).output == "1 record sent, 2 sent earlier; 0 rejected.\n"
    assert receiver.spans == dict.fromkeys(ids(1, 2, 3), 1)
    assert command(*arguments, "--again").output == "3 records sent; 0 rejected.\n"
    assert receiver.spans == dict.fromkeys(ids(1, 2, 3), 2)


@pytest.mark.long
def test_records_from_before_the_cursor_that_were_delivered_are_not_sent_again(
    paths: StorePaths, receiver: HttpReceiver
) -> None:
    """The first call of a program has ended before its delivery begins, and so have the older ones of an import."""
    write(paths, made(1))
    sender = delivery(paths, otlp(receiver.endpoint), "otlp-traces")
    write(paths, made(2), Span(trace_id="a" * 32, span_id="f" * 16, name="chat", started_at=START))
    drained(sender)
    sender.close()
    arguments = ("otlp", "--store", paths.database, "--endpoint", receiver.endpoint, "--signal", "traces")
    assert command(*arguments).exit_code == 0
    assert receiver.spans == dict.fromkeys({*ids(1, 2), "f" * 16}, 1)


def test_filters_signals_headers_and_protocol(paths: StorePaths, either: Any) -> None:
    receiver, protocol = either
    write(paths, made(1, tool="a"), made(2, tool="b"), made(3, tool="b", started_at=START + timedelta(days=2)))
    done = command(
        "otlp", "--store", paths.database, "--endpoint", receiver.endpoint, "--protocol", protocol, "--tool", "b",
        "--until", "2026-01-03", "--signal", "traces", "--header", "x-key=a=b",
    )  # fmt: skip
    assert (done.exit_code, done.output) == (0, "1 record sent; 0 rejected.\n")
    assert receiver.spans == dict.fromkeys(ids(2), 1)
    assert receiver.signals == ["traces"]
    assert receiver.requests[0].headers["x-key"] == "a=b"


def test_records_of_live_delivery_are_left_out(paths: StorePaths, receiver: HttpReceiver) -> None:
    write(paths, made(1))
    sender = delivery(paths, otlp(receiver.endpoint), "otlp-traces")
    later = sender.cursor.begun_at + timedelta(seconds=1)
    write(paths, made(2, started_at=later.astimezone(UTC)))
    drained(sender)
    sender.close()
    done = command("otlp", "--store", paths.database, "--endpoint", receiver.endpoint)
    assert "are delivered continuously" in done.output
    assert receiver.spans == dict.fromkeys(ids(1, 2), 1)


def test_pending_delivers_waiting_records(paths: StorePaths, receiver: HttpReceiver) -> None:
    delivery(paths, otlp(receiver.endpoint), "otlp-traces").close()
    write(paths, made(1))
    status = command("--status", "--store", paths.database).output
    assert status.startswith(
        f"otlp-traces (http/protobuf {receiver.endpoint}/v1/traces): 0 records sent; 1 record (0.0 MB) pending"
    )
    done = command("otlp", "--pending", "--store", paths.database, "--endpoint", receiver.endpoint)
    assert sorted(done.output.splitlines()) == [
        "otlp-logs: 0 records delivered, 0.0 MB pending.",
        "otlp-metrics: 0 records delivered, 0.0 MB pending.",
        "otlp-traces: 1 record delivered, 0.0 MB pending.",
    ]
    assert "1 record sent, the last at" in command("--status", "--store", paths.database).output


def test_forget(paths: StorePaths, receiver: HttpReceiver) -> None:
    delivery(paths, otlp(receiver.endpoint), "otlp-traces").close()
    assert command("otlp", "--forget", "--store", paths.database).exit_code == 0
    again = command("otlp", "--forget", "--store", paths.database)
    assert (again.exit_code, again.output.count("\n")) == (1, 1)
    assert command("--status", "--store", paths.database).output.startswith("No destination")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "argument NAME is missing"),
        (("nothing",), 2, "there is no destination"),
        (("otlp", "--header", "x"), 2, "NAME=VALUE"),
        (("otlp", "--since", "yesterday"), 2, "parameter 'since' must be a time span back"),
        (("otlp", "--endpoint", "localhost"), 2, "must be a URL such as"),
        (("otlp", "--signal", "spans"), 2, "unknown OTLP signal: spans"),
        (("jsonl", "--follow", "-o", "x"), 2, "a file is always written completely"),
        (("../otlp", "--forget"), 1, "name of a destination must be"),
    ],
)
def test_wrong_usage_is_a_one_line_error(
    paths: StorePaths, arguments: tuple[str, ...], code: int, message: str
) -> None:
    write(paths, made(1))
    done = command(*arguments, "--store", paths.database)
    assert (done.exit_code, done.output.count("\n")) == (code, 1)
    assert message in done.output


@pytest.mark.processes
def test_an_interrupted_export_prints_how_to_resume(paths: StorePaths, receiver: HttpReceiver) -> None:
    import signal

    write(paths, *(made(number) for number in range(600)))
    receiver.rule = lambda _signal, _message: Answer(503) if len(receiver.requests) > 2 else None
    code = "import sys\nfrom tooltrace.cli import main\nsys.argv = ['tooltrace', *sys.argv[1:]]\nmain()"
    process: subprocess.Popen[str] = python(
        code, "export", "otlp", "--store", paths.database, "--endpoint", receiver.endpoint, "--signal", "traces",
        "--signal", "metrics",
    )  # fmt: skip
    receiver.wait_until(lambda: len(receiver.requests) > 2)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate()
    assert process.returncode == 1
    assert (
        message.splitlines()[-1] == "tooltrace: interrupted after 512 records; run the same command again to continue"
    )
    receiver.rule = lambda _signal, _message: None
    done = command("otlp", "--store", paths.database, "--endpoint", receiver.endpoint, "--signal", "traces",
                   "--signal", "metrics")  # fmt: skip
    assert done.output == "88 records sent, 512 sent earlier; 0 rejected.\n"
    assert receiver.spans == dict.fromkeys(ids(*range(600)), 1)
    assert receiver.counted == 600


def test_progress_that_cannot_be_read_begins_again(paths: StorePaths, tmp_path: Path) -> None:
    file = ProgressFile.of(DestinationFiles.of(paths, "otlp"), "q")
    file.save(Progress(sent=3, memory={"a": 1}))
    assert file.load() == Progress(sent=3, memory={"a": 1})
    assert file.path.stat().st_mode & 0o077 == 0
    os.truncate(file.path, 5)
    assert file.load() == Progress()


@pytest.mark.parametrize("name", ["parquet", "jsonl", "otlp-json", "csv"])
@pytest.mark.parametrize("wrong", [(), ("--since", "nonsense")])
def test_a_failed_start_creates_no_file(tmp_path: Path, name: str, wrong: tuple[str, ...]) -> None:
    """The store is missing, or the question makes no sense."""
    folder = tmp_path / "out"
    assert command(name, "--store", tmp_path / "none.duckdb", "-o", folder / "calls", *wrong).exit_code > 0
    assert [file for file in folder.rglob("*") if file.is_file() or file.name.startswith(".")] == []
