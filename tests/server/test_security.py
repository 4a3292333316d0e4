"""Pages of other sites can neither read nor change the store; the token is required."""

from __future__ import annotations

import re

import httpx
import pytest
from starlette.routing import Route

from tests.stores import create_empty_store
from tooltrace.server.app import application
from tooltrace.server.site import Site, hostname, is_loopback

from .conftest import call, running, write

POLICY = "default-src 'self'"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:8318", "10.0.0.7", "", "[::2]:80", "localhost.evil"],
)
def test_an_unknown_host_name_is_refused(shown, host):
    answer = shown(call()).get("/data/recent", headers={"host": host})
    assert answer.status_code == 421
    assert "call_" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:1", "[::1]:8318"])
def test_host_names_of_this_machine_are_accepted(shown, host):
    assert shown(call()).get("/data/recent", headers={"host": host}).status_code == 200


def test_a_name_can_be_allowed(shown):
    client = shown(call(), names=("box.local",))
    assert client.get("/", headers={"host": "box.local:8318"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_changes_nothing(shown, headers):
    one = call()
    client = shown(one)
    answer = client.post("/label", data={"span_id": one.span_id, "verdict": "wrong"}, headers=headers)
    assert answer.status_code == 403
    assert client.get("/data/labels", params={"call_id": one.call_id}).json()["rows"] == []


def test_our_own_forms_and_programs_may_post(shown):
    one = call()
    client = shown(one)
    for headers in ({}, {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}):
        answer = client.post("/label", data={"span_id": one.span_id, "verdict": "wrong"}, headers=headers)
        assert answer.status_code == 303


@pytest.mark.parametrize(
    "path", ["/", "/data/recent", "/static/styles/tooltrace.css", "/none", "/label", "/calls/newest"]
)
def test_every_answer_has_the_policy_and_none_has_cors(shown, path):
    headers = shown(call()).get(path, headers={"origin": "https://evil.example"}).headers
    assert headers["content-security-policy"].startswith(POLICY)
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert not [name for name in headers if name.startswith("access-control")]


async def test_an_internal_error_has_the_security_headers(tmp_path):
    async def broken(_request):
        raise RuntimeError

    app = application(Site.of(tmp_path / "s.duckdb", host="127.0.0.1"), more=[Route("/broken", broken)])
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get("/broken")
    assert answer.status_code == 500
    assert answer.headers["content-security-policy"].startswith(POLICY)


def test_an_unsupported_method_gets_the_allowed_ones(shown):
    assert "GET" in shown(call()).request("DELETE", "/calls").headers["allow"]


def test_files_outside_the_static_folders_are_not_served(shown):
    client = shown(call())
    for path in (
        "/static/styles/../../pyproject.toml",
        "/static/styles/%2e%2e/pages/base.html",
        "/static/pages/base.html",
    ):
        assert client.get(path).status_code == 404


def test_beyond_loopback_a_visitor_shows_a_token(tmp_path):
    import httpx

    site = Site.of(tmp_path / "t.duckdb", host="0.0.0.0")
    assert site.token is not None
    assert len(site.token) >= 32
    with running(site) as address, httpx.Client(base_url=address, timeout=None) as client:
        assert client.get("/").status_code == 401
        assert client.get("/static/styles/tooltrace.css").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        assert client.post(f"/label?token={site.token}").status_code == 401
        assert client.get("/", headers={"authorization": f"Bearer {site.token}"}).status_code == 200
        entered = client.get(f"/?token={site.token}&since=24h")
        assert entered.status_code == 303
        assert entered.headers["location"] == "/?since=24h"
        reading, changing = entered.headers.get_list("set-cookie")
        assert reading.startswith("tooltrace_token=")
        assert changing.startswith("tooltrace_change=")
        assert all("httponly" in cookie.lower() for cookie in (reading, changing))
        assert "samesite=lax" in reading.lower(), "a link from another site has to work"
        assert "samesite=strict" in changing.lower(), "no other site may cause a change"
        assert client.get("/").status_code == 200
        again = client.get(f"/tools?since=24h&token={site.token}")
        assert (again.status_code, again.headers["location"]) == (303, "/tools?since=24h"), (
            "no page has it in its links"
        )
        assert client.get("/", headers={"host": "evil.example"}).status_code == 421
        assert client.get("/", headers={"host": "192.168.1.4:8318"}).status_code == 200


def test_the_cookie_that_other_sites_can_cause_to_be_sent_changes_nothing(tmp_path):
    store = tmp_path / "t.duckdb"
    one = call()
    write(create_empty_store(store), one)
    with running(Site.of(store, host="0.0.0.0", token="mine")) as address:
        form = {"span_id": one.span_id, "verdict": "wrong"}
        for cookies, status in (
            ({"tooltrace_token": "mine"}, 401),
            ({"tooltrace_change": "wrong"}, 401),
            ({"tooltrace_change": "mine"}, 303),
        ):
            assert httpx.post(f"{address}/label", data=form, cookies=cookies, timeout=None).status_code == status
        assert httpx.get(address, cookies={"tooltrace_change": "mine"}, timeout=None).status_code == 401
        cross = httpx.post(
            f"{address}/label",
            timeout=None,
            data=form,
            cookies={"tooltrace_change": "mine"},
            headers={"origin": "https://evil.example"},
        )
        assert cross.status_code == 403


def test_two_servers_have_two_tokens(tmp_path):
    assert Site.of(tmp_path, host="0.0.0.0").token != Site.of(tmp_path, host="0.0.0.0").token
    assert Site.of(tmp_path, host="127.0.0.1").token is None
    assert Site.of(tmp_path, host="0.0.0.0", token="mine").token == "mine"


def test_loopback_hosts_are_recognised():
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.0.1", "localhost.evil.example", "example.com")))
    assert [hostname(h) for h in ("a:1", "A", "[::1]:80", "[::1]", "::1")] == ["a", "a", "::1", "::1", "::1"]


def test_a_location_stays_on_this_server(tmp_path):
    import httpx

    site = Site.of(tmp_path / "t.duckdb", host="0.0.0.0")
    with running(site) as address, httpx.Client(timeout=None) as client:
        answer = client.get(f"{address}//evil.example/?token={site.token}")
        assert not re.match(r"(https?:)?//", answer.headers.get("location", "")), answer.headers


CROSS = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    "path", ["/panel/incidents", "/data/recent", "/tiles", "/calls/newest", "/compare/result", "/"]
)
def test_another_site_cannot_make_the_server_run_queries(shown, path):
    client = shown(call())
    assert client.get(path, headers=CROSS).status_code == 403
    assert client.get(path, headers=LINK).status_code == (200 if path == "/" else 403)
    assert client.get(path, headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_a_page_in_a_frame_of_another_site_runs_no_query(shown):
    assert shown(call()).get("/", headers={**LINK, "sec-fetch-dest": "iframe"}).status_code == 403


def test_refusals_are_logged(shown, caplog, monkeypatch):
    monkeypatch.setattr("tooltrace.server.refusals.INTERVAL_SECONDS", 0.0)
    shown(call()).get("/data/recent", headers={"host": "evil.example"})
    assert "refused GET '/data/recent' of 127.0.0.1: 421: 'evil.example' is not a name of this server" in caplog.text
