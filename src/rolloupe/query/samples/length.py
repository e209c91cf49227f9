"""Sorting by length: by tokens, and by characters in a run whose trainer counts no tokens."""

from msgspec.structs import replace

from rolloupe.index import OpenRun, Snapshot
from rolloupe.query.records import SampleQuery
from rolloupe.query.splits import is_asked

LENGTH = "length"


def with_length(run: OpenRun, query: SampleQuery) -> SampleQuery:
    """Return the query with the column behind `length`; a sample metric or tag of that name stays itself."""
    snapshot = run.snapshot()
    if query.sort != LENGTH or LENGTH in (*snapshot.metrics, *snapshot.tags):
        return query
    return replace(query, sort="response_tokens" if _has_tokens(snapshot, query) else "response_chars")


def _has_tokens(snapshot: Snapshot, query: SampleQuery) -> bool:
    splits = query.splits or (None,)
    steps = (step for step in snapshot.steps.values() if any(is_asked(step.split, split) for split in splits))
    return any("response_tokens" in step.columns for step in steps)
