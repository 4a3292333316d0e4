"""The positions of a graph of successive steps on a page: layers from top to bottom, by distance from the start."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from math import log1p
from typing import Final

from tooltrace.report.path_graph import PathEdge, PathNode, path_nodes

WIDTH: Final = 150
HEIGHT: Final = 34
GAP_X: Final = 70
GAP_Y: Final = 64
MARGIN: Final = 70
MOST: Final = 3
"""Nodes side by side; a layer of more takes several rows."""
LABEL_STEP: Final = 0.16
"""Distance between labels of curves that begin at one node, as a share of the curve."""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node and the middle of its box."""

    node: PathNode
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge, its curve as the data of an SVG path, and the place of its label."""

    edge: PathEdge
    curve: str
    x: float
    y: float
    thickness: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph with positions, in pixels."""

    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    width: float
    height: float


def chosen_edges(edges: list[PathEdge], most: int) -> list[PathEdge]:
    """Return at most ``most`` edges: the most frequent ones, two from the start and two to the end among them."""
    starts = [edge for edge in edges if edge.start.kind == "start"][:2]
    ends = [edge for edge in edges if edge.end.kind == "end"][:2]
    kept = [*starts, *ends]
    others = [edge for edge in edges if edge not in kept and edge.start.kind != "start" and edge.end.kind != "end"]
    return [*starts, *others[: most - len(kept)], *ends]


def draw(edges: list[PathEdge]) -> Drawing:
    """Return the positions of the nodes and curves of ``edges``."""
    layers = _layers(edges)
    in_order = sorted(layers, key=lambda node: layers[node])
    whole = [list(same) for _, same in groupby(in_order, key=lambda node: layers[node])]
    rows = [layer[first : first + MOST] for layer in whole for first in range(0, len(layer), MOST)]
    widest = max((len(row) for row in rows), default=0)
    width = widest * (WIDTH + GAP_X) + 2 * MARGIN
    places = {}
    for y, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP_X)) / 2
        for x, node in enumerate(row):
            places[node] = DrawnNode(node, left + (x + 0.5) * (WIDTH + GAP_X), 24 + y * (HEIGHT + GAP_Y) + HEIGHT / 2)
    most = max((edge.n for edge in edges), default=1)
    drawn, begun = [], dict.fromkeys(places, 0)
    for edge in edges:
        drawn.append(_curve(edge, places[edge.start], places[edge.end], begun[edge.start], most))
        begun[edge.start] += 1
    return Drawing(tuple(places.values()), tuple(drawn), width, 48 + len(rows) * (HEIGHT + GAP_Y) - GAP_Y)


def _layers(edges: list[PathEdge]) -> dict[PathNode, int]:
    """Return the number of steps from the start to each node; nodes that no edge leads to from there are below."""
    nodes = path_nodes(edges)
    layers = dict.fromkeys([node for node in nodes if node.kind == "start"] or nodes[:1], 0)
    while True:
        found = {
            edge.end: layers[edge.start] + 1
            for edge in reversed(edges)
            if edge.start in layers and edge.end not in layers and edge.end.kind != "end"
        }
        if not found:
            break
        layers |= found
    lowest = max(layers.values(), default=-1)
    layers |= {node: lowest + 1 for node in nodes if node not in layers and node.kind != "end"}
    last = max(layers.values(), default=-1) + 1
    return {node: layers.get(node, last) for node in nodes}


def _curve(edge: PathEdge, start: DrawnNode, end: DrawnNode, before: int, most: int) -> DrawnEdge:
    thickness = 1 + 3 * log1p(edge.n) / log1p(most)
    shift = -16 if edge.status == "error" else 16 if edge.status == "success" else 0
    if end.y > start.y:
        x, y, to_x, to_y = start.x + shift, start.y + HEIGHT / 2, end.x + shift, end.y - HEIGHT / 2 - 3
        middle = (y + to_y) / 2
        curve = f"M{x:.0f} {y:.0f}C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y:.0f}"
        at = 0.3 + LABEL_STEP * (before % 4)
        return DrawnEdge(edge, curve, *_point(at, (x, y), (x, middle), (to_x, middle), (to_x, to_y)), thickness)
    side = -1 if edge.status == "error" else 1
    x, to_x = start.x + side * WIDTH / 2, end.x + side * (WIDTH / 2 + 3)
    y, to_y = (start.y - 8, end.y + 8) if start == end else (start.y, end.y)
    far = max(x * side, to_x * side) * side + side * (34 + 10 * (before % 3))
    curve = f"M{x:.0f} {y:.0f}C{far:.0f} {y:.0f} {far:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    return DrawnEdge(edge, curve, *_point(0.5, (x, y), (far, y), (far, to_y), (to_x, to_y)), thickness)


def _point(at: float, *points: tuple[float, float]) -> tuple[float, float]:
    """Return the point of a cubic Bézier curve at the share ``at``."""
    weights = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
    x, y = (sum(weight * point[axis] for weight, point in zip(weights, points, strict=True)) for axis in (0, 1))
    return x, y
