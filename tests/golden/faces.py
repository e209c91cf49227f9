"""The faces that are asked, over runs that are opened once."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import rolloupe
from rolloupe.index import Library
from tests.golden import commands, names, routes, tools
from tests.golden.frozen import Answers, opened, placed


class Place:
    """The frozen runs in a folder of their own, indexed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.index_dir = folder, folder / "index"
        self.whole, self.formats = placed(folder)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def library(self, path: Path) -> Library:
        """The runs at a place."""
        return self._stack.enter_context(opened(path, self.index_dir))


def _tools(place: Place) -> Answers:
    place.library(place.whole)  # which indexes what the tools do not wait for
    with rolloupe.open(place.whole, index_dir=place.index_dir) as runs:
        return tools.answers_of(runs, place.folder)


FACES: dict[str, Callable[[Place], Answers]] = {
    "routes": lambda place: routes.answers_of(place.library(place.whole), place.folder, is_whole=True),
    "formats": lambda place: routes.answers_of(place.library(place.formats), place.folder, is_whole=False),
    "commands": lambda place: commands.answers_of(
        place.library(place.whole), place.folder, place.whole, place.index_dir
    ),
    "tools": _tools,
    "names": lambda _: names.answers_of(),
}
"""What asks each face, by its name."""
