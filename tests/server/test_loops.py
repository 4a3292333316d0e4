"""The mark of loops: those that run on the page of the calls, and all of one conversation on its page."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx
import msgspec
import pytest

from .conftest import call

HOSTILE = '<script>alert("\u202e1")</script>'


def again(tool, conversation, *, ago):
    now = datetime.now(UTC)
    return [
        call(
            tool=tool, conversation_id=conversation, agent="support", arguments='{"q":"tea"}', text="nothing",
            started_at=now - timedelta(seconds=ago - at), duration_ms=100.0,
        )
        for at in range(4)
    ]  # fmt: skip


@pytest.fixture
def client(shown):
    return shown(*again("search", "now", ago=60), *again("fetch", "past", ago=3000), *again(HOSTILE, HOSTILE, ago=50))


def test_the_loops_that_run_are_marked_with_a_link_to_their_conversation(client):
    text = client.get("/loops").text
    assert "4 equal calls of" in text
    assert "loops-mark running" in text
    assert '<code class="arguments" title="Arguments">{"q":"tea"}</code>' in unescape(text)
    assert "/conversation/now" in text
    assert "fetch" not in text
    assert "<script>" not in text
    assert "\u202e" not in text


def test_a_conversation_has_its_past_loops_too(client):
    text = client.get("/loops", params={"conversation": "past"}).text
    assert "Past loop:" in text
    assert "running" not in text
    assert "fetch" in text
    assert "search" not in text
    assert (
        "4 次相同的调用"
        in client.get("/loops", params={"conversation": "past"}, headers={"Accept-Language": "zh"}).text
    )


def test_without_a_loop_the_mark_is_empty(client: httpx.Client):
    assert client.get("/loops", params={"conversation": "other"}).text.strip() == ""


def test_the_pages_ask_for_their_mark(client):
    assert 'hx-get="/loops"' in client.get("/calls").text
    assert 'hx-get="/loops?conversation=past"' in client.get("/conversation/past").text
    assert 'hx-get="/loops' not in client.get("/trace/" + f"{1:032x}").text


@pytest.mark.long
def test_a_loop_of_calls_without_a_conversation_leads_to_their_trace(shown):
    trace = "c" * 32
    calls = [
        msgspec.structs.replace(one, conversation_id=None, trace_id=trace) for one in again("search", None, ago=60)
    ]
    other = [
        msgspec.structs.replace(one, conversation_id=None, trace_id="d" * 32)
        for one in again("search", None, ago=90)[:1]
    ]
    client = shown(*calls, *other)
    (link,) = re.findall(rf'href="(/conversation/{trace}[^"]*)"', client.get("/loops").text)
    page = client.get(unescape(link))
    assert page.status_code == 200
    assert f'hx-get="/loops?conversation={trace}"' in page.text
    assert 'action="/diff"' in page.text
    assert "4 equal calls of" in client.get("/loops", params={"conversation": trace}).text
    compared = client.get("/diff", params={"a": trace, "b": "d" * 32})
    assert compared.status_code == 200
    assert compared.text.count('class="pair same"') == 1
    assert client.get("/conversation/nobody").status_code == 404
