"""What reads bytes of others: journals, OTLP requests and files to import."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from zlib import crc32

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.fuzz.budget import within_budget
from tests.fuzz.mutations import LARGEST, mutated
from tests.ingest.receiver import wire
from tests.ingest.receiver.running import made
from tooltrace.core.records import Outcome, Record
from tooltrace.errors import BadParameter, UnreadableFile
from tooltrace.ingest.files.importer import import_file
from tooltrace.ingest.receiver import decode as requests
from tooltrace.ingest.receiver.ingester import to_record
from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.ingest.receiver.responses import JSON, PROTOBUF, Encoding, IngestResult, OtlpError
from tooltrace.ingest.spans import Assembler
from tooltrace.otel.log_codec import to_log
from tooltrace.otel.otlp.json import MalformedOtlp, logs_from_json, logs_to_json, spans_from_json, spans_to_json
from tooltrace.otel.otlp.proto_json import message_to_json
from tooltrace.otel.otlp.to_proto import logs_to_proto, spans_to_proto
from tooltrace.otel.span_codec import encode as to_span
from tooltrace.recording.settings import Settings
from tooltrace.store.journal.line_format import PREFIX_BYTES, START, LineError, checksum_ok, decode, encode

CORPUS = Path(__file__).with_name("corpus")
SAMPLES = Path(__file__).parents[1] / "ingest" / "files" / "samples"
SETTINGS = Settings(store=None)
LIMITS = ReceiverLimits()


@dataclass(frozen=True)
class Reader:
    """A reader of bytes under test."""

    name: str
    read: Callable[[bytes], Iterable[Record]]
    """Function that reads the bytes and raises nothing; the records must survive their journal lines."""
    known: Callable[[], Iterable[bytes]]
    """Function that returns valid inputs."""
    finish: Callable[[bytes], bytes] = bytes
    """Function that makes the checks on the outside of a changed input pass."""

    def mutated(self, known: Sequence[bytes], choose: random.Random) -> bytes:
        """Return a changed input."""
        return self.finish(mutated(known, choose))[:LARGEST]

    def check(self, data: bytes) -> float:
        """Read ``data`` within its budget, compare what was read, and return the CPU time in seconds."""
        with within_budget(len(data)) as spent:
            records = list(self.read(data))
        for record in records:
            line = encode(record)
            assert checksum_ok(line)
            assert line.count(b"\n") == 1
            assert encode(decode(line)) == line
        return spent.seconds


def seeds(reader: Reader) -> list[bytes]:
    """Return the valid inputs of ``reader``, and those that once failed."""
    return [*reader.known(), *(file.read_bytes() for file in sorted((CORPUS / reader.name).glob("*")))]


def _lines(data: bytes) -> Iterable[Record]:
    for line in data.split(b"\n"):
        try:
            yield decode(line)
        except LineError:
            continue


def _sealed(data: bytes) -> bytes:
    """Return the lines of ``data`` with the checksum that each should have."""
    return b"\n".join(
        b'%b%08x",%b' % (START, crc32(line[PREFIX_BYTES:]), line[PREFIX_BYTES:]) for line in data.split(b"\n")
    )


def _request(data: bytes, encoding: Encoding) -> Iterable[Record]:
    """Read ``data`` as spans, as log records and as metrics; spans and log records must come back from both encodings."""
    receipt = IngestResult(LIMITS)
    with suppress(MalformedOtlp, OtlpError):
        yield from _spans(data, encoding, receipt)
    with suppress(MalformedOtlp, OtlpError):
        yield from _logs(data, encoding, receipt)
    with suppress(MalformedOtlp, OtlpError):
        requests.points(data, encoding, receipt)


def _spans(data: bytes, encoding: Encoding, receipt: IngestResult) -> list[Record]:
    found = list(requests.spans(data, encoding, receipt))
    sent = spans_to_proto(found).SerializeToString()
    assert spans_to_proto(requests.spans(sent, PROTOBUF, IngestResult(LIMITS))).SerializeToString() == sent
    written = spans_to_json(found)
    assert spans_to_json(spans_from_json(written)) == written
    return list(Assembler(SETTINGS).convert(found))


def _logs(data: bytes, encoding: Encoding, receipt: IngestResult) -> list[Record]:
    found = list(requests.logs(data, encoding, receipt))
    sent = logs_to_proto(found).SerializeToString()
    assert logs_to_proto(requests.logs(sent, PROTOBUF, IngestResult(LIMITS))).SerializeToString() == sent
    written = logs_to_json(found)
    assert logs_to_json(logs_from_json(written)) == written
    return [record for record in (to_record(log, SETTINGS, receipt) for log in found) if record is not None]


class _Kept:
    """A writer that keeps its records."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, record: Record) -> None:
        self.records.append(record)

    def write(self) -> None:
        """Do nothing: the records are read from the list."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-")


def _file(data: bytes) -> Iterable[Record]:
    path = Path(_folder().name) / "imported"
    path.write_bytes(data)
    kept = _Kept()
    for columns in (None, {"tool": "tool", "at": "at"}):
        with suppress(UnreadableFile, BadParameter):
            import_file(path, SETTINGS, kept, columns=columns)  # type: ignore[arg-type]
    return kept.records


def _items() -> Iterable[bytes]:
    """Return spans and log records, without the request around them."""
    request = spans_to_proto(map(to_span, map(made, range(3))))
    yield request.resource_spans[0].scope_spans[0].spans[0].SerializeToString()
    outcome = Outcome(span_id="1" * 16, correct=True, labeled_at=datetime(2026, 1, 1, tzinfo=UTC), labeler="a person")
    logs = logs_to_proto([to_log(outcome)])
    yield logs.resource_logs[0].scope_logs[0].log_records[0].SerializeToString()


def _samples() -> Iterable[bytes]:
    yield from (file.read_bytes() for file in sorted(SAMPLES.iterdir()) if file.suffix != ".md")
    yield b"tool,at,error\nsearch,2026-01-01,no\n"


def _requests() -> Iterable[bytes]:
    for item in _items():
        content = wire.nested(1, 2, 2, content=item)
        for kind in (ExportTraceServiceRequest, ExportLogsServiceRequest):
            with suppress(DecodeError):
                yield message_to_json(kind.FromString(content))


READERS = {
    reader.name: reader
    for reader in (
        Reader("journal", _lines, lambda: [b"".join(map(encode, map(made, range(3))))], _sealed),
        # the layers around an item have the same numbers for spans and for log records
        Reader("otlp-protobuf", lambda data: _request(wire.nested(1, 2, 2, content=data), PROTOBUF), _items),
        Reader("otlp-json", lambda data: _request(data, JSON), _requests),
        Reader("files", _file, _samples),
    )
}
