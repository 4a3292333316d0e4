"""SQL of others in the sandbox: no crash, nothing but the store is read, and no file is written."""

from __future__ import annotations

import random
import re
import tempfile
import time
from pathlib import Path

import duckdb

from tests.ingest.receiver.running import made
from tests.store.sandbox_program import answers_of_one_process
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.sandbox import SandboxLimits

SECRET = "another-file-7f3a"
LIMITS = SandboxLimits(seconds=60, rows=100)
PARTS = (
    "SELECT", "FROM", "WHERE", "(", ")", ",", "*", "tool_calls", "attempts", "losses", "tool", "count(*)", "GROUP BY", "ALL", "WITH", "x",
    "AS", "MATERIALIZED", "UNION", "LATERAL", "PIVOT", "ON", "UNPIVOT", "QUALIFY", "OVER", "LIMIT", "1", "NULL", "'{outside}'", "'{folder}/*'",
    "read_text('{outside}')", "read_csv('{outside}')", "read_blob(['{outside}'])", "glob('{folder}/*')", "query('FROM ''{outside}''')",
    "query_table('{outside}')", "sniff_csv('{outside}')", "SUMMARIZE", "DESCRIBE", "EXPLAIN", "ANALYZE", "COPY", "TO '{folder}/new'", "ATTACH",
    "SET", "temp_directory", "=", "CALL", "PRAGMA", ";", "--", "/*", "*/", "$1", "$$", "::JSON", "::VARCHAR", "->>'$.a'", "[1:2]", "{{'a': 1}}",
    "list_transform([1], x -> x)", "COLUMNS(*)", "TABLESAMPLE 1 ROWS", "ASOF JOIN", "USING (tool)", "range(3)", "json_serialize_sql('SELECT 1')",
    "json_execute_serialized_sql(json_serialize_sql('FROM ''{outside}'''))", "getvariable('x')", "current_setting('temp_directory')", "EXCLUDE (tool)",
)  # fmt: skip
"""Parts of statements; without large numbers, so that no statement is endless."""


def statements(choose: random.Random, number: int, folder: Path, outside: Path) -> list[str]:
    """Return each table function with the path of another file, or ``number`` statements of random parts."""
    return [
        " ".join(choose.choices(PARTS, k=choose.randint(2, 14))).format(outside=outside, folder=folder)
        for _ in range(number)
    ]


def table_functions(outside: Path) -> list[str]:
    """Return a statement for each table function of DuckDB that reads ``outside``."""
    with duckdb.connect() as con:
        found = con.execute("SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%'")
        return [f"SELECT * FROM {name}('{outside}')" for (name,) in found.fetchall()]


def check(store: Path, texts: list[str], folder: Path) -> None:
    """Run ``texts`` in one process of the sandbox; nothing outside of the store is read or written."""
    before = sorted(folder.iterdir())
    for text, answer in zip(texts, answers_of_one_process(store, texts, LIMITS), strict=True):
        assert SECRET not in re.sub(r"\s", "", str(answer)), text
        assert SECRET.encode().hex() not in str(answer), text
    assert sorted(folder.iterdir()) == before


def run(choose: random.Random, end: float) -> str:
    """Run statements until ``end``, and return what was done."""
    done = 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        store, outside = made_store(folder)
        check(store, table_functions(outside), folder)
        while time.monotonic() < end:
            texts = statements(choose, 200, folder, outside)
            check(store, texts, folder)
            done += len(texts)
    return f"{done:,} statements"


def made_store(folder: Path) -> tuple[Path, Path]:
    """Return a store in ``folder``, and a file beside it that SQL must not read."""
    store, outside = folder / "s.duckdb", folder / "outside.csv"
    outside.write_text(f"a\n{SECRET}\n")
    journal = Journal(StorePaths.of(store).journal)
    journal.write(b"".join(encode(made(number)) for number in range(3)))
    journal.close()
    fold(store)
    return store, outside
