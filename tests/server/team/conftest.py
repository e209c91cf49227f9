from collections.abc import Iterator
from pathlib import Path

import pytest

from rolloupe.index import Library
from rolloupe.server.app import App
from tests.server.team.support import access_file, team_app, two_runs


class Runs:
    """An open library, where its runs are, and which of them are secret."""

    def __init__(self, library: Library, folder: Path, secret: Path) -> None:
        self.library, self.folder, self.secret = library, folder, secret


@pytest.fixture(scope="package")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("runs")
    _, secret = two_runs(folder)
    with Library([folder], index_dir=tmp_path_factory.mktemp("index")) as library:
        assert all(run.wait_all(30) for run in library.runs)
        yield Runs(library, folder, secret)


@pytest.fixture
def access(runs: Runs, tmp_path: Path) -> Path:
    return access_file(tmp_path, runs.secret)


@pytest.fixture
def app(runs: Runs, access: Path, tmp_path: Path) -> App:
    return team_app(runs.library, access, state_dir=str(tmp_path / "state"))
