"""The graph of paths as a browser draws it: what is on what, where links lead, and what a narrow screen shows."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tooltrace.core.records import Record
from tooltrace.server.paths import EDGES

from .conftest import call
from .test_browser import AXE, SERIOUS
from .test_hostile import NASTY

pytestmark = pytest.mark.long

NOW = datetime.now(UTC)
TOOLS = (
    "search",
    "fetch",
    "read_file",
    "write_file",
    "ask_database",
    "evaluate",
    "summarize_a_long_document",
    "翻译文档",
)

OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll('.paths :is(.node, .label) rect')].map(rect => [rect.parentNode.textContent, rect.getBoundingClientRect()]);
    const apart = (a, b) => a.right <= b.left + .5 || b.right <= a.left + .5 || a.bottom <= b.top + .5 || b.bottom <= a.top + .5;
    return boxes.flatMap(([name, box], place) => boxes.slice(place + 1).filter(([, other]) => !apart(box, other)).map(([other]) => name + ' | ' + other));
}"""
"""Pairs of nodes and labels whose boxes overlap."""
OUTSIDE = """() => {
    const outside = [], frame = document.querySelector('.paths svg').getBoundingClientRect();
    for (const text of document.querySelectorAll('.paths :is(.node, .label) text')) {
        const box = text.parentNode.querySelector('rect').getBoundingClientRect(), words = text.getBoundingClientRect();
        if (words.left < box.left || words.right > box.right || box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom) outside.push(text.textContent);
    }
    return outside;
}"""
"""Texts that are wider than their boxes, and boxes that are outside the picture."""
CROSSED = """() => {
    const nodes = [...document.querySelectorAll('.paths .node rect')].map(rect => [rect.parentNode.querySelector('text').textContent, rect.getBBox()]);
    const crossed = new Set();
    for (const path of document.querySelectorAll('.paths .edge')) {
        const length = path.getTotalLength();
        for (let at = 4; at < length - 4; at += 2) {
            const { x, y } = path.getPointAtLength(at);
            for (const [name, box] of nodes)
                if (x > box.x + 1 && x < box.x + box.width - 1 && y > box.y + 1 && y < box.y + box.height - 1) crossed.add(path.textContent + ' | ' + name);
        }
    }
    return [...crossed];
}"""
"""Edges that run through a node."""

Shown = Callable[..., Any]


def dense_graph() -> list[Record]:
    """Conversations whose steps go from each tool to several others and back, after errors too."""
    chosen = random.Random(5)
    pairs = [(tool, other) for tool in TOOLS for other in chosen.sample(TOOLS, 2)]
    return [
        call(
            tool=tool,
            conversation_id=f"conversation {place}",
            status="error" if place % 4 == 0 and step == 0 else "success",
            started_at=NOW - timedelta(minutes=100 - place) + timedelta(seconds=step),
        )
        for place, pair in enumerate(pairs * 2)
        for step, tool in enumerate(pair)
    ]


def drawn(page: Any, address: str) -> Any:
    page.goto(address)
    page.wait_for_selector("figure.paths svg[viewBox]")
    return page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nodes_labels_and_curves_of_the_demo_are_apart(page, demo, language):
    page.set_viewport_size({"width": 1440, "height": 900})
    drawn(page, f"{demo}/paths?since=all&lang={language}")
    assert page.locator(".paths .label").count() > 10
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(CROSSED) == []
    region = page.locator("figure.paths .scroll")
    assert region.evaluate("one => one.scrollWidth - one.clientWidth") == 0, "the graph fits the panel"
    assert page.locator(".paths .node.start text").text_content() == ("(start)" if language == "en" else "（开始）")


def test_nodes_labels_and_curves_of_a_dense_graph_are_apart(shown, page):
    client = shown(*dense_graph())
    for theme, width in (("light", 1440), ("dark", 390)):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        drawn(page, f"{client.base_url}/paths?since=all")
        assert page.locator(".paths .node.tool").count() == len(TOOLS)
        assert page.locator(".paths .label").count() == EDGES
        assert page.evaluate(OVERLAPS) == []
        assert page.evaluate(OUTSIDE) == []
        assert page.evaluate(CROSSED) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    start, region = (page.locator(f"figure.paths {part}").bounding_box() for part in (".node.start", ".scroll"))
    assert region["x"] <= start["x"], "a narrow panel begins at the start"
    assert start["x"] + start["width"] <= region["x"] + region["width"]
    page.evaluate(AXE)
    assert page.evaluate(SERIOUS) == []


def test_a_node_leads_to_the_page_of_its_tool_whatever_its_name(shown, page):
    names = [name for name in NASTY if "\u0000" not in name]
    client = shown(*(call(tool=name, started_at=NOW - timedelta(seconds=60 - at)) for at, name in enumerate(names)))
    drawn(page, f"{client.base_url}/paths?since=all")
    links = page.eval_on_selector_all(".paths a.node", "all => all.map(one => one.getAttribute('href'))")
    assert {urlsplit(link).path for link in links} == {"/tool"}
    assert sorted(parse_qs(urlsplit(link).query)["name"][0] for link in links) == sorted(names)
    assert page.locator(".paths :is(img, script:not([type]), foreignObject)").count() == 0
    assert page.evaluate(OVERLAPS) == []
    page.locator(".paths a.node").first.click()
    page.wait_for_url("**/tool?**")
    assert parse_qs(urlsplit(page.url).query) == {"since": ["all"], "name": [names[0]]}
