"""The formats that can be imported, and which of them a file has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tooltrace.importing.source import Source
from tooltrace.record import Record
from tooltrace.settings import Settings


@dataclass(frozen=True, slots=True)
class Format:
    """How files of one kind are known and read."""

    name: str
    knows: Callable[[bytes], bool]
    """Whether the front of a file is of this format."""
    read: Callable[[Source, Settings], Iterator[Record]]
    """The records of a file; what cannot be read of it is skipped, and said so to the source."""


def known() -> tuple[Format, ...]:
    """Every format; the first that knows a file reads it."""
    from tooltrace.importing import hello_agents, mlflow, otlp, own_csv, own_lines, parquet, phoenix

    return (
        own_lines.FORMAT,
        otlp.FORMAT,
        hello_agents.FORMAT,
        mlflow.FORMAT,
        phoenix.FORMAT,
        parquet.FORMAT,
        own_csv.FORMAT,
    )


def format_of(head: bytes) -> Format | None:
    """The format of the file that begins with ``head``; None where it is not known."""
    return next((each for each in known() if each.knows(head)), None)
