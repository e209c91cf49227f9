"""Where two texts part: how much of their beginnings is the same, never cutting a character that a person sees."""

import unicodedata

BLOCK = 2**16
MOST_BACK = 256
"""A longer heap of combining marks may be cut: nobody can read it as a character."""

JOINERS = "\u200d\ufe0e\ufe0f"
JAMO = range(0x1160, 0x1200)
TONES = range(0x1F3FB, 0x1F400)
FLAGS = range(0x1F1E6, 0x1F200)
TAGS = range(0xE0020, 0xE0080)


def alike(a: str, b: str) -> int:
    """Return the length of the common start in code points, cut back to a boundary of visible characters."""
    at = _equal(a, b)
    least = max(0, at - MOST_BACK)
    back = at
    while back > least and (goes_on(a, back) or goes_on(b, back)):
        back -= 1
    return at if back == least and least else back


def _equal(a: str, b: str) -> int:
    start, end = 0, min(len(a), len(b))
    while start < end and a[start : start + BLOCK] == b[start : start + BLOCK]:
        start += BLOCK
    low, high = min(start, end), min(start + BLOCK, end)
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def goes_on(text: str, at: int) -> bool:
    """Return whether a place is inside one visible character: base and marks, a flag, a family of emoji, CR LF."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    code = ord(after)
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if 0xD800 <= ord(before) < 0xDC00 <= code < 0xE000:  # surrogate halves from two escapes in a file
        return True
    if code in FLAGS:
        return _flags_before(text, at) % 2 == 1
    is_mark = unicodedata.category(after).startswith("M") or after in JOINERS
    return is_mark or before == "\u200d" or code in TONES or code in TAGS or code in JAMO


def _flags_before(text: str, at: int) -> int:
    count = 0
    while count < min(at, MOST_BACK) and ord(text[at - 1 - count]) in FLAGS:
        count += 1
    return count
