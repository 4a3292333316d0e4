"""The page of paths, and the form that labels a conversation; ``test_paths_browser.py`` has the drawn graph."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tooltrace.report.path_graph import PathEdge, PathNode
from tooltrace.server.paths import chosen_edges

from .conftest import call
from .test_hostile import NASTY, Parsed

NOW = datetime.now(UTC)


def graph(page: str) -> dict[str, Any]:
    """The graph that the script of the page draws."""
    found = re.search(r'<figure class="paths"[^>]*>\s*<script type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found, "the page has no graph"
    return dict(json.loads(found[1]))


def test_a_page_has_the_graph_and_the_table_of_any_names(shown: Any) -> None:
    names = [name for name in NASTY if "\u0000" not in name]
    records = [call(tool=name, started_at=NOW - timedelta(seconds=60 - place)) for place, name in enumerate(names)]
    with shown(*records) as client:
        text = client.get("/paths", params={"since": "all"}).text
        plain = client.get("/paths", params={"since": "all", "lang": "zh", "tool": "nobody"}).text
    found = Parsed(text)
    assert found.handlers == []
    assert not {"img", "hx-partial"} & found.tags
    assert "boom()" not in "".join(str(script) for script in found.scripts)
    nodes = graph(text)["nodes"]
    assert {node["name"] for node in nodes if node["kind"] == "tool"} == set(names)
    assert [node["label"] for node in nodes if node["kind"] != "tool"] == ["(start)", "(end)"]
    assert not [node for node in nodes if "\u202e" in node["label"] + node["title"]], "hidden characters are escapes"
    assert "此时间范围内没有属于会话的调用" in plain


@pytest.mark.long
def test_a_conversation_is_labelled_and_the_label_taken_back(shown: Any) -> None:
    with shown(call()) as client:
        page = client.get("/conversation/session").text
        assert 'action="/label/conversation"' in page
        form = {"conversation_id": "session", "labeler": "ann", "reason": "<b>no</b>"}
        missed = client.post("/label/conversation", data={**form, "verdict": "wrong"}, follow_redirects=True)
        assert missed.url.path == "/conversation/session"
        assert "goal missed</span>" in missed.text
        assert "&lt;b&gt;no&lt;/b&gt;" in missed.text
        part = client.post(
            "/label/conversation", data={**form, "verdict": "correct"}, headers={"hx-request": "true"}
        ).text
        assert part.lstrip().startswith("<form")
        assert "goal reached</span>" in part
        undone = client.post("/label/conversation/undo", data=form, headers={"hx-request": "true"}).text
        assert "goal missed</span>" in undone
        undone = client.post("/label/conversation/undo", data=form, headers={"hx-request": "true"}).text
        assert "goal reached</span>" in undone, "an undo restores the label before the latest, which was right"
        assert client.post("/label/conversation", data={**form, "verdict": "maybe"}).status_code == 400
        scored = client.post(
            "/label/conversation", data={**form, "verdict": "", "score": "0.25"}, headers={"hx-request": "true"}
        )
        assert "goal missed" in scored.text
        assert "0.25" in scored.text
        for score in ("", "1.5", "much"):
            assert client.post("/label/conversation", data={**form, "verdict": "", "score": score}).status_code == 400


def edge(start: str, end: str, n: int) -> PathEdge:
    kinds = {"(start)": "start", "(end)": "end"}
    made = [PathNode(kinds.get(name, "tool"), name) for name in (start, end)]
    return PathEdge(*made, "start" if start == "(start)" else "success", n, 0.1, False)


def test_the_texts_of_the_graph_are_in_the_language_of_the_reader(shown: Any) -> None:
    steps = ["fetch", "fetch", "a_tool_with_a_name_of_many_characters"]
    records = [
        call(tool=tool, status="error" if place == 0 else "success", started_at=NOW - timedelta(seconds=60 - place))
        for place, tool in enumerate(steps)
    ]
    with shown(*records) as client:
        english, chinese = (client.get("/paths", params={"since": "all", "lang": lang}).text for lang in ("en", "zh"))
    assert "Without JavaScript, the graph is not drawn" in english
    assert "没有 JavaScript 时不绘制图" in chinese
    assert {node["label"] for node in graph(chinese)["nodes"]} == {
        "（开始）",
        "fetch",
        "a_tool_with_a_name_of_m…",
        "（结束）",
    }
    edges = {edge["title"]: edge for edge in graph(english)["edges"]}
    assert edges["(start) → fetch"]["fails"] == "100 %?"
    assert (edges["fetch (error) → fetch"]["status"], edges["fetch (error) → fetch"]["times"]) == ("error", "1")
    assert edges["fetch → a_tool_with_a_name_of_many_characters"]["fails"] == ""


def test_a_graph_of_few_edges_has_the_most_frequent_ones_and_start_and_end() -> None:
    edges = [edge(f"a{number}", f"b{number}", 100 - number) for number in range(30)]
    kept = chosen_edges([*edges, edge("(start)", "a0", 2), edge("b0", "(end)", 1)], 10)
    assert [one.n for one in kept] == [2, *range(100, 92, -1), 1]
    assert chosen_edges(edges[:3], 10) == edges[:3]
    frequent = [edge("(start)", f"a{number}", 200 - number) for number in range(5)]
    assert chosen_edges([*frequent, *edges], 7) == [*frequent, *edges[:2]], "what is most frequent may be more starts"


def test_blank_and_long_names_are_shown_as_everywhere_and_lead_to_their_tool(shown: Any) -> None:
    names = [" ", "x" * 10_000, "a\u202eb"]
    records = [
        call(tool=name, started_at=NOW - timedelta(seconds=60 - place), status=status)
        for place, (name, status) in enumerate(zip(names, (None, "success", "success"), strict=True))
    ]
    with shown(*records) as client:
        text = client.get("/paths", params={"since": "all", "lang": "zh"}).text
    body = text.partition("<tbody>")[2].partition("</tbody>")[0]
    texts = re.sub(r"<[^>]+>", "", body)
    assert "␠ 无状态" in texts
    assert "x" * 119 + "…" in texts
    assert "x" * 120 not in texts
    assert "a\\u202eb" in texts
    assert "/tool?name=a%E2%80%AEb" in body
