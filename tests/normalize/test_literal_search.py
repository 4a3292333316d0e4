"""The search for many literals at once, in threads and forked children."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest
from pydantic_core import SchemaValidator

from tooltrace.normalize.heuristics import literal_search


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_fork_waits_until_a_pattern_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that is forked during a compilation would wait for a lock of pydantic-core for ever."""
    begun = threading.Event()
    compiled: list[str] = []

    def compile_slowly(schema: Any) -> Any:
        begun.set()
        time.sleep(0.3)  # other threads run, as while pydantic-core waits for the GIL
        validator = SchemaValidator(schema)
        compiled.append("compiled")
        return validator

    monkeypatch.setattr(literal_search, "SchemaValidator", compile_slowly)
    found: list[bool] = []
    occurs_in = literal_search.literal_search("needle")
    thread = threading.Thread(target=lambda: found.append(occurs_in("a needle in hay")))
    thread.start()
    assert begun.wait()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if compiled else 1)
    _, status = os.waitpid(pid, 0)
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0, "the child was forked while a pattern was compiled"
    assert found == [True]


def test_a_forked_child_compiles_patterns_of_its_own() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if literal_search.literal_search("needle")("a needle in hay") else 1)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
