"""Records of the server's own calls for a store on another machine: delivered, and never in the way of an answer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tooltrace.core.records import Record, ToolCall
from tooltrace.errors import MissingExtra, QueryError
from tooltrace.exporters.protocol import Unavailable
from tooltrace.mcp_server.own_calls import OwnCalls
from tooltrace.store.base import StoreBackend


class Receiver:
    """A destination that keeps what it accepts."""

    def __init__(self, error: Exception | None = None) -> None:
        self.accepted: list[Record] = []
        self.error = error

    def send(self, records: Sequence[Record]) -> None:
        if self.error is not None:
            raise self.error
        self.accepted += records

    def close(self) -> None:
        pass


class RemoteStore(StoreBackend):
    """A store on another machine."""

    def __init__(self, receiver: Receiver | Exception) -> None:
        self.receiver = receiver

    def exists(self) -> bool:
        return True

    def destination(self) -> Any:
        if isinstance(self.receiver, Exception):
            raise self.receiver
        return self.receiver


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def ask(calls: OwnCalls) -> None:
    with calls.recorded("ask", {"question": "ranking"}, "editor") as stats:
        stats["characters"] = 12


def test_calls_reach_the_destination_of_the_store_and_nothing_stays_here(folders: Path) -> None:
    receiver = Receiver()
    calls = OwnCalls(RemoteStore(receiver))
    ask(calls)
    with pytest.raises(QueryError), calls.recorded("call", {"call_id": "none"}, "editor"):
        raise QueryError("unknown call id")
    calls.close()
    found = [record for record in receiver.accepted if isinstance(record, ToolCall)]
    assert [(each.tool, each.status, each.service, each.agent) for each in found] == [
        ("tooltrace.ask", "success", "tooltrace-mcp", "editor"),
        ("tooltrace.call", "error", "tooltrace-mcp", "editor"),
    ]
    assert list(folders.iterdir()) == []


def test_a_store_that_is_away_raises_nothing_and_leaves_nothing(folders: Path) -> None:
    calls = OwnCalls(RemoteStore(Receiver(Unavailable("connection refused"))))
    ask(calls)
    calls.close()
    assert list(folders.iterdir()) == []


def test_a_destination_that_cannot_be_made_is_requested_once(folders: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = RemoteStore(MissingExtra("the destination 'otlp' needs a package"))
    calls = OwnCalls(store)
    ask(calls)
    store.receiver = Receiver()
    ask(calls)
    calls.close()
    assert store.receiver.accepted == []
    assert "does not record its own calls: the destination 'otlp' needs a package" in caplog.text
    assert list(folders.iterdir()) == []
