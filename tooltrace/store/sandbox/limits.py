"""What one question may use."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Time, memory and size of one answer."""

    seconds: float = 10.0
    """Wall clock, from the moment that the store is open."""
    memory_bytes: int = 512 * MIB
    """What DuckDB may use of its own accord."""
    headroom_bytes: int = 1024 * MIB
    """How much address space the process may take besides: DuckDB does not count all that it takes."""
    rows: int = 10_000
    bytes: int = 16 * MIB
    """Of the answer, as JSON."""
    file_bytes: int = 256 * MIB
    """Of the answer, as a file: the server has it in memory while it is sent."""


def too_long(limits: SandboxLimits) -> str:
    """What whoever asked is told where the time was over."""
    return (
        f"the question took longer than {limits.seconds:g} s and was stopped; ask for less: a window, a tool, a LIMIT"
    )


def too_much(limits: SandboxLimits) -> str:
    """What whoever asked is told where the memory was used up."""
    return f"the question needs more than {limits.memory_bytes // MIB} MiB of memory and was stopped; ask for less"
