"""The journals are the queue: each record arrives once, whatever the receiver does, and nothing goes before it has."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as Detail
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from tests.delivery.shared import START, delivery, drained, ids, made, otlp
from tests.exporters.otlp.receiver import ANSWERS, Answer, GrpcReceiver, HttpReceiver, spans_in
from tests.stores import write_records as write
from tooltrace.core.records import Loss, Outcome
from tooltrace.exporters.protocol import Unavailable
from tooltrace.faults import faults
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles, destinations
from tooltrace.store.journal.line_format import decode, encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader


@pytest.fixture(autouse=True)
def unsaid() -> None:
    faults.reset_after_fork()


def losses(paths: StorePaths) -> list[tuple[Any, ...]]:
    with open_reader(paths) as db:
        return db.sql('SELECT reason, "count", detail FROM losses ORDER BY "at"').fetchall()


def test_spans_events_and_durations_of_each_call_arrive_once(paths: StorePaths, either: Any) -> None:
    receiver, protocol = either
    failed = made(3, status="error", ending="raised", error_type="KeyError", error_message="no")
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    write(paths, made(0), made(1), failed, Outcome(call_id="c0", correct=True, labeled_at=START))
    assert drained(sender) == 4
    assert drained(sender) == 0
    assert receiver.spans == dict.fromkeys(ids(0, 1, 3), 1)
    assert sorted(log.event_name for log in receiver.logs) == [
        "gen_ai.evaluation.result",
        "gen_ai.execute_tool.exception",
    ]
    judged = next(log for log in receiver.logs if log.event_name == "gen_ai.evaluation.result")
    assert (judged.trace_id.hex(), judged.span_id.hex()) == ("a" * 32, f"{1:016x}")
    assert receiver.counted == 3
    assert receiver.signals == ["traces", "logs", "metrics"]
    sender.close()


def test_a_new_destination_gets_records_from_its_creation_on(paths: StorePaths, receiver: HttpReceiver) -> None:
    old = Journal(paths.journal)
    old.write(encode(made(1)))
    assert old.path is not None
    with old.path.open("ab") as file:
        file.write(encode(made(2))[:40])  # a line that is being written
    sender = delivery(paths, otlp(receiver.endpoint))
    with old.path.open("ab") as file:
        file.write(encode(made(2))[40:])
    write(paths, made(3))
    assert drained(sender) == 2
    assert receiver.spans == dict.fromkeys(ids(2, 3), 1)
    sender.close()
    old.close()


def test_delivery_resumes_where_another_process_ended(paths: StorePaths, receiver: HttpReceiver) -> None:
    first = delivery(paths, otlp(receiver.endpoint))
    write(paths, made(1))
    drained(first)
    first.close()
    write(paths, made(2))
    second = delivery(paths, otlp(receiver.endpoint))
    assert drained(second) == 1
    assert receiver.spans == dict.fromkeys(ids(1, 2), 1)
    second.close()


def test_a_fold_removes_journals_only_after_delivery(paths: StorePaths, receiver: HttpReceiver) -> None:
    sender = delivery(paths, otlp(receiver.endpoint))
    write(paths, made(1))
    assert fold(paths).removed == 0
    assert sum(sender.waiting_bytes for _ in [0]) > 0
    with open_reader(paths) as db:
        assert db.sql("SELECT count(*) FROM tool_calls").fetchall() == [(1,)]
    drained(sender)
    assert receiver.spans == dict.fromkeys(ids(1), 1)
    assert fold(paths).removed == 1
    drained(sender)
    assert sender.cursor.journals is not None
    sender.close()


def test_a_forgotten_destination_retains_no_journals(paths: StorePaths, receiver: HttpReceiver) -> None:
    delivery(paths, otlp(receiver.endpoint)).close()
    write(paths, made(1))
    fold(paths)
    assert len(paths.journals()) == 1
    assert [files.name for files in destinations(paths)] == ["otlp"]
    assert DestinationFiles.of(paths, "otlp").forget()
    assert not DestinationFiles.of(paths, "otlp").forget()
    fold(paths)
    assert paths.journals() == {}


@pytest.mark.parametrize("status", [429, 502, 503, 504, 401, 403, 302, 404])
def test_failures_independent_of_the_records_are_retried_until_success(
    paths: StorePaths, receiver: HttpReceiver, status: int
) -> None:
    receiver.script.extend(Answer(status) for _ in range(4))
    sender = delivery(paths, otlp(receiver.endpoint))
    write(paths, made(1), made(2))
    assert drained(sender) == 2
    assert receiver.signals == ["traces"] * 5 + ["metrics"]
    assert receiver.spans == dict.fromkeys(ids(1, 2), 1)
    assert sender.cursor.error is None
    assert losses(paths) == []
    sender.close()


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "UNAUTHENTICATED", "UNIMPLEMENTED"])
def test_grpc_failures_are_retried_until_success(paths: StorePaths, by_grpc: GrpcReceiver, code: str) -> None:
    receiver, protocol = by_grpc, "grpc"
    receiver.script.extend(Answer(code) for _ in range(3))
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    write(paths, made(1))
    assert drained(sender) == 1
    assert receiver.signals == ["traces"] * 4 + ["metrics"]
    sender.close()


def asked_to_wait(protocol: str, seconds: float) -> Answer:
    if protocol != "grpc":
        return Answer(429, {"Retry-After": str(seconds)})
    info = Detail()
    info.Pack(RetryInfo(retry_delay=Duration(nanos=int(seconds * 1e9))))
    status = Status(code=8, details=[info]).SerializeToString()
    return Answer("RESOURCE_EXHAUSTED", trailing=(("grpc-status-details-bin", status),))


def test_retry_after_is_respected(paths: StorePaths, either: Any) -> None:
    receiver, protocol = either
    times: list[float] = []

    def note(signal: str, _message: Any) -> Answer | None:
        times.append(time.monotonic())
        return asked_to_wait(protocol, 0.6) if len(times) == 1 else None

    receiver.rule = note
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    write(paths, made(1))
    drained(sender)
    assert times[1] - times[0] >= 0.6
    sender.close()


def test_a_receiver_that_is_killed_and_back_gets_everything_once(paths: StorePaths, either: Any) -> None:
    receiver, protocol = either
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    write(paths, *(made(number) for number in range(1000)))
    assert sender.step() == 512
    receiver.stop()
    waits = threading.Thread(target=drained, args=(sender,))
    waits.start()
    while not sender.is_unavailable:
        assert waits.is_alive()
    receiver.start()
    waits.join()
    assert receiver.spans == dict.fromkeys(ids(*range(1000)), 1)
    assert receiver.counted == 1000
    sender.close()


@pytest.mark.parametrize("slow", ["traces", "logs", "metrics"])
def test_a_timeout_is_retried(paths: StorePaths, either: Any, slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.3")
    receiver, protocol = either
    hold = threading.Event()
    held: list[str] = []

    def rule(signal: str, _message: Any) -> Answer | None:
        if signal == slow and not held:
            held.append(signal)
            return Answer(503 if protocol != "grpc" else "UNAVAILABLE", hold=hold)
        return None

    receiver.rule = rule
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    write(paths, made(1, status="error", ending="raised"))
    assert drained(sender) == 1
    assert receiver.signals.count(slow) == 2
    assert len(receiver.signals) == 4  # the other two were not sent again
    hold.set()
    sender.close()


def test_each_signal_is_sent_once_though_another_has_to_wait_over_two_processes(
    paths: StorePaths, receiver: HttpReceiver
) -> None:
    receiver.rule = lambda signal, _: Answer(503) if signal == "metrics" else None
    stop = threading.Event()
    first = delivery(paths, otlp(receiver.endpoint), stop=stop)
    write(paths, *(made(number, status="error", ending="raised") for number in range(5)))
    stop.set()
    with pytest.raises(Unavailable):
        first.step()
    first.close()
    write(paths, made(9))
    receiver.rule = lambda _signal, _message: None
    second = delivery(paths, otlp(receiver.endpoint))
    assert drained(second) == 6
    assert receiver.spans == dict.fromkeys(ids(*range(5), 9), 1)
    assert len(receiver.logs) == 5
    assert receiver.counted == 6
    second.close()


def test_poison_is_set_aside_counted_and_stops_nothing(paths: StorePaths, either: Any) -> None:
    receiver, protocol = either
    bad = "INVALID_ARGUMENT" if protocol == "grpc" else 400

    def rule(signal: str, message: Any) -> Answer | None:
        names = [span.name for span in spans_in(message)] if signal == "traces" else []
        return Answer(bad, body=b"no") if "execute_tool poison" in names else None

    receiver.rule = rule
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    poison = made(77, tool="poison")
    write(paths, *(made(number) for number in range(100) if number != 77), poison)
    assert drained(sender) == 100 + 1  # and the loss, of which nothing is sent
    assert receiver.spans == dict.fromkeys(ids(*(n for n in range(100) if n != 77)), 1)
    assert receiver.counted == 100
    sender.close()
    aside = DestinationFiles.of(paths, "otlp").refused.read_bytes().splitlines()
    assert [decode(line) for line in aside] == [poison]
    assert DestinationFiles.of(paths, "otlp").refused.stat().st_mode & 0o077 == 0
    (loss,) = losses(paths)
    assert loss[:2] == ("export_refused", 1)
    assert loss[2].startswith("otlp traces: http://127.0.0.1:")


def test_records_that_otlp_cannot_encode_are_dead_letters(paths: StorePaths, receiver: HttpReceiver) -> None:
    sender = delivery(paths, otlp(receiver.endpoint))
    odd = made(2, span_id="not hex")
    write(paths, made(1), odd, made(3))
    drained(sender)
    assert receiver.spans == dict.fromkeys(ids(1, 3), 1)
    assert [loss[:2] for loss in losses(paths)] == [("export_refused", 1)]
    sender.close()


def test_a_batch_that_is_too_large_is_sent_in_smaller_ones(paths: StorePaths, receiver: HttpReceiver) -> None:
    receiver.rule = lambda _signal, message: Answer(413) if message.ByteSize() > 20_000 else None
    sender = delivery(paths, otlp(receiver.endpoint))
    write(paths, *(made(number) for number in range(300)))
    drained(sender)
    assert receiver.spans == dict.fromkeys(ids(*range(300)), 1)
    assert losses(paths) == []
    sender.close()


def test_a_partial_success_is_counted_and_logged_once(
    paths: StorePaths, either: Any, lenient: None, caplog: pytest.LogCaptureFixture
) -> None:
    receiver, protocol = either

    def rule(signal: str, _message: Any) -> Answer:
        answer = ANSWERS[signal]()
        if signal == "traces":
            answer.partial_success.rejected_spans = 2
            answer.partial_success.error_message = "too old"
        return Answer(body=answer.SerializeToString())

    receiver.rule = rule
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    for start in (0, 10, 20):
        write(paths, *(made(start + number) for number in range(5)))
        drained(sender)
    assert receiver.spans == dict.fromkeys(ids(*range(5), *range(10, 15), *range(20, 25)), 1)
    assert [loss[:2] for loss in losses(paths)] == [("export_refused", 2)] * 3
    assert sum("too old" in record.getMessage() for record in caplog.records) == 1
    assert sender.cursor.refused == 6
    sender.close()


def test_a_receiver_without_logs_gets_the_rest(paths: StorePaths, either: Any) -> None:
    receiver, protocol = either
    missing = "UNIMPLEMENTED" if protocol == "grpc" else 404
    receiver.rule = lambda signal, _: Answer(missing) if signal == "logs" else None
    sender = delivery(paths, otlp(receiver.endpoint, protocol))
    write(paths, made(0), made(1, status="error", ending="raised"))
    drained(sender)
    drained(sender)
    assert receiver.spans == dict.fromkeys(ids(0, 1), 1)
    assert receiver.counted == 2
    assert receiver.signals.count("logs") == 1
    assert [loss[:2] for loss in losses(paths)] == [("export_refused", 1)]
    sender.close()


def test_losses_go_out_but_those_of_delivery(paths: StorePaths, receiver: HttpReceiver) -> None:
    sender = delivery(paths, otlp(receiver.endpoint))
    write(paths, Loss(reason="queue_full", count=4, at=START), Loss(reason="export_refused", count=1, at=START))
    drained(sender)
    assert [log.event_name for log in receiver.logs] == ["tooltrace.loss"]
    sender.close()


def test_damaged_and_torn_lines_do_not_stop_delivery(paths: StorePaths, receiver: HttpReceiver) -> None:
    sender = delivery(paths, otlp(receiver.endpoint))
    path = write(paths, made(1))
    line = encode(made(2))
    with path.open("ab") as file:
        file.write(line.replace(b"search", b"sEarch") + encode(made(3)) + line[: len(line) // 2])
    drained(sender)
    assert receiver.spans == dict.fromkeys(ids(1, 3), 1)
    assert sender.waiting_bytes == 0
    fold(paths)
    assert paths.journals() == {}
    sender.close()


def test_a_line_that_is_being_written_is_waited_for(paths: StorePaths, receiver: HttpReceiver) -> None:
    sender = delivery(paths, otlp(receiver.endpoint))
    journal = Journal(paths.journal)
    journal.write(encode(made(1)))
    assert journal.path is not None
    half = encode(made(2))
    with journal.path.open("ab") as file:
        file.write(half[:30])
        file.flush()
        assert drained(sender) == 1
        file.write(half[30:])
    assert drained(sender) == 1
    assert receiver.spans == dict.fromkeys(ids(1, 2), 1)
    journal.close()
    sender.close()


def test_a_long_line_is_a_batch_of_its_own(paths: StorePaths, receiver: HttpReceiver) -> None:
    sender = delivery(paths, otlp(receiver.endpoint))
    write(paths, made(1), made(2, text="x" * 5_000_000), made(3))
    assert [sender.step(), sender.step()] == [1, 1]
    assert drained(sender) == 1
    assert receiver.spans == dict.fromkeys(ids(1, 2, 3), 1)
    sender.close()


def test_a_busy_journal_does_not_delay_the_others(paths: StorePaths, receiver: HttpReceiver) -> None:
    sender = delivery(paths, otlp(receiver.endpoint))
    for name, start in (("a-1-x.jsonl", 0), ("b-1-x.jsonl", 5000)):
        write(paths, *(made(start + number) for number in range(2000))).rename(paths.journal / name)
    sender.step()
    sender.step()
    assert receiver.spans == dict.fromkeys(ids(*range(512), *range(5000, 5512)), 1)
    sender.close()


def test_a_cursor_that_cannot_be_read_costs_no_record(paths: StorePaths, receiver: HttpReceiver) -> None:
    delivery(paths, otlp(receiver.endpoint)).close()
    write(paths, made(1))
    DestinationFiles.of(paths, "otlp").cursor.write_bytes(b'{"begun_at"')
    assert fold(paths).removed == 0
    sender = delivery(paths, otlp(receiver.endpoint))
    assert drained(sender) == 1
    assert receiver.spans == dict.fromkeys(ids(1), 1)
    sender.close()


def test_a_lagging_destination_drops_the_oldest_records_and_counts_them(
    paths: StorePaths, receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tooltrace.store.journal import delivery_cursors

    sender = delivery(paths, otlp(receiver.endpoint))
    write(paths, *(made(number) for number in range(30)))
    old = next(iter(paths.journals()))
    time_of = (paths.journal / old).stat().st_mtime_ns
    new = write(paths, *(made(100 + number) for number in range(10)))
    size = new.stat().st_size
    import os

    os.utime(paths.journal / old, ns=(time_of - 10**9, time_of - 10**9))
    monkeypatch.setitem(delivery_cursors.retained_journals.__kwdefaults__, "limit", size + 1)
    assert fold(paths).removed == 1
    assert list(paths.journals()) == [new.name]
    assert losses(paths) == [("export_overflow", 30, f"otlp: {old}")]
    drained(sender)
    assert receiver.spans == dict.fromkeys(ids(*range(100, 110)), 1)
    sender.close()
