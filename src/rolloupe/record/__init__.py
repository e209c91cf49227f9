"""The write side: files that a trainer leaves behind, in layouts that the formats of this package read.

Importing it loads neither DuckDB nor pyarrow.
"""
