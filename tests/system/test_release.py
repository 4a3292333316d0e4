"""Refusals of the release workflow, and the notes that it publishes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPOSITORY = "tooltrace-recorder/tooltrace-recorder"
CHANGELOG = """# Changelog

## [Unreleased]

- Later.

## [7.8.9] - 2026-12-01

### Fixed

- A fault.

## [7.8.8] - 2026-11-01

- Before.
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that the script reads, with the version 7.8.9."""
    for name in (".github/release.py", "pyproject.toml", "tooltrace/version.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    version = tmp_path / "tooltrace" / "version.py"
    version.write_text(re.sub('"[0-9.]+"', '"7.8.9"', version.read_text()))
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def release(checkout: Path, tag: str = "v7.8.9", repository: str = REPOSITORY) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / ".github" / "release.py"), tag, repository]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.processes
def test_the_notes_are_the_section_of_the_version(checkout: Path) -> None:
    done = release(checkout)
    assert (done.returncode, done.stdout) == (0, "### Fixed\n\n- A fault.\n")


@pytest.mark.processes
def test_a_tag_of_another_version_is_refused(checkout: Path) -> None:
    done = release(checkout, tag="v7.9.0")
    assert done.returncode == 1
    assert "the tag is v7.9.0, and tooltrace/version.py has 7.8.9" in done.stderr


@pytest.mark.processes
def test_a_repository_that_the_links_do_not_name_is_refused(checkout: Path) -> None:
    done = release(checkout, repository="someone/fork")
    assert done.returncode == 1
    assert "this is someone/fork" in done.stderr


@pytest.mark.processes
def test_a_version_without_a_section_is_refused(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace("7.8.9", "7.8.7"))
    done = release(checkout)
    assert done.returncode == 1
    assert "no section [7.8.9]" in done.stderr


def test_the_version_stands_in_one_place() -> None:
    version = re.findall('__version__ = "(.+)"', (ROOT / "tooltrace" / "version.py").read_text())
    project = (ROOT / "pyproject.toml").read_text().partition("[project]")[2].partition("\n[")[0]
    assert len(version) == 1
    assert not re.search(r"^version\s*=", project, re.MULTILINE)
