"""``/healthz`` has the figures of the store, and a status that says whether the store can be read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import call, write
from tests.stores import create_empty_store
from tooltrace.core.records import Loss
from tooltrace.faults import faults
from tooltrace.server import health as module
from tooltrace.server.health import HealthCheck
from tooltrace.store.base import open_store
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

Shown = Callable[..., httpx.Client]


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request checks anew."""
    monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(module, "LOSSES_SECONDS", 0.0)
    faults.reset_after_fork()


@pytest.fixture
def paths(tmp_path: Path) -> StorePaths:
    return StorePaths.of(tmp_path / "shown.duckdb")


def lost(count: int) -> Loss:
    return Loss(reason="queue_full", count=count, at=datetime.now(UTC))


def healthz(client: httpx.Client, status: int = 200) -> dict[str, Any]:
    response = client.get("/healthz")
    assert response.status_code == status, response.text
    assert response.headers["cache-control"] == "no-store"
    report: dict[str, Any] = response.json()
    assert report["ok"] is (status == 200)
    return report


def test_a_server_without_a_store_yet_is_healthy(shown: Shown) -> None:
    report = healthz(shown())
    assert (report["error"], report["last_error"], report["losses"]) == (None, None, {})
    assert (report["store"]["journal_bytes"], report["store"]["unfolded_records"]) == (0, 0)


def test_the_figures_of_a_store(shown: Shown, paths: StorePaths) -> None:
    client = shown(call())
    fold(paths)
    before = healthz(client)
    assert before["store"]["unfolded_records"] == 0
    assert before["store"]["database_bytes"] == paths.database.stat().st_size
    write(paths.database, *(call(started_at=datetime.now(UTC) - timedelta(hours=1)) for _ in range(4)), lost(3))
    after = healthz(client)["store"]
    assert after["unfolded_records"] == 5
    assert after["journal_bytes"] == after["unfolded_bytes"] == sum(paths.journals().values())
    assert 3590 < after["unfolded_seconds"] < 4200


def test_losses_are_counted_once_before_and_after_a_fold(shown: Shown, paths: StorePaths) -> None:
    client = shown(call(), lost(3))
    assert healthz(client)["losses"] == {"queue_full": 3}
    fold(paths)
    assert healthz(client)["losses"] == {"queue_full": 3}
    write(paths.database, lost(4))
    assert healthz(client)["losses"] == {"queue_full": 7}
    fold(paths)
    assert healthz(client)["losses"] == {"queue_full": 7}


def test_a_request_folds_nothing(shown: Shown, paths: StorePaths) -> None:
    client = shown(call())
    sizes = paths.journals()
    healthz(client)
    assert paths.journals() == sizes


def test_the_lag_of_destinations_without_secrets(shown: Shown, paths: StorePaths) -> None:
    files = DestinationFiles.of(paths, "otlp-traces")
    cursor = files.create()
    cursor.wait_because("http://collector answered 401: key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD is wrong")
    cursor.target, cursor.sent = "http://collector", 17
    files.save(cursor)
    client = shown(call(), call())
    report = healthz(client)
    (lag,) = report["store"]["deliveries"]
    assert (lag["destination"], lag["sent"], lag["pending"]) == ("otlp-traces", 17, 2)
    assert lag["pending_bytes"] == report["store"]["journal_bytes"]
    assert lag["error"].startswith("http://collector answered 401")
    assert lag["error_at"]
    assert "sk-proj" not in client.get("/healthz").text


def test_a_store_that_another_process_keeps_locked_is_503_until_it_is_free(
    shown: Shown, paths: StorePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = shown(call())
    monkeypatch.setattr(module.recorded_losses, "__defaults__", (0.01,))
    lock = Lock(paths)
    assert lock.exclusive(60)
    report = healthz(client, 503)
    assert "is in use by" in report["error"]
    assert report["store"]["unfolded_records"] == 1, "what the files show"
    lock.release()
    after = healthz(client)
    assert after["error"] is None
    assert after["last_error"] == report["error"]
    assert after["last_error_at"] == report["last_error_at"]


def test_a_damaged_database_is_503(shown: Shown, paths: StorePaths) -> None:
    client = shown(call())
    fold(paths)
    healthz(client)
    paths.database.write_bytes(b"garbage" * 1000)
    assert "damaged" in healthz(client, 503)["error"]


def test_an_error_of_the_receiver_is_the_last_error(shown: Shown) -> None:
    client = shown(call())
    faults.note_error("the journal cannot be written: no space")
    report = healthz(client)
    assert report["last_error"] == "the journal cannot be written: no space"
    assert report["last_error_at"]


def test_a_token_protects_the_figures(shown: Shown) -> None:
    client = shown(call(), token="open-sesame")
    assert client.get("/healthz").status_code == 401
    assert client.get("/healthz", headers={"authorization": "Bearer open-sesame"}).status_code == 200


def test_a_check_that_does_not_end_is_reported_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    real = module.store_health

    def hanging(paths: StorePaths) -> Any:
        release.wait()
        return real(paths)

    monkeypatch.setattr(module, "store_health", hanging)
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.05)

    async def check() -> None:
        health = HealthCheck(open_store(create_empty_store(tmp_path / "s.duckdb")))
        for _ in range(2):
            report = await health.report()
            assert (report.ok, report.error) == (False, "the store was not read within 0.05 s")
        release.set()
        monkeypatch.setattr(module, "CHECK_SECONDS", 120.0)
        assert (await health.report()).ok

    asyncio.run(check())


def test_many_requests_at_once_share_one_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[StorePaths] = []
    real = module.store_health
    monkeypatch.setattr(module, "FRESH_SECONDS", 60.0)
    monkeypatch.setattr(module, "store_health", lambda paths: (checks.append(paths), real(paths))[1])

    async def ask() -> None:
        health = HealthCheck(open_store(create_empty_store(tmp_path / "s.duckdb")))
        await asyncio.gather(*(health.report() for _ in range(20)))
        await health.report()

    asyncio.run(ask())
    assert len(checks) == 1


def test_a_remote_store_has_no_files(tmp_path: Path) -> None:
    report = asyncio.run(HealthCheck(open_store("clickhouse://localhost:1/none")).report())
    assert (report.ok, report.store, report.losses) == (True, None, {})


def test_the_number_of_records_is_estimated_in_a_long_journal(
    shown: Shown, paths: StorePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tooltrace.store.journal import pending_lines

    monkeypatch.setattr(pending_lines, "MAX_COUNTED_BYTES", 20_000)
    monkeypatch.setattr(pending_lines, "_CHUNK_BYTES", 7_000)
    journal = Journal(paths.journal)
    journal.write(b"".join(encode(call(text="x" * 100)) for _ in range(1000)))
    journal.close()
    assert 950 < healthz(shown())["store"]["unfolded_records"] < 1050
