"""Planted problems are the same findings in ClickHouse: the truth, and the sentences of a local store."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clickhouse.compare import address
from tests.clickhouse.conftest import Fill
from tests.diagnosis.stories import STORIES
from tests.diagnosis.test_stories import found_in, said
from tests.queries.conftest import empty_store, instances, stored  # noqa: F401 - fixtures
from tests.queries.conftest import engine as local_engine  # noqa: F401 - a fixture
from tooltrace.diagnosis.diagnose import diagnose
from tooltrace.store.base import open_store


@pytest.mark.parametrize("name", list(STORIES)[::3])
def test_each_planted_problem_is_named_as_in_a_local_store(
    engine: Any,
    fill: Fill,
    local_engine: Any,  # noqa: F811
    name: str,
) -> None:
    told = STORIES[name]()
    database = f"story_{list(STORIES).index(name)}"
    fill(database, told.records)
    found = diagnose(store=open_store(address(engine, database)))
    assert said(found) == told.truth, "\n".join(one.sentence for one in found)
    local = found_in(local_engine(*told.records))
    assert sorted(one.sentence for one in found) == sorted(one.sentence for one in local)
