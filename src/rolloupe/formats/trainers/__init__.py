"""Formats of trainers that write a folder of lines or tables, one module each."""
