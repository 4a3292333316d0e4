"""The names of journals, which say who writes them, and since when a process that still writes one runs."""

from __future__ import annotations

import math
import os
import re
import socket
import time
from collections.abc import Mapping
from typing import Final

from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_scan import is_abandoned, open_journal

_LOADED_AT: Final = int(time.time() * 1000)
"""When this process, or the one that it was forked from, loaded this module, in ms: before its first call."""
_LOADED_AT_OF_NAME: Final = re.compile("([0-9a-f]+)-[0-9a-f]{12}[.]jsonl")


def new_name() -> str:
    """Return the name of a new journal of this process."""
    # A restarted container has the same host and process id, and one process may have several journals.
    return f"{prefix_of(socket.gethostname(), os.getpid())}{_LOADED_AT:x}-{os.urandom(6).hex()}.jsonl"


def prefix_of(host: str, pid: int) -> str:
    """Return the beginning of the names of the journals that the process ``pid`` of the machine ``host`` writes."""
    name = re.sub(r"[^A-Za-z0-9_.]+", "_", host)[:64] or "host"
    return f"{name}-{pid}-"


def runs_since(paths: StorePaths, prefix: str, folded: Mapping[str, int] | None = None) -> float:
    """Return the Unix time before which no process that writes a journal with this ``prefix`` has started a call.

    Infinite where none writes one. A call that began earlier is of a process that has ended.
    ``folded``: the byte offset to which each journal is folded, where a process counts as ended only once all of its
    lines are folded. Only for a process of this machine: the locks of another one may not be seen.
    """
    return min(
        (
            _loaded_at(name.removeprefix(prefix))
            for name in paths.journals()
            if name.startswith(prefix) and not _is_ended(paths, name, folded)
        ),
        default=math.inf,
    )


def _loaded_at(rest: str) -> float:
    found = _LOADED_AT_OF_NAME.fullmatch(rest)
    return 0.0 if found is None else int(found[1], 16) / 1000


def _is_ended(paths: StorePaths, name: str, folded: Mapping[str, int] | None) -> bool:
    fd = open_journal(paths.journal / name)
    if fd is None:
        return not (paths.journal / name).exists()  # this user may not read it, and so not lock it
    try:
        return is_abandoned(fd) and (folded is None or os.fstat(fd).st_size <= folded.get(name, 0))
    finally:
        os.close(fd)
