"""Each hint to install something names the distribution, tooltrace-recorder, and an extra that exists."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OTHER_NAME = re.compile(
    r"\btooltrace\[|\bpip3? install [^\n`]*\btooltrace\b(?!-recorder)(?!/)|pypi\.org/project/tooltrace\b(?!-)"
)
"""The name of the index's other project, as something to install."""
HINT = re.compile(r"tooltrace-recorder(?:\[([^\]\n]*)\])?")
UNQUOTED = re.compile(r"pip3? install (?:-\S+ )*tooltrace-recorder\[")
"""Brackets that a shell such as zsh takes for a pattern."""
REPAIR = "pip uninstall tooltrace && pip install"


def texts() -> dict[str, str]:
    """Texts that a user reads, by path: pages, messages in the code, examples, and pages of the dashboard."""
    command = ["git", "ls-files", "*.md", "*.py", "*.html", "*.json", "*.yaml", "*.yml", "*.toml", "*.sql"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    paths = {name: ROOT / name for name in names if not name.startswith(("tests/", "CHANGELOG"))}
    return {name: path.read_text("utf-8").replace(REPAIR, "") for name, path in paths.items() if path.is_file()}


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("pip install tooltrace", True),
        ("pip install 'tooltrace[serve]'", True),
        ("pip install -U tooltrace", True),
        ("needs tooltrace[otlp]", True),
        ("https://pypi.org/project/tooltrace/", True),
        ("pip install 'tooltrace-recorder[serve]'", False),
        ("pip install tooltrace-recorder", False),
        ("pip uninstall tooltrace", False),
        ("https://pypi.org/project/tooltrace-recorder/", False),
    ],
)
def test_the_check_recognises_the_other_name(text: str, is_wrong: bool) -> None:
    assert bool(OTHER_NAME.search(text)) is is_wrong


def test_no_text_installs_the_other_project() -> None:
    wrong = [f"{name}: {found[0]}" for name, text in texts().items() if (found := OTHER_NAME.search(text))]
    assert not wrong, "\n".join(wrong)


def test_every_named_extra_exists_and_is_quoted() -> None:
    known = set(PROJECT["optional-dependencies"])
    hints = {(name, found[1] or "") for name, text in texts().items() for found in HINT.finditer(text)}
    wrong = [f"{name}: [{extras}]" for name, extras in hints if extras.isascii() and extras and not extras.startswith("{")
             if set(extras.split(",")) - known]  # fmt: skip
    assert not wrong, "\n".join(wrong)
    assert len(hints) > 30, "the hints are found"
    unquoted = [name for name, text in texts().items() if UNQUOTED.search(text)]
    assert not unquoted


def test_the_readme_says_what_happens_next_to_the_other_project() -> None:
    section = (ROOT / "README.md").read_text("utf-8").partition("## Install\n")[2].partition("\n## ")[0]
    assert "pip install '.[serve]'" in section
    assert "another project with the same import name" in section
    assert "overwrites" in section
