"""Snapshots of values far beyond the limit of a field: small, with their full size, and with their last members."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.redact.redaction import Redaction
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import mark_cut, snapshot, split_cut
from tooltrace.redact.texts import MARGIN, TAIL, cut_text, utf8_size

LIMIT = 1000


@given(size=st.none() | st.integers(1, 2**50), value=st.lists(st.integers() | st.text(max_size=5), max_size=5))
def test_the_mark_of_a_cut_keeps_the_size_and_is_valid_json(size: int | None, value: Any) -> None:
    raw = json.dumps(value, separators=(",", ":")).encode()
    marked = mark_cut(raw, size)
    assert json.loads(marked) == value
    assert split_cut(marked) == (raw, True, size)
    assert split_cut(raw) == (raw, False, None)


@pytest.mark.parametrize(
    ("value", "is_size_known"),
    [
        ({"rows": [{"n": n} for n in range(300_000)], "status": "error", "error": "disk is gone"}, False),
        ({"rows": ["y" * 1000] * 5_000, "status": "error", "error": "disk is gone"}, False),
        ({"text": "x" * 5_000_000, "status": "error", "error": "disk is gone"}, True),
        ({"a": {"b": {"c": ["x" * 5_000_000]}}, "status": "error", "error": "disk is gone"}, True),
    ],
    ids=["objects", "texts", "one text", "nested"],
)
def test_a_huge_result_keeps_its_last_members(value: dict[str, Any], is_size_known: bool) -> None:
    taken = snapshot(value)
    assert type(taken) is bytes
    assert len(taken) < 400_000
    small, cut, size = split_cut(taken)
    assert (cut, size) == (True, len(orjson.dumps(value)) if is_size_known else None)
    assert orjson.loads(small)["error"] == "disk is gone"


def test_a_cut_list_says_how_many_items_are_left_out() -> None:
    for value in ([{"n": n} for n in range(300_000)], [{n} for n in range(300_000)]):
        items = orjson.loads(snapshot(value))
        assert items[-1] == f"… {len(value) - len(items) + 1} more"


def test_the_stored_front_of_a_huge_list_is_that_of_the_whole_list() -> None:
    value = [{"n": n} for n in range(300_000)]
    stored = json.loads(Sanitizer([Redaction()], 1000).sanitize_json("result", snapshot(value, 1000)) or "")
    assert stored[:-1] == value[: len(stored) - 1]
    assert stored[-1] == "… more", "how many is not known any more"


@pytest.mark.parametrize("place", [0, LIMIT - 20, LIMIT, LIMIT + MARGIN - 20, LIMIT + MARGIN - 1, LIMIT + MARGIN + 5])
@pytest.mark.parametrize("inside", [False, True])
def test_no_part_of_a_secret_at_the_cut_is_stored(place: int, *, inside: bool) -> None:
    secret = "sk-ant-api03-" + "Ab1" * 30
    text = ("word " * 100_000)[:place] + " " + secret + " " + "word " * 400_000
    taken = snapshot({"text": text}, LIMIT) if inside else cut_text(text, LIMIT)
    sanitizer = Sanitizer([Redaction()], LIMIT)
    stored = sanitizer.sanitize_json("result", taken)
    assert stored is not None
    assert "Ab1Ab1" not in stored


@given(text=st.text(max_size=50), times=st.integers(1, 400), limit=st.sampled_from([10, 1000]))
def test_a_cut_text_has_the_front_that_is_stored_and_the_end(text: str, times: int, limit: int) -> None:
    long = text * times
    kept = cut_text(long, limit)
    assert kept == long or len(kept) == limit + MARGIN + TAIL
    assert kept[: limit + MARGIN] == long[: limit + MARGIN]
    assert kept[-TAIL:] == long[-TAIL:]
    assert utf8_size(long) == len(long.encode("utf-8", "surrogatepass"))
