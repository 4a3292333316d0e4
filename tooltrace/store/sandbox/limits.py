"""The resource limits of one query in the sandbox, and the messages for exceeded limits."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """The limits for the time, the memory and the result size of one query."""

    seconds: float = 10.0
    """Maximum wall-clock seconds, counted from the moment when the store is open."""
    memory_bytes: int = 512 * MIB
    """DuckDB's own memory limit."""
    headroom_bytes: int = 1024 * MIB
    """Address space that the process may use beyond ``memory_bytes``: DuckDB does not count all of its memory."""
    rows: int = 10_000
    bytes: int = 16 * MIB
    """Maximum bytes of a result as JSON."""
    file_bytes: int = 256 * MIB
    """Maximum bytes of a result as a file: the server has the whole file in memory while it sends it."""


def too_long(limits: SandboxLimits) -> str:
    """Return the message for a query that exceeded the time limit."""
    return (
        f"the question took longer than {limits.seconds:g} s and was stopped; ask for less: a window, a tool, a LIMIT"
    )


def too_much(limits: SandboxLimits) -> str:
    """Return the message for a query that exceeded the memory limit."""
    return f"the question needs more than {limits.memory_bytes // MIB} MiB of memory and was stopped; ask for less"
