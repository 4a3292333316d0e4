"""The store: journals that processes append to, and the DuckDB database they are folded into.

``paths``, ``lines`` and ``journal`` are what a recording process needs and load no DuckDB.
"""
