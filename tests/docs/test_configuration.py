"""docs/reference/configuration.md lists every environment variable that the code reads, and every option."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docs.settings_page import defaults, described
from tooltrace.exporters.otlp_config import SIGNALS, chosen, settings_of, signals, span_sampler
from tooltrace.exporters.protocol import Target

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"
NAME = re.compile(r"(?:TOOLTRACE|OTEL)_[A-Z_]*[A-Z]")
BY_SDK = {"OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"}
"""Variables that the OpenTelemetry SDK reads for tooltrace."""


class Environment(dict[str, str]):
    """An empty environment that collects the names that are read."""

    def __init__(self) -> None:
        self.read: set[str] = set()

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.read.add(key)
        return default


def constants() -> Iterator[str]:
    """Yield the texts of the code that are the name of a variable; docstrings and messages are longer."""
    root = Path(__file__).parents[2]
    for path in (path for folder in ("tooltrace", "exporters", "dashboards") for path in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
                yield node.value


def read_by_exporter() -> set[str]:
    """Return the variables whose names ``otlp_config`` composes."""
    environment = Environment()
    for signal in signals(environ=environment):
        settings_of(signal, Target(), environ=environment)
    chosen(Target(), environ=environment)
    span_sampler(environ=environment)
    return environment.read


def documented() -> set[str]:
    tables = "\n".join(line.split("|")[1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|"))
    names = set(NAME.findall(tables))
    prefix = "OTEL_EXPORTER_OTLP_"
    return names | {
        f"{prefix}{signal.upper()}_{name.removeprefix(prefix)}"
        for name in names
        if name.startswith(prefix)
        for signal in SIGNALS
    }


def test_the_page_has_every_variable_that_the_code_reads_and_no_other() -> None:
    assert documented() == {*constants(), *read_by_exporter(), *BY_SDK}


def test_every_option_of_configure_has_a_meaning() -> None:
    assert defaults().keys() <= described().keys()
