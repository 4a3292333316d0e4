"""A real server over a real store, and a browser page."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import used
from tests.server.statement_processes import start_as_in_production, start_forked
from tests.stores import create_empty_store
from tooltrace.core.records import Record, ToolCall
from tooltrace.server.asgi import serve
from tooltrace.server.site import Site
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.sandbox import client as sandbox_client

_numbers = itertools.count(1)


def call(**given: Any) -> ToolCall:
    """One finished attempt just now, of a call of its own, unless ``given`` says otherwise."""
    number = next(_numbers)
    duration_ms = given.get("duration_ms", 10.0)
    started_at = datetime.now(UTC) - timedelta(milliseconds=duration_ms or 0)  # an end in the future is on no page yet
    known: dict[str, Any] = {
        "tool": "search", "call_id": f"call_{number}", "trace_id": f"{number:032x}", "span_id": f"{number:016x}",
        "conversation_id": "session", "started_at": started_at, "duration_ms": duration_ms, "status": "success",
    }  # fmt: skip
    return ToolCall(**{**known, **given})


def write(store: Path, *records: Record) -> None:
    """Into a journal of its own, as another process would."""
    journal = Journal(StorePaths.of(store).journal)
    journal.write(b"".join(encode(record) for record in records))
    journal.close()


@contextmanager
def running(site: Site) -> Iterator[str]:
    """The server at work; its address."""
    ports: list[int] = []
    ready = threading.Event()
    ends: list[Callable[[], object]] = []

    async def work() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(stop.set))

        def up(http: int, _grpc: int | None) -> None:
            ports.append(http)
            ready.set()

        await serve(site, stop, up, host="127.0.0.1", port=0)

    thread = threading.Thread(target=asyncio.run, args=(work(),), daemon=True)
    thread.start()
    assert ready.wait(), "the server did not start"
    try:
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        ends[0]()
        thread.join()


@pytest.fixture(autouse=True)
def forked_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page starts a process for each statement and one in advance, which costs half a second of CPU time each."""
    monkeypatch.setattr(sandbox_client, "_start", start_forked)


@pytest.fixture
def new_processes(forked_statements: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements run in processes that are started as in production."""
    monkeypatch.setattr(sandbox_client, "_start", start_as_in_production)


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Callable[..., httpx.Client]]:
    """A client of a server over a store that holds these records."""
    opened = []

    def shown(*records: Record, **site: Any) -> httpx.Client:
        store = tmp_path / "shown.duckdb"
        if records:
            write(create_empty_store(store), *records)
        context = running(Site.of(store, host="127.0.0.1", **site))
        # verify: to read the system's certificates takes 50 ms for each client
        client = httpx.Client(base_url=context.__enter__(), timeout=None, verify=False)
        opened.append((context, client))
        return client

    yield shown
    for context, client in opened:
        client.close()
        context.__exit__(None, None, None)


@pytest.fixture(scope="session")
def demo(demo_store: Path) -> Iterator[str]:
    """The address of a server over the demo's store."""
    with running(Site.of(demo_store, host="127.0.0.1")) as address:
        yield address


@pytest.fixture
def faults() -> list[str]:
    """Errors that the page reported."""
    return []


UNSTARTED = "[hx-get]:not([data-htmx-powered]), [hx-post]:not([data-htmx-powered])"
"""Elements that htmx does not know yet: it starts in a task of its own, which may come after the page has loaded."""


@pytest.fixture
def page(tab: Any, faults: list[str]) -> Iterator[Any]:
    """A page; the test fails where it reports an error, a refusal by its policy included.

    ``goto`` waits until htmx has started too: until then the browser itself follows a link and sends a form.
    """
    listeners = {
        "console": lambda message: faults.append(message.text) if message.type == "error" else None,
        "pageerror": lambda error: faults.append(str(error)),
    }

    def goto(address: str, **options: Any) -> Any:
        answer = type(tab).goto(tab, address, **options)
        if not options:
            tab.wait_for_selector(UNSTARTED, state="detached")
        return answer

    with used(tab, listeners):
        tab.goto = goto
        try:
            yield tab
        finally:
            del tab.goto
    assert faults == []
