"""Grafana's dashboards: the stored files are what the queries of today give. They need no ClickHouse to be generated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dashboards.grafana.generate import DASHBOARDS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dashboards" / "grafana"


def test_the_folder_has_no_other_dashboard() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.json")) == sorted(DASHBOARDS)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grafana")
    command = [sys.executable, "-m", "dashboards.grafana.generate", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == [str(folder / name) for name in DASHBOARDS]
    return folder


@pytest.mark.parametrize("name", DASHBOARDS)
def test_the_stored_dashboards_equal_those_that_the_command_writes(name: str, written: Path) -> None:
    stored = (FOLDER / name).read_text(encoding="utf-8")
    assert stored == (written / name).read_text(encoding="utf-8"), (
        "python -m dashboards.grafana.generate makes them anew"
    )
