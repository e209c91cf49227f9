"""The kinds of segments there are. Nothing else lists them: one that is added is written and kept up to date."""

from rolloupe.index.segments.derived_values import DERIVED
from rolloupe.index.segments.kind import SegmentKind
from rolloupe.index.segments.segment import ANNOTATIONS, NUMBERS
from rolloupe.index.segments.texts import TEXTS

KINDS: dict[str, SegmentKind] = {kind.name: kind for kind in (NUMBERS, ANNOTATIONS, TEXTS, DERIVED)}

BACKFILLED = sorted((kind for kind in KINDS.values() if kind.backfilled), key=lambda kind: kind.order)
"""Those that are written behind the numbers, in order."""
