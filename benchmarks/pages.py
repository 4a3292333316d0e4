"""Measure the first content of each page: ``python -m benchmarks.pages [ROWS]``, in a browser, over a made-up history.

Measured in the page are the times from the click to the paint of the frame, which has no figures yet, and of the first
content: figures or a table of tools, rows, the attempts of a call. The server has just started. Each page is opened with a
new window, so that no result is cached, and after the page before has loaded completely.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import BrowserContext, sync_playwright

from benchmarks.browser import ARGUMENTS, program
from benchmarks.history import make_history
from benchmarks.screenshots import served
from tooltrace.analysis import query_store

AIM_SECONDS = 1.0
WINDOWS = tuple(f"{days}d" for days in (5, 6, 7, 8, 9))


@dataclass(frozen=True)
class Shown:
    """A page, and what of it is its first content."""

    path: str
    content: str


PAGES = {
    "overview": Shown("/?since={}", "dl.figures, table.tools"),
    "tool": Shown("/tool?name=search&since={}", "dl.figures, figure canvas"),
    "calls": Shown("/calls?since={}", "#newest tr[id]"),
    "calls by text": Shown("/calls?text=request+00&since={}", "#newest tr[id]"),
    "conversations": Shown("/conversations?since={}", "#listed tr th"),
    "search": Shown("/find?q=request+00&since={}", "#hits .hit"),
    "call": Shown("/call?id={}", "article"),
    "SQL": Shown("/sql?query=failure_rate&since={}", "#answer tbody tr"),
}
WATCH = """new MutationObserver((_, watch) => {
    if (!document.querySelector(%r)) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.contentAt = performance.now(); }));
}).observe(document, {childList: true, subtree: true});"""
FRAME = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def milliseconds(browser: BrowserContext, address: str, content: str) -> tuple[float, float]:
    """Until the frame and until the ``content`` is painted, in a new tab."""
    page = browser.new_page()
    page.add_init_script(WATCH % content)
    page.goto(address, wait_until="networkidle")
    while (at := page.evaluate("window.contentAt")) is None:
        page.wait_for_timeout(20)
    frame = page.evaluate(FRAME)
    page.close()
    return frame, max(frame, at)


def main() -> None:
    """Print a row for each page."""
    rows = int(sys.argv[1].replace(",", "").replace("_", "")) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        store = Path(work) / "agent.duckdb"
        make_history(store, rows)
        spans = [row[-1] for row in query_store(store, "recent", limit=len(WINDOWS)).rows]
        browser = playwright.chromium.launch(executable_path=program(), args=ARGUMENTS)
        context = browser.new_context()  # tabs share the cache of files, as a reader's do
        print(f"| page, {rows:,} attempts | frame | first content | slowest of {len(WINDOWS)} | aim | |")
        print("|---|---:|---:|---:|---:|---|")
        with served(store) as address:
            milliseconds(context, f"{address}/tool?name=none", "main")
            for name, shown in PAGES.items():
                keys = spans if name == "call" else WINDOWS
                _print(name, [milliseconds(context, address + shown.path.format(key), shown.content) for key in keys])
        browser.close()
    print(f"\n{os.cpu_count()} cores; load when it ended: {os.getloadavg()[0]:.1f}")


def _print(name: str, taken: list[tuple[float, float]]) -> None:
    frame, content = (statistics.median(each) / 1000 for each in zip(*taken, strict=True))
    slowest = max(each[1] for each in taken) / 1000
    verdict = "met" if content < AIM_SECONDS else "**not yet**"
    print(f"| {name} | {frame:.2f} s | {content:.2f} s | {slowest:.2f} s | {AIM_SECONDS:g} s | {verdict} |", flush=True)


if __name__ == "__main__":
    main()
