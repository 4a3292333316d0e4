"""The command as a process: pipes, Ctrl-C, and a store that another program holds open."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime

import pytest

pytestmark = pytest.mark.processes

COMMAND = [sys.executable, "-m", "tooltrace"]


@pytest.fixture
def environment(where):
    return {**os.environ, "TOOLTRACE_STORE": str(where), "PYTHONWARNINGS": "default"}


def asked(environment, *arguments):
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_a_question_and_a_wrong_one(history, environment):
    done = asked(environment, "query", "failure_rate", "--format", "json")
    assert (done.returncode, done.stderr.startswith("Since the first record: "), done.stderr.count("\n")) == (
        0,
        True,
        1,
    )
    assert json.loads(done.stdout)[0]["attempts"] == 23
    done = asked(environment, "query", "nothing_like_it")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tooltrace: unknown query 'nothing_like_it'; the queries are:\n  attempts")
    done = asked(environment, "query", "failure_rat")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_no_colours_in_a_pipe(history, environment):
    assert "\x1b" not in asked(environment, "query", "recent").stdout
    assert "\x1b" not in asked(environment, "tail", "--no-follow").stdout


@pytest.mark.parametrize("traceback", ["", "1"])
def test_an_unexpected_exception_is_one_sentence(history, environment, traceback):
    script = (
        "import tooltrace.cli.named_query as module; from tooltrace.cli import main\n"
        "def fail(*_): raise RuntimeError('an engine that\\nfails')\n"
        "module.run_query = fail; main()"
    )
    command = [sys.executable, "-c", script, "query", "failure_rate"]
    environment |= {"TOOLTRACE_TRACEBACK": traceback}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    if traceback:
        assert done.stderr.startswith("Traceback (most recent call last):")
    else:
        assert done.stderr == (
            "tooltrace: unexpected RuntimeError: an engine that fails (TOOLTRACE_TRACEBACK=1 prints the traceback)\n"
        )


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_closed_pipe_is_not_reported(history, environment, form):
    question = "SELECT i FROM range(20000) t(i)"
    with subprocess.Popen([*COMMAND, "sql", question, "--format", form], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


def test_tail_follows_other_processes_until_ctrl_c(history, put, environment, made):
    with subprocess.Popen([*COMMAND, "tail", "-n", "1"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:  # fmt: skip
        watchdog = threading.Timer(300, process.kill)
        watchdog.start()
        assert "call_24" in process.stdout.readline()
        put(made(1000, call_id="from_elsewhere", started_at=datetime.now(UTC)))
        assert "from_elsewhere" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        watchdog.cancel()
    assert (process.returncode, errors) == (0, "")


def test_the_error_names_the_pid_of_a_process_that_locks_the_store(history, environment, where):
    assert asked(environment, "doctor", "--mend").returncode == 0
    script = "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", script, str(where)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as holder:  # fmt: skip
        assert holder.stdout.readline() == "held\n"
        done = asked(environment, "query", "failure_rate")
        holder.stdin.close()
    assert done.returncode == 1
    assert str(holder.pid) in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_loads_neither_the_engine_nor_the_painter(environment):
    script = (
        "import sys, tooltrace; before = set(sys.modules)\n"
        "from tooltrace.cli import cli; cli(['--help'], standalone_mode=False)\n"
        "heavy = {'duckdb', 'rich', 'rich.console', 'rich.table'} & (set(sys.modules) - before)\n"
        "sys.exit(' '.join(heavy | {'duckdb'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(name in done.stdout for name in ("query", "sql", "tail", "show", "doctor"))
