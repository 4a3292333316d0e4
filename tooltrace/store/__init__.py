"""The store: journals that processes append to, and the DuckDB database that journals are folded into.

A recording process needs only ``files`` and ``journal``, which do not load DuckDB.
"""
