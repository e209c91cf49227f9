"""How much of the threads that answer one person may take: the others do not wait behind many requests of one."""

from contextlib import AbstractAsyncContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple

Quota = AbstractAsyncContextManager[Any]


class Quotas(NamedTuple):
    """Limits held while answering one person."""

    questions: Quota
    """For a question."""
    looks: Quota
    """For a look at a whole step or run, of which there is one at a time."""


UNBOUNDED = Quotas(nullcontext(), nullcontext())

_quotas: ContextVar[Quotas] = ContextVar("quotas", default=UNBOUNDED)


def quotas() -> Quotas:
    """The quotas of whoever sends the request that is handled now; without a team, there is no bound."""
    return _quotas.get()


def set_quotas(of_person: Quotas) -> None:
    """Set the quotas of whoever sends the request that is handled now."""
    _quotas.set(of_person)
