"""A record becomes one line and comes back the same; a line that is not as it was written is known."""

from __future__ import annotations

import json
import math
import zlib
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import FIELD, JSON, records_of
from tooltrace.core.fields import fields_of
from tooltrace.core.records import RECORD_TYPES, Record
from tooltrace.redact.snapshot import Json
from tooltrace.store.journal.line_format import WIRE_NAMES, LineError, checksum_ok, decode, encode, record_kind

ODD_JSON = st.sampled_from(
    ['{"a":1E5,"b":1.0,"a":2}', "123456789012345678901234567890", '"\\u00e9\\/"', "[ 1 , 2 ]"]
).map(Json)
RECORDS = st.one_of(*(records_of(kind, by_type=FIELD | {"Json": JSON | ODD_JSON}) for kind in RECORD_TYPES))


@given(RECORDS)
def test_records_round_trip_through_the_journal(record: Record) -> None:
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert checksum_ok(line)
    assert checksum_ok(line[:-1])
    assert decode(line) == record


@pytest.mark.parametrize(
    "odd", [math.inf, -math.inf, math.nan, 1e16, 1e-7, 5e-324, -0.0, 2**53 + 0.0, 1.7976931348623157e308]
)
def test_any_finite_number_is_read_as_it_is_and_others_are_unknown(call: Any, odd: float) -> None:
    found = decode(encode(call(1, duration_ms=odd)))
    assert repr(found.duration_ms) == repr(odd if math.isfinite(odd) else None)  # type: ignore[union-attr]


@pytest.mark.parametrize("zone", ["", "Z", "+00:00", "+02:00", "-11:30"])
def test_a_time_is_read_as_utc(zone: str) -> None:
    for year, fraction in product([1, 1969, 2026, 9999], ["", ".5", ".678901"]):
        written = f"{year:04}-06-02T03:04:05{fraction}{zone}"
        at = datetime.fromisoformat(written)
        line = _sealed(f'"kind":"loss","reason":"r","count":1,"at":"{written}"}}'.encode())
        assert decode(line).at == (at if at.tzinfo else at.replace(tzinfo=UTC))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "member", ["null", " null", "[ ]", '"\\u00e9"', "1e999", "-0", "123456789012345678901234567890", '{"a":1,"a":2}']
)
def test_embedded_json_keeps_its_text(call: Any, member: str) -> None:
    line = _sealed(encode(call(1))[18:-2] + f',"result":{member}}}'.encode())
    assert decode(line).result == member.strip()  # type: ignore[union-attr]


def test_null_is_unknown_and_the_default_where_there_is_one() -> None:
    body = b'"kind":"call","tool":"t","call_id":"c","trace_id":"1","span_id":"2","started_at":"2026-01-01T00:00:00Z",'
    line = _sealed(body + b'"attempt":null,"ending":null,"pid":null,"text":null}')
    assert decode(line).attempt == 1  # type: ignore[union-attr]


class Name(str):
    """A text of a class of its own."""


class Code(StrEnum):
    TIMEOUT = "TIMEOUT"


def test_a_text_of_a_subclass_is_written_as_text(call: Any) -> None:
    assert encode(call(1, text=Name("a"), code=Code.TIMEOUT)) == encode(call(1, text="a", code="TIMEOUT"))
    assert encode(call(1, text=Name("a\ud800b"))) == encode(call(1, text="a\ud800b"))


def test_an_integer_out_of_range_is_unknown(call: Any) -> None:
    for odd in (2**63, -(2**63) - 1, 2**64, 2**200):
        assert decode(encode(call(1, pid=odd))) == call(1, pid=None)
        assert decode(encode(call(1, attempt=odd))) == call(1, attempt=1)


@given(RECORDS)
def test_a_line_is_json_that_any_tool_reads(record: Record) -> None:
    members = json.loads(encode(record))
    assert list(members)[:2] == ["crc", "kind"]
    names = {field.name for field in fields_of(type(record)) if getattr(record, field.name) is not None}
    assert set(members) - {"crc", "kind"} == {WIRE_NAMES.get(name, name) for name in names}


@given(RECORDS, st.data())
def test_any_changed_byte_is_noticed(record: Record, data: st.DataObject) -> None:
    line = bytearray(encode(record)[:-1])
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] ^= data.draw(st.integers(1, 255))
    assert not checksum_ok(bytes(line))


def test_unknown_fields_are_omitted_and_times_are_utc(call: Any) -> None:
    east = timezone(timedelta(hours=2))
    line = encode(call(1, started_at=datetime(2026, 1, 2, 5, 4, 5, 678901, tzinfo=east)))
    assert b'"started_at":"2026-01-02T03:04:05.678901Z"' in line
    assert b"null" not in line


def test_a_field_of_a_newer_version_is_ignored(call: Any) -> None:
    assert decode(_sealed(encode(call(1))[18:-2] + b',"invented":{"later":1}}')) == call(1)


def test_text_that_is_not_unicode_is_replaced(call: Any) -> None:
    assert decode(encode(call(1, text="a\ud800b"))).text == "a?b"  # type: ignore[union-attr]


def test_a_newline_in_embedded_json_does_not_tear_the_line(call: Any) -> None:
    line = encode(call(1, result=Json('{\n"a": 1}')))
    assert line.count(b"\n") == 1
    assert decode(line).result == '{ "a": 1}'  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body",
    [
        b'"kind":"call"}',
        b'"kind":"nonsense"}',
        b'"kind":7}',
        b"",
        b"}",
        b"nonsense",
        b"[1]:2}",
        b'"kind":"loss","reason":1,"count":2,"at":"2026-01-01T00:00:00Z"}',
        b'"kind":"loss","reason":"x","count":"2","at":"2026-01-01T00:00:00Z"}',
        b'"kind":"loss","reason":"x","count":99999999999999999999,"at":"2026-01-01T00:00:00Z"}',
        b'"kind":"loss","reason":"x","count":2,"at":"soon"}',
        b'"kind":"loss","reason":"\\ud800","count":2,"at":"2026-01-01T00:00:00Z"}',
        b'"kind":"loss","reason":"x","count":2,"at":"2026-01-01T00:00:00Z"} {}',
        b'"kind":"loss","reason":"x","count":2,"at":"2026-01-01T00:00:00Z","detail":' + b"[" * 100_000,
    ],
)
def test_an_invalid_record_with_a_valid_checksum_raises_line_error(body: bytes) -> None:
    line = _sealed(body)
    assert checksum_ok(line)
    with pytest.raises(LineError):
        decode(line)


def test_the_kind_is_known_without_parsing(call: Any) -> None:
    assert record_kind(encode(call(1))) == "call"
    assert record_kind(_sealed(b'"kind":"later"}')) is None


def _sealed(body: bytes) -> bytes:
    return b'{"crc":"%08x",%b\n' % (zlib.crc32(body), body)
