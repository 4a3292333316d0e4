"""Error envelopes of web services, and answers of the same services that are not errors."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.normalize.shapes import CERTAIN, lost, objects, read
from tooltrace.normalize import normalize
from tooltrace.normalize.heuristics.service_envelopes import ENVELOPES, FACTS

FAILURES = [
    ({"errcode": 40013, "errmsg": "invalid appid, rid: 6-1", "extra": [1]}, "INVALID_PARAM", "invalid appid, rid: 6-1"),
    ({"errcode": "60011", "errmsg": "not allow to access from your ip"}, "60011", "not allow to access from your ip"),
    ({"errcode": 310000, "errmsg": "keywords not in content"}, "310000", "keywords not in content"),
    ({"error_code": 110, "error_msg": "Access token invalid"}, "ACCESS_DENIED", "Access token invalid"),
    ({"status": "0", "info": "DAILY_LIMIT", "infocode": "10003"}, "10003", "DAILY_LIMIT"),
    ({"resultcode": "112", "reason": "错误的请求KEY", "result": None, "error_code": 10001}, "10001", "错误的请求KEY"),
    ({"return_code": "FAIL", "return_msg": "签名错误"}, "ACCESS_DENIED", "签名错误"),
    ({"cod": "404", "message": "city not found"}, "NOT_FOUND", "city not found"),
    ({"base_resp": {"status_code": 1004, "status_msg": "authentication failed"}}, "ACCESS_DENIED", "authentication failed"),
    ({"RequestId": "8", "HostId": "ecs", "Code": "InvalidOwnerId", "Message": "m"}, "INVALID_PARAM", "m"),
    ({"code": "InvalidApiKey", "message": "Invalid API-key provided.", "request_id": "x"}, "ACCESS_DENIED", "Invalid API-key provided."),
    ({"code": 20003, "message": "Authenticate", "more_info": "https://x", "status": 401}, "20003", "Authenticate"),
    ({"code": 99991663, "msg": "token attached is wrong"}, "99991663", "token attached is wrong"),
    ({"code": 5, "message": "collection x not found", "details": []}, "NOT_FOUND", "collection x not found"),
    ({"code": 10021, "msg": "wrong sign", "data": None}, "10021", "wrong sign"),
    ({"Response": {"Error": {"Code": "AuthFailure.SecretIdNotFound", "Message": "m"}, "RequestId": "r"}}, "NOT_FOUND", "m"),
    ({"alipay_trade_query_response": {"code": "40004", "msg": "Business Failed", "sub_code": "ACQ.X", "sub_msg": "交易不存在"}, "sign": "s"}, "NOT_FOUND", "交易不存在"),
    ({"object": "error", "status": 400, "code": "validation_error", "message": "body failed"}, "INVALID_PARAM", "body failed"),
    ({"errorMessages": ["Issue does not exist"], "errors": {}}, "NOT_FOUND", "Issue does not exist"),
    ({"errorMessages": [], "errors": {"summary": "You must specify a summary"}}, "INVALID_PARAM", "summary: You must specify a summary"),
    ({"error_summary": "path/not_found/..", "error": {".tag": "path"}}, "NOT_FOUND", "path/not_found/.."),
    ({"message": "You are being limited.", "retry_after": 6.5, "global": False}, "RATE_LIMIT", "You are being limited."),
    ({"Response": "False", "Error": "Movie not found!"}, "NOT_FOUND", "Movie not found!"),
    ({"error": "Model x is currently loading", "estimated_time": 20.0}, "EXECUTION_ERROR", "Model x is currently loading"),
    ({"error": "invalid_grant", "error_description": "Token expired"}, "ACCESS_DENIED", "Token expired"),
    ({"error": {"root_cause": [], "type": "index_not_found_exception", "reason": "no such index [x]"}, "status": 404}, "NOT_FOUND", "no such index [x]"),
    ({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "pods \"x\" not found", "reason": "NotFound", "code": 404}, "NOT_FOUND", 'pods "x" not found'),
    ({"status": "REQUEST_DENIED", "error_message": "The API key is invalid.", "results": []}, "ACCESS_DENIED", "The API key is invalid."),
    ({"status": "error", "message": "db timed out", "unheard_of": {"a": 1}}, "TIMEOUT", "db timed out"),
    ({"status": "error", "message": "gone", "code": 404, "data": None}, "NOT_FOUND", "gone"),
    ({"status": "error", "message": "m", "code": "E9"}, "E9", "m"),
    ({"chart": {"result": None, "error": {"code": "Not Found", "description": "symbol may be delisted"}}}, "NOT_FOUND", "symbol may be delisted"),
    ({"data": {"productCreate": {"product": None, "userErrors": [{"field": ["title"], "message": "Title can't be blank"}]}}}, "INVALID_PARAM", "Title can't be blank"),
    ({"StatusCode": 200, "FunctionError": "Unhandled", "Payload": "boom"}, "EXECUTION_ERROR", "boom"),
    ({"queryresult": {"success": False, "error": {"code": "1", "msg": "Invalid appid"}, "numpods": 0}}, "INVALID_PARAM", "Invalid appid"),
    ({"workflow_run_id": "w", "data": {"id": "w", "status": "failed", "outputs": None, "error": "node timed out"}}, "TIMEOUT", "node timed out"),
    ({"search_metadata": {"status": "Error"}, "error": "Unsupported domain."}, "INVALID_PARAM", "Unsupported domain."),
    ({"name": "RESOURCE_NOT_FOUND", "message": "It does not exist.", "debug_id": "d", "details": []}, "NOT_FOUND", "It does not exist."),
]  # fmt: skip


@pytest.mark.parametrize(("value", "code", "message"), FAILURES)
def test_an_envelope_of_a_failed_request(value: dict, code: str, message: str) -> None:
    found = read(value)
    assert (found.status, found.code, found.error.message) == ("error", code, message)
    assert found.meta.rule in ("service_envelope", "structure")
    assert found.meta.rule == "structure" or normalize(value, rules=CERTAIN).code == code


@pytest.mark.parametrize(
    "value",
    [
        {"errcode": 0, "errmsg": "ok", "msgs": [{"content": "发布失败: 超时"}]},
        {"code": 0, "msg": "success", "data": {"message_id": "om_1"}},
        {"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": {}, "msg": "success"},
        {"RequestId": "8", "Code": "OK", "Message": "OK", "BizId": "1"},
        {"code": 200, "message": "success", "data": {"fail": 0}},
        {"error_code": 0, "error_msg": "", "result": {}},
        {"status": "1", "info": "OK", "infocode": "10000", "geocodes": []},
        {"cod": 200, "main": {"temp": 3}, "name": "Paris"},
        {"code": 12345, "message": "Your verification code"},
        {"code": "ECONNREFUSED", "message": "Connection refused", "description": "No process listens on the port."},
        {"status": "ZERO_RESULTS", "results": []},
        {"job_id": "j1", "status": "error", "message": "out of disk"},
        {"errorMessages": [], "errors": {}, "issues": []},
        {"code": 99, "msg": "ok", "data": {"rows": 3}},
        {"data": {"productCreate": {"product": {"id": 1}, "userErrors": []}}},
        {"level": "error", "message": "Connection refused", "logger": "db", "timestamp": "2024"},
        {"return_code": 0, "stdout": "x"},
        {"Deleted": [{"Key": "a"}], "ResponseMetadata": {"HTTPStatusCode": 200}},
        {"StatusCode": 200, "ExecutedVersion": "3", "Payload": '{"errorMessage": null}'},
        {"_index": "a", "_id": "1", "found": True, "_source": {"error": "timeout"}},
        {"found": False, "matches": []},
        {"status": "ZERO_RESULTS", "candidates": []},
        {"id": "p", "status": "failed", "error": "out of disk", "output": "3 rows", "logs": "x"},
        {"id": 1, "state": "failed", "error": "out of disk", "started": "2024"},
        {"workflow_run_id": "w", "data": {"id": "w", "status": "succeeded", "outputs": {"error": "x"}, "error": ""}},
        {"results": [{"statement_id": 0, "series": [{"name": "errors"}]}]},
        {"search_metadata": {"status": "Success"}, "error": "Google hasn't returned any results for this query."},
        {"note": "Ask for the API key on Monday.", "id": 4},
        {"标题": "系统错误公告", "状态": "失败", "负责人": "林月", "原因": "停电"},
        {"结果": "查询成功", "错误": None},
    ],
)
def test_an_answer_with_the_members_of_an_envelope(value: dict) -> None:
    assert read(value).status == "success"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"Deleted": [{"Key": "a"}], "Errors": [{"Key": "b", "Code": "AccessDenied", "Message": "Access Denied"}]}, "Access Denied"),
        ({"responses": [{"id": "1", "status": 200, "body": {}}, {"id": "2", "status": 404, "body": {}}]}, "1 of 2 failed"),
        ({"results": [{"url": "a"}], "failed_results": [{"url": "b", "error": "cannot fetch"}], "response_time": 1}, "cannot fetch"),
    ],
)  # fmt: skip
def test_a_request_for_several_things_of_which_some_failed(value: dict, reason: str) -> None:
    found = read(value)
    assert (found.status, found.reason, found.data) == ("partial", reason, value)


@given(objects(*{name for each in ENVELOPES for name in (each.code, *each.messages)}, "request_id", "data", "status"))
def test_no_member_of_an_envelope_is_lost(value: dict) -> None:
    assert lost(value, read(value)) == []


@given(
    objects(
        *sorted({fact.path.partition(".")[0] for fact in FACTS}),
        "status",
        "error",
        "id",
        "output",
        "status_code",
        "data",
    )
)
def test_no_member_of_an_answer_of_one_service_is_lost(value: dict) -> None:
    assert lost(value, read(value)) == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"错误": "查询失败", "错误码": 500}, "查询失败"),
        ({"状态": "失败", "原因": "余额不足"}, "余额不足"),
        ({"成功": False, "原因": "库存不足"}, "库存不足"),
    ],
)
def test_members_with_chinese_names_mean_what_the_english_ones_do(value: dict, message: str) -> None:
    found = read(value)
    assert (found.status, found.error.message) == ("error", message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"error": {"code": "", "message": {"lang": "en-US", "value": "Bad syntax."}}}, "Bad syntax."),
        ({"type": "ErrorResponse", "error": {"status": 422, "code": "X", "detail": "Unable to validate"}, "time": 1}, "Unable to validate"),
        ({"error": {"code": "no_token", "message": "IAM failed", "type": "invalid_request_error"}, "id": "as-1"}, "IAM failed"),
    ],
)  # fmt: skip
def test_the_body_of_an_error_with_the_members_of_one_service(value: dict, message: str) -> None:
    found = read(value)
    assert (found.status, found.error.message) == ("error", message)
