"""Where runs may have begun since all folders were searched: in those that are new right below the searched ones.

A search of 10,000 runs takes half a minute of the processor, and the next one waits for ten. A look at names takes
milliseconds.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from rolloupe.formats import listing_once
from rolloupe.model import Location
from rolloupe.storage import folder_entries, is_remote


class NewFolders:
    """The names right below the folders that are searched, as they were before the last search."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = [path for path in paths if not is_remote(path)]
        self._names: dict[str, set[str]] = {}

    def note(self) -> None:
        """Take the names as known: all is searched from now on."""
        self._names = self._now()

    def are_there(self) -> bool:
        """True if there are names that are not known."""
        return any(names - self._names.get(folder, names) for folder, names in self._now().items())

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have listings, within this context, lack what is known."""
        with listing_once(is_hidden=lambda folder, name: name in self._names.get(folder, ())):
            yield

    def _now(self) -> dict[str, set[str]]:
        found = {}
        for path in self._paths:
            with suppress(OSError, RuntimeError, ValueError):  # a file, or a folder that is missing for a while
                folder = str(path.expanduser().resolve(strict=True))
                with folder_entries(Location(folder, folder)) as listing:
                    found[folder] = {entry.name for entry in listing}
        return found
