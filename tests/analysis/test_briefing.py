"""The briefing: what it says of an outage, what it leaves out, and that it is the same text each time."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

import tooltrace as tt
from tests.mcp_server.histories import INJECTIONS, arguments, call, hostile, outage, write
from tests.stores import create_empty_store
from tooltrace.cli import cli
from tooltrace.diagnosis.advice import advise
from tooltrace.diagnosis.briefing import CHARACTERS_PER_TOKEN, HEADING, briefing_text
from tooltrace.store.base import open_store


@pytest.fixture(scope="module")
def outage_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(create_empty_store(tmp_path_factory.mktemp("outage") / "outage.duckdb"), *outage())


def test_it_says_what_fails_since_when_with_which_arguments_and_what_works(outage_store: Path) -> None:
    heading, *lines = tt.briefing(store=outage_store).splitlines()
    assert heading == HEADING
    text = "\n".join(lines)
    # one of the calls before the first failure may belong to either side
    assert re.match(r'- "fetch" failed in 6[12]\.\d % of 4[01] calls \(', lines[0])
    assert re.search(r', mostly "TIMEOUT" "no response in 5 s"; before, 0\.0 % of (60|59) calls\.$', lines[0])
    assert 'With "url" at the host "b.example" it failed 24 of 24 times (86 % to 100 %); without, 1 of 16 times' in text
    assert 'After its failures, "search" worked 25 of 25 times (87 % to 100 %).' in text
    assert '- "search"' not in text


@pytest.mark.long
def test_it_is_deterministic_and_the_command_prints_it(outage_store: Path) -> None:
    first = tt.briefing(store=outage_store)
    assert first == tt.briefing(store=outage_store)
    done = CliRunner().invoke(cli, ["briefing", str(outage_store)])
    assert done.exit_code == 0
    assert done.output == f"{first}\n"


def test_it_has_at_most_its_tokens_and_whole_lines(outage_store: Path) -> None:
    advice = advise(open_store(outage_store), "fetch")
    assert advice.finding is not None
    found = [(advice.finding, advice)]
    whole = briefing_text(found, 400)
    for tokens in range(0, 400, 7):
        text = briefing_text(found, tokens)
        assert len(text) <= tokens * CHARACTERS_PER_TOKEN
        assert set(text.splitlines()) <= set(whole.splitlines())
        assert len(text.splitlines()) != 1, "a heading alone says nothing"


def test_it_names_only_tools_that_the_agent_has(outage_store: Path) -> None:
    assert tt.briefing(["search"], store=outage_store) == ""
    alone = tt.briefing(["fetch"], store=outage_store)
    assert '"fetch"' in alone
    assert '"search"' not in alone, "an alternative is a tool of the agent too"


def test_it_is_empty_where_nothing_is_worth_saying(tmp_path: Path) -> None:
    assert tt.briefing(store=tmp_path / "none.duckdb") == ""
    fine = write(create_empty_store(tmp_path / "fine.duckdb"), *(call() for _ in range(60)))
    assert tt.briefing(store=fine) == ""
    few = write(create_empty_store(tmp_path / "few.duckdb"), *(call(status="error", code="TIMEOUT") for _ in range(2)))
    assert tt.briefing(store=few) == "", "two calls are too few"
    records = [each for each in outage() if getattr(each, "status", "") == "success"]
    assert tt.briefing(store=write(create_empty_store(tmp_path / "past.duckdb"), *records)) == ""


@pytest.mark.long
def test_it_quotes_the_words_of_strangers_as_data(tmp_path: Path) -> None:
    store = write(create_empty_store(tmp_path / "hostile.duckdb"), *hostile())
    text = tt.briefing(store=store, tokens=2_000)
    assert text.startswith(HEADING)
    for line in text.splitlines()[1:]:
        assert line.startswith(("- ", "  "))
    assert "\x1b" not in text
    assert not any(injection in text for injection in INJECTIONS if len(injection) > 110), "quotes are short"


def test_a_retry_is_mentioned_where_the_interval_decides(tmp_path: Path) -> None:
    records = []
    for number in range(30):
        for at in (1, 2):
            records.append(
                call(tool="pay", call_id=f"p{number}", conversation_id=f"p{number}", attempt=at, status="error",
                     code="DOWN", arguments=arguments(order=number),
                     started_at=call().started_at + timedelta(seconds=10 * number + at - 400))
            )  # fmt: skip
    text = tt.briefing(store=write(create_empty_store(tmp_path / "t.duckdb"), *records))
    assert "A retry rarely helped: 0 of 29 times (0 % to 12 %)." in text, "the first call began before its last attempt"


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(tt.TooltraceError, match="tokens must be a whole number"):
        tt.briefing(tokens=-1)
    with pytest.raises(tt.TooltraceError, match=r"pass \['fetch'\]"):
        tt.briefing("fetch")
