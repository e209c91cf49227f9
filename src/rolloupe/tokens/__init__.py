"""Token-level mathematics: each formula once, in NumPy with float64 inside, for every face to show.

Owns formulas and the alignment of per-token arrays; reads no files and knows no framework's keys. Positions that do
not count are absent, never zero.
"""

from rolloupe.tokens.arrays import *
from rolloupe.tokens.losses import *
from rolloupe.tokens.sample_tokens import *
from rolloupe.tokens.series import *
