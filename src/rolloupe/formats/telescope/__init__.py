"""Telescope: zip archives of Parquet tables."""
