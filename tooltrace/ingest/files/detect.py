"""The formats that can be imported, and which of them a file has."""

from __future__ import annotations

from tooltrace.ingest.files.reader import Format


def formats() -> tuple[Format, ...]:
    """Every format; the first that knows a file reads it."""
    from tooltrace.ingest.files import csv, hello_agents, jsonl, mlflow, otlp_json, parquet, phoenix

    return (
        jsonl.FORMAT,
        otlp_json.FORMAT,
        hello_agents.FORMAT,
        mlflow.FORMAT,
        phoenix.FORMAT,
        parquet.FORMAT,
        csv.FORMAT,
    )


def format_of(head: bytes) -> Format | None:
    """The format of the file that begins with ``head``; None where it is not known."""
    return next((each for each in formats() if each.knows(head)), None)
