"""Queries before and after retention has removed all content: the same rows, but for what is about content."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.grids import every_fifth
from tests.store.conftest import copy_store
from tooltrace.analysis import catalogue, query_store
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.result import ALL_CONTENT, QueryResult
from tooltrace.store.upkeep.prune import prune
from tooltrace.store.upkeep.retention import PrunePolicy

NAMES = [
    name for name, query in catalogue().items() if not any(parameter.required for parameter in query.header.parameters)
]


@pytest.fixture(scope="module")
def pruned(demo_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo store without any content."""
    store = copy_store(StorePaths.of(demo_store), StorePaths.of(tmp_path_factory.mktemp("pruned") / demo_store.name))
    report = prune(store, PrunePolicy(before=datetime.now(UTC) + timedelta(days=2)))
    assert report.emptied["attempts"] > 400
    return store.database


def rows(result: QueryResult, content: tuple[str, ...]) -> list[tuple[Any, ...]]:
    return result.select(*(name for name in result.columns if name not in content)).rows


@pytest.mark.parametrize("name", every_fifth(NAMES))
def test_a_query_has_the_same_rows_without_content_unless_it_is_about_content(
    name: str, demo_store: Path, pruned: Path
) -> None:
    query = catalogue()[name]
    content = query.header.content
    before, after = query_store(demo_store, name), query_store(pruned, name)
    assert before.note == ""
    if query.has_window:  # others are about one call, and say so of an old one
        assert ("was removed by the retention" in after.note) == bool(content)
    if content == ALL_CONTENT:
        assert "this query begins on that day" in after.note
        return
    for row, other in zip(rows(after, content), rows(before, content), strict=True):
        assert row == tuple(pytest.approx(value) if isinstance(value, float) else value for value in other)
