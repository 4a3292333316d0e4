"""Views that turn a ClickHouse database into a store: the documented tables, over the exporter's."""

from __future__ import annotations

from typing import Any, Final

from tooltrace.clickhouse.attribute_sql import quote_identifier
from tooltrace.clickhouse.corrections_sql import RECORDED_ATTEMPTS, correction_views
from tooltrace.clickhouse.materialized import ALWAYS, STORED, materialized_selects, table_statements
from tooltrace.clickhouse.materialized import SETTINGS as MATERIALIZED_SETTINGS
from tooltrace.clickhouse.sql.gathers import gather_sql
from tooltrace.clickhouse.tables import Tables, views
from tooltrace.store.database.schema import ATTEMPTS
from tooltrace.store.database.views import VIEWS

SETTINGS: Final = (
    "SETTINGS join_use_nulls = 1, aggregate_functions_null_for_empty = 1, prefer_column_name_to_alias = 1, "
    "precise_float_parsing = 1"
)
"""Settings stated in each view, so that its result does not depend on the client's settings."""

BOOLEANS: Final = {"calls": ("recovered",)}
"""Computed boolean columns of the views."""


def statements(tables: Tables, database: str, *, materialized: bool = False) -> list[str]:
    """Return the statements that create or replace the views in ``database``, in order.

    ``materialized``: over all tables of :mod:`tooltrace.clickhouse.materialized`, which exist. Otherwise the statements
    create the table of corrections, which the views need too.
    """
    selects = {name: (sql, SETTINGS) for name, sql in views(tables).items()}
    stored = STORED if materialized else ALWAYS
    with_storage = f"{SETTINGS}, {MATERIALIZED_SETTINGS}"
    selects |= {name: (sql, with_storage) for name, sql in materialized_selects(database, stored).items()}
    # The name ``attempts`` is that of the view with corrections, over the recorded ones.
    selects[RECORDED_ATTEMPTS] = selects.pop(ATTEMPTS.name)
    selects |= {
        name: (sql, SETTINGS) for name, sql in correction_views(tables, database, materialized=materialized).items()
    }
    selects |= {
        view.name: (_with_booleans(view.name, gather_sql(view.sql, database=database)), SETTINGS) for view in VIEWS
    }
    return [
        *([] if materialized else table_statements(tables, database, of=ALWAYS)),
        *(
            # Settings after a UNION would be those of its last SELECT alone.
            f"CREATE OR REPLACE VIEW {quote_identifier(database)}.{quote_identifier(name)} AS\n"
            f"SELECT * FROM (\n{sql}\n)\n{settings}"
            for name, (sql, settings) in selects.items()
        ),
    ]


def apply(client: Any, tables: Tables, database: str, *, materialized: bool = False) -> None:
    """Create the views in ``database``."""
    for statement in statements(tables, database, materialized=materialized):
        client.command(statement)


def _with_booleans(name: str, sql: str) -> str:
    """Cast boolean columns: without a cast, ClickHouse returns them as numbers."""
    booleans = ", ".join(f"CAST({column} AS Nullable(Bool)) AS {column}" for column in BOOLEANS.get(name, ()))
    return f"SELECT * REPLACE ({booleans}) FROM ({sql})" if booleans else sql
