"""A second ``configure``: what is left out stays, so that the order of calls does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

import tooltrace as tt
from tooltrace.errors import ConfigError
from tooltrace.recording import config
from tooltrace.recording.settings import Settings


@pytest.fixture(autouse=True)
def store(store: Path) -> Path:
    config._given = {}
    return store


def settings() -> Settings:
    return config.get_recorder().settings


def test_the_order_of_calls_does_not_matter(tmp_path: Path) -> None:
    found = []
    calls = (
        {"store": tmp_path / "a.duckdb", "service": "shop"},
        {"capture": "metadata"},
        {"redact": ["pin"], "field_limit": 100},
    )
    for order in (calls, calls[::-1]):
        config._given = {}
        for options in order:
            tt.configure(**options)
        made = settings()
        found.append((made.store, made.service_name, made.capture, made.redaction.normal_keys, made.field_limit))
    assert found[0] == found[1] == (tmp_path / "a.duckdb", "shop", "metadata", frozenset({"pin"}), 100)
    tt.configure(redact=None)
    assert (settings().redaction.normal_keys, settings().capture) == (frozenset(), "metadata")


def test_calls_after_a_second_configure_are_in_the_same_store(tmp_path: Path) -> None:
    tool = tt.trace_tool(name="look")(lambda: 1)
    tt.configure(store=tmp_path / "a.duckdb")
    tool()
    tt.configure(capture="metadata")
    tool()
    assert tt.query("failure_rate").values("attempts") == [2]


def test_a_refused_call_changes_nothing(tmp_path: Path) -> None:
    tt.configure(store=tmp_path / "a.duckdb")
    with pytest.raises(ConfigError, match="durability"):
        tt.configure(store=tmp_path / "b.duckdb", durability="often")  # type: ignore[arg-type]
    tt.configure(capture="metadata")
    assert settings().store == tmp_path / "a.duckdb"
