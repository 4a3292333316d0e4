"""A field that is added by one line and one migration is in the row, the span, the docs, the files and the redaction."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.store.conftest import PRELUDE
from tooltrace.store.fold import fold
from tooltrace.store.paths import StorePaths

ADDED = """
    tokens: Annotated[int | None, About("Tokens that the tool used.", "tooltrace.tokens", late=True)] = None
    answer: Annotated[Json | None, About("Its answer.", "tooltrace.answer", content=True, late=True)] = None
"""

WITH_THE_FIELD = f"""
import importlib.util, sys
from importlib.machinery import SourceFileLoader

class Loader(SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_data(self.path).decode()
        head, end, rest = source.partition("\\n\\n\\nclass Outcome")
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
from tooltrace.store import migrations, schema
def to_next(con):
    con.execute("ALTER TABLE store.attempts ADD COLUMN tokens BIGINT")
    con.execute("ALTER TABLE store.attempts ADD COLUMN answer JSON")
newest = schema.SCHEMA_VERSION + 1
migrations.migrate.__kwdefaults__ = {"steps": {**migrations.STEPS, newest: to_next}, "newest": newest}
migrations.check.__kwdefaults__ = migrations.checked_version.__kwdefaults__ = {"newest": newest}
"""

USE = """
from docs.generate import signal_table
from tooltrace.ingest.reredact import reredact
from tooltrace.core.fields import FROM_TEXT, record_from
from tooltrace.core.records import ToolCall
from tooltrace.otel import span_codec
from tooltrace.otel.content_policy import strip_content
from tooltrace.recording.settings import Settings
from tooltrace.store.journal_format import decode

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
migrations.migrate.__kwdefaults__ = {"steps": migrations.STEPS, "newest": schema.SCHEMA_VERSION}
fold(fresh)
with reading(fresh) as db:
    assert [row[0] for row in db.sql("DESCRIBE attempts").fetchall()] == names, "columns of a new store stand elsewhere"

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


def test_one_line_and_one_migration_add_a_field(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    fold(store)
    command = [sys.executable, "-c", WITH_THE_FIELD + PRELUDE + MIGRATION + USE, str(store.database)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
