"""The first pages are prepared in the background."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tooltrace import assets
from tooltrace.server import preparation, templates


def names() -> set[str]:
    folder = assets.path("dashboards")
    return {f"{part}/{file.name}" for part in ("pages", "parts") for file in (folder / part).glob("*.html")}


def test_every_template_compiles() -> None:
    assert set(templates.compile_templates()) >= names()


def test_the_preparation_ends_with_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def compile_one() -> Iterator[str]:
        while True:
            begun.set()
            yield "one"

    monkeypatch.setattr(preparation, "compile_templates", compile_one)
    with preparation.preparing():
        assert begun.wait()
    assert "tooltrace-prepare" not in {thread.name for thread in threading.enumerate()}
