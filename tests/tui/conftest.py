"""A terminal that the tests of a module share: each begins where the terminal does."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.tui.support import Driver, rewind, terminal


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The loop in which the terminal of a module runs."""
    return "asyncio"


@pytest.fixture(scope="module")
async def stage(run: Path, demo_index: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Driver]:
    """The terminal over the run of a module."""
    async with terminal(run, tmp_path_factory.mktemp("stage"), index=demo_index) as driver:
        yield driver


@pytest.fixture
async def me(stage: Driver) -> Driver:
    """The same, as it begins."""
    await rewind(stage)
    return stage
