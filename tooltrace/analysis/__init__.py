"""Named queries: commented ``.sql`` files that a user can read, copy and change.

``catalogue()`` returns all of them. ``Query.render`` returns the SQL and ``Query.bind`` its parameters, without an
engine; ``run`` executes a query on an open connection, ``ask`` on a store.
"""

from __future__ import annotations

from tooltrace.analysis.catalog import catalogue, find
from tooltrace.analysis.header import QueryHeader
from tooltrace.analysis.parameters import Parameter
from tooltrace.analysis.query import Query
from tooltrace.analysis.run import ask, run
from tooltrace.store.result import Column

__all__ = ["Column", "Parameter", "Query", "QueryHeader", "ask", "catalogue", "find", "run"]
