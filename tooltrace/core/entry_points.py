"""Entry points of installed packages. Imported on first use, because the standard module for them imports 60 others."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points


def installed(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of ``group``, by name."""
    return {point.name: point for point in sorted(entry_points(group=group))}
