"""The page that compares two conversations, and the link to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import httpx
import pytest

from tests.stores import create_empty_store
from tooltrace.core.records import ToolCall
from tooltrace.server.diff_page import CALLS
from tooltrace.server.site import Site

from .conftest import call, running, write

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def conversation(name: str, *calls: dict) -> Iterator[ToolCall]:
    for number, given in enumerate(calls):
        known = {
            "call_id": f"{name}-{number}",
            "started_at": START + timedelta(seconds=number),
            "conversation_id": name,
        }
        yield call(**{**known, **given})


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    store = create_empty_store(Path(tmp_path_factory.mktemp("diff")) / "diff.duckdb")
    write(
        store,
        *conversation(
            "one",
            {"tool": "search", "arguments": '{"q": "needle", "limit": 10}', "duration_ms": 100.0},
            {"tool": "wait"},
            {"tool": "pay", "status": "success", "tool_version": "1.2"},
            {"tool": "send", "call_id": "again", "status": "error"},
            {"tool": "send", "call_id": "again", "attempt": 2},
        ),
        *conversation(
            "two",
            {"tool": "search", "arguments": '{"q": "needle", "limit": 50}', "duration_ms": 2000.0},
            {"tool": "login"},
            {
                "tool": "pay",
                "tool_version": "2.0",
                "status": "error",
                "code": "DECLINED",
                "error_message": "declined by the bank",
            },
            {"tool": "send"},
        ),
        *conversation("long", *({"tool": "again"} for _ in range(CALLS + 1))),
    )
    with running(Site.of(store, host="127.0.0.1")) as address, httpx.Client(base_url=address, timeout=None) as client:
        yield client


def shown(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def rows(text: str) -> list[tuple[str, str]]:
    return re.findall(r'<li class="pair (\w+)">.*?<strong>(\w+)</strong>', text, re.DOTALL)


def test_the_calls_are_aligned_as_the_command_does(client):
    text = client.get("/diff", params={"a": "one", "b": "two"}).text
    assert rows(text) == [
        ("changed", "search"), ("removed", "wait"), ("added", "login"), ("changed", "pay"), ("same", "send"),
    ]  # fmt: skip
    assert "1 same · 2 different · 1 only in A · 1 only in B" in shown(text)


def test_the_values_that_differ_are_marked(client):
    text = client.get("/diff", params={"a": "one", "b": "two"}).text
    assert "<del>10</del>" in text
    assert "<ins>50</ins>" in text
    assert "<code>limit</code>" in text
    assert "<code>q</code>" not in text, "an equal member is not shown as a difference"
    assert "<ins>declined by the bank</ins>" in text
    assert "status, code" in shown(text)
    assert "20 × as long" in shown(text)


def test_each_call_has_a_link_and_the_totals_count_both_sides(client):
    text = client.get("/diff", params={"a": "one", "b": "two"}).text
    opened = re.findall(r'<a href="(/call\?id=\w+)" title', text)
    assert len(opened) == 4 + 4
    assert all(client.get(unescape(link)).status_code == 200 for link in opened)
    totals = re.findall(r"<tr.*?</tr>", text[text.index("diff-totals") : text.index('class="panel diff"')], re.DOTALL)
    assert [shown(row) for row in totals][1:4] == ["Calls 4 4", "Failed calls 0 1", "Attempts 5 4"]
    assert 'href="/conversation/one"' in text


def test_only_differences_are_shown_on_request(client):
    text = client.get("/diff", params={"a": "one", "b": "two", "only": "changes"}).text
    assert [kind for kind, _ in rows(text)] == ["changed", "removed", "added", "changed"]
    assert "1 same" in shown(text)
    same = client.get("/diff", params={"a": "one", "b": "one", "only": "changes"}).text
    assert "No call differs." in same


def test_the_form_stands_alone_until_two_conversations_are_named(client):
    for query in ({}, {"a": "one"}, {"b": "two"}):
        answer = client.get("/diff", params=query)
        assert answer.status_code == 200
        assert "Enter the ids of two conversations" in answer.text
    assert 'name="a" required value="one"' in client.get("/diff", params={"a": "one"}).text


def test_an_unknown_conversation_is_named(client):
    answer = client.get("/diff", params={"a": "one", "b": "three"})
    assert answer.status_code == 404
    assert "The store has no call of the conversation: three" in shown(answer.text)


def test_a_long_conversation_is_compared_in_part_and_the_page_says_so(client):
    text = client.get("/diff", params={"a": "long", "b": "one"}).text
    assert len(rows(text)) == CALLS + 4
    assert f"the first {CALLS} calls" in text


def test_a_conversation_can_be_compared_with_another(client):
    text = client.get("/conversation/one").text
    form = text[text.index('action="/diff"') :]
    assert 'name="a" value="one"' in form[: form.index("</form>")]
    assert 'action="/diff"' not in client.get("/trace/" + re.search(r"/trace/(\w{32})", text)[1]).text


def test_two_versions_are_compared_by_conversations_that_use_them(client):
    versions = {"before_version": "1.2", "version": "2.0", "since": "all"}
    text = client.get("/diff", params=versions).text
    assert "version 1.2 and version 2.0" in text
    assert "begin differently" in text, "the limits of the searches differ"
    assert (
        text.count('class="pair') == client.get("/diff", params={"a": "one", "b": "two"}).text.count('class="pair') > 2
    )
    assert "No conversations have only one" in client.get("/diff", params={**versions, "version": "3"}).text
    sides = {"before": "version:1.2", "after": "version:2.0", "since": "all"}
    compared = unescape(client.get("/compare", params=sides).text)
    assert 'href="/diff?before_version=1.2&version=2.0&since=all"' in compared


def test_the_page_is_in_chinese_too(client):
    text = shown(client.get("/diff", params={"a": "one", "b": "two", "lang": "zh"}).text)
    assert "1 相同 · 2 不同 · 1 仅在 A · 1 仅在 B" in text


def test_the_list_of_conversations_the_palette_and_the_breadcrumbs_lead_to_the_page_and_back(client):
    assert 'href="/diff?since=7d"' in client.get("/conversations", params={"since": "7d"}).text
    assert 'data-to="/diff"' in client.get("/palette", params={"find": "side by side", "lang": "en"}).text
    text = client.get("/diff", params={"a": "one", "b": "two", "since": "7d", "lang": "en"}).text
    crumbs = text.partition('<nav class="crumbs"')[2].partition("</nav>")[0]
    assert 'href="/conversations?since=7d"' in crumbs
    assert 'href="/conversation/one"' in crumbs
    assert "Two conversations side by side" in crumbs
