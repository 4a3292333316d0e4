"""Grafana's dashboards: JSON as Grafana's own models have it, and panels that a screen can show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as schema

from tests.docs.grafana import BOARDS, statements

register_default_plugins()


def unknown(mine: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Members that are missing or different in ``theirs``, which Grafana's models read from ``mine`` and wrote."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for name, value in mine.items():
            yield from unknown(value, theirs[name], f"{path}/{name}") if name in theirs else [f"{path}/{name}"]
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for at, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from unknown(one, other, f"{path}/{at}")
    elif mine != theirs or type(mine) is not type(theirs):
        yield path


@pytest.mark.parametrize("name", BOARDS)
def test_grafanas_models_know_every_member(name: str) -> None:
    read = schema.Dashboard.from_json(BOARDS[name])
    assert list(unknown(BOARDS[name], json.loads(json.dumps(read, cls=JSONEncoder)))) == []


@pytest.mark.parametrize("name", BOARDS)
def test_panels_do_not_overlap(name: str) -> None:
    taken: list[tuple[int, int]] = []
    for panel in BOARDS[name]["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        taken += [(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
    assert len(taken) == len(set(taken))
    assert len({panel["id"] for panel in BOARDS[name]["panels"]}) == len(BOARDS[name]["panels"])


@pytest.mark.parametrize("name", BOARDS)
def test_grafana_expands_only_variables_of_the_dashboard(name: str) -> None:
    """Its grammar has ``$name``, ``${name}`` and ``[[name]]``; ``$__`` begins a macro of the data source."""
    variable = re.compile(r"\$(\w+)|\[\[(\w+)|\$\{(\w+)")
    names = {part for sql in statements(name) for found in variable.findall(sql) for part in found if part}
    assert {one for one in names if not one.startswith("__")} <= {
        one["name"] for one in BOARDS[name]["templating"]["list"]
    }


def test_links_set_the_variables_of_the_other_dashboard() -> None:
    (link,) = set(re.findall(r'"url": "/d/tooltrace-tool\?([^"]+)"', json.dumps(BOARDS)))
    given = {name for pair in re.findall(r"\$\{(\w+):queryparam\}|var-(\w+)=", link) for name in pair if name}
    assert given == {one["name"] for one in BOARDS["tool"]["templating"]["list"]}
