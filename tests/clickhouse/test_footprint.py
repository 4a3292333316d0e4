"""The footprint of results beside spans of model calls with their usage is the same in both engines."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.clickhouse.compare import both, differences
from tests.clickhouse.conftest import Fill
from tests.stores import create_empty_store
from tooltrace.core.records import Record, Span, ToolCall
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHAPES = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}),
    ("llm.token_count.prompt", "llm.token_count.completion", {"openinference.span.kind": "LLM", "llm.model_name": "m"}),
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", {"gen_ai.usage.reasoning.output_tokens": 3}),
)  # fmt: skip


def conversation(number: int) -> Iterator[Record]:
    """Yield model calls and one or two results between them; each third conversation reasons."""
    draws = random.Random(number)
    reads, writes, more = SHAPES[number % len(SHAPES)]
    history, at = 900, START + timedelta(minutes=number)
    for place in range(12):
        usage = {reads: history, writes: 20, **more}
        trace, span = f"{number + 1:032x}", 1000 * (number + 1) + 10 * place
        yield Span(
            trace_id=trace, span_id=f"{span:016x}", name="chat", started_at=at, duration_ms=500.0, attributes=json.dumps(usage)
        )  # fmt: skip
        history += 20
        for one in range(draws.randint(1, 2)):
            size = draws.randint(10, 3000)
            history += size // 4 + 4
            yield ToolCall(
                tool=draws.choice(["search", "fetch"]), call_id=f"call_{span + 1 + one}", trace_id=trace,
                span_id=f"{span + 1 + one:016x}", conversation_id=f"talk {number}", started_at=at + timedelta(seconds=1),
                duration_ms=300.0, status="success", text="x" * size,
            )  # fmt: skip
        at += timedelta(seconds=2)


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory, fill: Fill) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("footprint") / "footprint.duckdb"
    made = [record for number in range(6) for record in conversation(number)]
    journal = Journal(StorePaths.of(path).journal)
    journal.write(b"".join(map(encode, made)))
    journal.close()
    create_empty_store(path)
    fill("footprint", made)
    fill("footprint_as_json", made, "json")
    with open_reader(path) as con:
        yield con


@pytest.mark.parametrize("database", ["footprint", "footprint_as_json"])
@pytest.mark.parametrize(
    "given", [{}, {"by": ["conversation"]}, {"tool": "fetch", "since": START + timedelta(seconds=70)}]
)
def test_both_engines_read_the_usage_of_model_calls(
    con: Any, engine: Any, database: str, given: dict[str, Any]
) -> None:
    duck, house = both(con, engine, database, "footprint", **given)
    assert any("usage" in str(row) for row in duck)
    assert any("estimate" in str(row) for row in duck)
    assert not differences(duck, house)[:5]


@pytest.mark.parametrize("database", ["footprint", "footprint_as_json"])
def test_both_engines_find_the_model_calls_after_calls(con: Any, engine: Any, database: str) -> None:
    duck, house = both(con, engine, database, "model_turns")
    assert duck
    assert not differences(duck, house)[:5]
