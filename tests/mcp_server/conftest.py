"""Stores and servers that the tests of a module share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_server.histories import hostile, outage, write
from tests.stores import create_empty_store

Connect = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture(scope="module")
def outage_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(create_empty_store(tmp_path_factory.mktemp("outage") / "outage.duckdb"), *outage())


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(create_empty_store(tmp_path_factory.mktemp("hostile") / "hostile.duckdb"), *hostile())


@pytest.fixture
def connected() -> Connect:
    """A client of the SDK, connected to a server in this process."""
    client = pytest.importorskip("mcp.client", reason="needs mcp 2.3: pip install 'tooltrace-recorder[mcp]'").Client

    from tooltrace.mcp_server.served_store import ServedStore
    from tooltrace.mcp_server.server import make_server
    from tooltrace.store.base import open_store

    @asynccontextmanager
    async def connected(store: Any, mode: str = "auto", characters: int = 16_000, **options: Any) -> AsyncIterator[Any]:
        server = make_server(ServedStore(open_store(store), characters), **{"record": False, **options})
        async with client(server, mode=mode) as connected:
            yield connected

    return connected
