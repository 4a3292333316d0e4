"""How soon a page has its first content: ``python -m benchmarks.pages [ROWS]``, in a browser, over a made-up history.

From the click to the figures, the table, the rows: the server was started, nothing was asked of it before, and each page is
opened anew three times with another window, so that no answer is a kept one.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.history import make_history
from benchmarks.screenshots import served
from tooltrace.queries import ask

AIM_SECONDS = 1.0
PAGES = {
    "overview": ("/?", "dl.figures, table.tools"),
    "tool": ("/tool?name=search&", "dl.figures, figure canvas"),
    "calls": ("/calls?", "#newest tr[id]"),
    "calls by text": ("/calls?text=request+00&", "#newest tr[id]"),
}


def seconds(page: Page, address: str, selector: str) -> float:
    """Until the first of what the page is for can be seen."""
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(selector, timeout=60_000)
    return time.perf_counter() - began


def main() -> None:
    """Print a row for each page."""
    rows = int(sys.argv[1].replace(",", "").replace("_", "")) if len(sys.argv) > 1 else 1_000_000
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        store = Path(work) / "agent.duckdb"
        make_history(store, rows)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        spans = [row[-1] for row in ask(store, "recent", limit=3).fetchall()]
        print(f"| page, {rows:,} attempts | first content | aim | |\n|---|---:|---:|---|")
        with served(store) as address:
            seconds(page, f"{address}/healthz", "body")
            for name, (path, selector) in PAGES.items():
                _print(name, [seconds(page, f"{address}{path}since={days}d", selector) for days in (5, 6, 7)])
            _print("call", [seconds(page, f"{address}/call?id={span}", "article") for span in spans])
        browser.close()


def _print(name: str, taken: list[float]) -> None:
    median = statistics.median(taken)
    print(f"| {name} | {median:.2f} s | {AIM_SECONDS:g} s | {'met' if median < AIM_SECONDS else '**not yet**'} |")


if __name__ == "__main__":
    main()
