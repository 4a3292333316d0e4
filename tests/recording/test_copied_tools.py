"""Tools of a script or notebook that cloudpickle copies to another process, as Ray, Dask, Spark and joblib do."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

import tooltrace as tt
from tests.conftest import records

pytestmark = pytest.mark.processes

SCRIPT = """
import sys
from pathlib import Path

import cloudpickle
import tooltrace as tt


@tt.trace_tool(redact=["key"])
def plain(n):
    return {"n": n, "key": "s-123"}


@tt.trace_tool(version="2", confidence=lambda result: 0.5)
async def later(n):
    return n


@tt.trace_tool
def items(n):
    yield from range(n)


@tt.trace_tool
async def later_items(n):
    for each in range(n):
        yield each


class Shop:
    @tt.trace_tool
    def weigh(self, n):
        return n


Path(sys.argv[1]).write_bytes(cloudpickle.dumps([plain, later, items, later_items, Shop]))
"""

WORKER = """
import asyncio
import pickle
import sys
from pathlib import Path

plain, later, items, later_items, Shop = pickle.loads(Path(sys.argv[1]).read_bytes())


async def main():
    return await later(2), [each async for each in later_items(2)]


assert plain(1) == {"n": 1, "key": "s-123"}
assert list(items(3)) == [0, 1, 2]
assert asyncio.run(main()) == (2, [0, 1])
assert Shop().weigh(4) == 4
"""


def run(source: str, folder: Path, name: str) -> None:
    file = folder / f"{name}.py"
    file.write_text(textwrap.dedent(source))
    root = str(Path(tt.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, str(file), str(folder / "tools.pickle")], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": root, "TOOLTRACE_STORE": str(folder / "t.duckdb")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_tools_that_are_copied_to_another_process_record_there(tmp_path: Path) -> None:
    run(SCRIPT, tmp_path, "script")
    run(WORKER, tmp_path, "worker")
    stored = records(tmp_path / "t.duckdb")
    assert Counter(each.tool for each in stored) == {"plain": 1, "later": 1, "items": 1, "later_items": 1, "weigh": 1}
    (plain,) = (each for each in stored if each.tool == "plain")
    assert "s-123" not in str(plain), "the redaction of the tool was copied too"
