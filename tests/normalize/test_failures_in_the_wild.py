"""Failures and successes as tools in the wild return them, and one for each cause of a missed failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.normalize.shapes import read


@pytest.mark.parametrize(
    "value",
    [
        "Network error while scraping https://x.io: timed out",
        "API request failed: Invalid token",
        "An error occurred (AccessDenied) when calling the ListBuckets operation: Access Denied",
        "ERROR: Could not find a version that satisfies the requirement x\nERROR: No matching distribution found for x",
        "ls: cannot access 'x': No such file or directory\n[Command finished with exit code 2]",
        "[错误] 磁盘已满",
        "请求过于频繁，请稍后再试",
        "抱歉，無法取得 台北 的天氣資料。請稍後再試。",
        "上游未返回数据，状态码为 403。",
        "Error marking email 9 as read: refused",
        "Scan Failed: reports does not exist.",
        "Index and text are required for select_option",
        "AI Agent is not currently running",
        "Access to secrets/.env is blocked by the ignore file. Continue without it.",
        "Sorry, there was an error processing your request: bad gateway",
        "Memory file not found: prefs.md\n\nAvailable files:\n- notes.md\n- style.md",
        "exitcode: 1 (execution failed)\nCode output: unknown language ruby",
        "### Error\nTimeoutError: click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for x",
        "Cloning into 'app'...\nfatal: repository 'https://git.x.io/app.git/' not found",
        "Reading package lists... Done\nE: Unable to locate package x",
        "user@10.0.0.5: Permission denied (publickey,password).",
        "Fehler: Datei nicht gefunden",
        "<error>disk full</error>",
        "Error: no keyspace\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nValueError: no keyspace",
        "ERROR: (gcloud.compute.instances.describe) Could not fetch resource:\n - The resource 'i' was not found",
        '1 validation error:\n```json\n[{"msg": "Field required"}]\n```\n\nFix the errors and try again.',
        "Permission denied writing to file: /etc/hosts (EACCES)",
        "无权限写入 '/etc/hosts'",
        (False, "Permission denied"),
        {"errcode": 40013, "errmsg": "invalid appid", "extra": {"a": 1}},
        {"status": "error", "message": "gone", "unheard_of": [1]},
        {"status": "error", "content": [{"text": "graph_id is required"}]},
        {"status": "NOT_FOUND", "details": "Stack planner not found"},
        {"app_name": "a", "status": "ERROR", "message": "Error getting status: refused", "url": "https://x"},
        {"contentFilter": [{"level": 0}], "error": {"code": "1301", "message": "敏感内容"}},
        {"message": "Error: type requires a selector", "details": {"error": "missing_selector"}},
        {"content": [{"type": "text", "text": "Failed to store memory: disk I/O error"}], "details": {}},
        {"code": -1, "message": "失败"},
        {"ret": -1, "msg": "fail"},
        {"resultCode": "500", "resultMsg": "系统异常"},
        {"output": {"task_id": "t", "task_status": "FAILED", "code": "InternalError", "message": "boom"}, "request_id": "r"},
        {"type": "error-text", "value": "no such file"},
        {"state": "output-error", "toolCallId": "c", "errorText": "boom"},
        {"messageVersion": "1.0", "response": {"actionGroup": "a", "functionResponse": {"responseState": "FAILURE", "responseBody": {"TEXT": {"body": "x"}}}}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "boom"}},
        {"type": "web_search_call", "id": "w", "status": "failed"},
        {"stdout": "", "stderr": "x", "outcome": {"type": "timeout"}},
        {"type": "web_fetch_tool_result", "tool_use_id": "t", "content": {"type": "web_fetch_tool_error", "error_code": "url_not_accessible"}},
        {"isError": True, "text": "Ticket 9 not found"},
        "Looking in links: /opt/wheels\nERROR: No matching distribution found for x",
        "# app/cmd\n./m.go:3:26: undefined: total",
        "start\n/srv/b.js:1\no.items.map(x=>x)\n  ^\n\nTypeError: Cannot read properties of undefined\n    at /srv/b.js:1:45\n\nNode.js v20.20.2",
        "rmdir: failed to remove 'docs': Directory not empty",
        "division by zero",
        "locator.click: Timeout 30000ms exceeded.",
        "No session found for PID 8812",
        "Non-200 response: {}",
        "Daily limit reached",
        "接口调用次数已达上限",
        "执行命令返回非零退出码 1",
        {"code": 429, "description": "100 per 1 minute", "name": "Too Many Requests"},
        {"response": {"header": {"resultCode": "30", "resultMsg": "KEY IS NOT REGISTERED"}}},
        {"error": {"error_code": 5, "error_msg": "User authorization failed"}},
        {"header": {"code": 10013, "message": "input content audit failed", "sid": "c"}},
        {"total": 3, "succeeded": 0, "failed": 3, "failures": [{"error": "unknown kind"}]},
        {"id": "not_found", "message": "The resource could not be found."},
        {"name": "TimeoutError", "message": "no answer", "stack": "TimeoutError: no answer"},
        "No record IDs provided",
        "a.c: In function 'main':\na.c:3:5: error: 'x' undeclared\n    3 |     x = 1;\n      |     ^",
        "stdout: \nstderr: ls: cannot access 'x': No such file or directory\nexit code: 2",
        "**Not Found**\n\nThe project 'web' was not found.",
        [False, "音频转换失败: ffmpeg not found", {}],
        {"message": "No route found", "code": "NoRoute", "routes": []},
        {"itemNotFound": {"message": "Instance 4 could not be found.", "code": 404}},
        {"ResponseMetadata": {"RequestId": "2", "Error": {"Code": "SignatureDoesNotMatch", "Message": "no match"}}},
        {"title": "Insufficient credit", "detail": "You have insufficient credit.", "status": 402},
        {"kind": "action_failed", "message": "The action failed", "conversation_id": "c"},
        {"error": "Bulk write error occurred", "writeErrors": [{"index": 0}], "insertedCount": 0},
        {"status": "error", "error": None, "data": {"error": "port parameter is required"}, "params": {"host": "db"}},
        {"didError": True, "error": "the file has no path", "diagnostics": {}},
    ],
)  # fmt: skip
def test_a_failure_is_read_as_an_error(value: Any) -> None:
    assert read(value).status == "error"


@pytest.mark.parametrize(
    "value",
    [
        {"status": "partial", "data": [1, 2]},
        {"success": True, "completed": 18, "data": [{"url": "a"}], "failed_urls": [{"url": "b", "error": "timeout"}]},
        "邮件发送完成：成功 18 封，失败 2 封",
        "Synced 41 of 50 pages. 9 pages could not be updated: rate_limited",
        "Hit:1 http://a\nErr:2 http://b\nW: Some index files failed to download. They have been ignored, or old ones used instead.",
        {"code": 200, "data": {"successCount": 5, "failCount": 1, "failList": [{"row": 3, "reason": "重复"}]}},
        {"successes": [{"id": 1}], "failures": [{"title": "Already exists", "status": 409}]},
        {"data": [{"id": "1"}], "errors": [{"code": "invalid-id", "title": "Unknown id"}], "warnings": []},
        {"output": {"results": [{"url": "u"}, {"code": "InternalError.Timeout", "message": "timed out"}]}},
        [{"id": 9, "success": True}, {"failed": True, "message": "Missing field"}],
    ],
)
def test_a_part_that_failed_is_read_as_partial(value: Any) -> None:
    assert read(value).status == "partial"


@pytest.mark.parametrize(
    "value",
    [
        "Exception: An event which occurs during the execution of a program.",
        {"ok": True, "value": {"error": 0.2}},
        "如果请求失败，函数将返回错误信息。",
        "超时设置参数",
        "When the request is not allowed, it fails.",
        "12 passed, 0 failed in 0.4s",
        "Unknown keys fall back to the default locale.",
        "Invalid dates are skipped and reported in the summary.",
        "Values which cannot be determined are set to the defaults.",
        "### Connection Refused",
        "review needs a human decision",
        "No reviews found for the specified time range.",
        "Room 4 is not available on Tuesday; rooms 2 and 5 are free.",
        "Restarted the service. Previous error: out of memory.",
        "Must-read: ten reasons why deployments fail",
        "Only members can vote. Voting closes on Friday.",
        "a.c: In function 'main':\na.c:3:5: warning: unused variable 'x'",
        "该订单已被用户取消，退款将在 3 天内到账",
        "No items found matching query: 'fault tolerance'",
        {"message": "Text pasted successfully", "text": "Error: boom", "error": None},
        {"code": "ORDER_CREATED", "message": "Order 4 was created"},
        {"type": "login_failed", "message": "Wrong password", "user": "ann", "at": "2024-05-01"},
        "Required parameters for creating an engine include the following:",
        'logger.error(f"获取失败: {e}")',
        "如遇错误，请设为 false。",
        "[error] 31#31: *1 connect() failed (111: Connection refused)\n10.0.0.1 - - GET / 502",
        "status: failed\nerror: disk full",
        {"total": 3, "succeeded": 3, "failed": 0, "failures": []},
        {"total": 9, "passed": 8, "failed": 1, "failures": [{"message": "assert 1 == 2"}]},
        {"data": {"errors": [{"code": "E1", "message": "timeout in step 3"}], "total": 1}},
        "测试完成：成功 40，失败 2",
        "Your command ran successfully and did not produce any output.",
        "Access denied events by host: web-1 4, web-2 0",
        {"tracking": "x", "status": "exception", "detail": "Address not found", "eta": None},
        {"valid": False, "reason": "domain does not exist"},
        {"code": "ECONNREFUSED", "message": "Connection refused", "description": "No process listens on the port."},
        {"level": "error", "message": "Connection refused", "logger": "db"},
        {"id": 9, "status": "failed", "name": "nightly build", "finished_at": "2024-03-01T00:00:00Z"},
    ],
)
def test_a_success_that_mentions_an_error_stays_a_success(value: Any) -> None:
    assert read(value).status == "success"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"error": {"code": "resource_missing", "message": "No such customer: 'c'", "type": "invalid_request_error"}}, "NOT_FOUND"),
        ({"ok": False, "error": "not_in_channel"}, "not_in_channel"),
        ({"error": {"root_cause": [], "type": "index_not_found_exception", "reason": "no such index [x]"}, "status": 404}, "NOT_FOUND"),
        ("Error response from daemon: No such container: web", "NOT_FOUND"),
        ({"message": "API rate limit exceeded for user ID 1.", "documentation_url": "u"}, "RATE_LIMIT"),
        ("NameError: name 'x' is not defined", "NOT_FOUND"),
        ({"errcode": 60011, "errmsg": "no privilege to access"}, "PERMISSION_DENIED"),
        ({"errcode": 310000, "errmsg": "keywords not in content"}, "310000"),
        ({"error_code": 17, "error_msg": "Open api daily request limit reached"}, "17"),
        ({"status": "0", "info": "USERKEY_PLAT_NOMATCH", "infocode": "10009"}, "10009"),
        ({"code": 230002, "msg": "Bot can NOT be out of the chat."}, "230002"),
        ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, "1008"),
        ({"status": 240, "message": "APP 服务被禁用"}, "240"),
        ('403 {"message": "API rate limit exceeded for user ID 1.", "documentation_url": "u"}', "RATE_LIMIT"),
        ("NameError(\"name 'pd' is not defined\")", "NOT_FOUND"),
        ("name 'x' is not defined", "NOT_FOUND"),
    ],
)  # fmt: skip
def test_the_code_of_a_service_is_read(value: Any, code: str) -> None:
    assert read(value).code == code


@pytest.mark.parametrize(
    "value",
    [
        {"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}},
        "Error code: 429 - {'error': {'message': 'You exceeded your current quota.', 'code': 'insufficient_quota'}}",
    ],
)  # fmt: skip
def test_a_quota_that_is_used_up_is_a_rate_limit_that_no_retry_helps(value: Any) -> None:
    response = read(value)
    assert response.code == "RATE_LIMIT"
    assert response.error is not None
    assert response.error.retryable is False


def test_results_that_tools_returned_are_read_right() -> None:
    """``wild.jsonl``: outputs of servers and programs that were run, and literals in the code of public packages.

    ``source`` is the command, or the file and line. The rules were written with sight of these, so they guard against
    losses and do not measure the rules.
    """
    rows = [json.loads(line) for line in Path(__file__).with_name("wild.jsonl").read_text("utf-8").splitlines()]
    readings = [(row, read(row["value"])) for row in rows]
    false = [
        row["id"] for row, found in readings if found.status == "error" and row["label"] not in ("error", "partial")
    ]
    missed = [row["id"] for row, found in readings if found.status != "error" and row["label"] == "error"]
    errors = sum(row["label"] == "error" for row in rows)
    assert len(false) <= 1, false
    assert len(missed) <= 0.05 * errors, missed
