"""Forgetting and redaction know the files that exports and backups wrote, and rewrite them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import tooltrace as tt
from tests.exporters.files.made import RecordList, export, in_order, plain_settings
from tests.store.conftest import START, make_call
from tests.store.probe import places_of
from tooltrace.cli import cli
from tooltrace.core.records import Correction, Gate, Message, Outcome, Record, Span
from tooltrace.errors import ConfigError
from tooltrace.ingest.files import import_file
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.upkeep.exports import exported_files, note_export

RANDOM = os.urandom(512).hex()
"""A secret that no format can compress."""
PATHS = ["calls.jsonl.gz", "calls.csv", "calls.json", "calls.parquet", "archive/"]
ONE_AND_SEVERAL = {"calls.jsonl.gz", "archive/"}
"""An export of one file and one of several: each format stands in the test of forgetting, which rewrites by the same functions."""
FORMATS = {"calls.json": "otlp-json", "archive/": "parquet"}
Run = Callable[..., Result]


def format_of(path: str) -> str:
    return FORMATS.get(path, path.split(".")[1] if "." in path else "")


def about(number: int, *, conversation: str, text: str) -> list[Record]:
    """Records of each kind about one call."""
    call = make_call(
        number, conversation_id=conversation, text=text, tool=f"tool {number % 2}", trace_id=f"{number:032x}",
        recorder_version="0.2.0",
    )  # fmt: skip
    of = {"call_id": call.call_id, "span_id": call.span_id}
    return [
        call,
        Message(**of, text=text, sha256="0" * 64, length=len(text), error=False, at=START + timedelta(seconds=1)),
        Outcome(**of, correct=True, reason=text, labeled_at=START + timedelta(seconds=2)),
        Correction(**of, status="error", reason=text, corrected_at=START + timedelta(seconds=2)),
        Gate(**of, kind="confirmation", note=text, asked_at=START),
        Span(
            trace_id=f"{number:032x}", span_id=f"e{number:015x}", name="chat", started_at=START,
            parent_span_id=call.span_id, attributes=Json(json.dumps({"prompt": text})),
        ),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two conversations, one of them with a secret."""
    paths = StorePaths.of(tmp_path_factory.mktemp("template") / "t.duckdb")
    journal = Journal(paths.journal)
    records = [*about(1, conversation="kept", text="plain"), *about(2, conversation="secret", text=RANDOM)]
    journal.write(b"".join(map(encode, records)))
    journal.close()
    fold(paths)
    return paths.database


@pytest.fixture
def store(template: Path, tmp_path: Path) -> StorePaths:
    return StorePaths.of(shutil.copy(template, tmp_path))


@pytest.fixture
def run(store: StorePaths) -> Run:
    def run(*arguments: str, code: int = 0) -> Result:
        done = CliRunner().invoke(cli, [*arguments, "--store", str(store.database)])
        assert done.exit_code == code, done.output
        return done

    return run


def read(folder: Path) -> list[Record]:
    """The records of every file in ``folder``."""
    return [record for path in sorted(folder.rglob("*")) if path.is_file() for record in imported_file(path)]


def imported_file(path: Path) -> list[Record]:
    kept = RecordList()
    assert not import_file(path, plain_settings(), kept).skipped
    return kept.records


def places(folder: Path, text: str = RANDOM) -> set[str]:
    """The files with ``text``, also compressed ones."""
    found = {name.partition(":")[0] for name in places_of(text, folder)}
    packed = [path for path in folder.rglob("*.gz") if text.encode() in gzip.decompress(path.read_bytes())]
    tables = [path for path in folder.rglob("*.parquet") if text in repr(imported_file(path))]
    return found | {path.name for path in (*packed, *tables)}


@pytest.mark.long
@pytest.mark.parametrize("path", PATHS)
def test_a_forgotten_call_leaves_an_exported_file_and_all_else_stays(
    store: StorePaths, run: Run, tmp_path: Path, path: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    run("export", format_of(path), "-o", f"{out}/{path}")
    assert places(out), "the probe finds the secret before"
    before = read(out)
    files = {file: file.stat().st_mode for file in out.rglob("*") if file.is_file()}
    listed = run("forget", "--conversation", "secret", "--yes")
    assert "1 exported file may still have the records" in listed.stderr
    assert str(out / path) in listed.stderr.replace("\n", "")
    assert places(out), "without --exports no file is changed"
    done = json.loads(run("forget", "--exports", "--yes", "--format", "json").stdout)
    assert done["remaining"] == done["exports"] == []
    assert sum(done["exports_changed"].values()) >= 6
    assert not places(out)
    assert in_order(read(out)) == in_order(record for record in before if RANDOM not in repr(record))
    assert {file: file.stat().st_mode for file in out.rglob("*") if file.is_file()} == files
    again = json.loads(run("forget", "--exports", "--yes", "--format", "json").stdout)
    assert again["exports_changed"] == {}, "a file without forgotten records is not written again"


@pytest.mark.long
@pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[] if path in ONE_AND_SEVERAL else [pytest.mark.simulations]) for path in PATHS]
)
def test_redaction_reaches_exported_files(store: StorePaths, run: Run, tmp_path: Path, path: str) -> None:
    run("export", format_of(path), "-o", f"{tmp_path}/out/{path}")
    done = run("redact", "--pattern", RANDOM, "--exports", "--yes")
    assert f"{tmp_path / 'out'}" in done.stdout.replace("\n", "")
    assert not places(tmp_path)
    assert len([record for record in read(tmp_path / "out") if "[redacted]" in repr(record)]) == 6


@pytest.mark.long
def test_a_backup_is_rewritten_too(store: StorePaths, run: Run, tmp_path: Path) -> None:
    copy = tmp_path / "out" / "monday.duckdb"
    copy.parent.mkdir()
    run("backup", str(copy))
    assert places(copy.parent)
    listed = json.loads(run("forget", "--conversation", "secret", "--dry-run", "--format", "json").stdout)
    assert listed["exports"] == [str(copy)]
    run("forget", "--conversation", "secret", "--exports", "--yes")
    assert not places(tmp_path)
    with tt.connect(copy) as db:
        assert db.sql("SELECT DISTINCT conversation_id FROM tool_calls").fetchall() == [("kept",)]


@pytest.mark.long
def test_files_that_cannot_be_rewritten_are_named(store: StorePaths, run: Run, tmp_path: Path) -> None:
    edited = export("jsonl", tmp_path, about(2, conversation="secret", text=RANDOM))
    edited.write_bytes(edited.read_bytes() + b"a note of somebody\n")
    other = tmp_path / "other.bin"
    other.write_text(RANDOM)
    note_export(store, edited, "jsonl")
    note_export(store, other, "my-destination")
    before = edited.read_bytes()
    done = run("forget", "--conversation", "secret", "--exports", "--yes", code=1)
    assert f"{edited} may still have the records: line 7 cannot be read" in done.stderr
    assert f"{other} may still have the records: files of the destination 'my-destination'" in done.stderr
    assert "delete it and export again" in done.stderr
    assert edited.read_bytes() == before


@pytest.mark.long
def test_only_places_are_noted_and_those_of_deleted_files_are_dropped(
    store: StorePaths, run: Run, tmp_path: Path
) -> None:
    run("export", "jsonl", "-o", str(tmp_path / "a.jsonl"))
    run("export", "jsonl", "-o", str(tmp_path / "a.jsonl"))
    assert [(each.path.name, each.format) for each in exported_files(store)] == [("a.jsonl", "jsonl")]
    (tmp_path / "a.jsonl").unlink()
    run("export", "csv", "-o", str(tmp_path / "b.csv"))
    run("export", "jsonl", "-o", "-")
    assert [each.path.name for each in exported_files(store)] == ["b.csv"]
    assert run("forget", "--call", "c1", "--dry-run").stderr.count("b.csv") == 1


@pytest.mark.long
def test_an_export_from_before_the_calls_is_not_listed(store: StorePaths, run: Run, tmp_path: Path) -> None:
    run("export", "csv", "-o", str(tmp_path / "b.csv"))
    journal = Journal(store.journal)
    journal.write(encode(make_call(9, started_at=exported_files(store)[0].written_at + timedelta(hours=1))))
    journal.close()
    assert run("forget", "--call", "c9", "--dry-run").stderr == ""


@pytest.mark.long
def test_forgetting_from_python_reports_and_cleans(store: StorePaths, run: Run, tmp_path: Path) -> None:
    run("export", "csv", "-o", str(tmp_path / "b.csv"))
    with pytest.raises(ConfigError, match="nothing to forget"):
        tt.forget(store=store.database)
    found = tt.forget(conversation_id="secret", store=store.database, dry_run=True)
    assert (found.attempts, [each.path.name for each in found.exports]) == (1, ["b.csv"])
    done = tt.forget(conversation_id="secret", exports=True, store=store.database)
    assert (done.attempts, done.remaining, done.exports) == (1, [], [])
    assert done.exports_changed[str(tmp_path / "b.csv")] == 1
    assert not places(tmp_path)


@pytest.mark.long
def test_an_export_from_a_store_that_cannot_be_written_says_that_its_place_is_not_noted(
    store: StorePaths, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tooltrace.errors import StoreError
    from tooltrace.store.upkeep import exports

    def refuse(*_: object) -> None:
        raise StoreError("read-only")

    monkeypatch.setattr(exports, "note_export", refuse)
    done = run("export", "jsonl", "-o", str(tmp_path / "a.jsonl"))
    assert "tooltrace forget will not know of this export" in done.stderr
    assert (tmp_path / "a.jsonl").exists()
