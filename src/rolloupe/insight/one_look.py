"""Some looks at a whole run take hundreds of megabytes: a process has one of them at a time."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_looking = threading.Lock()


def one_at_a_time(look: Callable[P, T]) -> Callable[P, T]:
    """Have a look wait for others that also take much memory."""

    @wraps(look)
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        with _looking:
            return look(*args, **kwargs)

    return alone
