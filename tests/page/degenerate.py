"""Output of models that repeat themselves, and the fonts in which it is looked at."""

import os
import random

import pytest
from playwright.sync_api import Page

NAMED = ("[a](" * 8_000, "x{" * 20_000, "$$" + "{" * 20_000)
"""What took a browser 4, 9 and 15 seconds in the font Inter."""

SIGNS: tuple[tuple[str, ...], ...] = (
    tuple("([{<}])>"),
    tuple(".,;:!?-_=+*/\\|&^%$#@~`'\""),
    tuple("abcdefghijklmnopqrstuvwxyzABCXYZ"),
    tuple("0123456789"),
    tuple("中文漢字日本語かなカナ한국어，。「」"),
    ("\U0001f600", "\U0001f469\u200d\U0001f467", "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f44d\U0001f3fd"),
    tuple("\u0301\u0308\u0327\u20d7\u0483"),
    tuple("\u202e\u202d\u2066\u2067\u2068\u2069\u202c\u200f\u200eא\u0628\u0645ש"),
    tuple(" \t\u00a0\u3000\u200b\u2009"),
)
"""Brackets, punctuation, letters, digits, CJK, emoji, combining marks, bidirectional writing, spaces."""

LONGEST = 8
SIZES = (20_000, 60_000, 200_000, 1_000_000)
"""Bytes of a text, about."""

FONTS = {"Inter": "fonts-inter", "Noto Sans CJK SC": "fonts-noto-cjk", "DejaVu Sans": "fonts-dejavu-core"}
"""Families, and the packages of Debian that hold them."""


def repeated(count: int, seed: int) -> list[str]:
    """Units of up to 8 characters, repeated to texts of up to 1 MB: always the same for a seed."""
    draw = random.Random(seed)
    units = ["".join(_unit(draw)) for _ in range(count)]
    return [unit * max(1, SIZES[n % len(SIZES)] // len(unit.encode())) for n, unit in enumerate(units)]


def _unit(draw: random.Random) -> list[str]:
    kinds = draw.sample(SIGNS, draw.randint(1, 4))
    signs: list[str] = []
    length = draw.randint(1, LONGEST)
    while sum(map(len, signs)) < length:
        signs.append(draw.choice(draw.choice(kinds)))
    return signs if sum(map(len, signs)) <= LONGEST else signs[:-1]


HAS_FONT = """family => ['serif', 'monospace'].every(other => {
  const context = document.createElement('canvas').getContext('2d');
  const width = font => { context.font = font; return context.measureText('{[(wide and iil, 漢字)]}').width; };
  return width(`72px "${family}", ${other}`) !== width(`72px ${other}`);
})"""
SET_FONT = """document.documentElement.style.setProperty('--font-ui', '"FAMILY"');
document.documentElement.style.setProperty('--font-mono', '"FAMILY"');"""


def write_in(page: Page, family: str) -> None:
    """Show the pages that are opened from now on in a font; without it skip, or fail where ROLLOUPE_FONTS=required.

    Without a name it is the font that the page finds by itself.
    """
    if family == "":
        return
    page.goto("about:blank")
    if not page.evaluate(HAS_FONT, family):
        missing = f"the font {family} is not installed. Next: apt-get install {FONTS[family]}"
        if os.environ.get("ROLLOUPE_FONTS") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    setting = SET_FONT.replace("FAMILY", family)
    page.add_init_script(f"addEventListener('DOMContentLoaded', () => {{ {setting} }})")
