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
    """Have Arrow do without pandas. Arrow looks once: whoever imports pandas later still gets it."""
    refusal = NoPandas()
    sys.meta_path.insert(0, refusal)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(refusal)
