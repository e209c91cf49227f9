"""The syntax tree of a filter: conditions on single columns, joined by and, or and not.

A sample fulfils a filter or it does not; there is no third state. A missing value fulfils no comparison but `!=`, so
that `=` and `!=`, and a filter and its `not`, always divide the samples in two.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

Value: TypeAlias = float | int | str


class Condition(Struct, frozen=True):
    """`column operator value`: operator is one of = != < <= > >= (numbers, text), or contains (text, in any case).

    With a numeric column, a text is the name of another numeric column, for comparison of the two.
    """

    column: str
    operator: str
    value: Value
    typed: str = ""
    """The spelling of a number as typed (`007`), if it differs from the usual one: columns of text compare with it."""


class Among(Struct, frozen=True):
    """`column in (values)`: the column has one of these values."""

    column: str
    values: tuple[Value, ...]
    typed: tuple[str, ...] = ()
    """As in `Condition`, for each value; empty if no value has one."""


class Missing(Struct, frozen=True):
    """`column is null`: the column has no value, or an empty text."""

    column: str


class HasToken(Struct, frozen=True):
    """`token "text"`: a trained token of the sample has this string, with or without a blank before it."""

    text: str


class Not(Struct, frozen=True):
    """Fulfilled by samples that do not fulfil `of`."""

    of: "Filter"


class And(Struct, frozen=True):
    """Fulfilled by samples that fulfil each of them."""

    of: tuple["Filter", ...]


class Or(Struct, frozen=True):
    """Fulfilled by samples that fulfil at least one of them."""

    of: tuple["Filter", ...]


Leaf: TypeAlias = Condition | Among | Missing | HasToken
Filter: TypeAlias = Leaf | Not | And | Or


def leaves(filters: Iterable[Filter]) -> Iterator[Leaf]:
    """The conditions of some filters, from left to right."""
    for node in filters:
        if isinstance(node, And | Or):
            yield from leaves(node.of)
        elif isinstance(node, Not):
            yield from leaves([node.of])
        else:
            yield node
