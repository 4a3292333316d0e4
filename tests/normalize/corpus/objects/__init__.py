"""The live objects of the corpus: one zero-argument builder for each name that a line's ``value`` gives.

What the project's environment has is the real thing (httpx, duckdb, sqlite3, the standard library). The others
are stand-ins with the real module path, class name and fields; README.md says against which versions.
"""

from . import agents, http, pairs, processes, raised
from .entries import BUILDERS

__all__ = ["BUILDERS", "agents", "http", "pairs", "processes", "raised"]
