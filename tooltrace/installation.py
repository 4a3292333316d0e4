"""Detection of the project ``tooltrace`` of the package index, which installs files into the same package folder.

Of both, the one installed last has its ``__init__.py`` there. Removing either deletes that file.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Final

from tooltrace.errors import OverlappingInstallation

REPAIR: Final = "pip uninstall tooltrace && pip install --force-reinstall --no-deps tooltrace-recorder"
_METADATA: Final = (".dist-info", ".egg-info")


def warn_if_overlapping() -> None:
    """Warn with OverlappingInstallation where the other project is installed into the same folder.

    Lists one directory: importlib.metadata would take longer than all else here.
    """
    other = _other_project()
    if other is not None:
        message = (
            f"{other} is another project with the same import name as tooltrace-recorder, and installed into the same "
            f"folder: the installation of either overwrites files of the other, and its removal deletes them; to keep this "
            f"one: {REPAIR}"
        )
        warnings.warn(message, OverlappingInstallation, stacklevel=3)


def is_overwritten() -> bool:
    """Whether the imported ``tooltrace`` is not the one of this project: its ``__init__.py`` is of another, or missing."""
    return not hasattr(sys.modules["tooltrace"], "trace_tool")


def overwritten_message() -> str:
    """Return what happened to an overwritten installation, and how to repair it."""
    return (
        f"tooltrace/__init__.py is not the file of tooltrace-recorder: {_other_project() or 'the project tooltrace'}, another "
        f"project with the same import name, overwrote or deleted it; to repair the installation: {REPAIR}"
    )


def _other_project() -> str | None:
    """Return name and version of the project ``tooltrace`` where it is installed beside this package."""
    try:
        names = os.listdir(Path(__file__).parents[1])  # noqa: PTH208 - no need for Path objects
    except OSError:  # imported from a zip file
        return None
    found = [name for name in names if name.startswith("tooltrace-") and name.endswith(_METADATA)]
    return " ".join(Path(found[0]).stem.split("-")[:2]) if found else None
