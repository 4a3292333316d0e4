"""Failures and successes as tools in the wild return them, and one for each cause of a missed failure."""

from __future__ import annotations

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
    ],
)  # fmt: skip
def test_the_code_of_a_service_is_read(value: Any, code: str) -> None:
    assert read(value).code == code
