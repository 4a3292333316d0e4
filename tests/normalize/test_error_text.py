"""Texts that are messages of errors; and texts that begin like one and go on."""

from __future__ import annotations

import traceback
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize


@pytest.mark.parametrize(
    ("result", "code", "type_"),
    [
        ("Error: disk full", "EXECUTION_ERROR", None),
        ("ERROR: no such table: users", "NOT_FOUND", None),
        ("Exception: bad gateway", "SERVICE_UNAVAILABLE", None),
        ("Error [E_BUSY]: try again", "E_BUSY", None),
        ("fatal: not a git repository (or any parent up to mount point /)", "EXECUTION_ERROR", None),
        ("ValueError: invalid literal for int() with base 10: 'x'", "INVALID_PARAM", "ValueError"),
        ("requests.exceptions.ReadTimeout: HTTPSConnectionPool", "TIMEOUT", "ReadTimeout"),
        ("Error: KeyError: 'city'", "NOT_FOUND", "KeyError"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", "NOT_FOUND", "FileNotFoundError"),
        ("Failed to fetch https://x/y: connection refused", "NETWORK_ERROR", None),
        ("Failed to load the page. Please try again.", "EXECUTION_ERROR", None),
        ("Unable to connect to the server", "NETWORK_ERROR", None),
        ("Tool execution failed: boom", "EXECUTION_ERROR", None),
        ("Error executing tool search: rate limit", "RATE_LIMIT", None),
        ("An error occurred while reading: permission denied", "PERMISSION_DENIED", None),
        ("The request timed out after 30 s", "TIMEOUT", None),
        ("HTTP 404 Not Found", "NOT_FOUND", "404"),
        ("HTTPError 500", "API_ERROR", "500"),
        ("HTTP Error 403: Forbidden", "PERMISSION_DENIED", "403"),
        ("404 Client Error: Not Found for url: https://x", "NOT_FOUND", "404"),
        ("Error code: 429 - {'error': {'message': 'slow'}}", "RATE_LIMIT", "429"),
        ("Request failed with status code 401", "ACCESS_DENIED", "401"),
        ("Command failed with exit code 1", "EXECUTION_ERROR", "exit_1"),
        ("Command '['x']' returned non-zero exit status 127.", "NOT_FOUND", "exit_127"),
        ("bash: foo: command not found", "NOT_FOUND", None),
        ("bash: line 1: foo: command not found", "NOT_FOUND", None),
        ("zsh: command not found: foo", "NOT_FOUND", None),
        ("cat: x: No such file or directory", "NOT_FOUND", None),
        ("curl: (6) Could not resolve host: x", "NETWORK_ERROR", None),
        ("异步操作失败: 超时", "TIMEOUT", None),
        ("函数执行失败: 参数缺失", "INVALID_PARAM", None),
        ("翻译失败: 网络异常", "NETWORK_ERROR", None),
        ("Error converting a.docx: unsupported format", "INVALID_FORMAT", None),
        ("Lookup failed: the directory is unavailable", "SERVICE_UNAVAILABLE", None),
        ("Error: EISDIR: illegal operation on a directory, open 'x'", "IS_DIRECTORY", None),
        ("TimeoutError('5 s')", "TIMEOUT", "TimeoutError"),
        ("FileNotFoundError(2, 'No such file or directory')", "NOT_FOUND", "FileNotFoundError"),
        ("[GraphError] step fetch: deadline exceeded", "TIMEOUT", "GraphError"),
        ("Unknown tool 'serch'", "NOT_FOUND", None),
        ("Tool `serch` is not registered. Known: search", "NOT_FOUND", None),
        ("No tool named serch", "NOT_FOUND", None),
        ("Error: serch is not a valid tool, try one of [search].", "NOT_FOUND", None),
        ("Permission denied: the agent may not read /etc", "PERMISSION_DENIED", None),
        ("Rate limit exceeded: try again in 20 s", "RATE_LIMIT", None),
        ("Sorry, we were unable to process your request: the bank timed out.", "TIMEOUT", None),
        (
            "It seems we encountered an unexpected error while trying to use the tool. This was the error: bad gateway",
            "SERVICE_UNAVAILABLE",
            None,
        ),
        (
            'Binder Error: Referenced column "x" not found in FROM clause!\nLINE 1: SELECT x\n               ^',
            "NOT_FOUND",
            "Binder Error",
        ),
        ("ERROR 1045 (28000): Access denied for user 'a'@'b'", "ACCESS_DENIED", "1045 (28000)"),
        ("SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '1'", "ALREADY_EXISTS", "23000"),
        ("MCP error -32602: Unknown argument x", "INVALID_PARAM", "-32602"),
        ("Error response from daemon: No such container: x", "NOT_FOUND", None),
        ("Error from server (Forbidden): pods is forbidden", "PERMISSION_DENIED", "Forbidden"),
        ('psql: error: connection to server at "db" failed: Connection refused', "NETWORK_ERROR", None),
        ("usage: a.py [-h] name\na.py: error: the following arguments are required: name", "INVALID_PARAM", None),
        ("ssh: connect to host x port 22: Connection refused", "NETWORK_ERROR", None),
        (
            "'foo' is not recognized as an internal or external command,\noperable program or batch file.",
            "EXECUTION_ERROR",
            None,
        ),
    ],
)
def test_a_text_that_is_the_message_of_an_error(result: str, code: str, type_: str | None) -> None:
    found = read(result)
    assert (found.status, found.text, found.code, found.error.type) == (
        "error",
        result,
        code,
        type_ or found.error.type,
    )
    assert found.meta.rule in ("error_text", "exit_status")
    assert found.meta.rule_grade == "heuristic"
    assert normalize(result, rules=CERTAIN).status == "success"


def boom() -> None:
    try:
        {}["city"]
    except KeyError as error:
        raise ConnectionError("the server\nhung up") from error


@pytest.mark.parametrize("before", ["", "Error:\n"])
def test_a_traceback_is_read_by_its_last_exception(before: str) -> None:
    try:
        boom()
    except ConnectionError:
        result = before + traceback.format_exc()
    found = read(result)
    assert (found.status, found.code, found.error.type) == ("error", "NETWORK_ERROR", "ConnectionError")
    assert (found.error.message, found.text) == ("the server\nhung up", result)


@pytest.mark.parametrize(
    "result",
    [
        "Error handling in Python is done with try and except.",
        "Error: none",
        "failed: 0",
        "Failed: none\nsucceeded: 12",
        "error: null\nstatus: ok",
        "Connection timeout: 30 s\nretries: 3",
        "Server returned 500 results",
        "The server returned 404 results in 2 s",
        "Error: 0.03",
        "Errors: 3",
        "Error rates fell to 0.3 %",
        "Error: timeout - Stack Overflow",
        "How to fix 'connection timed out'",
        "Error: disk full\n1. Free some space\n2. Try again",
        "ERROR: disk full\nINFO: retrying\nERROR: disk full\nINFO: ok",
        "ERROR: x\n2026-01-01 12:00 INFO fine",
        "Error: a\nb\nc\nd\ne\nf\ng\nh",
        "Error: " + "word " * 1000,
        "KeyError: Raised when a mapping key is not found in the set of existing keys.",
        "TimeoutError: Raised when a system function timed out at the system level.",
        "ValueError",
        "HTTP 404 is the status of a page that is not there.",
        "HTTP 404 errors and how they come about",
        "404 Not Found - what it means",
        "HTTP/1.1 404 Not Found\nContent-Type: text/html",
        "HTTP 200 OK",
        "Failed to Launch is a film of 2006.",
        "Failed to win. He left. She stayed. They met again.",
        "Failed login attempts: 3",
        "The operation failed in 1943. The army withdrew. Peace came.",
        "bash: the Bourne-again shell",
        "Exit code: 0",
        "3 failed, 10 passed",
        "error.log\nerrors.txt",
        "Traceback",
        "Exception handling\nTraceback (most recent call last): begins what Python prints. It has many lines.",
        "为什么请求失败：三个原因",
        "如何解决连接超时：先看网络",
        "Error handling in Go: a guide",
        "Error reporting for teams: what to know",
        "Error using GPS: how it is measured",
        "Search failed: 3 files",
        "Permission denied: 3 occurrences in auth.log",
        "Access Denied: The Practice of Internet Filtering",
        "Permission denied (publickey) explained",
        "raise ValueError('x')",
        "ValueError('x') is what int() raises",
        "Tool use in primates",
        "Unknown Tool",
        "Sorry, I could not find a better title",
        "Sorry, I could not complete the marathon: my memoir",
        "<error>none</error>",
        "main.py: error: Incompatible types in assignment",
        "Catalog Error",
        "错误码说明：404 表示未找到",
    ],
)
def test_a_text_that_begins_so_and_is_something_else(result: str) -> None:
    assert read(result).status == "success"


def test_a_failure_after_a_line_that_states_none_is_read() -> None:
    assert read("warnings: 0\nerrors: none").status == "success"
    assert (read("failed: 0\nError: disk full").status, read("failed: 3").status) == ("error", "error")


def test_a_log_that_contains_a_traceback_is_not_an_error() -> None:
    result = "Traceback (most recent call last):\n  File 'x', line 1\nKeyError: 1\n" + "INFO served\n" * 20
    assert read(result).status == "success"


@pytest.mark.long
@given(st.text(st.characters(codec="utf-8")))
def test_random_text_is_not_an_error(result: str) -> None:
    assert read("Results: " + result).status == "success"


@pytest.mark.parametrize("piece", ["a.", "Error ", "Command x", "A", "错误", "HTTP ", "失败", ". A", "\n", "x: "])
def test_long_texts_are_read_to_the_end(piece: str) -> None:
    for size in (390, 1990, 59_000):
        for start in ("", "Error: ", "Traceback (most recent call last):\n  x\n"):
            assert read((start + piece * (size // len(piece)))[:size]).status in ("success", "error")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM nosuch", "NOT_FOUND"),
        ("SELEC 1", "INVALID_FORMAT"),
        ("SELECT CAST('x' AS INTEGER)", "INVALID_PARAM"),
        ("SELECT nosuch FROM range(1)", "NOT_FOUND"),
    ],
)
def test_messages_of_duckdb_are_read(sql: str, code: str) -> None:
    try:
        duckdb.sql(sql).fetchall()
    except duckdb.Error as error:
        found = read(str(error))
    assert (found.status, found.code, found.text) == ("error", code, str(found.text))
    assert found.error.type.endswith(" Error")


@given(st.sampled_from([ValueError, KeyError, TimeoutError, ConnectionResetError]), st.text(min_size=3))
def test_the_repr_of_an_exception(kind: type[Exception], words: str) -> None:
    result = repr(kind(f"city {words}"))
    if len(result) <= 400 and "'" not in words and "\\" not in result and len(result.splitlines()) == 1:
        found = read(result)
        assert (found.error is None) == (found.status == "success")
        assert found.status == "success" or found.error.type == kind.__name__


def test_the_repr_of_the_systems_own() -> None:
    with pytest.raises(OSError, match="No such file") as caught:
        Path("/nosuch/file").read_text()
    assert (read(repr(caught.value)).code, read(repr(caught.value)).error.message) == (
        "NOT_FOUND",
        "No such file or directory",
    )
