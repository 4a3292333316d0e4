"""A page shows the progress of folding until it is complete."""

from __future__ import annotations

from tests.server.conftest import call, write
from tooltrace.server import folding as module
from tooltrace.store.fold.fold import fold


def test_the_progress_grows_and_disappears(shown, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHOWN_BYTES", 10)
    client = shown(call())
    store = tmp_path / "shown.duckdb"
    fold(store)
    assert "progress" not in client.get("/folding").text
    for _ in range(2):
        write(store, *(call() for _ in range(5)))
    first = client.get("/folding").text
    assert 'value="0"' in first
    assert "every 1s" in first
    journals = sorted((tmp_path / "shown.duckdb.journal").glob("*.jsonl"))
    journals[0].unlink()
    assert any(f'value="{percent}"' in client.get("/folding").text for percent in (49, 50, 51))
    fold(store)
    last = client.get("/folding").text
    assert 'id="folding"' in last
    assert "hx-trigger" not in last


def test_every_page_requests_the_progress_once(shown):
    assert 'id="folding" hx-get="/folding" hx-trigger="load"' in shown(call()).get("/").text
