"""On a system without fcntl and forks, as Windows is: tools run and spans are sent; a store is refused in one sentence.

The system is simulated: a new process without the modules of POSIX and without the members of ``os`` that Windows lacks.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

SIMULATION = """
import os, subprocess, sys  # subprocess looks for the members of POSIX once, when it is imported
for name in ("fcntl", "grp", "posix_spawn", "pty", "pwd", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for name in dir(os):
    if name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC", "EX_OK", "WNOHANG") or name in {
        "chown", "fchmod", "fchown", "fdatasync", "fork", "forkpty", "getegid", "geteuid", "getgid", "getpgid", "getuid",
        "killpg", "mkfifo", "nice", "pread", "preadv", "pwrite", "pwritev", "register_at_fork", "sched_getaffinity",
        "sendfile", "setpgid", "setsid", "setuid", "statvfs", "uname", "wait3", "wait4",
    }:
        delattr(os, name)
"""


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The result of ``code`` on the simulated system, in ``folder``, with the store of an unconfigured process there."""
    command = [sys.executable, "-c", SIMULATION + code]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={"PATH": ""})


def test_tools_run_without_a_history(tmp_path: Path) -> None:
    done = run(
        """
import tooltrace as tt

@tt.trace_tool
def double(number: int) -> int:
    return 2 * number

print(double(21), double(4), tt.flush())
print(tt.normalize("Error: not found").status)
""",
        tmp_path,
    )
    assert done.stdout.split() == ["42", "8", "True", "error"], done.stderr
    assert "Traceback" not in done.stderr
    warning, *others = [line for line in done.stderr.splitlines() if "store" in line]
    assert not others, "the warning appears once"
    assert "tooltrace stores no calls" in warning
    assert "Windows" in warning
    assert "store=None" in warning
    assert list(tmp_path.iterdir()) == []


def test_spans_are_sent_without_a_store(tmp_path: Path) -> None:
    done = run(
        """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tooltrace as tt

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tt.configure(store=None, tracer_provider=provider)
tt.trace_tool(name="double")(lambda number: 2 * number)(21)
tt.flush()
print([span.name for span in exporter.get_finished_spans()])
""",
        tmp_path,
    )
    assert done.stdout.strip() == "['execute_tool double']", done.stderr
    assert done.stderr == ""


def test_a_store_is_refused_in_one_sentence(tmp_path: Path) -> None:
    done = run(
        """
import tooltrace as tt

for use in (lambda: tt.configure(store="calls.duckdb"), lambda: tt.query("failure_rate"), lambda: tt.connect("calls.duckdb").__enter__()):
    try:
        use()
    except tt.TooltraceError as error:
        print(type(error).__name__, "Windows" in str(error))
""",
        tmp_path,
    )
    assert done.stdout.splitlines() == ["ConfigError True", "StoreError True", "StoreError True"], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_says_what_is_missing(tmp_path: Path) -> None:
    main = "sys.argv[1:] = {}\nfrom tooltrace.cli import main\nmain()"
    asked = run(main.format(["query", "failure_rate", "--store", "calls.duckdb"]), tmp_path)
    assert asked.returncode == 1
    assert "Windows" in asked.stderr
    assert "Traceback" not in asked.stderr
    assert run(main.format(["--version"]), tmp_path).returncode == 0
