"""The SQL of the view of attempts reads the columns that say where a call ran, in either variant of the tables."""

from __future__ import annotations

import pytest

from tooltrace.clickhouse.attribute_sql import Variant, reader_of
from tooltrace.clickhouse.tables import Tables, attempts

RESOURCE = {"release": "service.version", "environment": "deployment.environment.name", "service": "service.name"}


@pytest.mark.parametrize("variant", ["map", "json"])
def test_release_environment_and_model_are_columns_of_both_kinds_of_spans(variant: Variant) -> None:
    native, external = attempts(Tables(variant=variant, foreign=True))
    reader = reader_of(variant)
    for name in ("release", "environment"):
        column = f"{reader.text('ResourceAttributes', RESOURCE[name])} AS `{name}`"
        assert column in native
        assert column in external
    assert f"{reader.text('SpanAttributes', 'tooltrace.model')} AS `model`" in native
    (model,) = [line for line in external.splitlines() if line.rstrip(",").endswith("AS `model`")]
    for name in ("gen_ai.request.model", "llm.model_name", "ai.model.id"):
        assert reader.text("SpanAttributes", name) in model
