"""Text from a trace is never markup, in any page or panel."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote_plus

import pytest
from msgspec.structs import replace

from tooltrace.core.records import Gate, Outcome
from tooltrace.report.json_values import json_for_script
from tooltrace.server.templates import safe_url

from .conftest import call
from .test_in_chinese import Texts

BREAKS_OUT = "\"'><img src=x onerror=boom()>"
NASTY = [
    "<script>boom()</script>",
    "</script><script>boom()</script>",
    BREAKS_OUT,
    "javascript:boom()",
    "{{ 7 * 7 }}{% raw %}",
    "<hx-partial hx-target='#main'>boom</hx-partial>",
    "]]><svg onload=boom()>",
    "\u202e\u0000\u2028&lt;b&gt;",
]


class Parsed(HTMLParser):
    """Which elements there are, and what their attributes lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[dict] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes) -> None:
        given = dict(attributes)
        self.tags.add(tag)
        if tag == "script":
            self.scripts.append(given)
        self.links += [given[name] for name in ("href", "src", "action") if given.get(name)]
        self.handlers += [name for name in given if name.startswith("on") or name == "style"]


def records(text: str):
    one = call(
        tool=text, tool_version=text, agent=text, conversation_id=text, code=text, error_type=text, error_message=text, suggestion=text,
        user_message=text, text=text, seen_text=text, status="error", call_id=text, service=text, host=text, next_action=text,
        arguments=json_for_script({text: [text, {"k": text}]}), result=json_for_script(text), signals=json_for_script({text: 0.5}), stats=json_for_script({text: text}),
        attributes=json_for_script({text: text}), flags=json_for_script([text]), rule=text, confidence=0.5,
        sources=json_for_script([{"type": text, "id": text, "label": text, "url": text}, {"url": "javascript:boom()"}, {"url": "https://good.example/?a=1&b=2"},
                        text, {"url": [text]}, {"url": "https://[bad"}]),
    )  # fmt: skip
    gate = Gate(
        call_id=text,
        span_id=one.span_id,
        kind=text,
        asked_at=one.started_at,
        note=text,
        changed=json_for_script({text: text}),
        answered_by=text,
    )
    return one, gate, Outcome(span_id=one.span_id, correct=True, labeler=text, reason=text, labeled_at=one.started_at)


@pytest.fixture
def visited(shown):
    """A client of a server over a store in which each text stands in every field, and the record of each."""
    given = {text: records(text) for text in NASTY}
    others = [
        call(tool=text, conversation_id="other", arguments=json_for_script({text: 1}), call_id=text) for text in NASTY
    ]
    others += [replace(one, span_id=f"{number:016x}".replace("0", "c", 1), conversation_id=f"{text} 2", error_message=f"{text}{text}",
                       arguments=json_for_script({text: 1}), result=json_for_script(f"{text}.")) for number, (text, (one, *_)) in enumerate(given.items())]  # fmt: skip
    client = shown(*(record for each in given.values() for record in each), *others)
    return client, {text: one for text, (one, *_) in given.items()}


@pytest.mark.long
def test_recorded_text_is_escaped_on_every_page(visited):
    client, _ = visited
    paths = [
        "/tiles", "/tools", "/verdict", "/calls/newest", "/calls/more", "/options/tool", "/options/code", "/panel/failure_rate", "/panel/errors",
        "/panel/sources", "/panel/incidents?min_n=0&failing=1", "/panel/changes", "/panel/timeline?chart=timeline&by=version", "/panel/laundering",
        "/conversations/rows", "/conversations/loops", "/panel/next_action", "/panel/gates", "/panel/signals?min_n=0", "/panel/recent", "/panel/audit", "/panel/around",
    ]  # fmt: skip
    for path in paths:
        check_that_text_stays_text(client, path)
    listed = [unquote_plus(link) for link in Parsed(client.get("/tools?rows=all").text).links]
    assert all(any(text in link for link in listed) for text in NASTY if "\0" not in text), listed


def addresses(text, one):
    """Return each path that reads text from its address, with ``text`` in each of its parameters."""
    return [
        ("/call", {"id": one.span_id}),
        ("/call", {"id": one.span_id, "queue": f"{one.span_id},{text}", "last": text}),
        ("/conversation", {"id": text}),
        ("/trace", {"id": one.trace_id, "span": text, "start": text}),
        ("/nearby", {"trace": one.trace_id, "span": one.span_id}),
        ("/step", {"span": one.span_id, "kind": text}),
        ("/step", {"span": one.span_id}),
        ("/label", {"tool": text, "seed": text, "n": text, "queue": text}),
        ("/value", {"span": one.span_id, "part": "text", "view": "markdown"}),
        ("/value", {"span": one.span_id, "part": "arguments", "view": text}),
        ("/tool", {"name": text}),
        ("/calls", {"text": text, "tool": text, "code": text}),
        ("/conversations", {"text": text, "tool": text, "code": text, "agent": text, "since": "1h"}),
        ("/conversations", {"outcome": text}),
        ("/conversations/rows", {"agent": text, "list": text}),
        ("/conversations/news", {"tool": text, "top": text}),
        ("/find", {"q": text, "tool": text}),
        ("/find", {"q": text, "field": text}),
        ("/find/hits", {"q": text}),
        ("/find/hits", {"q": "no such text", "tool": text, "words": "yes"}),
        ("/palette", {"find": text, "since": "1h"}),
        ("/question/errors", {"tool": text}),
        ("/panel/errors", {"chart": text, "marks": text, "columns": text, "by": "tool"}),
        ("/panel/x", {"since": text}),
        ("/tiles", {"since": text}),
        ("/compare", {"tool": text, "before": f"version:{text}", "after": "version:1"}),
        ("/compare", {"since": text, "before_since": text, "tool": text}),
        ("/compare/result", {"tool": text, "before": f"version:{text}", "after": "version:1", "since": "all"}),
        ("/compare/result", {"before": "version:1", "after": f"version:{text}", "since": "all", "rows": "all"}),
        ("/calls/newest", {"text": text, "down_to": "2020-01-01"}),
        ("/conversation", {"id": text, "filter": text}),
        ("/diff", {"a": text, "b": text}),
        ("/diff", {"a": text, "b": "other", "only": text}),
        ("/diff", {"a": "other", "b": text}),
        ("/diff", {"a": text, "b": f"{text} 2"}),
    ]


@pytest.mark.long
@pytest.mark.parametrize("complete", [False, pytest.param(True, marks=pytest.mark.simulations)])
def test_text_of_the_address_is_escaped_on_every_page(visited, complete):
    """Each page with the text that ends an attribute and an element, and with another; with every text if ``complete``."""
    client, calls = visited
    for number, text in enumerate(NASTY):
        for place, (path, query) in enumerate(addresses(text, calls[text])):
            if complete or text == BREAKS_OUT or number == place % len(NASTY):
                check_that_text_stays_text(client, path, query)


def check_that_text_stays_text(client, path, query=None):
    """Whatever the page holds, it has no element, handler or link that a text made."""
    headers = {"hx-request": "true"} if path in ("/step", "/value") else {}
    answer = client.get(path, params=query, headers=headers) if query else client.get(path)
    assert answer.status_code in (200, 400, 404), (path, query, answer.text[:300])
    found = Parsed(answer.text)
    assert found.handlers == [], (path, query)
    assert not found.tags & {"img", "iframe", "object", "hx-partial", "b"} - _own(path), (path, query, found.tags)
    for script in found.scripts:
        assert script.get("type") == "application/json" or script.get("src", "").startswith("/static/"), (
            path,
            query,
            script,
        )
    for link in found.links:
        assert link.startswith(("/", "https://good.example/", "?", "#")) or link == "", (path, query, link)
        assert not link.startswith("//"), (path, query, link)


def _own(path: str) -> set[str]:
    """Elements that the parts of the page contain themselves."""
    return (
        {"hx-partial"}
        if path.startswith(("/calls/", "/conversations/", "/find/"))
        else {"b"}
        if path in ("/call", "/calls", "/conversation", "/conversations", "/label", "/palette")
        else set()
    )


def test_sources_on_the_web_are_links_and_no_others(shown):
    one, *rest = records("plain")
    text = shown(one, *rest).get("/call", params={"id": one.span_id}).text
    assert '<a href="https://good.example/?a=1&amp;b=2" rel="noopener noreferrer" target="_blank">' in text
    assert "javascript:boom()" in text
    assert 'href="javascript' not in text


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:x", "java\nscript:x", "data:text/html,x", "//evil.example", "/local", "http:", "https://[",
     "file:///etc/passwd", "", None, 7, ["https://a.example"]],
)  # fmt: skip
def test_no_other_scheme_is_followed(address):
    assert safe_url(address) is None


def test_the_web_is():
    assert safe_url(" HTTPS://a.example/x ") == "HTTPS://a.example/x"


def test_json_in_a_page_ends_no_script():
    text = json_for_script({"a": "</script><!--<script>&"})
    assert not set("<>&") & set(text)


def test_deep_and_wide_json_is_shown(shown):
    deep = "[" * 400 + "]" * 400
    wide = "{" + ",".join(f'"k{n}":{n}' for n in range(5000)) + "}"
    client = shown(call(call_id="deep", arguments=deep, result=wide), call(call_id="odd", result='{"a":NaN}'))
    for name in ("deep", "odd"):
        assert client.get(f"/call?id={name}").status_code == 200
    span = re.search(r"span=(\w+)&amp;part=result", client.get("/call?id=deep").text)[1]
    text = client.get(f"/value?span={span}&part=result&view=tree", headers={"hx-request": "true"}).text
    assert "4800 more" in text


LONG = "x" * 10_000


@pytest.mark.long
def test_a_long_or_blank_name_is_cut_or_marked_in_every_part_of_a_page(shown):
    failing = {"status": "error", "code": LONG, "tool_version": LONG}
    client = shown(
        *(call(tool=name, **failing) for name in ("first", "second", LONG, "   ", "a\u202eb") for _ in range(30))
    )
    for path in ("/tool", "/verdict", "/tools", "/compare/result"):
        parameters = {"since": "24h", "name": LONG} if path in ("/tool", "/verdict") else {"since": "24h"}
        parsed = Texts(client.get(path, params=parameters).text)
        assert max(map(len, parsed.found)) <= 1000, path
    sentences = client.get("/verdict?since=24h").text
    assert "␠" in sentences
    assert "a\\u202eb" in sentences
    assert "\u202e" not in sentences
