"""Panels of a Grafana dashboard in JSON; the heading of a query determines the units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashboards.grafana.panel_sql import PanelQuery
from tooltrace.store.result import ResultColumn

PLUGIN: Final = "grafana-clickhouse-datasource"
PLUGIN_VERSION: Final = "4.20.0"
"""Version of the plugin for which the panels are written, and whose macros are tested."""
SOURCE: Final = {"type": PLUGIN, "uid": "${datasource}"}

Json = dict[str, Any]

UNITS: Final[Mapping[str, Json]] = {
    "count": {"unit": "locale"},
    "aside": {"unit": "locale"},
    "share": {"unit": "percentunit", "decimals": 1},
    "points": {"unit": "percentunit", "decimals": 1},
    "ratio": {"unit": "none", "decimals": 2},
    "ms": {"unit": "ms"},
    "time": {"unit": "dateTimeAsIso"},
    "flag": {"unit": "bool_yes_no"},
    "mark": {"unit": "bool_yes_no"},
    "number": {"unit": "none", "decimals": 3},
}
"""Grafana's unit for each unit of a query's column; text has none."""

RATE: Final = ((None, "green"), (0.05, "yellow"), (0.2, "red"))
AMPLIFICATION: Final = ((None, "green"), (1.2, "yellow"), (1.5, "red"))
GAP: Final = ((None, "blue"), (-0.1, "green"), (0.1, "yellow"), (0.2, "red"))
"""Colours of the gap: confidence above accuracy is harmful; confidence well below accuracy is shown in blue."""
COVER: Final = ((None, "text"), (1, "yellow"))
"""Colours of a count: none, or some."""

LINK: Final = {
    "title": "${__value.text}: this tool alone",
    "url": "/d/tooltrace-tool?${datasource:queryparam}&${database:queryparam}&var-tool=${__value.raw:percentencode}"
    "&${__url_time_range}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel without its position."""

    title: str
    query: PanelQuery
    body: Json
    width: int = 24
    height: int = 8

    def json(self, number: int, x: int, y: int) -> Json:
        """Return the panel's JSON with its position."""
        position = {"h": self.height, "w": self.width, "x": x, "y": y}
        about = f"{self.query.definition.question}\n\n{self.query.definition.header.about}".strip()
        head = {"id": number, "title": self.title, "description": about, "datasource": SOURCE, "gridPos": position}
        return head | self.body


def table(
    title: str, query: PanelQuery, show: Sequence[str], *, colours: Mapping[str, Any] | None = None, **size: int
) -> Panel:
    """Return a table of the result's columns ``show``, in that order. A tool is a link to its page."""
    query.require(show)
    overrides = [_named(name, _table_properties(name, _heading(query, name), colours or {})) for name in show]
    body = {
        "type": "table",
        "targets": [target(query.sql())],
        "transformations": [_organized(query, show)],
        "fieldConfig": {
            "defaults": {"custom": {"align": "auto", "filterable": True}, "noValue": "–"},
            "overrides": [override for override in overrides if override["properties"]],
        },
        "options": {"showHeader": True, "cellHeight": "sm"},
    }
    return Panel(title=title, query=query, body=body, **size)


def _organized(query: PanelQuery, show: Sequence[str]) -> Json:
    """Return the transformation that shows the columns ``show`` in their order, and no others."""
    hidden = {name: True for name in query.columns if name not in show}
    order = {name: at for at, name in enumerate(show)}
    return {"id": "organize", "options": {"excludeByName": hidden, "indexByName": order, "renameByName": {}}}


def figures(
    title: str, query: PanelQuery, show: Sequence[str], *, colours: Mapping[str, Any] | None = None, **size: int
) -> Panel:
    """Return a panel with the figures in the first row of the result."""
    query.require(show)
    overrides = []
    for name in show:
        properties = _properties(_heading(query, name))
        if colours and name in colours:
            properties += _coloured(colours[name])
        overrides.append(_named(name, properties))
    body = {
        "type": "stat",
        "targets": [target(query.sql())],
        "fieldConfig": {
            "defaults": {"noValue": "–", "color": {"mode": "fixed", "fixedColor": "text"}},
            "overrides": overrides,
        },
        "options": {
            "reduceOptions": {"values": False, "calcs": ["first"], "fields": f"/^({'|'.join(show)})$/"},
            "orientation": "vertical",
            "textMode": "value_and_name",
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
        },
    }
    return Panel(title=title, query=query, body=body, **size)


def bars(title: str, query: PanelQuery, across: str, columns: Sequence[str], **size: int) -> Panel:
    """Return a bar chart of ``columns``, which share a unit, side by side for each value of ``across``."""
    query.require([across, *columns])
    column = _heading(query, columns[0])
    defaults: Json = dict(UNITS[column.unit if column else "text"])
    defaults |= {"min": 0, "noValue": "–", "color": {"mode": "palette-classic"}, "custom": {"fillOpacity": 70}}
    if column and column.unit == "share":
        defaults["max"] = 1
    body = {
        "type": "barchart",
        "targets": [target(query.sql())],
        "transformations": [_organized(query, [across, *columns])],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {
            "xField": across,
            "orientation": "auto",
            "showValue": "auto",
            "stacking": "none",
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "none"},
        },
    }
    return Panel(title=title, query=query, body=body, **size)


def over_time(
    title: str,
    query: PanelQuery,
    shown: str,
    *,
    band: tuple[str, str] | None = None,
    limits: Any = None,
    bars: bool = False,
    **size: int,
) -> Panel:
    """Return a chart of the column ``shown`` over time, a line for each group, or stacked ``bars``.

    ``band``: the ends of its interval, if there is one group. ``limits``: threshold lines.
    """
    column = _heading(query, shown)
    values = [shown, *(band or ())]
    names = {"time": "started", **{name: name for name in (*query.by_columns, *values)}}
    defaults: Json = dict(UNITS[column.unit if column else "text"])
    defaults |= {
        "min": 0,
        "noValue": "–",
        "color": {"mode": "palette-classic"},
        "custom": _bars() if bars else _line(limits),
    }
    if column and column.unit == "share":
        defaults["max"] = 1
    if limits:
        defaults["thresholds"] = thresholds(limits)
    if query.by:
        defaults["displayName"] = "${__field.labels." + query.by_columns[0] + "}"
    body = {
        "type": "timeseries",
        "targets": [target(query.sql(names, "time"), series=True)],
        "fieldConfig": {"defaults": defaults, "overrides": _band(*band) if band else []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
    }
    return Panel(title=title, query=query, body=body, **size)


def target(sql: str, *, series: bool = False) -> Json:
    """Return a query of the plugin. ``series``: as lines over time, else as a table."""
    return {
        "refId": "A",
        "datasource": SOURCE,
        "editorType": "sql",
        "format": 0 if series else 1,
        "pluginVersion": PLUGIN_VERSION,
        "queryType": "timeseries" if series else "table",
        "rawSql": sql,
    }


def thresholds(steps: Any) -> Json:
    """Return colours by the value at which each begins."""
    return {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in steps]}


def _line(limits: Any) -> Json:
    return {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 0,
        "showPoints": "always",  # a bucket between two empty ones is a point, not a line
        "pointSize": 4,
        "spanNulls": False,
        "thresholdsStyle": {"mode": "dashed" if limits else "off"},
    }


def _bars() -> Json:
    stacking = {"mode": "normal", "group": "A"}
    return {"drawStyle": "bars", "lineWidth": 0, "fillOpacity": 70, "showPoints": "never", "stacking": stacking}


def _band(low: str, high: str) -> list[Json]:
    quiet = [_property("custom.lineWidth", 0), _property("custom.showPoints", "never")]
    hidden = _property("custom.hideFrom", {"legend": True, "tooltip": False, "viz": False})
    filled = [_property("custom.fillBelowTo", low), _property("custom.fillOpacity", 15)]
    return [_named(high, [*quiet, hidden, *filled]), _named(low, [*quiet, hidden])]


def _table_properties(name: str, column: ResultColumn | None, colours: Mapping[str, Any]) -> list[Json]:
    properties = _properties(column)
    if column is not None:
        properties.append(_property("description", column.meaning))
    if name == "tool":
        properties.append(_property("links", [LINK]))
    if name in colours:
        properties += _coloured(colours[name])
        properties.append(_property("custom.cellOptions", {"type": "color-text"}))
    return properties


def _coloured(steps: Any) -> list[Json]:
    return [_property("thresholds", thresholds(steps)), _property("color", {"mode": "thresholds"})]


def _properties(column: ResultColumn | None) -> list[Json]:
    unit = UNITS.get(column.unit, {}) if column else {}
    return [_property(name, value) for name, value in unit.items()]


def _heading(query: PanelQuery, name: str) -> ResultColumn | None:
    """Return the column in the heading; the end of an interval has the unit of the figure."""
    columns = {column.name: column for column in query.definition.header.columns}
    column = columns.get(name)
    if column is None or column.end_of is None:
        return column
    return ResultColumn(name=name, unit=columns[column.end_of[1]].unit, meaning=column.meaning)


def _named(name: str, properties: list[Json]) -> Json:
    return {"matcher": {"id": "byName", "options": name}, "properties": properties}


def _property(name: str, value: Any) -> Json:
    return {"id": name, "value": value}
