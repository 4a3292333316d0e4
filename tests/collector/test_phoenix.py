"""Phoenix, shows what the store has: each attempt a TOOL, with inputs and outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.collector.conftest import receivers
from tests.collector.harness import ROOT
from tests.collector.test_demo import rows

Rows = list[dict[str, Any]]
ISOLATED = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def isolated() -> list[str]:
    """Prefix of a command that limits it to the loopback interface; empty where that is not possible."""
    try:
        done = subprocess.run([*ISOLATED, "true"], capture_output=True, check=False)
    except OSError:
        return []
    return [] if done.returncode else ISOLATED


@pytest.fixture(scope="module")
def known(otelcol: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Rows, Rows]]:
    """For each project: the spans that Phoenix shows, and the rows of the store."""
    python, folder = receivers(), tmp_path_factory.mktemp("phoenix")
    program = [sys.executable, str(ROOT / "tests" / "collector" / "phoenix_run.py")]
    command = [*isolated(), *program, str(python), str(otelcol), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name: (spans, rows(folder / f"{name}.duckdb")) for name, spans in json.loads(done.stdout).items()}


@pytest.fixture(params=["through", "direct"])
def shown(request: Any, known: dict[str, tuple[Rows, Rows]]) -> tuple[Rows, Rows]:
    """The spans that Phoenix shows, sent through a collector or directly, and the rows of the store."""
    return known[request.param]


def test_every_attempt_shows_as_a_tool(shown: Any) -> None:
    spans, kept = shown
    assert sorted(span["context"]["span_id"] for span in spans) == sorted(row["span_id"] for row in kept)
    assert {span["span_kind"] for span in spans} == {"TOOL"}
    by_id = {row["span_id"]: row for row in kept}
    for span in spans:
        row = by_id[span["context"]["span_id"]]
        assert span["context"]["trace_id"] == row["trace_id"]
        assert span["parent_id"] == row["parent_span_id"]
        assert span["attributes"]["tool.name"] == row["tool"]
        assert span["attributes"]["tool.id"] == row["call_id"]
        failed = row["status"] == "error"
        assert (span["status_code"], span["status_message"]) == (
            ("ERROR", row["error_message"]) if failed else ("UNSET", "")
        )


def test_inputs_and_outputs_show(shown: Any) -> None:
    spans, kept = shown
    by_id = {row["span_id"]: row for row in kept}
    inputs = outputs = 0
    for span in spans:
        row, attributes = by_id[span["context"]["span_id"]], span["attributes"]
        given = json.loads(row["arguments"])
        assert {name: attributes[f"tool.parameters.{name}"] for name in given} == given
        inputs += bool(given)
        if row["result"] is not None:
            assert json.loads(attributes["output.value"]) == json.loads(row["result"])
        elif row["status"] != "error" and row["text"] is not None:
            assert json.loads(attributes["output.value"]) == row["text"]
        outputs += "output.value" in attributes
    assert inputs == len(kept)
    assert outputs >= sum(row["status"] in ("success", "partial") for row in kept)
