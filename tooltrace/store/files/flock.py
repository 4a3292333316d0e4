"""``flock``, the lock of POSIX on a whole file. Windows does not have it, and a store cannot do without it."""

from __future__ import annotations

import errno
from typing import Final

from tooltrace.errors import StoreError

try:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
except ImportError:  # Windows
    LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8  # type: ignore[misc]  # constants of the standard library

    def flock(_fd: int, _operation: int, /) -> None:  # type: ignore[misc]  # narrower than that of the standard library
        """Raise OSError, as on a file system without locks."""
        raise OSError(errno.ENOTSUP, "this system has no flock")

    HAS_FLOCK = False
else:
    HAS_FLOCK = True

__all__ = ["HAS_FLOCK", "LOCK_EX", "LOCK_NB", "LOCK_SH", "LOCK_UN", "flock", "require_flock"]

_UNSUPPORTED: Final = (
    "a store needs the file locks of Linux or macOS, which this system (Windows) does not have: expected store=None, with "
    "which tools run, and their spans, log events and metrics are sent, without a history; for a history use WSL"
)


def require_flock() -> None:
    """Raise StoreError on a system without ``flock``."""
    if not HAS_FLOCK:
        raise StoreError(_UNSUPPORTED)
