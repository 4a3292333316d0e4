"""The page about collectors shows what was run: each configuration is valid as it is, and every one is named."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.collector.harness import CONFIGS, PAGE, quiet

TEXT = PAGE.read_text()
ON_TOP = {"sampling.yaml": "to-clickhouse.yaml"}
"""Configurations that are given after another."""


@pytest.mark.parametrize("config", sorted(path.name for path in CONFIGS.iterdir()))
def test_the_documented_configuration_is_valid(otelcol: Path, config: str) -> None:
    files = [name for name in (ON_TOP.get(config), config) if name is not None]
    command = [str(otelcol), "validate", *(f"--config={CONFIGS / name}" for name in files)]
    done = subprocess.run(command, env=quiet(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_configuration_is_linked() -> None:
    links = {link for link in re.findall(r"\]\(([^)#]+)\)", TEXT) if not link.startswith("http")}
    assert {f"../collector/{path.name}" for path in CONFIGS.iterdir()} <= links


def test_the_options_that_are_named_exist() -> None:
    from tooltrace.cli import cli

    commands = re.findall(r"tooltrace (export|serve|import)\b([^`#\n]*)", TEXT)
    assert {name for name, _ in commands} == {"export", "serve", "import"}
    for name, words in commands:
        known = {option for parameter in cli.commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", words)) <= known, (name, words)
