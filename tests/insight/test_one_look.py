"""Looks that take much memory: one at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rolloupe.insight import one_look
from rolloupe.insight.findings import search
from rolloupe.insight.parts import parts


@pytest.mark.parametrize(("look", "arguments"), [(parts, 1), (search._search, 2)])
def test_a_look_waits_for_the_end_of_another(look: Callable[..., Any], arguments: int) -> None:
    with ThreadPoolExecutor(1) as threads:
        with one_look._looking:
            waiting = threads.submit(look, *[None] * arguments)
            with pytest.raises(TimeoutError):
                waiting.result(0.1)
        with pytest.raises((AttributeError, TypeError)):  # there is no run to look at
            waiting.result(10)
