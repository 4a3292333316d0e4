"""A next version with one more field: a store is refused without a step, and migrated by one; the field is everywhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tooltrace as tt
from tests.store.conftest import PRELUDE
from tooltrace.store.database.schema import SCHEMA
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold

pytestmark = pytest.mark.processes

ADDED = """
    tokens: Annotated[int | None, About("Tokens that the tool used.", "tooltrace.tokens")] = None
    answer: Annotated[Json | None, About("Its answer.", "tooltrace.answer", content=True)] = None
"""

WITH_THE_FIELD = f"""
import importlib.util, sys
from importlib.machinery import SourceFileLoader

class Loader(SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path).decode()
        head, end, rest = source.partition("\\n\\n\\nclass SavedQuery")
        assert end, "the class after ToolCall has another name"
        return compile(head + {ADDED!r} + end + rest, self.path, "exec", dont_inherit=True)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "tooltrace.core.records":
            file = path[0] + "/records.py"
            return importlib.util.spec_from_file_location(name, file, loader=Loader(name, file))

sys.meta_path.insert(0, Finder())
"""

MIGRATION = """
import duckdb
from tooltrace.errors import StoreError
from tooltrace.store.database import migrations
from tooltrace.store.database.connection import opened

def refusal():
    try:
        with reading(paths):
            return None
    except StoreError as error:
        return str(error)

def to_next(con):
    con.execute("ALTER TABLE store.attempts ADD COLUMN tokens BIGINT")
    con.execute("ALTER TABLE store.attempts ADD COLUMN answer JSON")

def to_nowhere(con):
    to_next(con)
    raise duckdb.OperationalError("no")

before = sys.argv[2]
assert f"another schema ({before})" in refusal(), refusal()
migrations.STEPS[before] = to_nowhere
assert refusal() is not None
with opened(paths, read_only=True) as con:
    assert migrations.schema_of(con) == before
    assert "tokens" not in [row[0] for row in con.execute("DESCRIBE store.attempts").fetchall()]
migrations.STEPS[before] = to_next
"""

KILLED = """
def killed_at(moment):
    "Migrate in a child process that is killed at the moment; DuckDB runs only in children."
    child = os.fork()
    if child == 0:
        kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        def step(con):
            con.execute("ALTER TABLE store.attempts ADD COLUMN tokens BIGINT")
            kill() if moment == "in a step" else con.execute("ALTER TABLE store.attempts ADD COLUMN answer JSON")
        migrations.STEPS[sys.argv[2]] = step
        if moment == "before the commit":
            migrations.create_views_and_comments = kill
        elif moment == "before the checkpoint":
            fold_step.checkpoint = kill
        fold(paths)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == (signal.SIGKILL if moment else 0), moment

def schema_and_calls():
    read, write = os.pipe()
    if os.fork() == 0:
        with opened(paths, read_only=True) as con:
            calls = con.execute("SELECT count(*) FROM store.attempts").fetchall()[0][0]
            os.write(write, f"{migrations.schema_of(con)} {calls}".encode())
        os._exit(0)
    os.wait()
    return os.read(read, 100).decode().split()

from tooltrace.store.fold import fold_step
from tooltrace.store.database import migrations
from tooltrace.store.database.connection import opened
from tooltrace.store.database.schema import SCHEMA
for moment in ("in a step", "before the commit", "before the checkpoint"):
    killed_at(moment)
    assert schema_and_calls() == [sys.argv[2], "1"], moment
killed_at(None)
assert schema_and_calls() == [SCHEMA, "2"]
"""

RECORDED = """
import tooltrace as tt
from tooltrace.errors import StoreError

tt.configure(store=sys.argv[1])
later = tt.trace_tool(name="later")(lambda n: n)
for n in range(20):
    later(n)
assert tt.flush(None)
try:
    tt.connect(sys.argv[1]).__enter__()
except StoreError as error:
    assert f"another schema ({sys.argv[2]})" in str(error), error
else:
    raise AssertionError("it was not refused")
tt.shutdown(None)
"""

USE = """
from docs.generate import signal_table
from tooltrace.ingest.reredact import reredact
from tooltrace.core.fields import FROM_TEXT, record_from
from tooltrace.core.records import ToolCall
from tooltrace.otel import span_codec
from tooltrace.otel.content_policy import strip_content
from tooltrace.recording.settings import Settings
from tooltrace.store.journal.line_format import decode

one = call(2, tokens=7, answer=Json('{"a":1}'))
assert decode(encode(one)) == one

journal = Journal(paths.journal)
journal.write(encode(one))
journal.close()
fold(paths)
with reading(paths) as db:
    rows = db.sql("SELECT call_id, tokens, answer FROM tool_calls ORDER BY 1").fetchall()
    assert rows == [("c1", None, None), ("c2", 7, '{"a":1}')], rows
    comment = db.sql(
        "SELECT comment, data_type FROM duckdb_columns() "
        "WHERE table_name = 'attempts' AND column_name = 'tokens' AND database_name = 'store'"
    ).fetchall()
    assert comment == [("Tokens that the tool used.", "BIGINT")], comment
    names = [row[0] for row in db.sql("DESCRIBE attempts").fetchall()]

fresh = StorePaths.of(sys.argv[1] + ".fresh")
journal = Journal(fresh.journal)
journal.write(encode(one))
journal.close()
fold(fresh)
with reading(fresh) as db:
    assert {row[0] for row in db.sql("DESCRIBE attempts").fetchall()} == set(names), "a new store has other columns"

form = span_codec.encode(one)
assert form.attributes["tooltrace.tokens"] == 7
assert span_codec.decode(form) == one
assert "tooltrace.tokens" in strip_content(form.attributes)
assert "tooltrace.answer" not in strip_content(form.attributes)
assert "| `tooltrace.tokens` | custom | integer | Tokens that the tool used. | tooltrace |" in signal_table("span")

secret = "sk-abcdefghijklmnopqrstuvwx"
leaky = call(3, answer=Json('{"key":"%s"}' % secret))
assert secret not in reredact(leaky, Settings(store=None)).answer
assert reredact(leaky, Settings(store=None, capture="metadata")).answer is None
row = {"tool": "t", "call_id": "c", "trace_id": "1", "span_id": "2", "started_at": "2026-01-01", "tokens": "7"}
assert record_from(ToolCall, row, FROM_TEXT).tokens == 7
"""


def test_one_line_and_one_step_add_a_field(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    fold(store)
    command = [sys.executable, "-c", WITH_THE_FIELD + PRELUDE + MIGRATION + USE, str(store.database), SCHEMA]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr


def test_a_migration_that_is_killed_leaves_the_earlier_schema_and_another_completes_it(
    store: StorePaths, write: Any, call: Any
) -> None:
    write(call(1))
    fold(store)
    write(call(2))
    command = [sys.executable, "-c", WITH_THE_FIELD + PRELUDE + KILLED, str(store.database), SCHEMA]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr


def test_two_versions_record_into_one_store_and_that_of_the_database_reads_it(
    store: StorePaths, write: Any, call: Any
) -> None:
    write(call(1))
    fold(store)
    command = [sys.executable, "-c", WITH_THE_FIELD + PRELUDE + RECORDED, str(store.database), SCHEMA]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    write(call(2))
    with tt.connect(store.database) as db:
        calls = db.execute(
            "SELECT tool, count(*), count(DISTINCT span_id) FROM tool_calls GROUP BY 1 ORDER BY 1"
        ).fetchall()
        assert calls == [("later", 20, 20), (call(1).tool, 2, 2)]
        assert not db.execute("SELECT * FROM losses").fetchall()
