"""A terminal that the tests of a module share: each begins where the terminal does."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.tui.support import Driver, rewind, terminal


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The loop in which the terminal of a module runs."""
    return "asyncio"


hidden: list[asyncio.AbstractEventLoop | None] = []
"""The event loop that Playwright keeps running in this thread, while a terminal ends in a loop of its own."""


@pytest.fixture(scope="module")
def with_loop_again() -> Iterator[None]:
    """Show the loop of Playwright again, after the terminal has ended."""
    yield
    if hidden:
        asyncio._set_running_loop(hidden.pop())


@pytest.fixture(scope="module")
def without_loop(stage: Driver) -> Iterator[None]:
    """Hide it before the terminal ends."""
    yield
    hidden.append(asyncio._get_running_loop())
    asyncio._set_running_loop(None)


@pytest.fixture(scope="module")
async def stage(
    with_loop_again: None, run: Path, demo_index: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Driver]:
    """The terminal over the run of a module."""
    async with terminal(run, tmp_path_factory.mktemp("stage"), index=demo_index) as driver:
        yield driver


@pytest.fixture
async def me(stage: Driver, without_loop: None) -> Driver:
    """The same, as it begins."""
    await rewind(stage)
    return stage
