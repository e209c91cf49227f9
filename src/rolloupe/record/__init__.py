"""The write side: files that a trainer leaves behind, in layouts that the formats of this package read.

`Recorder` writes the native layout; a module named after another layout writes that one. Importing this loads nothing
heavy; `Recorder` needs NumPy, and pyarrow once there are token series to write.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rolloupe.record.recorder import Recorder, RecorderWarning

__all__ = ["Recorder", "RecorderWarning"]


def __getattr__(name: str) -> Any:
    """Import the recorder when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'rolloupe.record' has no attribute {name!r}")
    return getattr(import_module("rolloupe.record.recorder"), name)
