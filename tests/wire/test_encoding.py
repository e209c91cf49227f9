"""Records take their fields from sources by name."""

from typing import NamedTuple

import pytest
from msgspec import Struct

from rolloupe.wire.encoding import Number, record_from


class Summary(Struct, kw_only=True):
    """A record for the browser."""

    mean: Number
    steps: int = 0


class Found(NamedTuple):
    """A source."""

    mean: float
    steps: int


class Renamed(NamedTuple):
    """A source after a change."""

    mean: float
    step_count: int


def test_a_record_takes_fields_from_the_first_source_that_has_them() -> None:
    assert record_from(Summary, Found(float("inf"), 2)) == Summary(mean="Infinity", steps=2)
    assert record_from(Summary, Renamed(0.5, 2), Found(1.5, 3)) == Summary(mean=0.5, steps=3)
    assert record_from(Summary, Renamed(0.5, 2), steps=4) == Summary(mean=0.5, steps=4)


def test_a_field_that_no_source_has_is_an_error_even_with_a_default() -> None:
    with pytest.raises(TypeError, match=r"Summary\.steps"):
        record_from(Summary, Renamed(0.5, 2))
