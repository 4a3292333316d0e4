"""``tooltrace check`` on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest


@pytest.fixture
def calls(put: Any, made: Any) -> None:
    """A tool of which half the calls fail since version 2, a good one, and one that only the network fails."""
    at = datetime.now(UTC) - timedelta(hours=2)

    def call(number: int, tool: str, failed: bool, code: str, version: str | None = None) -> Any:
        return made(
            number, tool=tool, tool_version=version, started_at=at + timedelta(seconds=number), duration_ms=5.0,
            status="error" if failed else "success", code=code if failed else None,
        )  # fmt: skip

    put(
        *(call(n, "pay", False, "", "1") for n in range(100, 160)),
        *(call(n, "pay", n % 2 == 0, "EXECUTION_ERROR", "2") for n in range(200, 260)),
        *(call(n, "search", False, "") for n in range(300, 360)),
        *(call(n, "fetch", n % 2 == 0, "TIMEOUT") for n in range(400, 460)),
    )


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(
    ("text", "code", "verdicts"),
    [
        ("success = 0.9\ntool = 'search'", 0, {"search": "holds"}),
        ("success = 0.9", 4, {"search": "holds", "fetch": "holds", "pay": "broken"}),
        ("tool = 'search'\nsuccess = 0.99", 4, {"search": "undecided"}),
        ("tool = 'pay'\nbaseline = 'version:1'\ncandidate = 'version:2'", 3, {"pay": "broken"}),
        ("tool = 'nothing'\nsuccess = 0.5", 4, {"nothing": "undecided"}),
    ],
)
def test_the_exit_code_is_that_of_the_worst_check(
    run: Any, tmp_path: Path, text: str, code: int, verdicts: Any
) -> None:
    (tmp_path / "checks.toml").write_text(f"[[check]]\n{text}\n")
    done = run("check", str(tmp_path / "checks.toml"), "--format", "junit")
    cases = {
        case.get("classname"): {"failure": "broken", "skipped": "undecided"}.get(case[0].tag) if len(case) else "holds"
        for case in ET.fromstring(done.stdout)
    }
    assert (cases, done.exit_code) == (verdicts, 3 if "broken" in verdicts.values() else code)


@pytest.mark.usefixtures("calls")
def test_without_a_file_open_problems_break_the_check(run: Any) -> None:
    done = run("check")
    assert (done.exit_code, "pay failed in" in done.stdout, "search" in done.stdout) == (3, True, False)
    assert run("check", "--format", "json").exit_code == 3
