"""Data that another thread changes while it is copied."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

PROGRAM = """
import datetime as dt, sys, threading
from tooltrace.redact.snapshot import snapshot

sys.setswitchinterval(1e-6)
rows, done = [], False

def change():
    while not done:
        rows.clear()
        rows.extend({"at": dt.datetime(2020, 1, 1, microsecond=number)} for number in range(20))
        rows.extend(dt.datetime(2020, 1, 1, microsecond=number) for number in range(300))

thread = threading.Thread(target=change)
thread.start()
for _ in range(3_000):
    snapshot({"rows": rows})
    snapshot(rows)
done = True
thread.join()
print("ended")
"""


def test_a_list_with_dates_may_change_in_another_thread_while_it_is_copied():
    # orjson crashes the process where a list changes while a function of Python runs inside it
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", PROGRAM], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
