"""Every planted problem is named on the first screen of every surface and in every time range, in the same words."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from click.testing import CliRunner

import tooltrace as tt
from tests.diagnosis.stories import STORIES
from tests.queries.conftest import START
from tests.stores import create_empty_store
from tooltrace.cli import cli
from tooltrace.core.records import Record
from tooltrace.report import build_report, fixed_range
from tooltrace.report.markdown import as_markdown
from tooltrace.server.site import Site
from tooltrace.wording.i18n import Translations

from .conftest import running, write

RANGES = ("1h", "24h", "7d", "30d", "all")


def moved(record: Record, by: timedelta) -> Any:
    """The record, later by ``by``."""
    times = {name: at + by for name in ("started_at", "labeled_at") if (at := getattr(record, name, None)) is not None}
    return msgspec.structs.replace(record, **times)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five bad tools and a good one, whose ten days end ten minutes ago."""
    by = datetime.now(UTC) - timedelta(days=10, minutes=10) - START
    path = create_empty_store(tmp_path_factory.mktemp("five") / "five.duckdb")
    write(path, *(moved(record, by) for record in STORIES["five_bad_tools"]().records))
    return path


def words(text: str) -> str:
    """The words of a page, a document or a terminal, without markup and line breaks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>|[`*\\]", "", text)).replace("\xa0", " ").split())


@pytest.mark.parametrize("since", ["all", pytest.param("1h", marks=pytest.mark.long)])
def test_each_planted_problem_is_on_every_surface(store: Path, since: str) -> None:
    findings = [one for one in tt.diagnose(store=store) if one.severity != "note"]
    truth = {tool for _, tool in STORIES["five_bad_tools"]().truth}
    assert {one.tools[0] for one in findings} == truth, "the truth of the story"
    run = CliRunner()
    state = run.invoke(cli, ["--store", str(store), "--since", since]).output
    listed = run.invoke(cli, ["findings", "--store", str(store), "--since", since]).output
    start = (
        None
        if since == "all"
        else datetime.now(UTC) - timedelta(hours=int(since.rstrip("hd")) * (24 if since.endswith("d") else 1))
    )
    report = as_markdown(build_report(store, fixed_range(since=start, until=None)), Translations("en"))
    for one in findings:
        for surface in (state, listed):
            assert one.sentence in words(surface), (one.kind, since)
        assert words(one.sentence) in words(report), (one.kind, since)


@pytest.mark.long
def test_each_planted_problem_is_on_the_page_in_every_time_range(store: Path) -> None:
    findings = [one for one in tt.diagnose(store=store) if one.severity != "note"]
    with running(Site.of(store, host="127.0.0.1")) as address, httpx.Client(base_url=address, timeout=None) as client:
        for since in RANGES:
            page = client.get("/verdict", params={"since": since}).text
            assert 'class="verdict-box problem"' in page
            shown = re.findall(r'<p class="said">.*?class="tool" href="/tool\?name=([^&"]+)', page)
            assert set(shown) >= {one.tools[0] for one in findings if one.kind != "looping"}, since
            assert page.count("<li") >= len(findings)
            healthy = client.get("/tools", params={"since": since}).text.partition('<details class="healthy">')[2]
            assert since == "1h" or 'data-value="fine"' in healthy
        fine = client.get("/verdict", params={"since": "all", "tool": "fine"}).text
    assert 'class="verdict-box fine"' in fine
    assert re.search(r"Nothing unusual: .*300.* finished calls of .*fine", fine, re.DOTALL)


@pytest.mark.long
def test_the_agent_is_told_the_same(store: Path) -> None:
    text = tt.briefing(store=store, tokens=2_000)
    for one in tt.diagnose(store=store):
        if one.open and one.kind in ("broken", "regressed", "chronic", "cut_off"):
            assert f'- "{one.tools[0]}" ' in text
