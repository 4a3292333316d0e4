"""The page of paths, and the form that labels a conversation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tooltrace.report.path_graph import PathEdge, PathNode
from tooltrace.server.path_drawing import MOST, chosen_edges, draw

from .conftest import call
from .test_hostile import NASTY, Parsed

NOW = datetime.now(UTC)


def test_a_page_shows_the_graph_and_the_table_of_any_names(shown: Any) -> None:
    names = [name for name in NASTY if "\u0000" not in name]
    records = [call(tool=name, started_at=NOW - timedelta(seconds=60 - place)) for place, name in enumerate(names)]
    with shown(*records) as client:
        text = client.get("/paths", params={"since": "all"}).text
        plain = client.get("/paths", params={"since": "all", "lang": "zh", "tool": "nobody"}).text
    found = Parsed(text)
    assert found.handlers == []
    assert not {"img", "hx-partial"} & found.tags
    assert "boom()" not in "".join(str(script) for script in found.scripts)
    assert text.count('class="node tool"') == len(names)
    assert "此时间范围内没有属于会话的调用" in plain


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


def edge(start: str, end: str, n: int) -> PathEdge:
    kinds = {"(start)": "start", "(end)": "end"}
    made = [PathNode(kinds.get(name, "tool"), name) for name in (start, end)]
    return PathEdge(*made, "start" if start == "(start)" else "success", n, 0.1, False)


def test_nodes_are_in_rows_from_start_to_end_and_never_on_each_other() -> None:
    tools = [f"tool {number}" for number in range(8)]
    edges = [edge("(start)", name, 9) for name in tools] + [edge(name, "(end)", 9) for name in tools]
    drawn = draw([*edges, edge(tools[0], tools[0], 3), edge(tools[1], tools[0], 2)])
    places = {(one.x, one.y) for one in drawn.nodes}
    assert len(places) == len(drawn.nodes) == 10
    by_height = sorted(drawn.nodes, key=lambda one: one.y)
    assert (by_height[0].node.kind, by_height[-1].node.kind) == ("start", "end")
    rows = [sum(one.y == y for one in drawn.nodes) for y in {one.y for one in drawn.nodes}]
    assert max(rows) <= MOST
    assert all(0 < one.x < drawn.width and 0 < one.y < drawn.height for one in drawn.nodes)


def test_a_graph_of_few_edges_has_start_and_end() -> None:
    edges = [edge(f"a{number}", f"b{number}", 100 - number) for number in range(30)]
    kept = chosen_edges([*edges, edge("(start)", "a0", 2), edge("b0", "(end)", 1)], 10)
    assert len(kept) == 10
    assert {one.start.kind for one in kept} | {one.end.kind for one in kept} == {"start", "tool", "end"}
