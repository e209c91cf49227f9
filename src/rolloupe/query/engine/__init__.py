"""From a `SampleQuery` to rows: SQL, DuckDB, and the cache of answers."""
