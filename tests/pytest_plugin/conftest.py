"""Runs of pytest inside of a test."""

from __future__ import annotations

import os

import pytest

HOME = os.environ.get("HOME", "")


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """As pytest's own, but with the home of all tests: DuckDB has its settings from there, and its instances are used again."""
    monkeypatch.setenv("HOME", HOME)
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return pytester
