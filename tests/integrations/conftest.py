"""Frameworks run as they are, offline, with a scripted model."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tooltrace as tt
from tooltrace.ingest.spans import TooltraceSpanProcessor


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in the test may ask the network."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError(f"the network was asked: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def integration(request: pytest.FixtureRequest) -> str:
    """The name of the integration under test: that of the folder of its tests."""
    return request.path.parent.name


@pytest.fixture
def installed(request: pytest.FixtureRequest, integration: str, store: Path) -> Iterator[None]:
    """The integration is installed, alone. Afterwards, the classes in the module's ``OWNERS`` are as before."""
    owners = getattr(request.module, "OWNERS", ())
    before = [dict(vars(owner)) for owner in owners]
    found = tt.install()
    assert integration in found
    for other in set(found) - {integration}:
        tt.uninstall(other)
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
    tt.uninstall()
    for owner, old in zip(owners, before, strict=True):
        assert all(vars(owner)[name] is value for name, value in old.items())


@pytest.fixture
def provider(store: Path) -> Iterator[TracerProvider]:
    """An application's provider with the recorder's processor, for the recorder and for instrumentations."""
    provider = TracerProvider()
    provider.add_span_processor(TooltraceSpanProcessor())
    tt.configure(store=store, tracer_provider=provider)
    yield provider
    provider.shutdown()
