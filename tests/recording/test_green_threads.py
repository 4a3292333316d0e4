"""Programs that patch the standard library for green threads, before or after this package is imported."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tooltrace as tt
from tests.conftest import records
from tests.grids import covering
from tests.needs import missing
from tooltrace.core.records import ToolCall

pytestmark = pytest.mark.processes

ROOT = Path(tt.__file__).parent.parent
PATCH = {
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "eventlet": "import eventlet; eventlet.monkey_patch()",
}
WORK = {
    "gevent": "import gevent; gevent.joinall([gevent.spawn(work) for _ in range(5)], raise_error=True)",
    "eventlet": "pool = eventlet.GreenPool(); [pool.spawn(work) for _ in range(5)]; pool.waitall()",
}
PROGRAM = """
import time

@tt.trace_tool
def tool(n):
    time.sleep(0.001)
    return n

def work():
    for n in range(20):
        tool(n)

{work}
assert tt.flush(None), "not written"
assert tt.query("failure_rate").rows[0][1] == 100
work()
"""


@pytest.mark.parametrize(
    ("library", "order"), covering(["gevent", "eventlet"], ["patched first", "imported first", "configured first"])
)
def test_every_call_of_a_patched_program_is_written(tmp_path: Path, library: str, order: str) -> None:
    if importlib.util.find_spec(library) is None:
        missing(library, f"no {library}: pip install {library}")
    lines = {
        "patched first": [PATCH[library], "import tooltrace as tt"],
        "imported first": ["import tooltrace as tt", PATCH[library]],
        "configured first": ["import tooltrace as tt; tt.configure()", PATCH[library]],
    }[order]
    file = tmp_path / "program.py"
    file.write_text("\n".join([*lines, PROGRAM.format(work=WORK[library])]))
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-X", "faulthandler", str(file)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TOOLTRACE_STORE": str(tmp_path / "t.duckdb")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sum(isinstance(record, ToolCall) for record in records(tmp_path / "t.duckdb")) == 120
