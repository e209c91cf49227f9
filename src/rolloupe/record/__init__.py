"""The write side: writes a trainer's rollouts to files, in layouts that this package also reads.

`Recorder` writes the native layout; each module in `writers` writes the layout that it is named after. Importing this
package loads nothing heavy; `Recorder` needs NumPy, and pyarrow once it writes token series.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rolloupe.record.recorder import Recorder, RecorderWarning

__all__ = ["Recorder", "RecorderWarning"]


def __getattr__(name: str) -> Any:
    """Import the recorder on first access."""
    if name not in __all__:
        raise AttributeError(f"module 'rolloupe.record' has no attribute {name!r}")
    return getattr(import_module("rolloupe.record.recorder"), name)
