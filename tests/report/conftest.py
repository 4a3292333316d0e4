"""Stores with generated histories, the demo store, and a browser page."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.conftest import used
from tests.stores import create_empty_store
from tooltrace.cli import cli
from tooltrace.core.records import Gate, Outcome, Record, ToolCall
from tooltrace.report import Report, build_report, fixed_range
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

NOW = datetime.now(UTC).replace(microsecond=0)
HOSTILE = [
    "<script>boom()</script>",
    "</script><script>boom()</script>",
    "<!--<script>",
    "\"'><img src=x onerror=boom()>",
    "{{ 7 * 7 }}{% raw %}",
    "| a | b |`` ` ``**bold** @octocat #1 [x](javascript:boom()) https://example.org",
    "]]><svg onload=boom()>\\|\\`",
    "\u202e\u2028&lt;b&gt;\x1b[31m",
    "`",
    "\\",
]
_numbers = itertools.count(1)


def call(**given: Any) -> ToolCall:
    """One finished attempt, of a call of its own, unless ``given`` says otherwise."""
    number = next(_numbers)
    known: dict[str, Any] = {
        "tool": "search", "call_id": f"call_{number}", "trace_id": f"{number:032x}", "span_id": f"{number:016x}",
        "started_at": NOW - timedelta(minutes=1), "duration_ms": 10.0, "status": "success",
    }  # fmt: skip
    return ToolCall(**{**known, **given})


def hostile() -> list[Record]:
    """Tools, codes, messages and all other texts that somebody else wrote, each often enough to have every panel."""
    records: list[Record] = []
    for text in HOSTILE:
        for n in range(25):
            one = call(
                tool=text, tool_version=text, agent=text, code=text, error_type=text, error_message=text, text=text, seen_text=text,
                status="error", confidence=n / 25, next_action=text, conversation_id=f"{text}{n}", retryable=True,
            )  # fmt: skip
            records += [
                one,
                Outcome(span_id=one.span_id, correct=n % 2 == 0, labeler=text, reason=text, labeled_at=NOW),
                Gate(
                    call_id=one.call_id, span_id=one.span_id, kind="confirmation", asked_at=NOW,
                    answered_at=NOW, decision="approved", answered_by=text, note=text,
                ),
            ]  # fmt: skip
    return records


def history() -> list[Record]:
    """Two tools over two weeks; ``fetch`` gets worse in the second, and ``search`` is too sure of itself."""
    draw, records = random.Random(4), []
    for n in range(900):
        at = NOW - timedelta(days=14) + timedelta(minutes=22 * n)
        late = at > NOW - timedelta(days=7)
        for tool, failing in (("search", 0.1), ("fetch", 0.6 if late else 0.1)):
            failed = draw.random() < failing
            one = call(
                tool=tool, started_at=at, status="error" if failed else "success", code="TIMEOUT" if failed else None,
                error_message="no answer in 3 s" if failed else None, duration_ms=draw.lognormvariate(4, 1), confidence=0.9,
                next_action="retry" if failed else "continue", tool_version="2" if late else "1", conversation_id=f"talk{n}",
            )  # fmt: skip
            records.append(one)
            if n % 3 == 0:
                records.append(
                    Outcome(span_id=one.span_id, correct=draw.random() < 0.6, labeler="human", labeled_at=at)
                )
    return records


def write(store: Path, *records: Record) -> Path:
    journal = Journal(StorePaths.of(store).journal)
    journal.write(b"".join(encode(record) for record in records))
    journal.close()
    return create_empty_store(store)


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("past") / "past.duckdb", *history())


@pytest.fixture(scope="session")
def foul(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("foul") / "foul.duckdb", *hostile())


@pytest.fixture(scope="session")
def demo(demo_store: Path) -> Path:
    """The store of a demo run."""
    return demo_store


@pytest.fixture(scope="session")
def built() -> Callable[..., Report]:
    """``build_report`` on a store to which nothing is written: it runs some twenty queries, so each report is built once."""

    @cache
    def built(store: Path, since: str | None = None, until: str | None = None) -> Report:
        return build_report(store, fixed_range(since=since, until=until))

    return built


@pytest.fixture
def report() -> Callable[..., Result]:
    """``tooltrace report … --store STORE``."""

    def report(store: Path, *arguments: str) -> Result:
        return CliRunner().invoke(cli, ["report", *arguments, "--store", str(store)])

    return report


@pytest.fixture
def prebuilt(past: Path, built: Callable[..., Report], monkeypatch: pytest.MonkeyPatch) -> None:
    """The command writes the report on ``past`` that other tests use too."""
    monkeypatch.setattr(sys.modules["tooltrace.cli.report"], "build_report", lambda *_: built(past, "20d"))


@pytest.fixture
def page(tab: Any) -> Iterator[Any]:
    """A page; the test fails where it reports an error, breaks its policy, or asks anybody for anything."""
    faults: list[str] = []
    listeners = {
        "console": lambda message: faults.append(message.text),
        "pageerror": lambda error: faults.append(str(error)),
        "request": lambda request: None if request.is_navigation_request() else faults.append(request.url),
        "dialog": lambda dialog: faults.append(dialog.message),
    }
    with used(tab, listeners):
        yield tab
    assert faults == []
