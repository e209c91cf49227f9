"""How much of the threads that answer questions one person may take: the others do not wait behind many of one."""

from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

Share = AbstractAsyncContextManager[Any]

_share: ContextVar[Share | None] = ContextVar("share", default=None)


def share() -> Share:
    """What whoever asks holds while a question of theirs is answered; without a team, there is no bound."""
    return _share.get() or nullcontext()


def set_share(one: Share) -> None:
    """Set the share of whoever sends the request that is handled now."""
    _share.set(one)
