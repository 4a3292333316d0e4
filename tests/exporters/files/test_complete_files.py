"""A file is there whole or not at all; Parquet's parts have safe paths, and a second export adds what is new."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from tests.exporters.files.made import NAMES, NASTY, export, imported, in_order, some_calls
from tooltrace.core.records import Outcome
from tooltrace.errors import ConfigError
from tooltrace.exporters.protocol import ExportError, Target
from tooltrace.exporters.registry import create

SOURCE = """
import sys
from pathlib import Path
from tests.exporters.files.made import some_calls
from tooltrace.exporters.registry import create
from tooltrace.exporters.protocol import Target
destination = create(sys.argv[1], Target(path=Path(sys.argv[2])))
calls = some_calls(500)
while True:
    destination.send(calls)
    print("sent", flush=True)
"""
FILES = [name for name in NAMES if name != "parquet"]


def visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if not path.name.startswith(".") and path.is_file())


@pytest.mark.processes
@pytest.mark.parametrize("name", NAMES)
def test_a_killed_export_leaves_nothing_under_the_final_name(name: str, tmp_path: Path) -> None:
    where = tmp_path / NAMES[name]
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", SOURCE, name, str(where)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"sent\n"
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    assert not [path for path in visible(tmp_path) if ".tmp" not in str(path)]
    calls = some_calls(3)
    export(name, tmp_path, calls)
    assert in_order(imported(where)[0]) == in_order(calls)


@pytest.mark.parametrize("name", FILES)
def test_the_old_file_stays_until_the_new_one_is_complete(name: str, tmp_path: Path) -> None:
    path = export(name, tmp_path, some_calls(2))
    before = path.read_bytes()
    destination = create(name, Target(path=path))
    destination.send(some_calls(5))
    assert path.read_bytes() == before
    destination.close()
    assert len(imported(path)[0]) == 5
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", NAMES)
def test_an_abandoned_export_leaves_no_file(name: str, tmp_path: Path) -> None:
    destination = create(name, Target(path=tmp_path / NAMES[name]))
    destination.send(some_calls(5))
    destination.abandon()  # type: ignore[attr-defined]
    destination.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", FILES)
def test_an_abandoned_compressed_export_reports_nothing_later(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    destination = create(name, Target(path=tmp_path / f"{NAMES[name]}.gz"))
    destination.send(some_calls(5))
    destination.abandon()  # type: ignore[attr-defined]
    del destination
    gc.collect()
    assert reported == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_path_is_an_error(name: str) -> None:
    with pytest.raises(ConfigError, match="requires a path"):
        create(name, Target())


@pytest.mark.parametrize("name", FILES)
def test_a_place_that_cannot_be_written_is_refused_with_its_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=str(tmp_path)):
        create(name, Target(path=tmp_path))
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="cannot be written"):
        create(name, Target(path=tmp_path / "file" / "below"))


def test_a_folder_of_parquet_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="cannot be written"):
        create("parquet", Target(path=tmp_path / "file"))


@pytest.mark.parametrize("name", ["jsonl", "otlp-json"])
def test_a_dash_is_standard_output(name: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    calls = some_calls(3)
    export(name, Path(), calls, path="-")
    written = tmp_path / "written.json"
    written.write_bytes(capfdbinary.readouterr().out)
    assert in_order(imported(written)[0]) == in_order(calls)


def test_parquet_is_parted_by_day_and_tool(tmp_path: Path) -> None:
    path = export("parquet", tmp_path, some_calls(9))
    files = [str(file.relative_to(path)) for file in visible(path)]
    assert files == [f"tool_calls/day=2026-11-{19 + n}/tool_name=tool_{n}/data.parquet" for n in range(3)]
    codecs = duckdb.sql(f"SELECT DISTINCT compression FROM parquet_metadata('{path}/**/*.parquet')").fetchall()
    assert codecs == [("ZSTD",)]
    rows = duckdb.sql(
        f"SELECT tool, tool_name, count(*) FROM '{path}/**/*.parquet' GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    assert rows == [(f"tool_{n}", f"tool_{n}", 3) for n in range(3)]


def test_a_name_that_ends_in_parquet_is_a_file(tmp_path: Path) -> None:
    calls, outcome = some_calls(9), Outcome(call_id="c1", correct=True, labeled_at=datetime(2026, 1, 1, tzinfo=UTC))
    path = export("parquet", tmp_path, calls, [outcome], path="calls.parquet")
    assert [file.name for file in visible(tmp_path)] == ["calls.outcomes.parquet", "calls.parquet"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert in_order(imported(path)[0]) == in_order(calls)
    assert imported(tmp_path / "calls.outcomes.parquet")[0] == [outcome]
    export("parquet", tmp_path, calls[:2], path="calls.parquet")
    assert in_order(imported(path)[0]) == in_order(calls[:2]), "an export replaces the file"
    assert imported(tmp_path / "calls.outcomes.parquet")[0] == []


def test_a_parquet_file_without_calls_is_an_empty_table(tmp_path: Path) -> None:
    path = export("parquet", tmp_path, [], path="calls.parquet")
    assert duckdb.sql(f"SELECT count(*), count(tool) FROM '{path}'").fetchall() == [(0, 0)]


def test_a_folder_named_like_a_parquet_file_stays_a_folder(tmp_path: Path) -> None:
    (tmp_path / "calls.parquet").mkdir()
    path = export("parquet", tmp_path, some_calls(2), path="calls.parquet")
    assert (path / "tool_calls").is_dir()


def test_any_tool_name_is_a_safe_path_and_round_trips(tmp_path: Path) -> None:
    names = [
        *filter(None, NASTY),
        "..",
        ".",
        "/etc/passwd",
        "a/../../b",
        "%2e%2e",
        "x" * 300,
        "Ü" * 300,
        "con",
        "A",
        "a",
    ]
    names.append("__HIVE_DEFAULT_PARTITION__")
    calls = [replace(call, tool=tool) for call, tool in zip(some_calls(len(names)), names, strict=True)]
    path = export("parquet", tmp_path, calls)
    parts = {part for file in path.rglob("*.parquet") for part in file.relative_to(path).parts}
    assert all(part.isascii() and len(part) < 130 and part.isprintable() for part in parts)
    assert len(list(path.rglob("*.parquet"))) == len(names)
    assert {file.parent.parent.parent for file in path.rglob("*.parquet")} == {path / "tool_calls"}
    assert in_order(imported(path)[0]) == in_order(calls)
    rows = duckdb.sql(f"SELECT DISTINCT tool FROM '{path}/**/*.parquet'").fetchall()
    assert {row[0] for row in rows} == set(names)


def test_a_second_parquet_export_adds_new_records(tmp_path: Path) -> None:
    calls = some_calls(12)
    export("parquet", tmp_path, calls[:7], calls[3:5])
    path = export("parquet", tmp_path, calls[4:])
    assert in_order(imported(path)[0]) == in_order(calls)
    assert len(visible(path)) == 3


def test_a_folder_name_is_never_read_as_a_pattern(tmp_path: Path) -> None:
    calls = some_calls(4)
    path = export("parquet", tmp_path, calls, path="[a]*?'x")
    export("parquet", tmp_path, calls, path="[a]*?'x")
    assert in_order(imported(path)[0]) == in_order(calls)


def test_files_of_an_earlier_csv_export_are_removed(tmp_path: Path) -> None:
    judged = Outcome(call_id="c1", correct=True, labeled_at=some_calls(1)[0].started_at)
    export("csv", tmp_path, [*some_calls(2), judged])
    path = export("csv", tmp_path, some_calls(1))
    assert imported(path)[0] == some_calls(1)
