"""Named questions, each one commented ``.sql`` file that a user can read, copy and change.

``catalogue()`` has them all. ``Query.render`` gives the SQL and ``Query.bind`` its parameters, without
an engine; ``run`` asks an open connection, ``ask`` a store.
"""

from __future__ import annotations

from tooltrace.queries.catalogue import catalogue, find
from tooltrace.queries.engine import ask, run
from tooltrace.queries.heading import Heading
from tooltrace.queries.parameters import Parameter
from tooltrace.queries.query import Query
from tooltrace.store.result import Column

__all__ = ["Column", "Heading", "Parameter", "Query", "ask", "catalogue", "find", "run"]
