"""Many statements in one process of the sandbox, which answers one of them otherwise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.programs import start_program
from tooltrace.store.sandbox import SandboxLimits

PROGRAM = """
import json, sys
import duckdb, orjson
from tooltrace.errors import TooltraceError
from tooltrace.store.read.reader import open_reader
from tooltrace.store.sandbox import SandboxLimits, worker
store, limits, texts = json.load(sys.stdin)
limits, found = SandboxLimits(**limits), []
with open_reader(store, cursors=False) as con:
    worker._lock_down(con, limits, None)
    for text in texts:
        try:
            found.append(worker._rows(con, worker.checked(con, text), limits))
        except (TooltraceError, duckdb.Error) as error:
            found.append(worker._message(error, limits))
sys.stdout.buffer.write(orjson.dumps(found))
"""


def answers_of_one_process(store: Path, texts: Sequence[str], limits: SandboxLimits) -> list[dict[str, Any] | str]:
    """Return the columns and rows of each statement, or the message of its refusal."""
    given = json.dumps([str(store), {name: getattr(limits, name) for name in limits.__dataclass_fields__}, texts])
    process = start_program(PROGRAM, modules=("tooltrace", "tooltrace.store.read.reader"))
    out, errors = process.communicate(given)
    assert process.returncode == 0, errors
    return json.loads(out)
