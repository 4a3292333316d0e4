"""Verdicts say what results support, as data; their texts have the same values in both languages."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.story import BROKEN_TOOL, make_story
from tests.store.conftest import make_call
from tests.stores import write_records
from tooltrace.analysis import catalogue, find, query_store
from tooltrace.analysis.message import message_parts
from tooltrace.analysis.query_verdict import query_verdict
from tooltrace.analysis.verdict import (
    INCIDENT_FAILURES,
    MAX_SENTENCES,
    Clause,
    Figure,
    Sentence,
    Verdict,
    tools_verdict,
)
from tooltrace.report.i18n import Translations
from tooltrace.report.sentences import as_data, as_text
from tooltrace.store.files.paths import StorePaths

EN, ZH = Translations("en"), Translations("zh")
END = datetime(2026, 3, 29, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store: Path = tmp_path_factory.mktemp("story") / "story.duckdb"
    make_story(store, END)
    return store


def verdict(store: Path, *, since: int, until: int = 0, **params: object) -> Verdict:
    window = {"since": END - timedelta(days=since), "until": END - timedelta(days=until)}
    ranking = query_store(store, "ranking", **window, **params)
    return tools_verdict(ranking, query_store(store, "incidents", failing=INCIDENT_FAILURES, **window, **params))


def texts(found: Verdict) -> list[str]:
    return [as_text(sentence, EN) for sentence in found.sentences]


@pytest.mark.parametrize("days", [7, 28])
def test_a_broken_tool_is_named_with_time_version_message_and_number(story, days):
    found = verdict(story, since=days)
    first, others = texts(found)
    assert found.state == "failing"
    assert re.fullmatch(
        r"crm_lookup fails 100\.0 % of its calls \([123]\.\d % before\) since 2026-03-25 \d\d:\d\d UTC, with version 2\.4\.0: "
        r"PERMISSION_DENIED '401 token expired', 1\d\d calls failed, still open\.",
        first,
    )
    assert others.startswith("Other tools (6) fail as usual: ")
    calls, compare = found.sentences[0].links
    assert (calls.kind, calls.params) == ("calls", {"tool": BROKEN_TOOL, "status": "error"})
    assert (compare.kind, compare.params) == ("compare", {"tool": BROKEN_TOOL, "before": "2.3.1", "after": "2.4.0"})


def test_a_usual_window_has_the_number_of_calls_and_the_last_call(story):
    found = verdict(story, since=20, until=5)
    assert found.state == "usual"
    assert re.match(
        r"Nothing unusual: \d+ of 2,\d+ calls of 7 tools failed .*; the last call was at 2026-03-24 ", texts(found)[0]
    )


def test_few_calls_are_marked_as_too_few(story):
    found = verdict(story, since=5, until=0, tool="send_mail")
    assert found.state in ("too_few", "usual")
    few = verdict(story, since=28, until=27, tool="send_mail")
    assert few.state == "too_few"
    assert texts(few)[0].startswith("Too few calls or conversations to tell whether anything is wrong: ")


def test_a_window_without_calls_has_one_sentence(story):
    assert (verdict(story, since=500, until=400).state, texts(verdict(story, since=500, until=400))) == (
        "empty",
        ["No calls in this time range."],
    )


def test_a_verdict_is_plain_data_with_the_same_values_in_both_languages(story):
    found = verdict(story, since=7)
    assert len(found.sentences) <= MAX_SENTENCES
    data = as_data(found, EN)
    assert json.loads(json.dumps(data)) == data
    chinese = as_data(found, ZH)
    for one, other in zip(data["sentences"], chinese["sentences"], strict=True):
        assert {name: one[name] for name in ("clauses", "links")} == {
            name: other[name] for name in ("clauses", "links")
        }
        assert re.search("[一-鿿]", other["text"])


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
    sentence = Sentence((Clause("message", {"message": Figure(message, "message")}),))
    assert english in as_text(sentence, EN)
    assert chinese in as_text(sentence, ZH)


def test_a_sentence_that_ends_with_an_ellipsis_has_no_full_stop():
    others = {"n": Figure(4, "count"), "tools": Figure("outline, fetch, follow, …", "text")}
    cut = Sentence((Clause("others_fail", others),))
    assert as_text(cut, EN) == "4 more tools fail more than usual: outline, fetch, follow, …"
    assert as_text(cut, ZH).endswith("follow, …")
    message = Sentence((Clause("message", {"message": Figure("no answer …", "message")}),))
    assert as_text(message, EN).endswith("'no answer …'.")
