"""The server as a process over stdio and HTTP, and inside ``tooltrace serve``: real clients, and strangers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from tests.server.conftest import running
from tooltrace.cli import cli
from tooltrace.server.site import Site

mcp_client: Any = pytest.importorskip("mcp.client", reason="needs mcp 2.3: pip install 'tooltrace-recorder[mcp]'")
mcp_stdio: Any = pytest.importorskip("mcp.client.stdio")

MODES = {"auto": "2026-07-28", "legacy": "2025-11-25"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


@pytest.mark.processes
@pytest.mark.parametrize("mode", MODES)
async def test_a_process_serves_both_versions_over_stdio(outage_store: Path, mode: str) -> None:
    parameters = mcp_stdio.StdioServerParameters(
        command=sys.executable, args=["-m", "tooltrace", "mcp", str(outage_store)]
    )
    async with mcp_client.Client(parameters, mode=mode) as client:
        assert client.protocol_version == MODES[mode]
        found = await client.call_tool("ask", {"question": "failure_rate", "since": "24h", "tool": "fetch"})
        assert found.structured_content["rows"][0]["copied"] == ["fetch"]


@pytest.fixture(scope="module")
def served(outage_store: Path) -> Iterator[str]:
    """The address of ``tooltrace mcp --http`` on a free port, which wants a token."""
    command = [
        sys.executable,
        "-m",
        "tooltrace",
        "mcp",
        str(outage_store),
        "--http",
        "127.0.0.1:0",
        "--token",
        "t0ken",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield line.split(" on ")[1].split()[0]
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0


def post(address: str, **headers: str) -> httpx.Response:
    return httpx.post(address, json=LIST, headers={**ACCEPT, **headers}, timeout=None)


@pytest.mark.processes
def test_http_wants_the_token_and_a_known_host_and_origin(served: str) -> None:
    token = {"authorization": "Bearer t0ken"}
    assert post(served).status_code == 401
    assert post(served, authorization="Bearer wrong").status_code == 401
    assert post(served, **token, host="evil.example").status_code == 421
    assert post(served, **token, origin="https://evil.example").status_code == 403
    assert post(served, **token, **{"sec-fetch-site": "cross-site"}).status_code == 403
    answer = post(served, **token, origin=served.removesuffix("/mcp"))
    assert answer.status_code == 200
    assert len(answer.json()["result"]["tools"]) == 9
    assert httpx.get(served.removesuffix("/mcp") + "/calls", headers=token, timeout=None).status_code == 404, (
        "the server of MCP alone has no pages"
    )


@pytest.mark.processes
def test_a_request_that_is_too_large_is_refused(served: str) -> None:
    body = json.dumps({**LIST, "params": {"x": "y" * 300_000}})
    headers = {**ACCEPT, "authorization": "Bearer t0ken", "content-type": "application/json"}
    assert httpx.post(served, content=body, headers=headers, timeout=None).status_code == 413


async def test_the_pages_have_the_server_at_mcp(outage_store: Path) -> None:
    with running(Site.of(outage_store, host="127.0.0.1")) as address:
        for mode, version in MODES.items():
            async with mcp_client.Client(f"{address}/mcp", mode=mode) as client:
                assert client.protocol_version == version
                found = await client.call_tool("ask", {"question": "failure_rate", "since": "24h", "tool": "fetch"})
                assert found.structured_content["rows"][0]["copied"] == ["fetch"]
        assert post(f"{address}/mcp", host="evil.example").status_code == 421
        assert post(f"{address}/mcp", origin="https://evil.example").status_code == 403
        assert httpx.get(address, timeout=None).status_code == 200


@pytest.mark.parametrize("path", ["/tooltrace/mcp", "/mcp"])
async def test_behind_a_root_path_the_same_checks_hold(outage_store: Path, path: str) -> None:
    """Whether the proxy removes the prefix or not."""
    with running(Site.of(outage_store, host="127.0.0.1", names=("traces.example",), prefix="/tooltrace")) as address:
        for mode, version in MODES.items():
            async with mcp_client.Client(f"{address}{path}", mode=mode) as client:
                assert client.protocol_version == version
                assert len((await client.list_tools()).tools) == 9
        assert post(f"{address}{path}", host="traces.example").status_code == 200
        assert post(f"{address}{path}", host="traces.example", origin="https://traces.example").status_code == 200
        assert post(f"{address}{path}", host="evil.example").status_code == 421
        assert post(f"{address}{path}", origin="https://evil.example").status_code == 403


@pytest.mark.parametrize("prefix", ["", "/tooltrace"])
def test_where_others_can_reach_the_pages_mcp_wants_the_token(outage_store: Path, prefix: str) -> None:
    site = Site.of(
        outage_store, host="0.0.0.0", prefix=prefix
    )  # a site for any interface; the test listens on loopback
    assert site.token is not None
    with running(site) as address:
        place, token = f"{address}{prefix}/mcp", {"authorization": f"Bearer {site.token}"}
        refused = post(place)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert post(place, cookie=f"tooltrace_token={site.token}").status_code == 401, (
            "that cookie permits reading pages"
        )
        assert post(place, **token, origin="https://evil.example").status_code == 403
        assert post(place, **token, host="evil.example").status_code == 421
        assert post(place, **token).status_code == 200


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--http", "8319"], "HOST:PORT"),
        (["--http", "127.0.0.1:99999"], "HOST:PORT"),
        (["--labeler", "me"], "--allow-label"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: list[str], words: str) -> None:
    done = CliRunner().invoke(cli, ["mcp", str(tmp_path / "t.duckdb"), *options])
    assert done.exit_code == 2
    assert words in done.stderr
