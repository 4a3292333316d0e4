"""Sizes: the list of tools, and answers about a history that is larger than any answer."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mcp_server.conftest import Connect
from tests.mcp_server.histories import HIDDEN, arguments, call, write
from tests.stores import create_empty_store
from tooltrace.mcp_server.answer import CHARACTERS_PER_TOKEN, MAX_CHARACTERS, dumped, table_answer
from tooltrace.redact.snapshot import Json
from tooltrace.store.result import QueryResult, ResultColumn

_PIECES = re.compile(r"[A-Za-z]+|\d+|\n+| +|[^\w\s]+|_+|\s|\w")


def estimated_tokens(text: str) -> int:
    """Return a number of tokens that errs on the high side: a third of the characters, or the sum over pieces if that is more.

    A word counts 1 for every 6 letters that it begins, a number 1 for every 3 digits, punctuation 1 for every 2 characters,
    any other character 2.
    """
    return max(math.ceil(len(text) / CHARACTERS_PER_TOKEN), sum(map(_piece_tokens, _PIECES.findall(text))))


def _piece_tokens(piece: str) -> int:
    if not piece.isascii():
        return 2 * len(piece)
    if piece == " ":  # part of the word after it
        return 0
    return math.ceil(len(piece) / (6 if piece.isalpha() else 3 if piece.isdigit() else 2))


MAX_LIST_TOKENS = 1_600
MAX_INSTRUCTION_TOKENS = 180


@pytest.fixture(scope="module")
def large_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hundred tools with long errors, in one long conversation, and a call with long texts and many attempts."""
    long = "x" * 5_000
    records = [
        call(tool=f"tool_{number}", conversation_id="c", status="error", error_message=f"{number} {long}", code=f"E{number}",
             arguments=arguments(q=long), text=long)
        for number in range(300)
    ]  # fmt: skip
    texts = {name: long for name in ("text", "explanation", "error_message", "suggestion", "user_message", "seen_text")}
    records += [
        call(tool="retried", call_id="retried", conversation_id="r", attempt=at, status="error", arguments=arguments(q=long), **texts)
        for at in range(1, 31)
    ]  # fmt: skip
    return write(create_empty_store(tmp_path_factory.mktemp("large") / "large.duckdb"), *records)


async def test_the_whole_list_of_tools_is_small(connected: Connect, tmp_path: Path) -> None:
    async with connected(tmp_path / "t.duckdb", allow_label=True) as client:
        listed = [
            tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools
        ]
        assert estimated_tokens(dumped(listed)) < MAX_LIST_TOKENS
        assert estimated_tokens(client.instructions) < MAX_INSTRUCTION_TOKENS


ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ask", {"question": "errors", "limit": 200}),
    ("ask", {"question": "ranking", "limit": 200}),
    ("attempts", {"limit": 100}),
    ("find", {"text": "xxx", "limit": 100}),
    ("conversation", {"id": "c"}),
    ("call", {"call_id": "retried"}),
    ("compare", {"what": "7d"}),
    ("advice", {"tool": "retried", "arguments": {"q": "x"}}),
    ("sql", {"query": "SELECT * FROM tool_calls"}),
)


@pytest.mark.long
@pytest.mark.parametrize("characters", [MAX_CHARACTERS, pytest.param(4_000, marks=pytest.mark.simulations)])
async def test_an_answer_is_never_longer_than_the_limit_and_says_what_was_cut(
    connected: Connect, large_store: Path, characters: int
) -> None:
    async with connected(large_store, characters=characters) as client:
        for tool, given_ in ASKED:
            result = await client.call_tool(tool, given_)
            assert not result.is_error, result.content[0].text
            text = result.content[0].text
            assert len(text) <= characters, (tool, len(text))
            cut = json.loads(text)["cut"]
            assert cut is not None, tool
            assert cut["more"], tool


NAME = '\\"\u202e' * 1_000
"""A name of 3,000 characters, each of which takes two or more in JSON."""
COLUMNS = f"SELECT {','.join(f'1 a{number}' for number in range(2_400))}"
"""A query whose names of columns alone are longer than an answer."""


@pytest.fixture(scope="module")
def monstrous_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names of thousands of characters everywhere, arguments and attributes with thousands of members, and all of it fails."""
    records: list[Any] = []
    members = {f"{number} {NAME}"[:200]: NAME[:70] for number in range(1_000)}
    for number in range(24):
        given: dict[str, Any] = {
            "tool": NAME, "tool_version": NAME, "agent": NAME, "call_id": f"{number} {NAME}", "status": "error",
            "code": NAME, "error_type": NAME, "error_message": NAME, "suggestion": NAME, "user_message": NAME,
            "explanation": NAME, "text": NAME, "seen_text": NAME, "conversation_id": NAME if number < 10 else f"{number} {NAME}",
            "attributes": Json(json.dumps(members)), "signals": Json(json.dumps(dict.fromkeys(members, 0.5))),
            "arguments": arguments(**{NAME[:200]: NAME[:70], "q": NAME[:60]} | (members if number == 0 else {})),
        }  # fmt: skip
        records.append(call(**given))
        records.append(
            call(tool=f"{NAME} other", conversation_id=given["conversation_id"], arguments=given["arguments"])
        )
    for number in range(20):
        records.append(call(tool=NAME, arguments=arguments(q="fine", other=number)))
    return write(create_empty_store(tmp_path_factory.mktemp("monstrous") / "monstrous.duckdb"), *records)


@pytest.mark.long
@pytest.mark.parametrize("characters", [4_000, pytest.param(MAX_CHARACTERS, marks=pytest.mark.simulations)])
async def test_answers_about_huge_names_and_thousands_of_columns_are_no_longer(
    connected: Connect, monstrous_store: Path, characters: int
) -> None:
    same = {NAME[:200]: NAME[:70], "q": NAME[:60]}
    asked: list[tuple[str, dict[str, Any]]] = [
        *(("ask", {"question": question, "limit": 200}) for question in ("errors", "ranking", "loops")),
        ("ask", {"question": "failure_rate", "by": f"tool,version,code,agent,conversation,attributes.{'z' * 300}"}),
        ("attempts", {"limit": 100}), ("find", {"text": NAME[:6], "limit": 100}), ("conversation", {"id": NAME}),
        ("call", {"call_id": f"0 {NAME}"}), ("compare", {"what": "7d"}), ("advice", {"tool": NAME, "arguments": same}),
        ("sql", {"query": "SELECT * FROM tool_calls"}), ("sql", {"query": COLUMNS}),
    ]  # fmt: skip
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("ask", {"question": NAME}), ("ask", {"question": "errors", "by": NAME}), ("compare", {"what": NAME}),
        ("call", {"call_id": NAME}), ("call", {"call_id": f"0 {NAME}", "fields": [NAME]}), (NAME, {}),
        ("sql", {"query": f"SELECT '{NAME}' FROM nothing"}), ("attempts", {NAME: 1}),
    ]  # fmt: skip
    async with connected(monstrous_store, characters=characters) as client:
        for tool, given_ in asked:
            result = await client.call_tool(tool, given_)
            text = result.content[0].text
            assert not result.is_error, (tool, text)
            assert len(text) <= characters, (tool, given_, len(text))
            found = json.loads(text)
            if found["cut"]:
                assert found["cut"].get("more") or found["cut"].get("texts"), tool
            shown = (found["cut"] or {}).get("rows", {}).get("shown")
            assert shown != 0, (tool, given_)
            assert not HIDDEN.search(text)
        for tool, given_ in wrong:
            result = await client.call_tool(tool, given_)
            assert result.is_error
            assert len(result.content[0].text) <= 1_000
            assert not HIDDEN.search(result.content[0].text.replace("\n", ""))


@pytest.mark.long
async def test_columns_that_do_not_fit_are_counted(connected: Connect, monstrous_store: Path) -> None:
    async with connected(monstrous_store) as client:
        found = (await client.call_tool("sql", {"query": COLUMNS})).structured_content
        cut = found["cut"]["columns"]
        assert cut["of"] == 2_400
        assert cut["shown"] == len(found["columns"]["computed"]) == len(found["rows"][0]["computed"])
        assert found["cut"]["more"]


@pytest.mark.long
async def test_pages_of_a_cut_conversation_join(connected: Connect, large_store: Path) -> None:
    async with connected(large_store) as client:
        steps: list[int] = []
        step = None
        while True:
            found = (await client.call_tool("conversation", {"id": "c", "step": step})).structured_content
            at = found["columns"]["computed"].index("step")
            steps += [row["computed"][at] for row in found["rows"]]
            if not (found["cut"] or {}).get("rows"):
                break
            step = steps[-1] + 1
            assert f"step={step}" in found["cut"]["more"]
        assert steps == list(range(1, 301))


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 10**9), st.text(max_size=900), st.floats(), st.none() | st.text()), max_size=60
    ),
    characters=st.integers(2_000, 8_000),
)
def test_any_table_fits_into_its_limit_and_counts_its_rows(rows: list[Any], characters: int) -> None:
    units = ("count", "text", "share", "text")
    fields = tuple(ResultColumn(name=f"c{at}", unit=unit, meaning="") for at, unit in enumerate(units))
    found = table_answer(QueryResult(fields, ["VARCHAR"] * 4, rows), {}, rows=50, more="limit", characters=characters)
    text = dumped(found)
    assert len(text) <= characters
    shown = len(found["rows"])
    assert shown == len(rows) or found["cut"]["rows"]["of"] == len(rows)
    assert json.loads(text) == found
    assert not HIDDEN.search(text)


@given(st.text())
def test_the_estimate_of_tokens_is_at_least_a_third_of_the_characters(text: str) -> None:
    assert estimated_tokens(text) >= len(text) / 3
    assert estimated_tokens(text) <= 2 * len(text) + 1
