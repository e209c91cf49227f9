"""What a filter is made of: conditions on single columns, joined by and, or and not.

A sample fulfils a filter or it does not; there is no third way. What is missing fulfils no comparison but `!=`, so that
`=` and `!=`, and a filter and its `not`, always part the samples in two.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

Value: TypeAlias = float | int | str


class Condition(Struct, frozen=True):
    """`column operator value`: operator is one of = != < <= > >= (numbers, text), or contains (text, in any case).

    Beside a column of numbers a text is the name of another such column, whose value is compared.
    """

    column: str
    operator: str
    value: Value
    typed: str = ""
    """A number as it was typed (`007`), where it is written otherwise: columns of text are compared with that."""


class Among(Struct, frozen=True):
    """`column in (values)`: it has one of these."""

    column: str
    values: tuple[Value, ...]
    typed: tuple[str, ...] = ()
    """As in `Condition`, for each value; empty where none has such."""


class Missing(Struct, frozen=True):
    """`column is null`: there is no value, or an empty text."""

    column: str


class Not(Struct, frozen=True):
    """What does not fulfil `of`."""

    of: "Filter"


class And(Struct, frozen=True):
    """What fulfils each of them."""

    of: tuple["Filter", ...]


class Or(Struct, frozen=True):
    """What fulfils one of them or more."""

    of: tuple["Filter", ...]


Filter: TypeAlias = Condition | Among | Missing | Not | And | Or


def leaves(filters: Iterable[Filter]) -> Iterator[Condition | Among | Missing]:
    """The conditions of some filters, from left to right."""
    for one in filters:
        if isinstance(one, And | Or):
            yield from leaves(one.of)
        elif isinstance(one, Not):
            yield from leaves([one.of])
        else:
            yield one
