"""The list of all kinds of segments: a kind in this list is written and kept up to date."""

from rolloupe.index.features import FEATURES
from rolloupe.index.segments.derived_values import DERIVED
from rolloupe.index.segments.kind import SegmentKind
from rolloupe.index.segments.segment import ANNOTATIONS, NUMBERS, PACK
from rolloupe.index.segments.texts import TEXTS
from rolloupe.index.token_stats.files import TOKENS

KINDS: tuple[SegmentKind, ...] = (NUMBERS, ANNOTATIONS, TEXTS, DERIVED, TOKENS, FEATURES)
"""All kinds, in the order of writing."""

BUDGETED = (*(kind.ending for kind in KINDS if kind.budgeted), PACK)
"""The endings of the files that may be deleted."""
