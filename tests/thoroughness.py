"""How much a test looks at: `make test` takes some of many cases alike, `make test-all` takes them all."""

import os
from typing import TypeVar

import pytest

IS_THOROUGH = os.environ.get("ROLLOUPE_EXAMPLES") == "thorough"

T = TypeVar("T")


def amount(quick: T, thorough: T) -> T:
    """What to take: the first in `make test`, the second in `make test-all`."""
    return thorough if IS_THOROUGH else quick


def slow_unless(is_quick: bool, *values: object) -> object:
    """A case of a parametrised test, which `make test` leaves to `make test-all` where it is not a quick one."""
    return pytest.param(*values, marks=() if is_quick else pytest.mark.slow)
