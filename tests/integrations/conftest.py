"""Frameworks run as they are, offline, with a scripted model."""

from __future__ import annotations

import socket
from typing import Any

import pytest


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the test may ask the network."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError(f"the network was asked: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
