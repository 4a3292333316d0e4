"""HelloAgents: its class by shape, its dict, and the strings of its older tools."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.hello_agents import OBJECT


class ToolStatus(Enum):
    SUCCESS = "success"
    PARTIAL = "partial"
    ERROR = "error"


@dataclass
class ToolResponse:
    status: ToolStatus | str
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    error_info: dict[str, str] | None = None
    stats: dict[str, Any] | None = None
    context: dict[str, Any] | None = None


def as_dict(response: ToolResponse) -> dict[str, Any]:
    result = {"status": ToolStatus(response.status).value, "text": response.text, "data": response.data}
    optional = {"error": response.error_info, "stats": response.stats, "context": response.context}
    return result | {name: value for name, value in optional.items() if value}


FAILED = ToolResponse(
    ToolStatus.ERROR,
    "工具 'x' 不存在",
    error_info={"code": "NOT_FOUND", "message": "工具 'x' 不存在"},
    stats={"time_ms": 7},
    context={"params_input": {"a": 1}, "tool_name": "x"},
)


@pytest.mark.parametrize("value", [FAILED, as_dict(FAILED), json.dumps(as_dict(FAILED), ensure_ascii=False, indent=2)])
def test_an_error_in_each_of_its_forms(value: Any) -> None:
    found = read(value)
    assert (found.meta.rule, found.meta.rule_grade) == ("hello_agents", "certain")
    assert (found.status, found.code, found.error.message) == ("error", "NOT_FOUND", "工具 'x' 不存在")
    assert found.stats == {"time_ms": 7}
    assert found.context == {"params_input": {"a": 1}, "tool_name": "x"}


@pytest.mark.parametrize("status", [ToolStatus.PARTIAL, "partial", "PARTIAL"])
def test_the_text_of_a_partial_result_is_its_reason(status: Any) -> None:
    found = read(ToolResponse(status, "前 100 行\n其余略", {"rows": 100}))
    assert (found.status, found.reason, found.text, found.data) == (
        "partial",
        "前 100 行",
        "前 100 行\n其余略",
        {"rows": 100},
    )


def test_a_success_keeps_its_text() -> None:
    found = read(ToolResponse(ToolStatus.SUCCESS, "错误日志共 3 条", {"n": 3}))
    assert (found.status, found.text, found.data) == ("success", "错误日志共 3 条", {"n": 3})


def test_a_success_with_an_error_is_partial_with_both() -> None:
    found = read(ToolResponse("success", "2 of 3", {"n": 2}, {"code": "TIMEOUT", "message": "the third was late"}))
    assert (found.status, found.code, found.data, found.reason) == (
        "partial",
        "TIMEOUT",
        {"n": 2},
        "the third was late",
    )
    assert "error_in_success" in found.meta.flags


@pytest.mark.parametrize("output", ["错误：搜索查询不能为空", {"error": "query must not be empty"}])
def test_a_failure_that_its_registry_wrapped_in_a_success_is_found(output: Any) -> None:
    wrapped = ToolResponse("success", str(output), {"output": output}, stats={"time_ms": 1})
    found = read(wrapped)
    assert (found.status, found.code, found.meta.rule) == ("error", "INVALID_PARAM", "hello_agents/hidden")
    assert (found.data, found.meta.rule_grade) == ({"output": output}, "heuristic")
    assert normalize(wrapped, rules=CERTAIN).status == "success"


@pytest.mark.parametrize(
    ("result", "code", "message"),
    [
        ("❌ 错误 [RATE_LIMIT]: 太快了", "RATE_LIMIT", "太快了"),
        ("❌ 错误 [MY_CODE]：太快了", "MY_CODE", "太快了"),
        ("错误：未找到名为 'x' 的工具。", "NOT_FOUND", "未找到名为 'x' 的工具。"),
        ("错误: 参数格式不正确 - Expecting value", "INVALID_FORMAT", "参数格式不正确 - Expecting value"),
        ("❌ 错误：未配置工具注册表", "EXECUTION_ERROR", "未配置工具注册表"),
        ("❌ 命令执行超时（超过 30 秒）", "TIMEOUT", "命令执行超时（超过 30 秒）"),
        ("❌ 不允许的命令: rm\n允许的命令: cat, ls", "PERMISSION_DENIED", "不允许的命令: rm\n允许的命令: cat, ls"),
        ("  ❌ 笔记不存在: n1\n", "NOT_FOUND", "笔记不存在: n1"),
    ],
)
def test_its_old_error_strings(result: str, code: str, message: str) -> None:
    found = read(result)
    assert (found.status, found.code, found.error.message, found.text) == ("error", code, message, result)
    assert (found.meta.rule, found.meta.rule_grade) == ("hello_agents_text", "heuristic")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("⚠️ 部分成功: 找到 2 条\n1. a\n2. b", "找到 2 条"),
        ("⚠ 未找到要更新的记忆", "未找到要更新的记忆"),
        ("⚠️未能从文本生成有效分块", "未能从文本生成有效分块"),
        ("⚠️ 2 of 5 pages could not be read", "2 of 5 pages could not be read"),
    ],
)
def test_a_warning_is_partial(result: str, reason: str) -> None:
    found = read(result)
    assert (found.status, found.reason, found.text, found.error) == ("partial", reason, result, None)


@pytest.mark.parametrize(
    "result",
    [
        "✅ 笔记创建成功\nID: 7",
        "🔍 未找到与 'x' 相关的记忆",
        "错误处理指南：先看日志",
        "错误码 404 表示未找到",
        "❌ 不支持 IE\n✅ 支持 Firefox\n✅ 支持 Chrome",
        "❌ 任务一\n❌ 任务二",
        "⚠️ 一\n⚠️ 二",
        "⚠️ 高温橙色预警：今天最高 38 度",
        "⚠️ Slow down: school ahead",
        "❌",
        "⚠️",
        "错误：",
        "错误：" + "很长的文章。" * 1000,
        "",
    ],
)
def test_a_text_about_errors_is_not_an_error(result: str) -> None:
    assert read(result).status == "success"


@pytest.mark.parametrize(
    "value",
    [
        {"status": "error", "text": "my day", "id": 4, "user": "x"},  # a row
        {"status": "ERROR", "text": "x"},
        {"status": "queued", "text": "x"},
        {"status": "error", "text": 5},
        {"status": ["error"], "text": "x"},
    ],
)
def test_other_dicts_with_a_status_and_a_text_are_not_its(value: dict) -> None:
    assert normalize(value, rules=[OBJECT]).meta.rule == "plain"
