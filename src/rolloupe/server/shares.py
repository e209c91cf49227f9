"""How much of the threads that answer one person may take: the others do not wait behind many requests of one."""

from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple

Share = AbstractAsyncContextManager[Any]


class Shares(NamedTuple):
    """What whoever asks holds while an answer is made."""

    questions: Share
    """For a question."""
    looks: Share
    """For a look at a whole step or run, of which there is one at a time."""


UNBOUNDED = Shares(nullcontext(), nullcontext())

_shares: ContextVar[Shares] = ContextVar("shares", default=UNBOUNDED)


def shares() -> Shares:
    """The shares of whoever sends the request that is handled now; without a team, there is no bound."""
    return _shares.get()


def set_shares(of_person: Shares) -> None:
    """Set the shares of whoever sends the request that is handled now."""
    _shares.set(of_person)
