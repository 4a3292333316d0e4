"""Pages below a path prefix, behind a reverse proxy that keeps the prefix or removes it."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.stores import create_empty_store
from tooltrace.errors import ConfigError
from tooltrace.server.asgi import listen
from tooltrace.server.prefix import checked_prefix, with_prefix
from tooltrace.server.site import Site

from .conftest import call, running, write

PREFIX = "/ops/tooltrace"
ADDRESS = re.compile(r"""\s(?:href|src|action|hx-get|hx-post|data-run|data-sparks|data-marks)="(/[^"]*)\"""")


@contextlib.contextmanager
def proxied(target: str, *, strips: bool) -> Iterator[str]:
    """The address of a reverse proxy that serves ``target`` below the prefix, and nothing elsewhere."""

    async def forward(request: Request) -> Response:
        path = request.url.path
        if not path.startswith(PREFIX):
            return Response("not of tooltrace", 404)
        path = path.removeprefix(PREFIX) or "/" if strips else path
        async with httpx.AsyncClient(base_url=target, timeout=None) as client:
            found = await client.request(
                request.method,
                f"{path}?{request.url.query}",
                headers=[pair for pair in request.headers.raw if pair[0] != b"content-length"],
                content=await request.body(),
            )
        answer = Response(found.content, found.status_code)
        answer.raw_headers = [
            (name.lower(), value)
            for name, value in found.headers.raw
            if name.lower() not in (b"content-length", b"content-encoding", b"transfer-encoding")
        ] + [(b"content-length", str(len(found.content)).encode())]
        return answer

    app = Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST"])])
    with listen("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    store = create_empty_store(tmp_path_factory.mktemp("prefixed") / "d.duckdb")
    one = call(tool="broken", status="error", code="TIMEOUT", error_message='<a href="/x">')
    write(store, one, call())
    with running(Site.of(store, host="127.0.0.1", prefix=PREFIX)) as address:
        yield address, one.span_id


@pytest.fixture(scope="module", params=[True, False], ids=["the proxy removes it", "the proxy keeps it"])
def proxy(served: tuple[str, str], request: pytest.FixtureRequest) -> Iterator[tuple[httpx.Client, str]]:
    address, span = served
    with proxied(address, strips=request.param) as front, httpx.Client(base_url=front, timeout=None) as client:
        yield client, span


@pytest.mark.long
@pytest.mark.parametrize(
    ("proxy", "most"),
    [(True, 1), *(pytest.param(*case, marks=pytest.mark.simulations) for case in [(False, 1), (True, 3), (False, 3)])],
    indirect=["proxy"],
)
def test_every_address_of_a_page_leads_to_the_site(proxy, most):
    """Follow the addresses of each page, ``most`` of each path: a list has an address for each filter and order."""
    client, span = proxy
    todo = [f"{PREFIX}/", f"{PREFIX}/call?id={span}", f"{PREFIX}/sql"]
    seen: set[str] = set()
    visits: Counter[str] = Counter()
    while todo:
        path = todo.pop().replace("&amp;", "&")
        folder = re.sub(r"(/(?:static|panel|question|options|trace|conversation)/).*", r"\1", path.partition("?")[0])
        if path in seen or visits[folder] >= most:
            continue
        seen.add(path)
        visits[folder] += 1
        answer = client.get(path, headers={"hx-request": "true"} if "/panel/" in path else {})
        # the address of a form without its fields: 405, and 404 for the page of a tool
        assert answer.status_code in (200, 204, 303, 405) or path == f"{PREFIX}/tool", path
        assert answer.headers.get("location", PREFIX).startswith(PREFIX), path
        for found in ADDRESS.findall(answer.text) if "html" in answer.headers.get("content-type", "") else ():
            assert found.startswith(f"{PREFIX}/"), (path, found)
            if "until" not in found:
                todo.append(found)
    assert any("/static/" in path for path in seen)
    assert any("/panel/" in path for path in seen)
    assert {f"{PREFIX}/calls", f"{PREFIX}/conversations/rows", f"{PREFIX}/find"} <= visits.keys()


def test_a_form_answers_with_an_address_below_the_prefix(proxy):
    client, span = proxy
    answer = client.post(f"{PREFIX}/label", data={"span_id": span, "verdict": "wrong", "labeler": "ann"})
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{PREFIX}/call?")
    assert client.get(answer.headers["location"]).status_code == 200


def test_cookies_are_below_the_prefix(tmp_path):
    store = create_empty_store(tmp_path / "d.duckdb")
    with running(Site.of(store, host="127.0.0.1", prefix=PREFIX, token="secret")) as address:
        answer = httpx.get(f"{address}/calls?token=secret&lang=zh", timeout=None)
        assert answer.status_code == 303
        assert answer.headers["location"] == f"{PREFIX}/calls?lang=zh"
        assert f"Path={PREFIX};" in answer.headers["set-cookie"].replace("path=", "Path=") + ";"


def test_without_a_prefix_nothing_is_changed():
    assert with_prefix('<a href="/calls">', "") == '<a href="/calls">'


def test_only_addresses_of_this_site_are_changed():
    html = '<a href="/calls"><a href="//other/x"><a href="https://other/"><input value="/srv"><b title="/x">'
    assert with_prefix(html, "/t") == html.replace('"/calls"', '"/t/calls"')


@pytest.mark.parametrize(("given", "prefix"), [("/tooltrace", "/tooltrace"), ("/a/b/", "/a/b"), ("/", ""), ("", "")])
def test_a_valid_prefix(given, prefix):
    assert checked_prefix(given) == prefix


@pytest.mark.parametrize("given", ["tooltrace", "/a b", "/a?b", "//a", '/a"b', "https://a/b"])
def test_an_invalid_prefix_is_refused(given):
    with pytest.raises(ConfigError, match="begin it with /"):
        checked_prefix(given)
