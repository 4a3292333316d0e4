"""Location of the package's data files: SQL queries, and pages, styles and strings of the dashboards."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).parent


def path(folder: Literal["queries", "dashboards"]) -> Path:
    """Return the directory ``folder`` of data files.

    In a wheel the directory is inside the package; in a checkout it is at the top of the repository, next to the
    package.
    """
    inside = _PACKAGE / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder
