"""Files of a store: their paths, locks, folders for temporary files, and what reaches the disk. Does not load DuckDB."""
