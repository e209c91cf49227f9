"""Where the built browser app lies."""

from pathlib import Path

PLACES = (Path(__file__).parents[1] / "server" / "static", Path(__file__).parents[3] / "web" / "dist")
"""In an installed package, or in a checkout."""


def app_file(name: str) -> str | None:
    """Return a file of the app as text; None if the app is not built."""
    for place in PLACES:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8")
    return None
