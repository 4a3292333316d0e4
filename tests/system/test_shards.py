"""Each shard of the tests is left out of `make test`, and has a command and a job in the workflow."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests import shards

ROOT = Path(__file__).parents[2]


def test_the_default_of_pytest_leaves_out_every_shard_and_runs_the_tests_from_end_to_end() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["addopts"][-2:] == ["-m", shards.TEST]
    assert {marker.partition(":")[0] for marker in options["markers"]} == {*shards.SHARDS, "end_to_end"}


@pytest.mark.parametrize("name", shards.SHARDS)
def test_every_shard_has_a_command_and_a_job(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    listed = makefile.split("\nSHARDS := ")[1].splitlines()[0].split()
    assert name in listed or f"\ntest-{name}:" in makefile or f"\ndef {name}(" in (ROOT / "noxfile.py").read_text()
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert name in workflow.split("shard: [")[1].partition("]")[0].split(", ")
