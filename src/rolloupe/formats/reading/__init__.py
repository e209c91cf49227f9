"""Readers of files that formats share: lines, arrays, tables, archives, pages, compressed streams."""
