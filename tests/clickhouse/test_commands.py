"""Commands that show what a store holds, of a store in ClickHouse: the same words as of one on the disk."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.history import make_history
from tests.clickhouse.compare import address, same
from tests.clickhouse.conftest import Fill, records_of
from tooltrace.cli import cli
from tooltrace.store.read.reader import open_reader


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory, engine: Any, fill: Fill) -> tuple[str, str]:
    """A store on the disk, and the same in ClickHouse."""
    store: Path = tmp_path_factory.mktemp("commands") / "c.duckdb"
    make_history(store, 1500)
    fill("commands", records_of(store))
    return str(store), address(engine, "commands").url


def output_of(store: str, *words: str) -> str:
    done = CliRunner().invoke(cli, [*words, "--store", store], catch_exceptions=False, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert done.stdout
    return done.stdout


def one(store: str, sql: str) -> Any:
    with open_reader(Path(store)) as con:
        return con.execute(sql).fetchall()[0][0]


def at(stores: tuple[str, str], part: float) -> str:
    """When so much of the history was over."""
    return str(
        one(stores[0], f"SELECT strftime(quantile_disc(started_at, {part}), '%Y-%m-%dT%H:%M:%S') FROM tool_calls")
    )


def alike(a: Any, b: Any) -> bool:
    """The same, but for the last digits of figures and what names the store."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a.keys() - {"store", "made_at", "ms"})
    if isinstance(a, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return same(a, b)


def test_tail(stores: tuple[str, str]) -> None:
    words = ["tail", "-n", "20", "--no-follow"]
    mine, theirs = (output_of(store, *words) for store in stores)
    assert mine == theirs
    assert len(mine.splitlines()) >= 20


def test_show(stores: tuple[str, str]) -> None:
    call = one(stores[0], "SELECT call_id FROM tool_calls WHERE attempt = 3 ORDER BY span_id LIMIT 1")
    mine, theirs = (output_of(store, "show", call) for store in stores)
    assert mine == theirs
    assert call in mine


def test_top(stores: tuple[str, str]) -> None:
    mine, theirs = (output_of(store, "top", "--once", "--since", at(stores, 0.3), "--sort", "tool") for store in stores)
    assert words(mine) == words(theirs)
    assert "fetch" in mine


def words(text: str) -> list[str]:
    """But for the bars, which begin where the clock stands, and for when it was asked."""
    return [re.sub(r"[▁-█░▒▓⣀-⣿]+|\d\d:\d\d(:\d\d)?", "", line).rstrip() for line in text.splitlines()]


def test_report(stores: tuple[str, str]) -> None:
    asked = ["report", "--format", "json", "-o", "-", "--since", at(stores, 0.3), "--until", at(stores, 0.9)]
    mine, theirs = (json.loads(output_of(store, *asked)) for store in stores)
    assert alike(mine, theirs)


def test_report_compared(stores: tuple[str, str]) -> None:
    begin, middle, end = (at(stores, part) for part in (0.1, 0.5, 0.9))
    asked = ["report", "--format", "json", "-o", "-", "--compare", f"{begin}..{middle} {middle}..{end}"]
    mine, theirs = (json.loads(output_of(store, *asked)) for store in stores)
    assert alike(mine, theirs)
    assert "fetch" in json.dumps(theirs)
