"""Access to a zstd codec: of the standard library from Python 3.14 on, else of the package ``backports.zstd``."""

from __future__ import annotations

import sys
from typing import Any


def codec() -> Any:
    """Return the module of the codec. Raises ImportError without ``tooltrace-recorder[zstd]``."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def is_available() -> bool:
    """Whether a codec is installed."""
    try:
        codec()
    except ImportError:
        return False
    return True
