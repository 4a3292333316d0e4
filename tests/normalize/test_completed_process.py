"""Finished child processes: real ones."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tooltrace.core.response import ToolResponse
from tooltrace.normalize import normalize
from tooltrace.normalize.transports.completed_process import RULE


def run(script: str, **options: Any) -> ToolResponse:
    done = subprocess.run(["sh", "-c", script], check=False, capture_output=True, **{"text": True, **options})
    return normalize(done, rules=(RULE,))


def test_a_success_has_the_output_as_data() -> None:
    response = run("echo hello; echo careful >&2")
    assert (response.status, response.text, response.payload, response.meta.rule) == (
        "success",
        "hello\n",
        None,
        "completed_process",
    )
    assert response.context == {
        "args": ["sh", "-c", "echo hello; echo careful >&2"],
        "returncode": 0,
        "stderr": "careful\n",
    }


@pytest.mark.parametrize(
    ("script", "code", "kind", "retryable"),
    [
        ("exit 3", "EXECUTION_ERROR", "exit_3", None),
        ("exit 124", "TIMEOUT", "exit_124", True),
        ("timeout 0.05 sleep 5", "TIMEOUT", "exit_124", True),
        ("exec /", "PERMISSION_DENIED", "exit_126", False),
        ("no-such-program-at-all", "NOT_FOUND", "exit_127", False),
        ("kill -9 $$", "EXECUTION_ERROR", "SIGKILL", None),
        ("exit 255", "EXECUTION_ERROR", "exit_255", None),
        ("cat /nowhere/at/all", "NOT_FOUND", "exit_1", False),
        ("cat /", "IS_DIRECTORY", "exit_1", False),
        ("echo 'curl: (6) Could not resolve host: x.invalid' >&2; exit 6", "NETWORK_ERROR", "exit_6", True),
        ("printf 'timeout is set to 3\\nit broke\\n' >&2; exit 1", "EXECUTION_ERROR", "exit_1", None),
        ("echo connection refused >&2; kill -9 $$", "EXECUTION_ERROR", "SIGKILL", None),
    ],
)
def test_how_it_ended_is_the_code(script: str, code: str, kind: str, retryable: bool | None) -> None:
    response = run(script)
    assert response.error is not None
    assert (response.status, response.code, response.error.type, response.error.retryable) == (
        "error",
        code,
        kind,
        retryable,
    )


def test_the_message_is_the_end_of_stderr() -> None:
    response = run("echo working; echo 'disk on fire' >&2; exit 1")
    assert response.error is not None
    assert response.error.message == "disk on fire"
    assert response.text == "working\ndisk on fire\nexit status 1"
    assert response.context is not None
    assert response.context["returncode"] == 1
    assert run("echo only here; exit 1").error.message == "only here"
    assert run("exit 1").error.message == "exit status 1"
    assert run("kill -TERM $$").error.message == "killed by SIGTERM"
    assert run("echo half >&2; kill -TERM $$").error.message == "killed by SIGTERM: half"
    assert run("exit 137").error.message == "exit status 137: SIGKILL"


def test_long_output_is_cut_and_marked() -> None:
    script = (
        "import sys; sys.stdout.write('o' * 3_000_000); sys.stderr.write('e' * 3_000_000 + '\\nthe end'); sys.exit(2)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    response = normalize(done, rules=(RULE,))
    assert response.error is not None
    assert response.error.message == "…the end"
    assert response.context is not None
    assert response.context["cut"] == ["stdout", "stderr"]
    assert len(response.text) < 2_200_000


@pytest.mark.parametrize("encoding", ["bytes", "text", "none"])
def test_output_is_read_in_whichever_form(encoding: str) -> None:
    output = {"bytes": b"\xff\xfe oh", "text": "\ufffd\ufffd oh", "none": None}[encoding]
    response = normalize(subprocess.CompletedProcess(["x"], 1, output, output), rules=(RULE,))
    assert response.status == "error"
    assert response.error is not None
    assert response.error.message == ("exit status 1" if output is None else "\ufffd\ufffd oh")


@pytest.mark.parametrize("command", [["grep", "x", "f"], ["/usr/bin/diff", "a", "b"], "grep -r x .", ["rg", "x"]])
def test_a_command_that_answers_no_has_not_failed(command: Any) -> None:
    none = normalize(subprocess.CompletedProcess(command, 1, "", ""), rules=(RULE,))
    assert (none.status, none.code) == ("success", "NO_MATCH")
    assert (
        normalize(subprocess.CompletedProcess(command, 2, "", "grep: f: No such file"), rules=(RULE,)).status == "error"
    )
    assert normalize(subprocess.CompletedProcess(command, 1, "", "oops"), rules=(RULE,)).status == "error"


@pytest.mark.parametrize(
    "command", ["make; grep x f", "grep x f; make", "cat f | grep x", ["python", "grep"], [], "", None, 7, [None]]
)
def test_another_command_has(command: Any) -> None:
    assert normalize(subprocess.CompletedProcess(command, 1, "", ""), rules=(RULE,)).status == "error"


@pytest.mark.parametrize("status", [None, "1", 1.0, True, object()])
def test_other_return_codes_are_not_read(status: Any) -> None:
    done: Any = subprocess.CompletedProcess(["x"], status, "out", "err")
    assert normalize(done, rules=(RULE,)).meta.rule == "plain"


def test_an_attribute_that_raises_is_ignored() -> None:
    class Broken(subprocess.CompletedProcess):  # type: ignore[type-arg]
        @property
        def stdout(self) -> str:
            raise RuntimeError

        @stdout.setter
        def stdout(self, value: str) -> None: ...

    assert normalize(Broken(["x"], 1), rules=(RULE,)).meta.rule == "plain"
