"""Fixtures of all tests: a store for each test, and faults that are raised."""

from __future__ import annotations

import fcntl
import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import tooltrace as tt
from benchmarks.browser import ARGUMENTS, program
from tests import shards
from tests.examples import PROFILES
from tests.instances import Instances
from tests.needs import missing
from tests.stores import copy_new_stores
from tooltrace import faults as faults_module
from tooltrace.core.records import Record, ToolCall
from tooltrace.faults import faults
from tooltrace.recording import config
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import decode

Calls = Callable[[], list[ToolCall]]
NUMBERS = itertools.count(1)
SCREEN = {"width": 1280, "height": 900}
PATIENCE_MS = 600_000
"""How long a browser waits for what a test expects: a busy machine may take long, and a wait that succeeds costs nothing."""
SUPPRESSED_HEALTH_CHECKS = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
"""A busy machine generates examples slowly; examples that share a fixture leave nothing in it that another one reads."""

for profile, most in PROFILES.items():
    settings.register_profile(
        profile, max_examples=most, deadline=None, print_blob=True, suppress_health_check=SUPPRESSED_HEALTH_CHECKS
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_configure(config: pytest.Config) -> None:
    """Count what is left out. Answer SIGINT: a shell that starts the tests in the background has it ignored, in them and in each process they start."""
    config.pluginmanager.register(shards.LeftOut(config))
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection() -> None:
    """Collect no garbage among the collected tests, which all stay: it costs a third of the time."""
    gc.disable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the tests of a folder that ``make test`` leaves out as a whole."""
    return True if config.option.markexpr == shards.TEST and shards.is_left_out(collection_path, config.args) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the shards. Start the tests marked ``long`` first: no worker then waits for one of them at the end."""
    shards.mark(items)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_collection_finish() -> None:
    """Leave the collected tests out of garbage collection: otherwise each ``gc.collect()`` of a test visits all of them."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Let the interpreter collect what was left out, so that extension modules report no leaks at exit."""
    gc.unfreeze()


@pytest.fixture(scope="module")
def frozen() -> None:
    """Leave what earlier tests made out of garbage collection too, for a module that collects in each of its tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def reused_instances() -> Iterator[Instances]:
    """The code gets connections to instances of DuckDB that are used again."""
    with pytest.MonkeyPatch.context() as patch:
        instances = Instances(patch)
        yield instances
        instances.end()


@pytest.fixture(scope="session", autouse=True)
def copied_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new store is a copy; ``tests.stores.create_new_stores`` lets the code create it, as outside of tests."""
    with pytest.MonkeyPatch.context() as patch:
        copy_new_stores(patch, tmp_path_factory.mktemp("schema") / "template.duckdb")
        yield


@pytest.fixture(scope="session")
def unconfigured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stores that no test names: a ``tmp_path`` for each test would take a tenth of the time."""
    return tmp_path_factory.mktemp("unconfigured")


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch, unconfigured: Path) -> None:
    """A fault of the recorder fails the test; nothing is written beside the test's own files; a busy store is waited for."""
    monkeypatch.setattr(faults_module, "raise_faults", True)
    monkeypatch.setenv("TOOLTRACE_STORE", str(unconfigured / f"{next(NUMBERS)}.duckdb"))
    monkeypatch.setenv("TOOLTRACE_WAIT", "900")  # a process that folds may be slow on a busy machine
    monkeypatch.delenv("COLUMNS", raising=False)  # which the workers of parallel runs have


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in production: a fault of the recorder is counted and kept to itself."""
    monkeypatch.setattr(faults_module, "raise_faults", False)


@contextmanager
def recording_into(path: Path) -> Iterator[Path]:
    """Record into a fresh store, with no option of an earlier test."""
    before, config._given = config.active_recorder, {}
    faults.drain()
    tt.configure(store=path)
    yield path
    tt.shutdown()
    with config._lock.current:
        config.active_recorder, config._given = before, {}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """A fresh store that the process records into."""
    with recording_into(tmp_path / "t.duckdb") as path:
        yield path


def records(store: Path) -> list[Record]:
    """Every record in the journals of ``store``, in the order of writing within each."""
    files = sorted(StorePaths.of(store).journal.glob("*.jsonl"), key=lambda file: file.stat().st_mtime_ns)
    return [decode(line) for file in files for line in file.read_bytes().splitlines(keepends=True)]


@pytest.fixture
def calls(store: Path) -> Calls:
    """The calls recorded so far, in the order in which they began."""

    def read() -> list[ToolCall]:
        assert config.get_recorder().worker.wait_for_queue(None)
        found = [record for record in records(store) if isinstance(record, ToolCall)]
        return sorted(found, key=lambda call: call.started_at)

    return read


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a demo run, made once for all workers. No test writes to it."""
    folder = tmp_path_factory.getbasetemp()
    store = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "demo" / "demo.duckdb"
    store.parent.mkdir(exist_ok=True)
    with store.with_suffix(".making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not store.exists():
            command = [
                sys.executable,
                "-m",
                "tooltrace",
                "demo",
                "--calls",
                "400",
                "--days",
                "0",
                "--store",
                str(store),
            ]
            subprocess.run(command, check=True, capture_output=True)
    return store


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's chromium; $CHROMIUM names another. It runs an event loop in this thread: no longer than for one module."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = program()
    if path is None:
        missing("chromium", "no chromium: apt-get install chromium-headless-shell or chromium, or $CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=PATIENCE_MS)
        new_context = browser.new_context

        def new_patient_context(**options: Any) -> Any:
            context = new_context(**options)
            context.set_default_timeout(PATIENCE_MS)
            return context

        browser.new_context = new_patient_context
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """A page that the tests of a module share: a new one costs half a second of CPU. ``page`` resets it after each test."""
    context = browser.new_context(locale="en-GB", timezone_id="Europe/Berlin", viewport=SCREEN)
    return context.new_page()


Listeners = dict[str, Callable[[Any], object]]


@contextmanager
def used(tab: Any, listeners: Listeners) -> Iterator[Any]:
    """Lend ``tab`` to one test, with these listeners; leave it empty, without listeners, and as it was made."""
    for event, listener in listeners.items():
        tab.on(event, listener)
    added = []
    tab.on = lambda event, listener: (added.append((event, listener)), type(tab).on(tab, event, listener))
    try:
        yield tab
    finally:
        del tab.on
        with suppress(Exception):  # a page without an origin has no storage
            tab.evaluate("localStorage.clear(); sessionStorage.clear()")
        for event, listener in [*listeners.items(), *added]:
            tab.remove_listener(event, listener)
        tab.unroute_all(behavior="ignoreErrors")  # a request that a test still holds would never be answered
        tab.goto("about:blank")
        tab.emulate_media(media="null", color_scheme="light")
        tab.set_viewport_size(SCREEN)
        tab.context.set_offline(False)
        tab.context.clear_cookies()
