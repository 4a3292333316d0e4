"""Each pattern of texts matches its example."""

from __future__ import annotations

import re

import pytest

from tests.normalize.shapes import read
from tooltrace.normalize.heuristics.error_patterns import patterns

REPORTS = {
    "opening": 0,
    "clause": 0,
    "chinese": 0,
    "runtime": 0,
    "prefix": re.DOTALL,
    "one_liner": 0,
    "other_languages": 0,
}
OTHERS = {"not_a_report": re.IGNORECASE, "not_a_chinese_report": 0}


@pytest.mark.parametrize("name", [*REPORTS, *OTHERS])
def test_each_pattern_matches_its_example(name: str) -> None:
    flags = {**REPORTS, **OTHERS}[name]
    found = [(each, re.compile(each.pattern, flags)) for each in patterns(name)]
    wrong = [
        each for each, pattern in found if not (pattern.match if name in OTHERS else pattern.fullmatch)(each.example)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", OTHERS)
def test_the_examples_of_other_texts_are_not_read_as_failures(name: str) -> None:
    assert [each.example for each in patterns(name) if read(each.example).status == "error"] == []


@pytest.mark.parametrize(
    "text",
    [
        "No se encontraron resultados para su búsqueda",
        "検索結果が見つかりませんでした",
        "Wenn die Datei nicht gefunden wird, legt das Programm sie an.",
        "검색 결과가 없습니다",
        "Fehler",
        "error.log",
        "Invalid votes: 2.1 %",
        "La reunión es a las tres.",
    ],
)
def test_other_texts_in_other_languages(text: str) -> None:
    assert read(text).status == "success"
