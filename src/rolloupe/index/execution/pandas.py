"""Keeps pandas out of a process: Arrow would import it for its first array, 0.2 s and 40 MB that nothing here uses."""

import sys
from importlib.abc import MetaPathFinder


class NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, and leave all else to others."""
        del path, target
        if name == "pandas":
            raise ImportError(name)


def keep_pandas_out() -> None:
    """Have Arrow do without pandas. Arrow looks once: whoever imports pandas later still gets it.

    The finders are put into a new list each time: another thread that imports may be walking the old one, and a list
    that shrinks under it would hide a finder, and with it a module.
    """
    refusal = NoPandas()
    sys.meta_path = [refusal, *sys.meta_path]
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if finder is not refusal]
