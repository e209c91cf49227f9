"""What a reward may pay for: phrases of a text as hashes, and how each goes with the reward among siblings.

Pure functions of arrays, for whoever scans texts and for whoever asks.
"""

from rolloupe.features.phrases import MAX_WORDS, phrase_hashes, phrases_of
from rolloupe.features.radar import BLOCK_SAMPLES, MIN_SAMPLES, FeatureRows, feature_rows
from rolloupe.features.within_groups import Floats, Grouping, WithinSums, divided, sums_within
from rolloupe.features.words import Hashes, Places, Words, words_of

__all__ = [
    "BLOCK_SAMPLES",
    "MAX_WORDS",
    "MIN_SAMPLES",
    "FeatureRows",
    "Floats",
    "Grouping",
    "Hashes",
    "Places",
    "WithinSums",
    "Words",
    "divided",
    "feature_rows",
    "phrase_hashes",
    "phrases_of",
    "sums_within",
    "words_of",
]
