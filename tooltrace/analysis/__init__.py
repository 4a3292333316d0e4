"""Named queries: commented ``.sql`` files that a user can read, copy and change.

``catalogue()`` returns all of them. ``Query.render`` returns the SQL and ``Query.bind`` its parameters, without an
engine; ``run`` executes a query on an open connection, ``query_store`` on a store.
"""

from __future__ import annotations

from tooltrace.analysis.catalog import catalogue, find
from tooltrace.analysis.header import QueryHeader
from tooltrace.analysis.parameters import QueryParameter
from tooltrace.analysis.query import Query
from tooltrace.analysis.run import query_store, run
from tooltrace.store.result import ResultColumn

__all__ = ["Query", "QueryHeader", "QueryParameter", "ResultColumn", "catalogue", "find", "query_store", "run"]
