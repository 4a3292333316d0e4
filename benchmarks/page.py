"""The measured tables in the documentation: between two comments with a name."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

_DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
COSTS_PAGE: Final = _DOCS / "explanation" / "costs.md"
PERFORMANCE_PAGE: Final = _DOCS / "reference" / "performance.md"
QUICK: Final = "; few rounds (`--quick`)"
"""Mark of a table that was measured with few rounds."""


def machine(versions: Mapping[str, str]) -> str:
    """Return the date, the machine, and the ``versions`` of what is measured."""
    parts = [f"{datetime.now(UTC):%Y-%m-%d}", f"{os.cpu_count()} cores", f"{platform.system()} {platform.machine()}",
             f"Python {platform.python_version()}", *(f"{name} {version}" for name, version in versions.items())]  # fmt: skip
    return ", ".join(parts)


def write_block(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what stands between ``<!-- name -->`` and ``<!-- /name -->`` in ``page``."""
    text = page.read_text("utf-8")
    block = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not block.search(text):
        raise ValueError(f"{page} has no block <!-- {name} -->; add the two comments where the table belongs")
    body = "\n".join(lines) + "\n"
    page.write_text(block.sub(lambda found: found[1] + body + found[2], text), "utf-8")
