"""Helpers of the delivery tests: records, journals, and deliveries with short waits."""

from __future__ import annotations

import os
import subprocess
import textwrap
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.programs import start_program
from tooltrace.core.records import ToolCall
from tooltrace.delivery.delivery import Delivery
from tooltrace.delivery.retry import RetryPolicy
from tooltrace.exporters.protocol import Destination, Target
from tooltrace.exporters.registry import create
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.delivery_cursors import DestinationFiles

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
QUICK = RetryPolicy(first=0.01, longest=0.05)


def made(number: int, **more: Any) -> ToolCall:
    values: dict[str, Any] = {
        "tool": "search",
        "call_id": f"c{number}",
        "trace_id": "a" * 32,
        "span_id": f"{number + 1:016x}",
        "started_at": START + timedelta(milliseconds=number),
        "duration_ms": 12.5,
        "status": "success",
        "service": "shop",
        "host": "h1",
        "pid": 7,
        "recorder_version": "0.1.0",
        "arguments": Json('{"query":"x y"}'),
    }
    return ToolCall(**values | more)


def ids(*numbers: int) -> set[str]:
    return {f"{number + 1:016x}" for number in numbers}


def drained(sender: Delivery) -> int:
    """Delivers until nothing is left; how many records that was."""
    return sum(iter(sender.step, None))  # type: ignore[arg-type]


def otlp(endpoint: str, protocol: str = "http/protobuf", **more: Any) -> Destination:
    return create("otlp", Target(endpoint=endpoint, protocol=protocol, **more))


def delivery(paths: StorePaths, destination: Destination, name: str = "otlp", **more: Any) -> Delivery:
    return Delivery(DestinationFiles.of(paths, name), destination, **{"policy": QUICK} | more)


def python(code: str, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    """Start another process, which has imported tooltrace and nothing that a delivery needs."""
    given = {**os.environ, "TOOLTRACE_STRICT": "", **environment}
    return start_program(textwrap.dedent(code), *map(str, arguments), modules=("tooltrace",), environment=given)
