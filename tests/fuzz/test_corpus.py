"""What once failed, and some random input, is read within its budget; the rest is for ``make fuzz``."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz import sql
from tests.fuzz.readers import READERS, seeds


@pytest.mark.parametrize("name", READERS)
def test_valid_failed_and_changed_inputs_are_read_within_their_budget(name: str) -> None:
    reader, choose = READERS[name], random.Random(1)
    known = seeds(reader)
    for data in known + [reader.mutated(known, choose) for _ in range(50)]:
        reader.check(data)


def test_many_empty_lines_are_read_within_the_budget() -> None:
    READERS["files"].check(b"tool,at,error\nsearch,2026-01-01,no\n" + b"\n" * 100_000)


def test_sql_reads_and_writes_no_other_file(tmp_path: Path) -> None:
    store, outside = sql.made_store(tmp_path)
    texts = sql.statements(random.Random(1), 100, tmp_path, outside)
    sql.check(store, sql.table_functions(outside) + texts, tmp_path)
