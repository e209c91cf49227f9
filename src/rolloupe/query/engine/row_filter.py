"""The rows that match a filter, for statements that answer by step."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rolloupe.index import Snapshot
from rolloupe.query.engine.compile import compile_query
from rolloupe.query.engine.database import NO_OVERLAY
from rolloupe.query.engine.names import reference
from rolloupe.query.engine.relation import AnnotationOverlay, Column
from rolloupe.query.filter.nodes import HasToken, leaves
from rolloupe.query.filter.parser import conditions
from rolloupe.query.records import SampleQuery


class Matching(NamedTuple):
    """The rows that match a filter: a statement begins with `own`, binds `values` first, and reads from `table`."""

    table: str = "rows"
    own: str = ""
    values: Sequence[Any] = ()
    named: Sequence[Column] = ()
    overlay: AnnotationOverlay = NO_OVERLAY
    later: tuple[str, ...] = ()
    """What the filter asks for that may follow the rows: derived metrics, and the texts of tokens."""


ALL = Matching()


def matching(snapshot: Snapshot, where: str, names: Sequence[str] = ()) -> Matching:
    """Return the rows that match a filter; all rows for a blank one. The statement also uses the columns in `names`.

    Raises `BadQuery` for what cannot be read, and for a column that no sample has.
    """
    filters = conditions(where)
    if not filters:
        return ALL
    found = compile_query(snapshot, SampleQuery(where=filters, typed=where), by_group=False, also=names)
    parts = [*leaves(filters)]
    refs = [reference(snapshot, one.column) for one in parts if not isinstance(one, HasToken)]
    derived = [ref.name for ref in refs if ref is not None and ref.kind == "derived"]
    texts = [one.text for one in parts if isinstance(one, HasToken)]
    return Matching("own", found.own, found.where.values, found.named, found.overlay, (*derived, *texts))
