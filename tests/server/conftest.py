from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.index import Library
from rolloupe.server.app import App
from tests.server.support import opened, relax_run, served


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A run of three steps of eight samples in two groups."""
    folder = tmp_path_factory.mktemp("runs") / "first run ü"
    relax_run(folder)
    with opened(folder, tmp_path_factory.mktemp("index")) as library:
        yield library


@pytest.fixture
def app(library: Library) -> App:
    return served(library)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test makes a run of its own."""
    return tmp_path / "run"
