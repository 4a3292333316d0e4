"""Journals: the files that processes append to, their format, and how far each reader of them is. Does not load DuckDB."""
