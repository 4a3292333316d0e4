"""The verdict of a query says what its result supports, about one row; sentences have the same values in both languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.story import make_story
from tests.store.conftest import make_call
from tests.stores import write_records
from tooltrace.analysis import catalogue, find, query_store
from tooltrace.analysis.normal_forms import message_parts
from tooltrace.analysis.query_verdict import query_verdict
from tooltrace.analysis.sentence import Clause, Figure, Sentence
from tooltrace.store.files.paths import StorePaths
from tooltrace.wording.i18n import Translations
from tooltrace.wording.sentences import as_text

EN, ZH = Translations("en"), Translations("zh")
END = datetime(2026, 3, 29, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store: Path = tmp_path_factory.mktemp("story") / "story.duckdb"
    make_story(store, END)
    return store


@pytest.mark.long
def test_each_query_with_a_verdict_says_it_about_one_row(story):
    sentences = {}
    for name, query in catalogue().items():
        sides = {"before": "version:2.3.1", "after": "version:2.4.0"}
        required = {"compare": sides, "find": {"text": "token"}}.get(name, {})
        if query.header.verdict:
            sentence = query_verdict(query, query_store(story, name, **required))
            if sentence is not None:
                sentences[name] = as_text(sentence, EN)
                assert as_text(sentence, ZH) != sentences[name], name
    assert len(sentences) > 20
    assert sentences["failure_rate"].startswith("crm_lookup fails most: 1")
    assert "'401 token expired'" in sentences["errors"]
    assert all("–" not in text for text in sentences.values()), "each value of the chosen row is known"
    assert (
        query_verdict(find("failure_rate"), query_store(story, "failure_rate", since=END + timedelta(days=1))) is None
    )


def test_a_query_says_nothing_about_the_most_failing_tool_where_none_failed(tmp_path: Path):
    store = tmp_path / "t.duckdb"
    write_records(StorePaths.of(store), *(make_call(number) for number in range(20)))
    result = query_store(store, "failure_rate")
    assert [row["failures"] for row in result.dicts()] == [0]
    assert query_verdict(find("failure_rate"), result) is None


def test_a_group_without_a_name_is_named_as_not_recorded(tmp_path: Path):
    store = tmp_path / "t.duckdb"
    write_records(StorePaths.of(store), *(make_call(number, tool_version=None) for number in range(20)))
    sentence = query_verdict(find("latency"), query_store(store, "latency", by="version"))
    assert as_text(sentence, EN).startswith("(not recorded) is ")
    assert as_text(sentence, ZH).startswith("（未记录）")


def test_the_parts_that_vary_are_marked_and_nothing_is_lost():
    parts = message_parts("401 token expired", "<n> token expired")
    assert parts == (("401", True), (" token expired", False))
    assert message_parts("no answer from https://a.example/1 in 3 s", "no answer from <url> in <n> s")[1] == (
        "https://a.example/1",
        True,
    )
    assert message_parts("other", "<n> token") == (("other", False),)
    assert message_parts("rate limit", None) == (("rate limit", False),)


@given(st.text(), st.text(st.sampled_from("<n>text ab")))
def test_the_parts_are_always_the_complete_message(message, pattern):
    assert "".join(part.text for part in message_parts(message, pattern)) == message


@pytest.mark.parametrize(
    ("message", "english", "chinese"),
    [
        ("token expired", "'token expired'", "“token expired”"),
        ("KeyError: 'x'", "\"KeyError: 'x'\"", "“KeyError: 'x'”"),
        ("""can't parse "x" """, """“can't parse "x" ”""", """“can't parse "x" ”"""),
        ("say “no”, 'now' or \"never\"", "«say “no”, 'now' or \"never\"»", "「say “no”, 'now' or \"never\"」"),
    ],
)
def test_a_message_has_quotes_around_it_that_are_not_in_it(message, english, chinese):
    sentence = Sentence((Clause("finding.message", {"message": Figure(message, "message")}),))
    assert english in as_text(sentence, EN)
    assert chinese in as_text(sentence, ZH)


def test_a_sentence_that_ends_with_an_ellipsis_has_no_full_stop():
    cut = Sentence((Clause("cost.seconds", {"spent": Figure("outline, fetch, …", "names")}),))
    assert as_text(cut, EN) == as_text(cut, ZH) == "outline, fetch, …"
    message = Sentence((Clause("finding.message", {"message": Figure("no answer …", "message")}),))
    assert as_text(message, EN).endswith("'no answer …'.")
