"""The share of letters in the response that are not Latin; high if a model changes its language in mid-answer."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rolloupe.derive.base import DerivedMetric, of_texts
from rolloupe.model import SampleRow

LATIN = (
    (0x41, 0x5A), (0x61, 0x7A), (0xAA, 0xAA), (0xBA, 0xBA), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x24F),
    (0x1E00, 0x1EFF), (0x2C60, 0x2C7F), (0xA720, 0xA7FF), (0xFB00, 0xFB06), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A),
)  # fmt: skip
"""Ranges of code points: the blocks of Latin letters in Unicode."""

BEYOND = 0x10000  # from here on letters are ideographs and historic scripts, and the rest are signs
IDEOGRAPHS = (0x20000, 0x3FFFF)

NONE, OTHER, IS_LATIN = 0, 1, 2  # OTHER is a bit that the two others lack


@cache
def _classes() -> NDArray[np.uint8]:
    classes = np.fromiter((chr(point).isalpha() for point in range(BEYOND)), np.uint8, BEYOND)
    for first, last in LATIN:
        classes[first : last + 1] *= IS_LATIN
    return classes


def _of_text(text: str, _: SampleRow) -> float:
    if text.isascii():
        return 0.0
    points = np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32)
    classes = _classes().take(points, mode="clip")
    if points.max() >= BEYOND:
        beyond = points >= BEYOND
        classes[beyond] = np.where((points[beyond] >= IDEOGRAPHS[0]) & (points[beyond] <= IDEOGRAPHS[1]), OTHER, NONE)
    letters = np.count_nonzero(classes)
    return float(np.count_nonzero(classes & OTHER) / letters) if letters else 0.0


METRIC = DerivedMetric(
    "non_latin", 2, "Non-Latin letters", of_batch=of_texts(_of_text), behaviour="another script than Latin",
    pattern=r"[^\P{L}\p{Latin}]+",
)  # fmt: skip
