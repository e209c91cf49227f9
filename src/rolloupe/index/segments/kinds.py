"""The list of all kinds of segments. Nothing else lists them: a kind added here is written and kept up to date."""

from rolloupe.index.segments.derived_values import DERIVED
from rolloupe.index.segments.kind import SegmentKind
from rolloupe.index.segments.segment import ANNOTATIONS, NUMBERS
from rolloupe.index.segments.texts import TEXTS

KINDS: dict[str, SegmentKind] = {kind.name: kind for kind in (NUMBERS, ANNOTATIONS, TEXTS, DERIVED)}

BACKFILLED = sorted((kind for kind in KINDS.values() if kind.backfilled), key=lambda kind: kind.order)
"""The kinds that are written after the numbers, in order."""
