"""Half-open and numerous connections do not lock out other visitors."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from urllib.parse import urlsplit

import httpx
import pytest

from tooltrace.server import asgi, connections, refusals

from .conftest import call

HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture(autouse=True)
def every_refusal_is_logged(monkeypatch):
    monkeypatch.setattr(refusals, "INTERVAL_SECONDS", 0.0)


def opened(client: httpx.Client, sent: bytes = b"") -> socket.socket:
    parts = urlsplit(str(client.base_url))
    one = socket.create_connection((parts.hostname, parts.port))
    one.sendall(sent)
    return one


def is_closed_by_server(one: socket.socket) -> bool:
    """Wait until the server closes the connection."""
    with contextlib.suppress(ConnectionResetError):
        while one.recv(4096):
            pass
    return True


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", HEAD + b"X: ", b"POST /label HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nspan"],
    ids=["nothing", "half a line", "half a head", "half a body"],
)
def test_a_peer_that_never_completes_its_request_is_disconnected(shown, monkeypatch, caplog, sent):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    with caplog.at_level(logging.WARNING, "tooltrace.server"), opened(shown(call()), sent) as one:
        assert is_closed_by_server(one)
    assert "no complete request in 0.2 s" in caplog.text
    assert not [record for record in caplog.records if record.exc_info], "a peer cannot fill the log with tracebacks"


def test_a_body_that_drips_must_be_complete_in_time(shown, monkeypatch, caplog):
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.5)
    head = b"POST /label HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"
    with caplog.at_level(logging.WARNING, "tooltrace.server"), opened(shown(call()), head) as one:
        with contextlib.suppress(ConnectionError):
            for _ in range(100_000):
                one.sendall(b"x")
                time.sleep(0.01)
        assert is_closed_by_server(one)
    assert "no complete body in 0.5 s" in caplog.text


def test_a_second_request_of_a_connection_must_be_completed_too(shown, monkeypatch):
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    with opened(shown(call()), HEAD + b"\r\n") as one:
        assert one.recv(4096).startswith(b"HTTP/1.1 200")
        one.sendall(b"GET /healthz")
        assert is_closed_by_server(one)


def test_a_slow_answer_is_not_cut(shown, monkeypatch):
    """The time counts for requests, not for answers."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.01)
    client = shown(call())
    while True:
        try:
            answer = client.get("/data/failure_rate")
        except httpx.TransportError:  # a busy machine made the request slow
            continue
        else:
            break
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "sent", [b"GET / HT", b"POST /label HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\nspan"]
)
def test_held_connections_do_not_lock_out_others(shown, monkeypatch, caplog, sent):
    """The one that waited longest makes room."""
    monkeypatch.setattr(connections, "MAX_PER_PEER", 8)
    client = shown(call())
    held = [opened(client, sent) for _ in range(30)]
    with caplog.at_level(logging.WARNING, "tooltrace.server"):
        assert client.get("/healthz").status_code == 200
    assert is_closed_by_server(held[0])
    assert "there are 8 connections of 127.0.0.1" in caplog.text
    for one in held:
        one.close()


def test_a_burst_of_connections_leaves_room_at_once(shown, monkeypatch):
    """Each connection of the burst closes another one, so that their number stays below the limit of all peers."""
    monkeypatch.setattr(connections, "MAX_PER_PEER", 8)
    monkeypatch.setattr(asgi, "MAX_CONNECTIONS", 40)
    client = shown(call())
    with contextlib.ExitStack() as held:
        for _ in range(300):
            one = held.enter_context(opened(client))
            with contextlib.suppress(ConnectionError):  # closed already
                one.sendall(b"GET / HT")
        for _ in range(3):
            assert client.get("/healthz", headers={"Connection": "close"}).status_code == 200


def test_repeated_refusals_are_counted_in_one_line(monkeypatch, caplog):
    monkeypatch.setattr(refusals, "INTERVAL_SECONDS", 1e9)
    with caplog.at_level(logging.WARNING, "tooltrace.server"):
        for _ in range(5):
            refusals.log_refusal("of this test", "refused")
        monkeypatch.setattr(refusals, "INTERVAL_SECONDS", 0.0)
        refusals.log_refusal("of this test", "refused")
    assert [record.message for record in caplog.records] == ["refused", "refused (4 more like this before)"]
