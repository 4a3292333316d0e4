"""Texts that open with the report of a failure, and prose of documents that only resembles it."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import read
from tooltrace.normalize.heuristics.report_signs import may_report


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ("Network error while scraping https://x.y: Read timed out. (read timeout=30)", "TIMEOUT"),
        ("An unexpected error occurred during compression: [Errno 28] No space left on device", None),
        ("API request failed: Invalid token", "ACCESS_DENIED"),
        ("An error occurred (ThrottlingException) when calling the Describe operation: Rate exceeded", "RATE_LIMIT"),
        ("Encountered error: 'dict' object has no attribute 'foo'", None),
        ("The path /x/y does not exist. Please provide a valid path.", "NOT_FOUND"),
        ("Company ticker XXXX not found.", "NOT_FOUND"),
        ("File out/a.txt already exists and overwrite was not passed.", "ALREADY_EXISTS"),
        ("Invalid branch type: locl", "INVALID_PARAM"),
        ("⚠️ Invalid `content_type`. Use either 'summary' or 'text'.", "INVALID_PARAM"),
        ("❌ the disk is full", None),
        ("No file open. Use the open command first.", None),
        ("The user denied this operation.", "PERMISSION_DENIED"),
        ("Unable to locate credentials. Run the login command.", "ACCESS_DENIED"),
        ("limit must be between 1 and 100", "INVALID_PARAM"),
        ("Missing parameter `city`", "INVALID_PARAM"),
        ("1 validation error:\n[{'loc': ['city']}]\n\nFix the errors and try again.", None),
        ("CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts.", "CONFLICT"),
        ("The server is busy, please try again later.", "SERVICE_UNAVAILABLE"),
        ("请求过于频繁，请稍后再试", "RATE_LIMIT"),
        ("[错误] 磁盘已满", None),
        ("抱歉，暂时无法完成查询", None),
        ("数据库连接超时，请检查配置", "TIMEOUT"),
        ("城市不存在", "NOT_FOUND"),
        ("缺少参数 city", "INVALID_PARAM"),
        ("Ran into UnicodeDecodeError 'utf-8' codec can't decode byte 0x80 while trying to read /x/a.bin", None),
        ("Repository deletion was not confirmed. The repository was not deleted.", None),
        ("provide either 'fields' or 'field_names', not both", None),
        ("Argument city has type 'integer' but should be 'string'", None),
        (
            "Editor input too large: new_text was 90000 characters, exceeding the recommended limit of 6000. Split the edit.",
            None,
        ),
        ("No changes to make: old_string and new_string are exactly the same.", None),
        ("No edit history found for /a/b.py.", None),
        ("Claude requested permissions to write to /x, but you haven't granted it yet.", None),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing. Wait.",
            None,
        ),
        ("[TIMEOUT] Task timed out after 60 poll attempts\n\nProgress:\nworking", "TIMEOUT"),
        ("-bash: cd: x: No such file or directory", "NOT_FOUND"),
        ("params must NOT have additional properties", None),
        ("404 page not found", "NOT_FOUND"),
        ("429 Too Many Requests: slow down", "RATE_LIMIT"),
        ("Unknown option: --foo", "INVALID_PARAM"),
    ],
)
def test_a_text_that_opens_with_its_failure(result: str, code: str | None) -> None:
    found = read(result)
    assert found.status == "error", result
    assert found.code == code or (code is None and found.code)
    assert may_report(result)


@pytest.mark.parametrize(
    "result",
    [
        "No files found in directory /tmp/empty",
        "No good Wikipedia Search Result was found",
        "Sorry no books could be found for your query: qqq",
        "Permission denied is an error in Unix that occurs when a file is protected.",
        "Timeout (film) is a 2012 thriller.",
        "Not found in the index, but related: error budget.",
        "The request failed in March because the token had expired; it was fixed in April.",
        "You get 'TypeError: NoneType is not subscriptable' because the call returned None.",
        "Exception: An event which occurs during the execution of a program.",
        "Unable Labs, Inc. reported revenue of $3M.",
        "The issue was closed. The branch was not deleted, because others use it.",
        "Ran into an old friend at the station.",
        "You can provide either a name or an id, not both, to the function.",
        "[TIMEOUT] is a setting of the client.\nIt has three values.\n- 1\n- 2",
        "Missing values are ignored for finding the thresholds.",
        "The module must have been successfully imported before.",
        "Standard error: 0.3",
        "❌ one\n❌ two",
        "错误处理最佳实践：在捕获异常后应记录日志。",
        "登录失败的原因有三个",
        "未发现任何错误。",
        "任务完成，0 个错误，2 个警告",
        "没有找到相关结果",
    ],
)
def test_prose_that_only_resembles_a_failure(result: str) -> None:
    assert read(result).status == "success"
