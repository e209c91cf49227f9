"""From a `SampleQuery` to rows: SQL, DuckDB, and the answers that are kept."""
