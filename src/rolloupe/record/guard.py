"""What keeps the trouble of recording away from the training loop: methods of a recorder that raise nothing."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from rolloupe.record.trouble import Trouble

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Guardable")


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
