"""A receiver that listens, for each test that asks for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ingest.receiver.running import Receiving, Running, start
from tooltrace.faults import faults
from tooltrace.ingest.receiver.ingester import Receiver
from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.recording.settings import Settings
from tooltrace.server.site import Site


@pytest.fixture
def receiving(tmp_path: Path) -> Iterator[Receiving]:
    """Start a receiver; ``store``, ``token``, ``names`` (of its host), ``capture`` and the fields of ``ReceiverLimits`` may be given."""
    ends: list[Callable[[], None]] = []
    faults.drain()

    def receiving(
        store: Path = tmp_path / "received.duckdb",
        token: str | None = None,
        names: tuple[str, ...] = (),
        capture: Any = "full",
        **limits: Any,
    ) -> Running:
        receiver = Receiver(Settings(store=store, service_name="receiver", capture=capture), ReceiverLimits(**limits))
        site = Site.of(store, host="127.0.0.1", names=names, token=token)
        ports, end = start(receiver, site)
        client = httpx.Client(timeout=None, trust_env=False)
        ends.append(lambda: (client.close(), end(), receiver.close()) and None)
        return Running(store, ports, receiver, client)

    yield receiving
    for end in ends:
        end()
