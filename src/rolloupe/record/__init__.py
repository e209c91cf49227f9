"""The write side: files that a trainer leaves behind, in layouts that the formats of this package read.

`Recorder` writes the native layout; a module named after another layout writes that one. Importing any of them loads
neither DuckDB nor pyarrow.
"""

from rolloupe.record.recorder import Recorder, RecorderWarning

__all__ = ["Recorder", "RecorderWarning"]
