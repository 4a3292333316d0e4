"""Batches of which a part failed; and lists of things that were looked at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalize.shapes import CERTAIN, anything, lost, objects, read
from tests.normalize.test_rule_index import ASKED_ALL
from tooltrace.normalize import RULES, normalize
from tooltrace.normalize.engine import apply_rules_to_view
from tooltrace.normalize.rule import ResultView

LEFT = {"UnprocessedKeys": {"users": {"Keys": [{"id": {"S": "1"}}, {"id": {"S": "2"}}]}}, "Responses": {"users": []}}
SLOW = {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "slow"}
REFUSED = {"Id": "b", "Code": "InvalidMessageContents", "Message": "bad byte", "SenderFault": True}
CLASH = {
    "create": {"_id": "1", "status": 409, "error": {"type": "version_conflict", "reason": "document already exists"}}
}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"FailedRecordCount": 1, "Records": [{"SequenceNumber": "1"}, SLOW]}, "1 of 2 failed"),
        ({"FailedEntryCount": 1, "Entries": [{"EventId": "e"}, {"EventId": "f"}, SLOW]}, "1 of 3 failed"),
        ({"took": 3, "errors": True, "items": [CLASH, {"create": {"_id": "2", "status": 201}}]}, "1 of 2 failed"),
    ],
)
def test_a_part_failed(value: dict, reason: str) -> None:
    found = normalize(value, rules=CERTAIN)
    assert (found.status, found.reason, found.data) == ("partial", reason, value)
    assert (found.meta.rule, found.meta.rule_grade) == ("batch", "certain")


@pytest.mark.parametrize(
    ("value", "code", "message"),
    [
        ({"FailedPutCount": 1, "RequestResponses": [SLOW]}, "RATE_LIMIT", "slow"),
        ({"errors": True, "items": [CLASH]}, "CONFLICT", "document already exists"),
    ],
)
def test_all_of_it_failed(value: dict, code: str, message: str) -> None:
    found = normalize(value, rules=CERTAIN)
    assert (found.status, found.code, found.error.message, found.data) == ("error", code, message, value)


def test_rows_with_a_status_are_read() -> None:
    value = {"items": [{"id": 4, "success": True}, {"id": 5, "success": False, "message": "no such row"}], "total": 2}
    found = read(value)
    assert (found.status, found.reason, found.data) == ("partial", "1 of 2 failed", value)
    assert (found.meta.rule, found.meta.rule_grade) == ("structure", "heuristic")
    assert normalize(value, rules=CERTAIN).status == "success"


@pytest.mark.parametrize(
    "value",
    [
        {"UnprocessedItems": {}},
        {"FailedPutCount": 0, "RequestResponses": [{"RecordId": "a"}]},
        {"FailedPutCount": 2},
        {"Failed": ["test_a"]},
        {"Failed": [REFUSED], "Skipped": 3},
        {"errors": True, "items": ["a"]},
        {"errors": False, "items": [CLASH]},
        {"took": 3, "timed_out": False, "_shards": {"total": 5, "failed": 0}, "hits": {}},
        {"results": [{"service": "a", "ok": True}, {"service": "b", "ok": False, "error": "refused"}]},
        {"results": [{"name": "t1", "ok": True}, {"name": "t2", "ok": False, "error": "1 != 2"}]},
        {"results": [{"id": 1, "ok": True}, {"id": 2, "ok": True}]},
        {"results": [{"id": 1, "ok": True}, {"id": 2, "ok": False}]},
    ],
)
def test_other_lists_are_not_failed_batches(value: dict) -> None:
    assert read(value).status == "success"


@given(st.integers(0, 4), st.integers(0, 4))
def test_the_numbers_are_right(done: int, failed: int) -> None:
    rows = [{"RecordId": "r"}] * done + [SLOW] * failed
    found = read({"FailedPutCount": failed, "RequestResponses": rows})
    assert found.status == ("success" if not failed else "partial" if done else "error")
    assert found.reason == (f"{failed} of {done + failed} failed" if done and failed else None)


ROW = objects("ErrorMessage", "RecordId", sure={"ErrorCode": anything})
ITEM = st.fixed_dictionaries({"index": objects("error", "status", sure={"_id": anything})})
SHAPES = (
    objects("hits", "_shards", "took", sure={"errors": st.booleans(), "items": st.lists(ITEM, max_size=3)}),
    objects("_shards", "took", sure={"timed_out": st.booleans(), "hits": anything | st.just({"hits": []})}),
    objects("x", sure={"FailedPutCount": st.integers(0, 3), "RequestResponses": st.lists(ROW, max_size=3)}),
    objects(
        "Successful", sure={"Failed": st.lists(objects("Message", sure={"Id": anything, "Code": anything}), max_size=2)}
    ),
    objects(
        "Responses", sure={"UnprocessedItems": anything | st.dictionaries(st.text(max_size=3), anything, max_size=2)}
    ),
    objects("x", sure={"results": st.lists(objects("error", "message", sure={"ok": st.booleans()}), max_size=3)}),
)


@given(st.one_of(*SHAPES))
def test_any_value_is_accepted_and_preserved(value: dict) -> None:
    assert lost(value, read(value)) == []
    assert apply_rules_to_view(ResultView(value), RULES) == apply_rules_to_view(ResultView(value), ASKED_ALL)
