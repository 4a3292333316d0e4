"""README's blocks run, and print what README says they print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tooltrace.analysis import catalogue

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.S)


def run(code: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_the_python_blocks_run_and_print_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "tests").mkdir()
    shown = 0
    for (kind, code), (next_kind, text) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        if kind == "python":
            printed = run(code, tmp_path)
            shown += next_kind == "text"
            assert next_kind != "text" or printed == text, code
            if "ORDER_NOT_FOUND" in code and "connect" in code:
                assert printed == "[('call_8', 'error', 'ORDER_NOT_FOUND')]\n"
    assert shown >= 4


def test_the_two_commands_stand_at_the_top() -> None:
    first = BLOCKS[0][1]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in makefile
    assert "\ntest:" in makefile


def test_every_query_of_the_table_exists() -> None:
    named = set(re.findall(r"^\| `(\w+)` \| (?:which|how|what|the)", README, re.M))
    assert {"failure_rate", "errors", "latency", "retries", "recent"} <= named
    assert named <= set(catalogue())


def test_the_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert link.startswith("http") or (ROOT / link).exists(), link
