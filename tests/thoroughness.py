"""How much a test looks at: `make test` takes some of many cases alike, `make test-all` takes them all."""

import functools
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

IS_THOROUGH = os.environ.get("ROLLOUPE_EXAMPLES") == "thorough"

T = TypeVar("T")


def amount(quick: T, thorough: T) -> T:
    """What to take: the first in `make test`, the second in `make test-all`."""
    return thorough if IS_THOROUGH else quick


def slow_unless(is_quick: bool, *values: object) -> object:
    """A case of a parametrised test, which `make test` leaves to `make test-all` where it is not a quick one."""
    return pytest.param(*values, marks=() if is_quick else pytest.mark.slow)


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test over some cases as `pytest.mark.parametrize` does, but as one test, whose fixtures they share.

    For cases that differ in a value and leave nothing behind. A failure names its case.
    """
    arguments, cases = (names,) if isinstance(names, str) else names, list(cases)

    def over_all(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def tested(**fixtures: Any) -> None:
            for case in cases:
                try:
                    test(**fixtures, **dict(zip(arguments, case if len(arguments) > 1 else [case], strict=True)))
                except BaseException as error:
                    error.add_note(f"The case: {', '.join(arguments)} = {case!r}")
                    raise

        own = inspect.signature(test).parameters.values()
        tested.__signature__ = inspect.Signature(  # type: ignore[pyrefly:missing-attribute]
            [one for one in own if one.name not in arguments]
        )
        return tested

    return over_all
