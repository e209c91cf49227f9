"""Tables: Parquet files, and those in zip archives."""
