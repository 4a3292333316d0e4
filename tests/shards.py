"""The shards of the tests: `make test` runs the tests that have none, and one end-to-end test of each kind.

A test has a shard by its folder, by a fixture, or by a marker of that name. Each shard runs alone, as `make test-NAME`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

SHARDS: Final = {
    "processes": "programs in processes of their own: killed, forked, many on one store",
    "browser": "pages in a browser",
    "docs": "programs, command lines and screenshots of the documentation",
    "simulations": "statistics over many histories, and the other cases of a grid",
    "long": "more than a third of a second of CPU time in one process",
    "clickhouse": "the second engine",
    "collector": "a real OpenTelemetry Collector and Phoenix",
    "secrets": "samples of other scanners",
}
ALONE: Final = "clickhouse", "collector", "secrets"
"""Shards that need what their command installs first."""
TEST: Final = f"end_to_end or not ({' or '.join(SHARDS)})"
"""The expression of markers for `make test`, which pyproject.toml repeats as the default of pytest."""
_FOLDERS: Final = {"truth": "simulations", **{name: name for name in ("docs", *ALONE)}}
LEFT_OUT: Final = "truth", *ALONE
"""Folders of which ``make test`` runs no test."""
_ROOT: Final = Path(__file__).parent
_FIXTURES: Final = {"browser": "browser"}


def mark(items: Iterable[pytest.Item]) -> None:
    """Add the markers of the shards that folders and fixtures give."""
    for item in items:
        folder = item.path.relative_to(_ROOT).parts[0]
        if folder in _FOLDERS:
            item.add_marker(_FOLDERS[folder])
        for fixture, shard in _FIXTURES.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(shard)


def is_left_out(path: Path, arguments: Iterable[str]) -> bool:
    """Return whether ``path`` is a folder that no ``arguments`` of pytest name, and of which ``make test`` runs no test."""
    return path.parent == _ROOT and path.name in LEFT_OUT and not any(path.name in argument for argument in arguments)


class LeftOut:
    """Count the tests of each shard that were not selected, and say how to run them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counted: Counter[str] = Counter()

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            names = [name for name in SHARDS if item.get_closest_marker(name)]
            self._counted.update([name for name in names if name != "long"] or names)

    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["left_out"] = dict(self._counted)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the counts of one worker: each of them collects all tests."""
        self._counted = Counter(getattr(node, "workeroutput", {}).get("left_out", {})) or self._counted

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._config.option.markexpr != TEST or self._config.option.keyword:
            return  # the tests were chosen by hand
        for name in SHARDS:
            if name in self._counted or name in ALONE:
                count = self._counted.get(name, "all")
                terminalreporter.write_line(f"left out: {count:>5} of {SHARDS[name]}: make test-{name}")
        terminalreporter.write_line("all of them: make test-all; those of one file: pytest -m '' FILE")
