"""The terms of the pages are reached from the panels."""

from __future__ import annotations

import re

import pytest

from tooltrace.server.templates import COLUMN_TERMS, PANEL_TERMS
from tooltrace.wording.i18n import Translations

from .conftest import call


def test_every_panel_links_to_a_term(shown):
    client = shown(call())
    assert {*PANEL_TERMS.values(), *COLUMN_TERMS.values()} <= set(Translations("en").glossary)
    anchors = re.findall(r'href="/glossary#([\w-]+)"', client.get("/").text)
    text = client.get("/glossary?lang=zh").text
    assert all(f'id="{anchor}"' in text for anchor in anchors)
    assert "置信度差距" in text


@pytest.mark.long
def test_headers_of_columns_link_to_their_terms(shown):
    client = shown(call(confidence=0.5), call(status="error", code="GONE"))
    for path, terms in {
        "/tools": {"failure-rate", "interval", "latency", "time-lost"},
        "/panel/errors?columns=code,n,retryable_share": {"retryable"},
        "/calls": {"status", "latency", "attempt", "confidence", "call"},
        "/label": {"confidence", "status"},
    }.items():
        head = client.get(path).text.partition("<thead>")[2].partition("</thead>")[0]
        found = dict(re.findall(r'<a class="term" href="/glossary#([\w-]+)"[^>]*aria-label="([^"]+)"', head))
        assert terms <= found.keys(), path
        assert all(name.startswith("Glossary: ") for name in found.values()), (
            "a screen reader reads more than a question mark"
        )


def test_the_link_to_a_term_shows_with_the_keyboard_and_does_not_sort(shown, page):
    client = shown(call(), call(status="error", code="GONE"))
    page.goto(str(client.base_url))
    page.wait_for_selector("table.ranking th[data-key=rate] .sorter")
    header = page.locator("table.ranking th[data-key=rate]")
    term = header.locator(".term")
    opacity = "one => getComputedStyle(one).opacity"
    page.mouse.move(0, 0)
    assert term.evaluate(opacity) == "0"
    header.locator("button").focus()
    page.keyboard.press("Tab")
    assert term.evaluate("one => one === document.activeElement")
    assert term.evaluate(opacity) == "1"
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary#failure-rate")
