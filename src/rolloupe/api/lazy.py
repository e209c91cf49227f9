"""Modules imported on first use: DuckDB, for example, takes longer to load than a run to open."""

from importlib import import_module
from typing import Any


class LazyModule:
    """Replaces a module until one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
