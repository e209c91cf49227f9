"""What keeps the trouble of recording away from the training loop: methods and functions that raise nothing."""

import functools
import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from rolloupe.record.failures import Trouble

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Guardable")

log = logging.getLogger("rolloupe.record")


class Guardable(Protocol):
    """What has such methods."""

    trouble: Trouble

    def ready(self) -> None:
        """Get ready for a call. Raises `RuntimeError` where nothing can be recorded any more."""
        ...


def guarded(
    default: Callable[[], Any],
) -> Callable[[Callable[Concatenate[S, P], R]], Callable[Concatenate[S, P], R]]:
    """Have a method raise nothing, unless the recorder is strict or the call itself does not fit its signature.

    What went wrong is told and counted, and the call returns `default()`.
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
                    raise  # a wrong name of an argument is a bug of the first minute
                self.trouble.met(error)
                return cast("R", default())
            finally:
                self.trouble.tell()

        return cast("Callable[Concatenate[S, P], R]", call)

    return wrap


class Guard:
    """Keeps what goes wrong while recording away from the training loop: counted, told of once, raised where asked."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.failures = 0
        """How many calls have failed."""
        self._what = what
        self._strict = strict

    def call(self, work: Callable[[], R], otherwise: R) -> R:
        """Do some work; where it fails, say so the first time and return `otherwise`, or raise if `strict`."""
        try:
            return work()
        except Exception as error:
            self.failures += 1
            if self._strict:
                raise
            if self.failures == 1:
                log.warning("%s: not written, training goes on: %s: %s", self._what, type(error).__name__, error)
            return otherwise


class LeftOut:
    """Counts what of some rows was left out: the first is told at once, how many there were at the end."""

    def __init__(self, what: str, *, strict: bool) -> None:
        self.count = 0
        self._what = what
        self._strict = strict

    def met(self, where: str, error: Exception) -> None:
        """Count it, and tell the first. Raises `error` where it is strict."""
        if self._strict:
            raise error
        self.count += 1
        if self.count == 1:
            log.warning("%s: %s left out: %s", self._what, where, error)

    def tell(self) -> None:
        """Say how many there were, where it was more than the one that is told already."""
        if self.count > 1:
            log.warning("%s: %d left out in all", self._what, self.count)
