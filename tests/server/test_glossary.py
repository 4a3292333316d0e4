"""The terms of the pages: the same in both languages, and reached from the panels."""

from __future__ import annotations

import re

from tooltrace.report.i18n import Translations
from tooltrace.server.terms import COLUMN_TERMS, PANEL_TERMS

from .conftest import call


def test_both_languages_have_the_same_terms():
    assert list(Translations("en").glossary) == list(Translations("zh").glossary)


def test_every_panel_links_to_a_term(shown):
    client = shown(call())
    assert {*PANEL_TERMS.values(), *COLUMN_TERMS.values()} <= set(Translations("en").glossary)
    anchors = re.findall(r'href="/glossary#([\w-]+)"', client.get("/").text)
    assert "incident" in anchors
    text = client.get("/glossary?lang=zh").text
    assert all(f'id="{anchor}"' in text for anchor in anchors)
    assert "置信度差距" in text
