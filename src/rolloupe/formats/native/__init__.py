"""Rolloupe's own layout, as docs/native-format.md specifies it."""
