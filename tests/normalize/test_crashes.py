"""Output of crashed programs, and text that only quotes it."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize

TRACE = 'Traceback (most recent call last):\n  File "job.py", line 3, in <module>\n    run()\n'


@pytest.mark.parametrize(
    ("output", "code", "type_", "message"),
    [
        ("panic: assignment to entry in nil map\n\ngoroutine 7 [running]:\nmain.f()\n\t/a.go:9 +0x2\nexit status 2", "EXECUTION_ERROR", "exit_2", "assignment to entry in nil map"),
        ("thread 'main' panicked at src/lib.rs:40:9:\ncalled `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1`", "EXECUTION_ERROR", None, "called `Option::unwrap()` on a `None` value"),
        ("thread 'w1' panicked at 'deadline exceeded', src/a.rs:2:5", "TIMEOUT", None, "deadline exceeded"),
        ("RangeError: Invalid array length\n    at f (a.js:1:2)\n    at b.js:9:1\n\nNode.js v20.1.0", "INVALID_PARAM", "RangeError", "Invalid array length"),
        ("/srv/b.js:7\n  load()\n  ^\n\nTypeError: load is not a function\n    at b.js:7:3", "INVALID_PARAM", "TypeError", "load is not a function"),
        ('Exception in thread "pool-1" java.util.concurrent.TimeoutException: 5 s\n\tat A.f(A.java:3)\n\t... 4 more', "TIMEOUT", "TimeoutException", "5 s"),
        ("java.io.FileNotFoundException: a.csv (No such file or directory)\n\tat java.io.X(X.java:1)", "NOT_FOUND", "FileNotFoundException", "a.csv (No such file or directory)"),
        ("Unhandled exception. System.UnauthorizedAccessException: Access to the path is denied.\n   at P.Main()", "ACCESS_DENIED", "UnauthorizedAccessException", "Access to the path is denied."),
        ("PHP Fatal error:  Uncaught ValueError: bad depth in /w/a.php:3\nStack trace:\n#0 {main}\n  thrown in /w/a.php on line 3", "INVALID_PARAM", "ValueError", "bad depth"),
        ("job.rb:3:in 'fetch': key not found: :city (KeyError)\n\tfrom job.rb:9:in '<main>'", "NOT_FOUND", "KeyError", "key not found: :city"),
        ("terminate called after throwing an instance of 'std::out_of_range'\n  what():  vector\nAborted (core dumped)", "INVALID_PARAM", "out_of_range", "vector"),
        ("** (ArgumentError) not an integer\n    a.exs:1: (file)", "INVALID_PARAM", "ArgumentError", "not an integer"),
        ("Segmentation fault (core dumped)", "EXECUTION_ERROR", None, "Segmentation fault (core dumped)"),
        ("npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://r.test/x\nnpm ERR! A complete log of this run can be found in: x", "NOT_FOUND", "E404", "404 Not Found - GET https://r.test/x"),
        ("npm warn old x\nnpm error code EACCES\nnpm error syscall mkdir\nnpm error permission denied, mkdir '/usr/lib'", "PERMISSION_DENIED", "EACCES", "permission denied, mkdir '/usr/lib'"),
        ("remote: Repository not found.\nfatal: repository 'https://g.test/x/' not found", "NOT_FOUND", None, "repository 'https://g.test/x/' not found"),
        ("cc -o a a.c\nmake: *** [Makefile:9: a] Error 1\nExit code: 1", "EXECUTION_ERROR", "exit_1", "make: *** [Makefile:9: a] Error 1"),
        ("reading input\ncannot allocate\n[exit code: 137]", "EXECUTION_ERROR", "exit_137", "cannot allocate"),
        ("run: nosuch\nsh: nosuch: not found\nExited with code 127", "NOT_FOUND", "exit_127", "sh: nosuch: not found"),
    ],
)  # fmt: skip
def test_the_last_words_of_a_program(output: str, code: str, type_: str | None, message: str) -> None:
    found = read(output)
    assert (found.status, found.code, found.error.message, found.text) == ("error", code, message, output)
    assert found.error.type == type_
    assert found.meta.rule in ("error_text", "exit_status")
    assert found.meta.rule_grade == "heuristic"
    assert normalize(output, rules=CERTAIN).status == "success"


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
@pytest.mark.parametrize("option", ["-e", "-p"])
def test_the_real_node(option: str) -> None:
    done = subprocess.run(["node", option, "nosuch.x"], capture_output=True, text=True, check=False)
    found = read(done.stderr)
    assert (found.status, found.error.type, found.error.message) == ("error", "ReferenceError", "nosuch is not defined")


@pytest.mark.processes
def test_a_script_of_python_with_output_and_exit_status() -> None:
    done = subprocess.run([sys.executable, "-c", "print('three rows', flush=True)\n{}['city']"], capture_output=True, text=True, check=False)  # fmt: skip
    output = f"{done.stdout}{done.stderr}\nExit code: {done.returncode}"
    found = read(output)
    assert (found.status, found.code, found.error.type, found.error.message) == (
        "error",
        "NOT_FOUND",
        "KeyError",
        "'city'",
    )


@pytest.mark.processes
@pytest.mark.parametrize(
    "lead",
    [
        "2026-11-21 10:00:01 ERROR worker failed\n",
        "[2026-11-21 10:00:01,123: ERROR/Main] Task failed\n",
        "ERROR:root:job failed\n",
        "Nov 21 10:00:01 db1 app[3]: job failed\n",
        "worker_1  | starting\n",
        "Here is the end of the log:\n",
        "I get this error when I run it\n\n",
        "Title: Fix KeyError\nState: open\n\n",
        "Issue #12: crash on start\n",
        "$ tail app.log\n",
        ">>> run()\n",
        "# Troubleshooting\n\n```\n",
        "- the last entry\n",
        "Why does this fail?\n",
    ],
)
def test_a_traceback_that_is_quoted(lead: str) -> None:
    assert read(f"{lead}{TRACE}KeyError: 'city'").status == "success"


@pytest.mark.parametrize(
    "tail",
    [
        "\n2026-11-21 10:00:02 INFO retried",
        "\n10:00:02 retried",
        "\n[INFO] retried",
        "\nINFO:root:retried",
        "\n```\nAdd the key.",
        "\nExit code: 0",
    ],
)
def test_a_traceback_followed_by_output_is_not_a_crash(tail: str) -> None:
    assert read(f"{TRACE}KeyError: 'city'{tail}").status == "success"


@pytest.mark.parametrize("lead", ["Error:\n", "STDERR:\n", "Error executing code:\n\n", "Code execution failed:\n", "loading 3 rows\n"])  # fmt: skip
def test_a_traceback_that_is_the_tools_own(lead: str) -> None:
    assert read(f"{lead}{TRACE}KeyError: 'city'").status == "error"


@pytest.mark.parametrize(
    "output",
    [
        "panic: the story of 1907\nIt began with a bank.",
        "```\npanic: boom\n\ngoroutine 1 [running]:\n```",
        "TypeError: x is not a function\n    at the top of the page\nSee the guide.\n\nIt has more.",
        "npm error codes and what they mean",
        "a.py:3:1: F401 unused import\nExit code: 1",
        "a.py:3:1: F401 unused import\nExit code: 2",
        "3 failed, 2 passed\nExit code: 1",
        "all good\nExit code: 0",
        "error: could not do it\nExit code: 0",
        "Exit code: 0\nerror: could not do it",
        "remote: Enumerating objects: 5, done.\nTo g.test:x.git\n   a1..b2  main -> main",
    ],
)
def test_text_that_resembles_a_crash_is_not_one(output: str) -> None:
    assert read(output).status == "success"


PIECES = [
    "\n",
    "a:1\n",
    "x.rb:1:in : : ",
    "goroutine \n",
    "    at x\n",
    "npm error x",
    "thread '",
    " in in",
    "TypeError: x\n",
]


@pytest.mark.parametrize("piece", PIECES)
def test_long_texts_are_read_to_the_end(piece: str) -> None:
    for start in ("", "panic: x\n", "a.js:1\n", "Fatal error: Uncaught ", "npm error code X\n", TRACE):
        assert read((start + piece * (59_000 // len(piece)))[:59_000]).status in ("success", "error")
