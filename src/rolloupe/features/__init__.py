"""Phrases of texts as hashes, and how each goes with the reward among siblings: signs of what the reward pays for.

Pure functions of arrays, for the scan of texts and for queries.
"""

from rolloupe.features.radar import BLOCK_SAMPLES, MIN_SAMPLES, FeatureRows, feature_rows
from rolloupe.features.within_groups import Floats, Grouping, WithinSums, divided, sums_within
from rolloupe.features.words import MAX_WORDS, Hashes, Places, Words, phrase_hashes, phrases_of, words_of

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
