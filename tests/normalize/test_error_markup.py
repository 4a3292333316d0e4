"""Texts whose markup states the failure, and markup that is only about one."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize

PAGE = "<html>\r\n<head><title>{0}</title></head>\r\n<body>\r\n<center><h1>{0}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>"


@pytest.mark.parametrize(
    ("result", "code", "message"),
    [
        ("<tool_use_error>File does not exist.</tool_use_error>", "NOT_FOUND", "File does not exist."),
        ("<error>\n  <kind>io</kind>\n  <message>disk full</message>\n</error>", "EXECUTION_ERROR", "io disk full"),
        ("<?xml version='1.0'?>\n<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>", "NOT_FOUND", "The specified key does not exist."),
        ('<soap:Envelope xmlns:soap="x"><soap:Body><soap:Fault><faultcode>soap:Server</faultcode><faultstring>Internal error</faultstring></soap:Fault></soap:Body></soap:Envelope>', "INTERNAL_ERROR", "Internal error"),
        (PAGE.format("502 Bad Gateway"), "SERVICE_UNAVAILABLE", "502 Bad Gateway"),
        (PAGE.format("404 Not Found"), "NOT_FOUND", "404 Not Found"),
        ("compiling\n[The command timed out after 120 seconds. You may wait longer.]", "TIMEOUT", "[The command timed out after 120 seconds. You may wait longer.]"),
    ],
)  # fmt: skip
def test_markup_of_a_failure(result: str, code: str, message: str) -> None:
    found = read(result)
    assert (found.status, found.code, found.error.message, found.text) == ("error", code, message, result)
    assert normalize(result, rules=CERTAIN).status == "error"


@pytest.mark.parametrize(
    "result",
    [
        "<error>none</error>",
        "Contents of https://x.y/a:\nThe first half of the page.\n<error>Content truncated. Call fetch with a start_index of 5000.</error>",
        '<errors><error code="404">Not Found</error></errors>',
        "<html><head><title>404 Not Found explained</title></head><body><h1>Status codes</h1>" + "<p>words</p>" * 200 + "</body></html>",
        "<html><head><title>Shop</title></head><body><h1>502 items</h1></body></html>",
        "[the command line]",
        "<p>Error</p>",
    ],
)  # fmt: skip
def test_markup_that_is_only_about_a_failure(result: str) -> None:
    assert read(result).status == "success"
