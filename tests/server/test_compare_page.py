"""Two versions or two time ranges side by side: the verdict, the measures, and the calls that each side counts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.stores import create_empty_store
from tooltrace.server.site import Site

from .conftest import call, running, write

NOW = datetime.now(UTC)
VERSIONS = {"tool": "crm", "before": "version:1", "after": "version:2", "since": "all"}


def history():
    """A tool that fails one call in ten with version 1, and since yesterday nine in ten with version 2; another as ever."""
    for n in range(120):
        at = NOW - timedelta(hours=46 - n // 3)
        late = at > NOW - timedelta(days=1)
        failed = n % 10 < (9 if late else 1)
        known = {"started_at": at, "conversation_id": f"talk{n}"}
        yield call(
            tool="crm", tool_version="2" if late else "1", status="error" if failed else "success",
            duration_ms=1.0 if failed else 200.0 + n, **known,
        )  # fmt: skip
        yield call(tool="steady", tool_version="1", **known)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    store = tmp_path_factory.mktemp("compared") / "compared.duckdb"
    write(create_empty_store(store), *history())
    with running(Site.of(store, host="127.0.0.1")) as address, httpx.Client(base_url=address, timeout=None) as client:
        yield client


def rows(text: str) -> dict[str, str]:
    """The row of each measure, or of each tool and measure."""
    body = text.partition("<tbody>")[2].partition("</tbody>")[0]
    found = {}
    for row in body.split("<tr ")[1:]:
        words = [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.S)
        ]
        cells = [word.rpartition('">')[2] for word in words]
        found[" ".join(cells[:2]) if "<th" in row else cells[0]] = row
    return found


def test_two_versions_are_compared_with_a_verdict_and_an_interval(client):
    text = client.get("/compare/result", params=VERSIONS).text
    assert re.search(r"Calls failed: <strong>.*?→ <strong>.*?class=\"verdict worse\"", text, re.DOTALL)
    row = rows(text)["Calls failed"]
    assert 'class="verdict worse"' in row
    assert row.count('data-unit="points"') >= 2, "the difference and the end of its interval"
    assert "a tool that fails at once looks faster" in text, (
        "p50 became better only because calls fail in a millisecond"
    )


def test_each_side_leads_to_the_calls_that_it_counts(client):
    row = rows(client.get("/compare/result", params=VERSIONS).text)["Attempts failed"]
    links = [html.unescape(link) for link in re.findall(r'href="(/calls[^"]+)"', row)]
    counts = [int(n) for n in re.findall(r'<data class="n" value="(\d+)" data-unit="count">', row)]
    rates = [float(rate) for rate in re.findall(r'<data class="n" value="([\d.e-]+)" data-unit="share">', row)]
    assert [parse_qs(urlsplit(link).query)["version"] for link in links] == [["1"], ["2"]]
    for link, n, rate in zip(links, counts, rates, strict=True):
        query = f"{urlsplit(link).query}&format=json"
        assert len(client.get(f"/calls/export?{query}").json()) == round(n * rate), link


def test_two_time_ranges_have_the_calls_of_both_sides_by_their_start(client):
    text = client.get("/compare", params={"since": "24h", "tool": "crm"}).text
    sides = [html.unescape(link) for link in re.findall(r'<p><a href="(/calls[^"]+)"', text)]
    before, after = (parse_qs(urlsplit(link).query) for link in sides)
    assert before["until"] == after["since"]
    listed = [
        {row["tool_version"] for row in client.get(f"/calls/export?{urlsplit(link).query}&format=json").json()}
        for link in sides
    ]
    assert listed == [{"1"}, {"2"}]
    result = client.get("/compare/result", params={"since": "24h"}).text
    assert 'class="verdict worse"' in rows(result)["crm Calls failed"]
    assert 'class="verdict unclear"' in rows(result)["steady Calls failed"]
    assert result.partition("</div>")[0].count('class="tool"') == 1, "the verdict names the tool that changed alone"


def test_the_address_is_the_state(client):
    earlier = {
        "before_since": (NOW - timedelta(hours=40)).isoformat(),
        "before_until": (NOW - timedelta(hours=30)).isoformat(),
    }
    text = client.get("/compare", params={"since": "12h", "tool": "crm", **earlier}).text
    part = parse_qs(urlsplit(html.unescape(re.search(r'hx-get="(/compare/result[^"]+)"', text)[1])).query)
    assert {name: value[0] for name, value in part.items()} == {"since": "12h", "tool": "crm", **earlier}
    wider = html.unescape(re.search(r'href="(/compare\?since=30d[^"]*)"', text)[1])
    assert parse_qs(urlsplit(wider).query)["before_since"] == [earlier["before_since"]], (
        "another range after, the same before"
    )
    versions = client.get("/compare", params=VERSIONS).text
    assert 'name="before" required value="version:1"' in versions
    assert 'name="after" required value="version:2"' in versions


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"since": "24h", "before_since": "30h", "before_until": "20h"}, "overlap"),
        ({"before": "version:1", "after": "version:1"}, "two different values"),
        ({"since": "24h", "before_since": "20h", "before_until": "30h"}, "ends"),
        ({"since": "soon"}, "soon"),
    ],
)
def test_a_wrong_comparison_says_what_is_wrong(client, given, message):
    text = client.get("/compare", params=given).text
    assert re.search(rf'class="error-box" role="alert">[^<]*{message}', text)
    assert client.get("/compare/result", params=given).status_code == 400


@pytest.mark.parametrize("given", [{"since": "all"}, {"by": "values"}, {"after": "version:2"}])
def test_a_comparison_with_one_side_has_a_form_and_no_result(client, given):
    text = client.get("/compare", params=given).text
    assert "/compare/result" not in text
    assert "error-box" not in text


def test_versions_are_offered_of_the_tool(client):
    offered = client.get("/options/version", params={"tool": "steady", "since": "7d"}).text
    assert re.findall(r'value="([^"]+)"', offered) == ["1"]


def test_the_verdict_the_overview_and_the_tool_lead_to_the_comparison(client):
    for path in ("/", "/tool?name=crm"):
        assert 'href="/compare?' in client.get(path).text, path


def test_a_person_opens_the_comparison_from_the_verdict(page, tmp_path):
    from benchmarks.story import BROKEN_VERSION, LAST_VERSION, make_story

    make_story(tmp_path / "story.duckdb")
    with running(Site.of(tmp_path / "story.duckdb", host="127.0.0.1")) as address:
        page.goto(address)
        page.click(".verdict-box a:has-text('compare with')")
        page.wait_for_selector("table.compared .sorter")
        assert page.locator("table.compared tr.v-worse").count() == 2
        assert {LAST_VERSION, BROKEN_VERSION} <= set(page.inner_text(".compared-sides").replace("\n", " ").split())
        page.locator("table.compared th[data-key=verdict] button").focus()
        page.keyboard.press("Enter")
        assert "sort.compare=verdict" in page.url
        page.goto("about:blank")


def test_calls_failed_stands_before_attempts_failed(client):
    found = list(rows(client.get("/compare/result", params=VERSIONS).text))
    assert found.index("Calls failed") + 1 == found.index("Attempts failed")


def test_too_little_data_is_not_marked_as_usual(client):
    text = client.get("/compare/result", params={"since": "9h", "tool": "steady"}).text
    box = re.search(r'class="verdict-box ([a-z]*)"', text)
    assert box
    assert box[1] == ""
    usual = client.get("/compare/result", params={"since": "1d", "tool": "steady"}).text
    assert 'class="verdict-box usual"' in usual
