"""Writes docs/terminal-keys.md from the tables of keys: `python -m rolloupe.tui.reference > docs/terminal-keys.md`."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rolloupe.tui.keys import KEYS, LIST_KEYS, KeyHelp
from rolloupe.tui.screen_keys import SCREENS

OPENING = """\
# Keys of the terminal

This page is generated from the code: `make pages` writes it. [The terminal](terminal.md) says more about some keys.
"""


def describe() -> str:
    """Return docs/terminal-keys.md."""
    return "\n".join([OPENING, *_sections()])


def _sections() -> Iterator[str]:
    yield "## The main screen\n"
    for section, keys in groupby(KEYS, key=lambda one: one.section):
        yield f"### {section}\n"
        yield from _table(keys)
    for screen in (LIST_KEYS, *SCREENS):
        yield f"## {screen[0].section}\n"
        yield from _table(screen)


def _table(keys: Iterable[KeyHelp]) -> Iterator[str]:
    yield "| key | what it does |\n|---|---|"
    for one in keys:
        yield f"| {' '.join(f'`{name}`' for name in one.names)} | {one.meaning} |"
    yield ""


if __name__ == "__main__":
    print(describe(), end="")
