"""Words of a command line that name a file or a store."""

from __future__ import annotations

from pathlib import Path


def is_file(text: str) -> bool:
    """Whether ``text`` is the path of a file."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a path, or a zero byte
        return False


def is_store_name(text: str) -> bool:
    """Whether ``text`` names a store rather than a command or a query: an address, a file, or a path with an extension."""
    return "://" in text or bool(Path(text).suffix) or is_file(text)
