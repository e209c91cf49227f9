"""What every test can ask for: directories of its own, the demo runs, a browser."""

import asyncio
import contextlib
import gc
import importlib
import json
import os
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from rolloupe.demo import RUNS
from rolloupe.formats.reading.stream import open_binary
from rolloupe.index.index_folders import default_index_dir
from rolloupe.lru import Lru
from rolloupe.model import Location
from rolloupe.query.engine import database
from tests import chromium, forks
from tests.thoroughness import amount

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

for name, examples in (("quick", 6), ("thorough", 200)):
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,
        derandomize=name == "quick",  # the same examples every time: a build fails for what changed
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("ROLLOUPE_EXAMPLES", "quick"))

HERE = Path(__file__).parent
RERUNS = amount(1, 0)

SHORT_VISITS = ("--renderer-process-limit=1", "--js-flags=--no-opt,--no-maglev,--min-semi-space-size=32")
"""One process for all pages, as what one has compiled serves the next; no optimised code
and little garbage to collect for pages that soon close."""

ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", *amount(SHORT_VISITS, ()))
"""What Chromium is started with."""


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep every test, and every process that it starts, out of the person's own cache and data.

    All processes of tests share a cache: each run that nothing changes is indexed once.
    """
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "DATA", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        patch.setenv("XDG_CACHE_HOME", str(shared_folder(tmp_path_factory) / "cache"))
        forks.begin()
        forks.patch_workers()
        yield


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all tests: what lies there, every process of tests can read."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


class OneDatabase(Lru[Path, Any]):
    """One database for every index below a folder: to begin one takes longer than most tests ask it for answers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(1)
        self.folder = folder

    def get(self, key: Path) -> Any | None:
        return super().get(self.folder)

    def put(self, key: Path, value: Any, size: int = 0) -> list[Any]:
        return super().put(self.folder, value, size)

    def pop(self, key: Path) -> None:
        super().pop(self.folder)


LOCKED = database.locked_database
"""What locks a database to the folder of its indexes."""


@pytest.fixture(scope="session", autouse=True)
def one_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the indexes of all tests in a database that reads the folder of the tests, and nothing else."""
    folder = shared_folder(tmp_path_factory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "databases", OneDatabase(folder))
        patch.setattr(database, "locked_database", lambda _: LOCKED(folder))
        yield


@pytest.fixture
def own_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each index in a database of its own, as a viewer has."""
    monkeypatch.setattr(database, "databases", Lru(database.MAX_DATABASES))
    monkeypatch.setattr(database, "locked_database", LOCKED)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Have all processes of tests share the one that forks."""
    forks.begin()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have every second process import the tests from the last to the first, so that each compiles half of them."""
    if int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2:
        asked = [Path(argument.partition("::")[0]) for argument in session.config.args]
        for file in sorted((file for one in asked for file in one.rglob("test_*.py")), reverse=True):
            name = file.absolute().relative_to(session.config.rootpath).with_suffix("")
            with contextlib.suppress(Exception, pytest.skip.Exception):  # to be told where it is collected
                importlib.import_module(".".join(name.parts))


DRIVES_OTHERS = {"cli", "page", "server", "tui"}
"""The folders whose tests drive other processes: browsers, terminals, servers."""


LONGEST = ("golden", "page")
"""Folders of tests that take seconds each."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that none of them runs alone at the end.

    In `make test` a test that drives other processes runs once more if it fails; the summary lists it under RERUN.
    """
    items.sort(key=lambda item: item.path.relative_to(HERE).parts[0] not in LONGEST)
    for item in items if RERUNS else ():
        if item.get_closest_marker("browser") or not DRIVES_OTHERS.isdisjoint(item.path.relative_to(HERE).parts[:1]):
            item.add_marker(pytest.mark.flaky(reruns=RERUNS))


def pytest_collection_finish() -> None:
    """Leave what was collected out of each pass of the garbage collector: it lives as long as the process."""
    gc.freeze()
    gc.set_threshold(*forks.RARELY)


def pytest_sessionfinish() -> None:
    """End as any process does."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def demo_runs() -> Path:
    """The runs that come with the package: read only."""
    return RUNS


@pytest.fixture(scope="session")
def demo_index(own_home: None) -> Path:
    """The index of runs that nothing changes, each of which the first test that opens it scans, in whichever process.

    It is where commands look that are not told where.
    """
    return default_index_dir()


def _step_of(record: dict[str, Any]) -> int:
    """The step of a sample, of metrics, or of the sample that an annotation is of."""
    step = record["step"] if "step" in record else record["uid"].split("/")[-3]
    return int(step or 0)


@pytest.fixture(scope="session")
def short_grpo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled run tiny_grpo up to step 3: for what one step of it can show. Read only."""
    place = shared_folder(tmp_path_factory) / "short"
    if place.exists():
        return place / "tiny_grpo"
    folder = tmp_path_factory.mktemp("short") / "tiny_grpo"
    shutil.copytree(RUNS / "tiny_grpo", folder, ignore=shutil.ignore_patterns("*.jsonl.zst"))
    for file in (RUNS / "tiny_grpo").glob("*/*.jsonl.zst"):
        with open_binary(Location(str(file), str(RUNS.resolve()))) as lines:
            kept = [line for line in lines if _step_of(json.loads(line)) <= 3]
        (folder / file.parent.name / file.stem).write_bytes(b"".join(kept))
    with contextlib.suppress(OSError):  # another process was first
        folder.parent.rename(place)
    return place / "tiny_grpo"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Let a test without a browser run an event loop of its own."""
    with without_loop(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """The same."""
    with without_loop(item):
        return (yield)


@contextlib.contextmanager
def without_loop(item: pytest.Item) -> Iterator[None]:
    """Hide the event loop that Playwright keeps running in this thread from a test that has no browser."""
    loop = asyncio._get_running_loop()
    if loop is None or "browser" in getattr(item, "fixturenames", ()):
        yield
        return
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """A real headless Chromium. Without one the test is skipped, or fails where ROLLOUPE_BROWSER=required."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(
        timeout=30_000
    )  # a machine that does other things, too, may be slow: what is asserted is not time
    path = chromium.find()
    if path is None:
        if os.environ.get("ROLLOUPE_BROWSER") == "required":
            pytest.fail("Chromium is missing. Next: make browser")
        pytest.skip("Chromium is missing: make browser")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def context(browser: "Browser") -> "Iterator[BrowserContext]":
    """One for all tests, with a page that stays open: its process has read and compiled what each load needs."""
    with kept_open(browser) as shared:
        yield shared


@pytest.fixture(scope="session")
def other_context(browser: "Browser") -> "Iterator[BrowserContext]":
    """Another browser, which shares nothing with the first."""
    with kept_open(browser) as shared:
        yield shared


@contextlib.contextmanager
def kept_open(browser: "Browser") -> "Iterator[BrowserContext]":
    """A browser of its own, with a page that stays open until the block ends."""
    shared = browser.new_context()
    shared.new_page()
    yield shared
    shared.close()


@pytest.fixture
def page(context: "BrowserContext") -> "Iterator[Page]":
    """A new page, to which nothing has happened; the test fails on an uncaught error or a breach of the content policy.

    What a test leaves in the browser goes with it: pages, cookies, permissions and what pages stored.
    """
    with new_page(context) as opened:
        yield opened


@pytest.fixture
def other(other_context: "BrowserContext") -> "Iterator[Page]":
    """Such a page of another browser."""
    with new_page(other_context) as opened:
        yield opened


@contextlib.contextmanager
def new_page(context: "BrowserContext") -> "Iterator[Page]":
    """Open a page beside the one that stays."""
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
    yield opened
    first, *others = context.pages
    for one in others:
        one.close()
    context.clear_cookies()
    context.clear_permissions()
    session = context.new_cdp_session(first)
    session.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    session.detach()
    assert errors == []
