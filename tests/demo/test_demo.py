"""``tooltrace demo`` as a user runs it: every kind of ending is there, the same seed gives the same statuses,
truth is labelled, and what is printed can be typed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import tooltrace as tt

CALLS = 120
COMMAND = (sys.executable, "-W", "default", "-m", "tooltrace")
ROOT = Path(__file__).parents[2]
Rows = list[tuple[Any, ...]]
Ask = Callable[[str], Rows]


def start(*arguments: str, code: str | None = None) -> subprocess.Popen[str]:
    program = COMMAND if code is None else (sys.executable, "-c", code)
    environment = {**os.environ, "TOOLTRACE_STRICT": "1", "PYTHONPATH": str(ROOT)}
    environment.pop("COLUMNS", None)
    return subprocess.Popen(
        [*program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate()
    return process.returncode, out, err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[tuple[int, str, str]]:
    """Two runs with one seed, at the same time, into a store each."""
    names = ("one", "two")
    started = [
        start("demo", "--calls", str(CALLS), "--days", "0", "--seed", "5", "--store", str(folder / f"{name}.duckdb"))
        for name in names
    ]
    return [finish(process) for process in started]


def ask_of(store: Path) -> Ask:
    def ask(sql: str) -> Rows:
        with tt.connect(store) as db:
            return db.sql(sql).fetchall()

    return ask


@pytest.fixture
def ask(runs: list[tuple[int, str, str]], folder: Path) -> Ask:
    return ask_of(folder / "one.duckdb")


@pytest.mark.processes
def test_it_succeeds_without_a_warning(runs: list[tuple[int, str, str]]) -> None:
    for code, _out, err in runs:
        assert code == 0, err
        assert err.splitlines() == [f"Running agents with {CALLS} calls …"]


@pytest.mark.processes
def test_the_same_seed_gives_the_same_statuses(runs: list[tuple[int, str, str]], folder: Path) -> None:
    counted = [
        ask_of(folder / f"{name}.duckdb")(
            """SELECT tool, attempt, status, code, ending, error_type, retryable, next_action, confidence, count(*)
               FROM tool_calls GROUP BY ALL ORDER BY ALL"""
        )
        for name in ("one", "two")
    ]
    assert counted[0] == counted[1]
    assert len(counted[0]) > 40


@pytest.mark.processes
def test_every_planned_call_is_recorded(ask: Ask) -> None:
    assert ask("SELECT count(DISTINCT call_id) FROM tool_calls") == [(CALLS,)]
    assert ask("SELECT count(*) FROM losses") == [(0,)]
    assert ask("SELECT count(*) FROM tool_calls WHERE conversation_id IS NULL OR agent IS NULL") == [(0,)]
    assert {agent for (agent,) in ask("SELECT DISTINCT agent FROM tool_calls")} == {"reader", "librarian", "scout"}


@pytest.mark.processes
def test_every_tool_and_every_way_to_end_appear(ask: Ask) -> None:
    seen = set(ask("SELECT DISTINCT tool, ending, status FROM tool_calls"))
    assert {tool for tool, _, _ in seen} == {
        *("read_file", "list_directory", "outline", "read_lines", "download"),
        *("search_docs", "evaluate", "ask_database", "fetch", "follow"),
    }
    assert {(ending, status) for _, ending, status in seen} == {
        ("returned", "success"), ("returned", "partial"), ("returned", "error"),
        ("raised", "error"), ("cancelled", None), ("abandoned", None),
    }  # fmt: skip
    assert {tool for tool, ending, _ in seen if ending == "abandoned"} == {"read_lines", "follow"}
    assert ("fetch", "cancelled", None) in seen


@pytest.mark.processes
def test_the_errors_are_those_of_real_tools(ask: Ask) -> None:
    codes = {code for (code,) in ask("SELECT DISTINCT code FROM tool_calls WHERE status = 'error'")}
    assert codes >= {
        *("NOT_FOUND", "IS_DIRECTORY", "BINARY_FILE", "ACCESS_DENIED", "PERMISSION_DENIED", "NOT_PYTHON"),
        *("NO_SUCH_TABLE", "CONFLICT", "INVALID_PARAM", "INVALID_FORMAT", "EXECUTION_ERROR"),
        *("RATE_LIMIT", "SERVICE_UNAVAILABLE", "TIMEOUT"),
    }
    types = {kind for (kind,) in ask("SELECT DISTINCT error_type FROM tool_calls WHERE ending = 'raised'")}
    assert types >= {"FileNotFoundError", "IsADirectoryError", "UnicodeDecodeError", "ZeroDivisionError", "SyntaxError"}
    assert types >= {"httpx.HTTPStatusError", "httpx.ReadTimeout", "httpx.RemoteProtocolError"}
    assert "SystemError" not in types


@pytest.mark.processes
def test_a_retry_is_the_next_attempt_of_the_same_call(ask: Ask) -> None:
    stories = Counter(
        (tool, story)
        for tool, story in ask(
            """SELECT tool, string_agg(coalesce(code, 'ok'), ' ' ORDER BY attempt) FROM tool_calls
               GROUP BY tool, call_id HAVING count(*) > 1"""
        )
    )
    assert stories.keys() >= {
        ("fetch", "RATE_LIMIT ok"),
        ("fetch", "RATE_LIMIT RATE_LIMIT ok"),
        ("fetch", "SERVICE_UNAVAILABLE ok"),
        ("fetch", "SERVICE_UNAVAILABLE SERVICE_UNAVAILABLE SERVICE_UNAVAILABLE"),
        ("fetch", "TIMEOUT ok"),
        ("fetch", "TIMEOUT TIMEOUT TIMEOUT"),
        ("download", "SERVICE_UNAVAILABLE ok"),
        ("ask_database", "CONFLICT ok"),
    }
    assert ask("SELECT count(*) FROM tool_calls WHERE status = 'error' AND retryable AND attempt > 3") == [(0,)]


@pytest.mark.processes
def test_outcomes_are_labelled_where_the_truth_is_known(ask: Ask) -> None:
    judged = ask(
        """SELECT tool, arguments, correct, labeler FROM outcomes JOIN tool_calls USING (call_id)
           WHERE status = 'success'"""
    )
    assert len(judged) == ask("SELECT count(*) FROM outcomes")[0][0]
    assert {(tool, correct) for tool, _, correct, _ in judged} == {
        ("search_docs", True), ("search_docs", False), ("evaluate", True), ("evaluate", False),
    }  # fmt: skip
    assert {labeler for *_, labeler in judged} == {"demo"}
    for tool, arguments, correct, _ in judged:
        if tool == "evaluate":
            assert correct == (not re.search(r'"-\d+ \*\* 2', arguments)), arguments


@pytest.mark.processes
def test_confidence_comes_with_its_signals_and_sources(ask: Ask) -> None:
    found = ask(
        """SELECT confidence, json_keys(signals), json_array_length(sources), next_action FROM tool_calls
           WHERE tool = 'search_docs' AND code IS NULL"""
    )
    assert found
    for confidence, signals, sources, action in found:
        assert 0 < confidence < 1
        assert signals == ["coverage", "margin", "detail"]
        assert sources == 1
        assert action == ("continue" if confidence >= 0.5 else "human_review")
    kinds = {kind for (kind,) in ask("SELECT DISTINCT type FROM sources")}
    assert kinds >= {"file", "database", "api"}


@pytest.mark.processes
def test_the_api_key_is_in_no_file(runs: list[tuple[int, str, str]], ask: Ask, folder: Path) -> None:
    assert ask("SELECT count(*) FROM tool_calls WHERE tool = 'fetch' AND arguments IS NULL") == [(0,)]
    assert ask("SELECT count(*) FROM tool_calls WHERE redacted") != [(0,)]
    for file in folder.rglob("*"):
        if file.is_file():
            assert b"sk-demo" not in file.read_bytes(), file


@pytest.mark.processes
def test_the_report_answers_and_names_the_store(runs: list[tuple[int, str, str]], folder: Path) -> None:
    _, out, _ = runs[0]
    assert re.match(rf"{CALLS} calls in \d+ attempts, \d+\.\d s\.", out)
    assert re.search(r"fetch +\d+ +\d+ +\d+\.\d % \[\d+\.\d, \d+\.\d\]", out)
    assert "RATE_LIMIT" in out
    assert re.search(r"What do retries cost.*\n(.*\n){3,6} fetch +\d+ +\d+ +\d\.\d\d", out)
    assert out.endswith(f"Store: {folder / 'one.duckdb'}\n")
    assert "\x1b" not in out


@pytest.mark.processes
def test_the_calibration_verdicts_agree_with_the_store(runs: list[tuple[int, str, str]], ask: Ask) -> None:
    _, out, _ = runs[0]
    printed = re.findall(
        r"^(\w+): mean confidence (\d\.\d\d), accuracy (\d\.\d\d), n = (\d+): (.+)$", out, re.MULTILINE
    )
    known = ask(
        """SELECT tool, avg(confidence), avg(CASE WHEN correct THEN 1.0 ELSE 0.0 END), count(*), avg(confidence) - avg(CAST(correct AS INT))
           FROM judged JOIN tool_calls USING (span_id) WHERE confidence IS NOT NULL GROUP BY tool"""
    )
    assert {tool for tool, *_ in printed} == {tool for tool, *_ in known} == {"search_docs", "evaluate"}
    for tool, confidence, accuracy, n, gap in known:
        (words,) = [each for each in printed if each[0] == tool]
        assert words[1:4] == (f"{confidence:.2f}", f"{accuracy:.2f}", str(n))
        assert words[4] == "too few labels for a verdict" if n < 20 else f"{abs(gap):.2f} [" in words[4]
    table, commands = out.index("Is the stated confidence right?"), out.index("Next commands:")
    assert out.index("What do retries cost") < table < out.index(": mean confidence ") < commands


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "overconfident by 0.25 [0.19, 0.31]"),
        ({"gap": -0.2, "gap_low": -0.31, "gap_high": -0.09}, "underconfident by 0.20 [0.09, 0.31]"),
        (
            {"gap": 0.01, "gap_low": -0.02, "gap_high": 0.04},
            "no significant over- or underconfidence, gap 0.01 [-0.02, 0.04]",
        ),
        (
            {"gap": 0.01, "gap_low": -0.02, "gap_high": 0.04, "miscalibrated": True, "ece": 0.12},
            "calibrated on average, but not at each confidence level (ece 0.12)",
        ),
        ({"too_few": True}, "too few labels for a verdict"),
        ({"gap_low": None, "gap_high": None}, "too few labels for a verdict"),
    ],
)
def test_the_verdict_in_words(given: dict[str, Any], words: str) -> None:
    from tooltrace.cli.demo_report import verdict

    row = {"tool": "search", "mean_confidence": 0.86, "accuracy": 0.61, "n": 214, "gap": 0.25, "gap_low": 0.19}
    row |= {"gap_high": 0.31, "too_few": False, "miscalibrated": False, "ece": 0.25, **given}
    assert verdict(row) == f"search: mean confidence 0.86, accuracy 0.61, n = 214: {words}"


@pytest.fixture
def commands(runs: list[tuple[int, str, str]]) -> list[str]:
    """The suggested commands, as they are printed."""
    text = runs[0][1]
    return [line.strip() for line in text[text.index("Next commands:") :].splitlines() if line.startswith("  ")]


@pytest.mark.processes
def test_the_printed_commands_work_as_typed(commands: list[str]) -> None:
    program = f"{shlex.quote(sys.executable)} -m tooltrace "
    assert [command.removeprefix(program).split()[0] for command in commands] == ["serve", "show", "query", "sql"]
    for command in commands[1:]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)  # noqa: S602 - as a user types it
        assert done.returncode == 0, done.stderr
        assert "Error" not in done.stderr
        assert done.stdout.strip()


@pytest.mark.processes
def test_the_printed_serve_command_serves_the_demo(commands: list[str]) -> None:
    arguments = [*shlex.split(commands[0]), "--port", "0"]
    process = subprocess.Popen(
        arguments,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert address, line
        page = httpx.get(f"{address[0]}/data/failure_rate", trust_env=False, timeout=None)
        assert page.status_code == 200
        assert "search_docs" in page.text
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.processes
@pytest.mark.parametrize("missing", ["httpx", "stamina"])
def test_without_the_extra_one_line_names_the_package(missing: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from tooltrace.cli import main; main()"
    store = tmp_path / "none.duckdb"
    status, out, err = finish(start("demo", "--store", str(store), code=code))
    assert (status, out) == (1, "")
    assert err == f"tooltrace: the demo needs {missing}: pip install 'tooltrace-recorder[demo]'\n"
    assert not list(tmp_path.iterdir())


def test_a_thousand_calls_are_the_default() -> None:
    from tooltrace.cli.demo import demo

    defaults: dict[str | None, Any] = {option.name: option.default for option in demo.params}
    assert defaults["calls"] >= 1000
