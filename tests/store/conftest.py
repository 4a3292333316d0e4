"""Helpers of the store tests: records, journals, and real child processes."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.programs import start_program
from tests.stores import write_records
from tooltrace.core.records import ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.read.reader import open_reader

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
MakeCall = Callable[..., ToolCall]
Write = Callable[..., Path]

PRELUDE = """
import os, signal, sys, threading, time
from datetime import UTC, datetime, timedelta
from tooltrace.core.records import *
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader as reading, materialize as settle
from tooltrace.store.journal.line_format import encode
from tooltrace.store.files.paths import StorePaths
paths = StorePaths.of(sys.argv[1])
def call(number, **more):
    return ToolCall(**{"tool": "search", "call_id": f"c{number}", "trace_id": "a" * 32, "span_id": f"{number:016x}",
        "started_at": datetime(2026, 1, 2, tzinfo=UTC) + timedelta(milliseconds=number), "status": "success"} | more)
"""
MODULES = ("tooltrace", "tooltrace.store.read.reader")


def make_call(number: int = 0, **more: Any) -> ToolCall:
    """The ``number``-th attempt of a made-up run."""
    values: dict[str, Any] = {
        "tool": "search",
        "call_id": f"c{number}",
        "trace_id": "a" * 32,
        "span_id": f"{number:016x}",
        "started_at": START + timedelta(milliseconds=number),
        "duration_ms": 12.5,
        "status": "success",
        "arguments": Json('{"query":"x y"}'),
    }
    return ToolCall(**values | more)


@pytest.fixture
def call() -> MakeCall:
    return make_call


@pytest.fixture
def store(tmp_path: Path) -> StorePaths:
    return StorePaths.of(tmp_path / "t.duckdb")


def copy_store(source: StorePaths, store: StorePaths) -> StorePaths:
    """Copy every file of the folder of ``source``, a folded store of the same name, to that of ``store``."""
    shutil.copytree(source.database.parent, store.database.parent, dirs_exist_ok=True)
    return store


@pytest.fixture
def write(store: StorePaths) -> Write:
    """Write records to a journal whose writer is gone afterwards; its file."""
    return partial(write_records, store)


@pytest.fixture
def rows(store: StorePaths) -> Callable[..., list[tuple[Any, ...]]]:
    """Function that returns the rows of a query in SQL."""

    def rows(sql: str) -> list[tuple[Any, ...]]:
        with open_reader(store, cursors=False) as db:
            return db.sql(sql).fetchall()

    return rows


@pytest.fixture
def child(store: StorePaths) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start another Python process with ``code``, which knows ``paths`` and ``call``."""
    started: list[subprocess.Popen[str]] = []

    def child(code: str, *arguments: str) -> subprocess.Popen[str]:
        process = start_program(PRELUDE + textwrap.dedent(code), str(store.database), *arguments, modules=MODULES)
        started.append(process)
        return process

    yield child
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run(child: Callable[..., subprocess.Popen[str]]) -> Callable[..., str]:
    """Run ``code`` in another process to its end, which must be good; what it printed."""

    def run(code: str, *arguments: str, code_expected: int = 0) -> str:
        process = child(code, *arguments)
        out, err = process.communicate()
        assert process.returncode == code_expected, err
        return out.strip()

    return run
