"""Closes what tests of insight open."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import rolloupe


@pytest.fixture(autouse=True)
def closed_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close every run that a test opens, once the test ends."""
    with ExitStack() as stack:
        opened = rolloupe.open

        def remembered(*given: Any, **named: Any) -> rolloupe.Runs:
            return stack.enter_context(opened(*given, **named))

        monkeypatch.setattr(rolloupe, "open", remembered)
        yield
