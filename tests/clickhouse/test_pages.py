"""The pages over a store in ClickHouse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.history import make_history
from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill, records_of
from tooltrace.clickhouse.asking import ask

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory, engine: Any, fill: Fill) -> Any:
    from tooltrace.server.app import application
    from tooltrace.server.site import Site

    store: Path = tmp_path_factory.mktemp("pages") / "pages.duckdb"
    make_history(store, 400)
    fill("pages", records_of(store))
    transport = httpx.ASGITransport(application(Site.of(address(engine, "pages"), host="127.0.0.1")))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


@pytest.mark.parametrize("page", ["/", "/calls", "/panel/failure_rate", "/data/latency", "/question/errors", "/state"])
async def test_pages_are_shown(browser: Any, page: str) -> None:
    found = await browser.get(page)
    assert found.status_code == 200, found.text[:500]
    assert "search" in found.text or page in ("/", "/calls", "/question/errors", "/state")


async def test_a_call_is_shown_and_labelled(browser: Any, engine: Any) -> None:
    where = address(engine, "pages")
    span = ask(where, "recent", status="success", limit=1).fetchall()[0][-1]
    assert span in (await browser.get("/call", params={"id": span})).text
    form = {"span_id": span, "verdict": "wrong", "labeler": "me"}
    done = await browser.post("/label", data=form, headers={"origin": "http://127.0.0.1"}, follow_redirects=False)
    assert done.status_code in (200, 303), done.text[:500]
    call = ask(where, "recent", limit=500).project("call_id, span_id").filter(f"span_id = '{span}'").fetchall()[0][0]
    labels = ask(where, "labels", call_id=call).fetchall()
    assert [row[1:3] for row in labels if row[4] == "me"] == [(span, False)]


async def test_typed_sql_is_refused_and_says_where_to_ask(browser: Any) -> None:
    done = await browser.post("/sql/ask", data={"q": "SELECT 1"}, headers={"origin": "http://127.0.0.1"})
    assert done.status_code == 422
    assert "tooltrace sql asks" in done.json()["error"]
