"""A long fold is announced on standard error."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from tooltrace.cli import cli, options
from tooltrace.core.records import ToolCall
from tooltrace.store.journal import Journal
from tooltrace.store.journal_format import encode
from tooltrace.store.paths import StorePaths


@pytest.mark.parametrize(("limit", "said"), [(10, True), (10_000_000, False)])
def test_only_a_long_backlog_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, said: bool
) -> None:
    monkeypatch.setattr(options, "LONG_BYTES", limit)
    store = tmp_path / "s.duckdb"
    call = ToolCall(
        tool="t",
        call_id="c",
        trace_id="0" * 32,
        span_id="1" * 16,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        status="success",
    )
    journal = Journal(StorePaths.of(store).journal)
    journal.write(encode(call))
    journal.close()
    done = CliRunner().invoke(cli, ["query", "failure_rate", "--format", "csv", "--store", str(store)])
    assert done.exit_code == 0
    assert ("pending journal records" in done.stderr) is said
    assert "pending" not in done.stdout
