"""Grafana's dashboards as JSON, by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "dashboards" / "grafana"
BOARDS: dict[str, Any] = {path.stem: json.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.json")}


def panels(name: str) -> dict[str, str]:
    """The statement of each panel, by its title."""
    return {panel["title"]: panel["targets"][0]["rawSql"] for panel in BOARDS[name]["panels"]}


def statements(name: str) -> list[str]:
    """The statements of the panels and of the variables."""
    variables = [one["query"]["rawSql"] for one in BOARDS[name]["templating"]["list"] if one["type"] == "query"]
    return [*panels(name).values(), *variables]
