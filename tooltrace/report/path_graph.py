"""The pairs of steps of the query ``paths`` as a graph: for Graphviz and Mermaid.

The names of tools are written by models and programs of others: both formats escape everything that has a meaning there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tooltrace.core.visible import visible
from tooltrace.store.result import QueryResult

MAX_NAME: Final = 60
"""Characters of a name that a node shows."""


@dataclass(frozen=True, slots=True)
class PathNode:
    """A tool, or the start or the end of conversations."""

    kind: str
    """``start``, ``end`` or ``tool``."""
    name: str

    @property
    def shown(self) -> str:
        """The name on one line, bounded, with its hidden characters as escapes."""
        safe = visible(self.name).replace("\n", " ").replace("\r", " ").replace("\t", " ")
        return safe if len(safe) <= MAX_NAME else f"{safe[: MAX_NAME - 1]}…"


@dataclass(frozen=True, slots=True)
class PathEdge:
    """One pair of successive steps."""

    start: PathNode
    end: PathNode
    status: str
    """Status of the first step: success, error, none, or start."""
    n: int
    rate: float | None
    """Share of second steps that failed; None for the end."""
    too_few: bool

    @property
    def label(self) -> str:
        """The count, and the share of second steps that failed; in parentheses where there are too few."""
        if not self.rate:
            return f"{self.n:,}"
        share = f"{100 * self.rate:.0f} % fail"
        return f"{self.n:,}, ({share})" if self.too_few else f"{self.n:,}, {share}"


def path_edges(result: QueryResult) -> list[PathEdge]:
    """Return the edges of an answer of the query ``paths``, in its order."""
    rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
    return [
        PathEdge(
            PathNode("start" if row["from_status"] == "start" else "tool", row["from_tool"]),
            # Not by the name, which a tool may have too: only the end of a conversation has no count of failures.
            PathNode("end" if row["failures"] is None else "tool", row["to_tool"]),
            row["from_status"],
            row["n"],
            row["rate"],
            bool(row["too_few"]),
        )
        for row in rows
    ]


def path_nodes(edges: Iterable[PathEdge]) -> list[PathNode]:
    """Return the nodes of ``edges``, each once, in the order in which they occur."""
    return list(dict.fromkeys(node for edge in edges for node in (edge.start, edge.end)))


def as_dot(edges: list[PathEdge]) -> str:
    """Return the graph in the language of Graphviz: ``dot -Tsvg``."""
    numbers = {node: f"n{number}" for number, node in enumerate(path_nodes(edges))}
    shapes = {"start": "circle", "end": "doublecircle", "tool": "box"}
    lines = ['digraph "paths" {', "  rankdir=TB;", '  node [fontname="sans-serif", style="rounded"];']
    lines += [
        f'  {number} [label="{_dot(node.shown)}", shape={shapes[node.kind]}];' for node, number in numbers.items()
    ]
    for edge in edges:
        style = ' style=dashed color="#b3261e"' if edge.status == "error" else ""
        style = " style=dotted" if edge.status == "none" else style
        lines.append(f'  {numbers[edge.start]} -> {numbers[edge.end]} [label="{_dot(edge.label)}"{style}];')
    return "\n".join([*lines, "}"]) + "\n"


def as_mermaid(edges: list[PathEdge]) -> str:
    """Return the graph as a flowchart of Mermaid, which Markdown of many sites shows."""
    numbers = {node: f"n{number}" for number, node in enumerate(path_nodes(edges))}
    shapes = {"start": ("([", "])"), "end": ("([", "])"), "tool": ("[", "]")}
    lines = ["flowchart TD"]
    for node, number in numbers.items():
        opened, closed = shapes[node.kind]
        lines.append(f'  {number}{opened}"{_mermaid(node.shown)}"{closed}')
    for edge in edges:
        arrow = "-->" if edge.status in ("success", "start") else "-.->"
        lines.append(f'  {numbers[edge.start]} {arrow}|"{_mermaid(edge.label)}"| {numbers[edge.end]}')
    return "\n".join(lines) + "\n"


def _dot(text: str) -> str:
    r"""Escape a quoted string of DOT: a backslash begins an escape there, such as ``\N`` for the name of the node."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return escaped.replace("&", "&amp;")


def _mermaid(text: str) -> str:
    """Escape a quoted string of Mermaid: every sign that is not a letter or a digit becomes an entity code."""
    return "".join(one if one.isalnum() or one in " ,.%_-…" else f"#{ord(one)};" for one in text)
