"""The schema and the test vectors of journals, and the example of docs/reference/journal.md, agree with the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given

from tests.store.test_journal_format import RECORDS
from tooltrace.core.records import Record
from tooltrace.store.journal.line_format import LineError, decode, encode

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
VECTORS = json.loads((REFERENCE / "journal.vectors.json").read_text("utf-8"))
SCHEMA = jsonschema.Draft202012Validator(json.loads((REFERENCE / "journal.schema.json").read_text("utf-8")))
PAGE = (REFERENCE / "journal.md").read_text("utf-8")


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_vector_is_read_as_it_says(vector: dict[str, object]) -> None:
    line = str(vector["line"]).encode()
    if vector["record"] is None:
        with pytest.raises(LineError):
            decode(line)
    else:
        members = json.loads(encode(decode(line)))
        members.pop("crc")
        assert members == vector["record"]


def test_a_program_without_tooltrace_reads_the_same_records() -> None:
    reader = re.search(r"^# journal\.py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert reader is not None
    names: dict[str, object] = {"__name__": "journal"}
    exec(reader[1], names)
    lines = "\n".join(vector["line"] for vector in VECTORS)
    known = [vector["record"] for vector in VECTORS if vector["record"]]
    assert [each for each in read(names, lines) if each["kind"] != "later"] == known


def read(names: dict[str, object], lines: str, folder: str = "a.duckdb.journal") -> list[dict[str, object]]:
    """Return what the reader of the page yields for a store whose journal has ``lines``."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        journal = Path(place, folder)
        journal.mkdir()
        (journal / "host-1-a.jsonl").write_text(lines + "\n", "utf-8")
        found = list(names["records"](Path(place, "a.duckdb")))  # type: ignore[operator]
    for each in found:
        del each["crc"]
    return found


@given(RECORDS)
def test_the_line_of_every_record_is_valid_by_the_schema(record: Record) -> None:
    SCHEMA.validate(json.loads(encode(record)))


def test_the_schema_refuses_a_line_without_a_required_member() -> None:
    members = json.loads(VECTORS[0]["line"])
    del members["span_id"]
    assert not SCHEMA.is_valid(members)


def test_the_example_of_the_page_is_a_line() -> None:
    example = re.search(r"^```json\n(.*?)\n```", PAGE, re.DOTALL | re.MULTILINE)
    assert example is not None
    assert encode(decode(example[1].encode())).decode() == example[1] + "\n"
