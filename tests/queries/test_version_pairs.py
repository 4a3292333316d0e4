"""Pairs of conversations, one with each of two versions, that begin with the same call."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.queries.answers import run
from tests.queries.conftest import START


@pytest.fixture
def chat(make):
    """The records of a conversation that starts at a minute with a question, and calls the tool ``pay`` in a version."""

    def chat(conversation, minute, question, version, **more):
        start = START + timedelta(minutes=minute)
        arguments = None if question is None else f'{{"q":"{question}","request_id":"{minute}"}}'
        return [
            make(tool="search", conversation_id=conversation, started_at=start, arguments=arguments),
            make(tool="pay", tool_version=version, conversation_id=conversation, started_at=start + timedelta(seconds=5), **more),
        ]  # fmt: skip

    return chat


def pairs(con, **params):
    return run(con, "version_pairs", **{"before_version": "1", "version": "2", **params}).project(
        "before, after, same_start"
    )


def test_the_newest_conversations_that_begin_alike_come_first(engine, chat):
    con = engine(
        *chat("old tea", 0, "tea", "1"), *chat("tea 1", 1, "tea", "1"), *chat("ink 1", 2, "ink", "1"), *chat("pen 1", 9, "pen", "1"),
        *chat("tea 2", 3, "tea", "2"), *chat("ink 2", 4, "ink", "2"), *chat("cup 2", 5, "cup", "2"),
    )  # fmt: skip
    assert pairs(con).fetchall() == [("ink 1", "ink 2", True), ("tea 1", "tea 2", True), ("pen 1", "cup 2", False)]
    assert pairs(con, limit=1).fetchall() == [("ink 1", "ink 2", True)]
    counts = run(con, "version_pairs", before_version="1", version="2").project(
        "before_conversations, after_conversations"
    )
    assert set(counts.fetchall()) == {(4, 3)}


def test_the_newest_of_each_version_is_the_pair_where_none_begin_alike(engine, chat):
    con = engine(*chat("a", 0, "tea", "1"), *chat("b", 1, "ink", "1"), *chat("c", 2, "pen", "2"))
    assert pairs(con).fetchall() == [("b", "c", False)]
    unknown = engine(*chat("a", 0, None, "1"), *chat("c", 2, None, "2"))
    assert pairs(unknown).fetchall() == [("a", "c", False)], "arguments that are not recorded are not equal"


def test_a_conversation_with_both_versions_is_in_no_pair(engine, chat, make):
    both = make(tool="pay", tool_version="2", conversation_id="a", started_at=START)
    assert pairs(engine(*chat("a", 0, "tea", "1"), both, *chat("b", 1, "tea", "2"))).fetchall() == []
    assert pairs(engine(*chat("b", 1, "tea", "2")), before_version="2").fetchall() == [], "one version"


def test_versions_of_one_tool_and_a_window_are_chosen(engine, chat, make):
    other = make(tool="other", tool_version="1", conversation_id="x", started_at=START)
    con = engine(*chat("a", 0, "tea", "1"), *chat("b", 1, "tea", "1"), *chat("c", 2, "tea", "2"), other)
    assert pairs(con, tool="pay").fetchall() == [("b", "c", True)]
    assert pairs(con, tool="search").fetchall() == []
    assert pairs(con, until=START + timedelta(minutes=1)).fetchall() == []
