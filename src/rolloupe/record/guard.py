"""Keeps failures of recording out of the training loop: methods and functions that do not raise."""

import functools
import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from rolloupe.errors import words_of
from rolloupe.record.failures import Trouble

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Guardable")

log = logging.getLogger("rolloupe.record")


class Guardable(Protocol):
    """An object with guarded methods."""

    trouble: Trouble

    def ready(self) -> None:
        """Prepare for a call. Raises `RuntimeError` if recording is no longer possible."""
        ...


def guarded(
    default: Callable[[], Any],
    loses: str = "",
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Make a method raise nothing, unless the recorder is strict or the call does not fit the method's signature.

    The recorder reports and counts a failure, and the call returns `default()`. `loses` is what a failure costs.
    """

    def wrap(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
        @functools.wraps(method)
        def call(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
            try:
                self.ready()
                return method(self, *args, **kwargs)
            except Exception as error:
                where = error.__traceback__.tb_next if error.__traceback__ else None
                if isinstance(error, TypeError) and where is None:
                    raise  # a misspelt argument shows up in the first minute
                self.trouble.met(error, what=loses, step=kwargs.get("step"))
                return cast("R", default())
            finally:
                self.trouble.tell()

        return cast("Callable[Concatenate[S, P], R]", call)

    return wrap


class Guard:
    """Keeps failures out of the training loop: counts them, logs the first, and raises them if `strict`."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.failures = 0
        """How many calls have failed."""
        self._what = what
        self._strict = strict

    def call(self, work: Callable[[], R], otherwise: R) -> R:
        """Call `work`; if it fails, log the first failure and return `otherwise`, or raise if `strict`."""
        try:
            return work()
        except Exception as error:
            self.failures += 1
            if self._strict:
                raise
            if self.failures == 1:
                log.warning("%s: not written, training goes on: %s", self._what, words_of(error))
            return otherwise


class LeftOut:
    """Counts rows that were left out: logs the first at once, and the total at the end."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.count = 0
        self._what = what
        self._strict = strict

    def met(self, where: str, error: Exception) -> None:
        """Count a row, and log the first. Raises `error` if strict."""
        if self._strict:
            raise error
        self.count += 1
        if self.count == 1:
            log.warning("%s: %s left out: %s", self._what, where, error)

    def tell(self) -> None:
        """Log the total, if it is more than the one already logged."""
        if self.count > 1:
            log.warning("%s: %d left out in all", self._what, self.count)
