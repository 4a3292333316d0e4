"""The names of journals, which say who writes them, and whether a process still writes one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_scan import is_abandoned, open_journal


def prefix_of(host: str, pid: int) -> str:
    """Return the beginning of the names of the journals that the process ``pid`` of the machine ``host`` writes."""
    name = re.sub(r"[^A-Za-z0-9_.]+", "_", host)[:64] or "host"
    return f"{name}-{pid}-"


def is_gone(paths: StorePaths, prefix: str, folded: Mapping[str, int] | None = None) -> bool:
    """Whether no process writes a journal with this ``prefix``, so that the process has ended.

    ``folded``: the byte offset to which each journal is folded, where the process counts as gone only once all of its
    lines are folded. Only for a process of this machine: the locks of another one may not be seen.
    """
    for name in paths.journals():
        if not name.startswith(prefix):
            continue
        fd = open_journal(paths.journal / name)
        if fd is None:
            if (paths.journal / name).exists():  # this user may not read it, and so not lock it
                return False
            continue
        try:
            if not is_abandoned(fd) or (folded is not None and os.fstat(fd).st_size > folded.get(name, 0)):
                return False
        finally:
            os.close(fd)
    return True
