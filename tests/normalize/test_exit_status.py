"""A finished command as data."""

from __future__ import annotations

import pytest

from tests.normalize.shapes import CERTAIN, read
from tooltrace.normalize import normalize


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"stdout": "", "stderr": "ls: no x", "exit_code": 2}, "EXECUTION_ERROR"),
        ({"stdout": "a", "stderr": "sh: foo: not found", "returncode": 127}, "NOT_FOUND"),
        ({"output": "working…", "exitCode": 124}, "TIMEOUT"),
        ({"stdout": "", "stderr": "boom", "return_code": 1}, "EXECUTION_ERROR"),
        ({"stdout": "only here", "stderr": "", "exit_code": 1}, "EXECUTION_ERROR"),
    ],
)
def test_a_status_other_than_0(value: dict, code: str) -> None:
    found = read(value)
    assert (found.status, found.code, found.meta.rule) == ("error", code, "exit_status")
    assert found.error.message == (value.get("stderr") or value.get("output") or value["stdout"])
    assert normalize(value, rules=CERTAIN).status == "success"


@pytest.mark.parametrize(("code", "status"), [(0, "success"), (3, "error")])
def test_a_status_that_stands_among_what_a_shell_tool_says_before_the_output(code: int, status: str) -> None:
    said = f"Chunk ID: 97efd2\nWall time: 0.1 seconds\nProcess exited with code {code}\nOriginal token count: 9\nOutput:\nError: none"
    assert (read(said).status, read(said).meta.rule) == (status, "exit_status")


@pytest.mark.parametrize("more", [{}, {"exit_code": None}, {"exit_code": -1}, {"returncode": 1}])
def test_a_command_that_ran_out_of_time(more: dict) -> None:
    found = read({"stdout": "half", "stderr": "", "timed_out": True, **more})
    assert (found.status, found.code, found.text, found.context["timed_out"]) == ("error", "TIMEOUT", "half", True)


@pytest.mark.parametrize(
    "value",
    [
        {"stdout": "Error: x", "stderr": "warning", "exit_code": 0},
        {"exit_code": 2, "meaning": "misuse of a builtin"},
        {"stdout": "x", "exit_code": "2"},
        {"stdout": "x", "exit_code": True},
        {"stdout": "x", "exit_code": 0, "timed_out": False},
        {"job": "j1", "timed_out": True},
    ],
)
def test_other_exit_objects_are_not_failures(value: dict) -> None:
    assert read(value).status == "success"
