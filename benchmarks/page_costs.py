"""Measure what the pages and the report cost: ``python -m benchmarks.page_costs [--rows N] [--store FILE]``, on Linux.

The store holds a made-up history of 30 days; the pages and the report show the last 28. CPU time is that of the server's
process, of all its threads. For each page the server has just started, so that no result is cached: the first screen is
loaded, then all parts below it. ``--store`` keeps the store for the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
from playwright.async_api import ViewportSize, async_playwright
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.browser import ARGUMENTS, program
from benchmarks.history import make_history_apart
from benchmarks.page import machine
from benchmarks.pages import milliseconds
from tooltrace.analysis import query_store

WINDOW: Final = "28d"
TABS: Final = 20
TOOLS: Final = (
    "search", "fetch", "sql", "python", "read_file", "grep", "weather", "mail", "calendar", "browse", "translate", "deploy",
)  # fmt: skip
_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_LOADED: Final = "() => !document.querySelector('.wait') && window.htmx"
"""No part of the page is loading."""
_SEEN: Final = """() => window.htmx && document.readyState === 'complete' && ![...document.querySelectorAll('.wait')].some(
    one => { const box = one.getBoundingClientRect(); return box.width && box.top < innerHeight; })"""
"""No part of the first screen is loading."""


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    what: str
    measured: float
    unit: str
    aim: float

    def __str__(self) -> str:
        verdict = "met" if self.measured <= self.aim else "**not yet**"
        return f"| {self.what} | {self.measured:.3g} {self.unit} | {self.aim:g} {self.unit} | {verdict} |"


@contextmanager
def serving(store: Path) -> Iterator[tuple[str, int]]:
    """Run ``tooltrace serve``; yield its address and its process id."""
    command = [sys.executable, "-m", "tooltrace", "serve", "--port", "0", "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        found = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
        assert found, "the server did not start"
        try:
            yield found[0], process.pid
        finally:
            process.terminate()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process until now, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def page_cost(browser: Browser, store: Path, path: str) -> tuple[float, float]:
    """Return the server's CPU seconds for the first screen of a page, and for the complete page."""
    with serving(store) as (address, pid):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/glossary", wait_until="networkidle")  # the files and templates that all pages share
        before = cpu_seconds(pid)
        page.goto(address + path)
        page.wait_for_function(_SEEN, timeout=120_000)
        page.wait_for_load_state("networkidle", timeout=120_000)
        first = cpu_seconds(pid) - before
        _scroll_through(page)
        complete = cpu_seconds(pid) - before
        page.close()
    return first, complete


def _scroll_through(page: Page) -> None:
    """Scroll down screen by screen, so that every part is loaded."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(300)
        at_end = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
        if at_end and page.evaluate(_LOADED):
            page.wait_for_load_state("networkidle")
            return


async def open_tabs(address: str) -> float:
    """Open different pages in TABS tabs at once; return the seconds until the first screens of all are complete."""
    paths = [f"/?since={WINDOW}", *(f"/tool?name={name}&since={WINDOW}" for name in TOOLS)]
    paths += [f"/?since={days}d" for days in (1, 3, 7, 14)] + [
        f"/calls?since={WINDOW}",
        "/calls?status=error",
        "/glossary",
    ]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program(), args=ARGUMENTS)
        # a tab in the background draws no animation, but headless tabs are all in the foreground
        size: ViewportSize = {"width": 1440, "height": 900}
        context = await browser.new_context(viewport=size, reduced_motion="reduce")  # the tabs share the cache of files
        pages = [await context.new_page() for _ in range(TABS)]
        before = time.perf_counter()

        async def load(number: int) -> None:
            await pages[number].goto(address + paths[number], timeout=180_000)
            await pages[number].wait_for_function(_SEEN, timeout=180_000, polling=200)

        await asyncio.gather(*map(load, range(TABS)))
        seconds = time.perf_counter() - before
        await browser.close()
    return seconds


def report_cost(store: Path, folder: Path) -> tuple[float, float]:
    """Return the CPU seconds and the peak resident MiB of ``tooltrace report``."""
    command = [sys.executable, "-m", "tooltrace", "report", "--since", WINDOW, "--store", str(store)]
    process = subprocess.Popen([*command, "-o", str(folder / "report.html")], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "the report failed"
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure(store: Path, folder: Path, rows: int) -> Iterator[Row]:
    """Yield the rows of the table."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=ARGUMENTS)
        for what, path, aim in (
            ("overview", f"/?since={WINDOW}", 2.0),
            ("page of a tool", f"/tool?name={TOOLS[0]}&since={WINDOW}", 3.0),
        ):
            first, complete = page_cost(browser, store, path)
            yield Row(f"{what}, first screen, {rows:,} attempts", first, "CPU s", aim)
            yield Row(f"{what}, complete", complete, "CPU s", aim)
        span = query_store(store, "recent", limit=1).rows[0][-1]
        with serving(store) as (address, _pid):
            context = browser.new_context()
            milliseconds(context, f"{address}/glossary", "main")
            _, content = milliseconds(context, f"{address}/call?id={span}", "article")
        yield Row("page of a call, until its content is painted", content / 1000, "s", 0.5)
        browser.close()
    with serving(store) as (address, _pid):
        yield Row(
            f"{TABS} tabs at once, until all first screens are complete",
            asyncio.run(open_tabs(address)),
            "s",
            20,
        )
    cpu, mib = report_cost(store, folder)
    yield Row("report", cpu, "CPU s", 8)
    yield Row("report, peak memory", mib, "MiB", 300)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Measure what the pages and the report cost.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="attempts of the history")
    parser.add_argument("--store", type=Path, help="file of the store; made if it is missing, else used again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "history.duckdb"
        if not store.exists():
            make_history_apart(store, options.rows)
        print("| what | measured | aim | |\n|---|---:|---:|---|")
        for row in measure(store, Path(folder), options.rows):
            print(row, flush=True)
    print(f"\n{machine({'DuckDB': duckdb.__version__})}; load when it ended: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
