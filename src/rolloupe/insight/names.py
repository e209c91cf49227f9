"""What curves are called."""

from typing import NamedTuple


class CurveName(NamedTuple):
    """A curve that an alarm is about; see `CurveQuery`."""

    kind: str
    name: str
    source: str = ""
    """The evaluation; empty for all other curves."""
