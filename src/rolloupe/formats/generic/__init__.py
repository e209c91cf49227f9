"""Anybody's JSON lines, tables and documents whose rows hold a text and a score under usual names."""
