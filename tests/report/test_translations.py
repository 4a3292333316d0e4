"""Translations are optional: a missing text is English, and a text that exists belongs to something that exists."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from docs.translations import missing
from tooltrace.analysis import catalogue
from tooltrace.analysis.dimensions import DIMENSIONS
from tooltrace.report.narrative import translate_rows
from tooltrace.wording.i18n import LANGUAGES, Translations, table

FOREIGN = [language for language in LANGUAGES if language != "en"]


def holes(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def known_key(key: str) -> bool:
    """Whether a query, one of its columns or parameters, or an error has the text of ``key``."""
    headers = {name: query.header for name, query in catalogue().items()}
    described = [each for header in headers.values() for each in (*header.columns, *header.parameters)]
    columns = {each.name for each in described} | DIMENSIONS.keys()
    kind, _, rest = key.partition(".")
    match kind:
        case "question" | "about" | "verdict" | "also":
            return rest in headers
        case "column":
            return rest.rpartition(".")[2] in columns
        case "meaning":
            return rest in {each.meaning for each in described}
        case "value":
            query, column, _ = rest.split(".", 2)
            return query in headers and column in columns
        case "audit":
            return bool(re.fullmatch(r"(name|fix)\.\d+|sentence\.\w+", rest))
    return kind == "error"


@pytest.mark.parametrize("language", FOREIGN)
def test_no_key_of_a_translation_is_wrong(language: str) -> None:
    english = table("en")
    translated = {**table(language), **table(f"{language}.queries")}
    assert [key for key in translated if key not in english and not known_key(key)] == []
    wrong = {key: text for key, text in translated.items() if key in english and not holes(text) <= holes(english[key])}
    assert wrong == {}, "a translation has only the values that the English text has"
    assert set(Translations(language).glossary) <= set(Translations("en").glossary)


def test_missing_translations_are_listed() -> None:
    assert missing("en") == []
    assert "question.no_such_query" not in missing("zh")


def test_a_missing_translation_is_english() -> None:
    words = Translations("zh")
    assert words("no.such.text") == "no.such.text"
    assert words.question("no_such_query", "Which tools?") == "Which tools?"
    names = ["point", "name", "evidence", "fix", "figures"]
    row = (99, "a point", "1 of 2", "do it", '{"sentence":"no_such_sentence"}')
    assert translate_rows("audit", names, [row], words) == [row]
