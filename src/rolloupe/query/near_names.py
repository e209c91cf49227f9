"""Errors for unknown names: each suggests the nearest names, and lists the known ones."""

import difflib
from collections.abc import Iterable
from itertools import islice

from rolloupe.errors import BadQuery

NEAR = 3
LISTED = 40
COMPARED = 500
"""Maximum number of names to compare: comparing takes time for each of them."""

MAX_CHARS = 200


def unknown(what: str, name: str, candidates: Iterable[str], where: str = "") -> BadQuery:
    """Return the error for an unknown name; `where` follows the name in the sentence."""
    names = list(dict.fromkeys(one[:MAX_CHARS] for one in candidates))
    near = difflib.get_close_matches(name[:MAX_CHARS], islice(names, COMPARED), NEAR)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
    return BadQuery(f"no {what} {name[:MAX_CHARS]!r}{where}; {hint}there are: {listed or 'none'}")
