"""The DuckDB file: its schema, views and macros, connections to it, its rewriting and recovery."""
