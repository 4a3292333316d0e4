"""Take the screenshots of the documentation: ``python -m benchmarks.screenshots [FOLDER]``, see ``benchmarks.browser``.

The overview, a tool and the SQL page show a made-up history of 30 days (benchmarks.history). The list, a call and the
overview of the README show what the demo records.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Error, Page, sync_playwright

from benchmarks.browser import ARGUMENTS, program
from benchmarks.history import make_history
from tooltrace.analysis import query_store

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1280, 860
HIDE_MACHINE = """([prefix, host]) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data =
        texts.currentNode.data.replaceAll(prefix, "/usr").replaceAll(`${host} · `, "laptop · ");
}"""
"""Shows Python's library, which the demo reads, in /usr, and one name of a host: the pictures do not depend on the machine."""


@contextmanager
def served(store: Path) -> Iterator[str]:
    """Run ``tooltrace serve`` over ``store``, and yield its address."""
    command = [sys.executable, "-m", "tooltrace", "serve", "--port", "0", "--store", str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        found = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
        assert found, "the server did not start"
        try:
            yield found[0]
        finally:
            process.terminate()


def take(page: Page, address: str, file: Path, *, height: int = HEIGHT) -> None:
    """Take one screenshot, once everything on the page is loaded."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.goto(address, wait_until="networkidle")
    waiting, deadline = page.locator(".wait:visible"), time.monotonic() + 60
    while waiting.count() and time.monotonic() < deadline:
        with suppress(Error):  # it was loaded meanwhile
            waiting.first.scroll_into_view_if_needed(timeout=1000)  # parts below the screen load when they are reached
        page.wait_for_timeout(200)
    page.evaluate(HIDE_MACHINE, [sys.base_prefix, socket.gethostname()])
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(1500)  # charts and sparklines
    page.screenshot(path=file)


def main() -> None:
    """Take all screenshots."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        history, demo = Path(work) / "agent.duckdb", Path(work) / "demo.duckdb"
        make_history(history, 60_000)
        subprocess.run(
            [sys.executable, "-m", "tooltrace", "demo", "--store", str(demo)], check=True, stdout=subprocess.DEVNULL
        )
        call = query_store(demo, "attempts", tool="fetch", status="error").rows[0][-1]
        browser = playwright.chromium.launch(executable_path=program(), args=ARGUMENTS)
        for theme in ("light", "dark"):
            context = browser.new_context(color_scheme=theme, locale="en-GB", timezone_id="Europe/Berlin")
            page = context.new_page()
            with served(history) as address:
                take(page, f"{address}/?since=14d", folder / f"overview-{theme}.png", height=1240)
                take(page, f"{address}/tool?name=search&since=14d", folder / f"tool-{theme}.png", height=1800)
                take(page, f"{address}/sql?query=failure_rate&since=14d", folder / f"sql-{theme}.png", height=1080)
            with served(demo) as address:
                take(page, f"{address}/calls?status=error", folder / f"calls-{theme}.png")
                take(page, f"{address}/call?id={call}", folder / f"call-{theme}.png", height=1000)
            context.close()
        for language, name in (("en", "demo-light.png"), ("zh", "demo-zh.png")):
            context = browser.new_context(color_scheme="light", locale=language, timezone_id="Europe/Berlin")
            with served(demo) as address:
                take(context.new_page(), f"{address}/?lang={language}", folder / name, height=1000)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
