"""Translation of the queries from DuckDB's SQL to ClickHouse's."""
