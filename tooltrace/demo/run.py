"""The complete demo, without output to the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import httpx
import stamina.instrumentation

import tooltrace as tt
from tooltrace.demo.agent import Agents
from tooltrace.demo.history import record_history
from tooltrace.demo.plan import plan
from tooltrace.demo.server import serving
from tooltrace.demo.tools import Toolbox
from tooltrace.demo.workspace import Library
from tooltrace.errors import StoreError

FLUSH_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Summary of a demo run, whose calls are in the store."""

    store: Path
    started_at: datetime
    seconds: float
    calls: int
    past_calls: int = 0
    """Calls that were recorded for the days before the run."""


def run(store: Path, *, calls: int, seed: int, days: int = 0, on_call: Callable[[], None] = lambda: None) -> Run:
    """Run the agents with ``calls`` calls, recorded in ``store``, after a history of ``days``.

    ``on_call`` is called after each call of the agents.
    The same ``seed`` gives the same statuses on the same machine.
    """
    tt.configure(store=store, service="tooltrace-demo")
    past_calls = record_history(datetime.now(UTC), days, seed)
    started_at, clock = datetime.now(UTC), perf_counter()
    with TemporaryDirectory(prefix="tooltrace-demo-") as workspace, _retry_log_disabled():
        library = Library(Path(workspace))
        with serving(library.pages) as site, httpx.Client(base_url=site, trust_env=False) as web:
            tools = Toolbox(library, web, httpx.AsyncClient(base_url=site, trust_env=False))
            Agents(tools, on_call).work(plan(library, calls, seed))
    if not tt.flush(FLUSH_SECONDS):
        raise StoreError(
            "some calls of the demo could not be written: check the free disk space. `SELECT * FROM losses` has the counts"
        )
    return Run(store=store, started_at=started_at, seconds=perf_counter() - clock, calls=calls, past_calls=past_calls)


@contextmanager
def _retry_log_disabled() -> Iterator[None]:
    """Disable stamina's log of retries, because the retries are recorded as attempts."""
    before = stamina.instrumentation.get_on_retry_hooks()
    stamina.instrumentation.set_on_retry_hooks([])
    try:
        yield
    finally:
        stamina.instrumentation.set_on_retry_hooks(before)
