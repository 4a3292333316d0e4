"""Importable formats, and detection of the format of a file."""

from __future__ import annotations

from tooltrace.ingest.files.reader import Format


def formats() -> tuple[Format, ...]:
    """Return all formats; the first that recognises a file reads it."""
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
    """Return the format of a file that begins with ``head``; None if it is unknown."""
    return next((each for each in formats() if each.knows(head)), None)
