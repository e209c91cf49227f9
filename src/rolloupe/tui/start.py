"""Opens the runs while the screen is being made, runs the app in little memory, and ends it even if it hangs."""

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rolloupe.errors import NotFound
from rolloupe.model import AS_FOUND, Reading

if TYPE_CHECKING:
    from rolloupe.index import Library
    from rolloupe.query.search.pattern import Mask
    from rolloupe.tui.app import FirstLook

DEADLINE_S = 5.0
"""The app has this time to end by itself."""

STDERR = 2
FLUSHES, PAUSE_S = 20, 0.02

ENDING = threading.Lock()
"""The thread that ends the process holds this lock."""

ENDS = (signal.SIGTERM, signal.SIGHUP)

LEAVE = (
    b"\x18"  # ends an escape sequence that was written in part
    b"\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l"
)
"""What Textual writes to restore the terminal."""


def watch(descriptor: int, end: Callable[[signal.Signals], None]) -> None:
    """Call `end` from a thread of its own when a signal comes or the terminal is closed; later, end the process."""
    import termios  # not on Windows

    attributes = termios.tcgetattr(descriptor)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)  # written even if the main thread hangs
    for ending in ENDS:
        signal.signal(ending, lambda *_: None)

    def work() -> None:
        by = _wait_for_end(reader, descriptor)
        end(by)
        time.sleep(DEADLINE_S)
        ENDING.acquire()
        with contextlib.suppress(termios.error, OSError):  # the terminal may be gone
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
            os.dup2(os.open(os.devnull, os.O_WRONLY), STDERR)
            for thread in threading.enumerate():  # a blocked write holds the terminal: it now goes nowhere
                signal.pthread_kill(thread.ident or threading.get_ident(), by)
            for _ in range(FLUSHES):  # the other end may never read the pending output
                time.sleep(PAUSE_S)
                termios.tcflush(descriptor, termios.TCOFLUSH)
            os.write(os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY), LEAVE)
        os._exit(128 + by)

    threading.Thread(target=work, name="exit handler", daemon=True).start()


def _wait_for_end(reader: int, descriptor: int) -> signal.Signals:
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(descriptor, 0)
    while True:
        for place, event in poll.poll():
            if place == reader:
                signals = os.read(reader, 64)
                for ending in ENDS:
                    if ending in signals:
                        return ending
            elif event & select.POLLHUP:
                return signal.SIGHUP
            else:  # terminals of some systems cannot be polled
                poll.unregister(place)


ARENAS = (-8, 2)
TRIM_BYTES = (-1, 2**20)
MAP_BYTES = (-3, 2**18)
"""Settings of glibc's `mallopt`, and values. By default each thread has an arena, which keeps the memory that it once
took.
"""

DUCKDB = "DUCKDB_JE_MALLOC_CONF", "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0"
"""The same for the allocator of DuckDB, which reads it once, when DuckDB is loaded: 30 MB less."""

ARROW = "ARROW_DEFAULT_MEMORY_POOL", "system"
"""Makes Arrow use the allocator of the system, in its own threads, too; Arrow reads this once, when it is loaded."""


def keep_memory_small() -> None:
    """Take memory from few places and give it back early. Call it before anything large is imported."""
    os.environ.setdefault(*ARROW)
    if sys.platform != "linux":
        return
    os.environ.setdefault(*DUCKDB)
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):  # other C libraries have no arenas
        for setting in (ARENAS, TRIM_BYTES, MAP_BYTES):
            libc.mallopt(*setting)


LOOK_S = 0.05
"""The pause between two looks at whether a run has begun."""

NO_TERMINAL = "the terminal view needs a terminal to read keys from. Next: rolloupe show, steps or tail, which do not"


class RunChoice(NamedTuple):
    """The runs to open, and the place to show first."""

    paths: Sequence[Path | str]
    index_dir: str | None = None
    reading: Reading = AS_FOUND
    run_id: str | None = None
    split: str = ""
    mask: str = ""
    state_dir: str | None = None


class Opener:
    """Opens runs in a thread of its own, so that the screen and the first sample are made at the same time."""

    def __init__(self, choice: RunChoice) -> None:
        self._choice = choice
        self.future: Future[FirstLook] = Future()
        self.awaited: Future[str] = Future()
        """Done once it is clear that no run has begun yet; says where a run may begin."""
        self._is_left = threading.Event()
        importlib.import_module("numpy")  # whole: two threads that import it at once may both find it half made

        def work() -> None:
            try:
                self.future.set_result(self._opened())
            except BaseException as error:  # the app reports it
                self.future.set_exception(error)

        threading.Thread(target=work, name="open runs", daemon=True).start()

    def _opened(self) -> "FirstLook":
        from rolloupe.index.execution import keep_pandas_out

        keep_pandas_out()
        from rolloupe import query
        from rolloupe.index import LITTLE_WORK, IndexWork, Library, RunSearch
        from rolloupe.query.search.pattern import mask_of
        from rolloupe.state.scores import ScoreFiles

        choice = self._choice
        query.save_memory()
        mask = mask_of(choice.mask)
        library = Library(
            choice.paths,
            index_dir=choice.index_dir,
            follow=True,
            search=RunSearch(choice.reading, waits=True, only=choice.run_id),
            work=IndexWork(own_work=LITTLE_WORK),
            scores=ScoreFiles(choice.state_dir),
        )
        try:
            if awaited := library.awaited:
                self.awaited.set_result(awaited)
                while not library.runs and not self._is_left.wait(LOOK_S):
                    pass
            return self._first(library, mask)
        except BaseException:
            library.close()
            raise

    def leave(self) -> None:
        self._is_left.set()

    def _first(self, library: "Library", mask: "Mask") -> "FirstLook":
        from rolloupe.tui.app import FirstLook
        from rolloupe.tui.run.session import Session

        if not library.runs:
            notes = "".join(f"; {note.path}: {note.reason}" for note in library.notes[:3])
            raise NotFound(f"no run was found{notes}; `rolloupe doctor PATH` explains why")
        run = library.runs[0] if self._choice.run_id is None else library.run(self._choice.run_id)
        session = Session(run, self._choice.split)
        if self._choice.split and self.awaited.done():
            with suppress(NotFound):  # a run that has just begun may lack the split
                return FirstLook(library, session, session.open(session.first_place(), 0), mask)
            return FirstLook(library, session, session.open(session.place_to_come(), 0), mask)
        return FirstLook(library, session, session.first(), mask)


def palette_name(theme: str) -> str:
    """Return the name of the colours: the theme itself or, for `auto`, what the terminal's environment suggests."""
    if theme != "auto":
        return theme
    from rich.console import Console

    if Console(force_terminal=True).color_system not in ("256", "truecolor"):
        return "sixteen"
    return "light" if os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15") else "dark"


def show(choice: RunChoice, theme: str = "auto") -> None:
    """Show runs in the terminal until the person leaves. Raises as `Library`; `NotFound` without a run, a terminal."""
    keep_memory_small()
    gc.disable()  # until the app has begun: collecting takes a tenth of the time to the first sample
    opener = Opener(choice)
    terminal = sys.__stdin__, sys.__stderr__  # Textual draws on standard error
    if not all(stream is not None and stream.isatty() for stream in terminal):
        opener.leave()
        opener.future.result().library.close()
        raise NotFound(NO_TERMINAL)
    from rolloupe.tui.app import Terminal
    from rolloupe.tui.draw.ink import PALETTES

    app = Terminal(opener.future, PALETTES[palette_name(theme)], choice.state_dir, opener.awaited)
    assert sys.__stdin__ is not None
    watch(sys.__stdin__.fileno(), app.end)
    app.run()
    opener.leave()
    atexit.unregister(gc.freeze)
    gc.unfreeze()  # else libraries count what is left at the end as leaks, on the person's terminal
    if opener.future.done() and opener.future.exception() is None:
        opener.future.result().library.close()
    if app.failure is not None:
        raise app.failure
    if app.ended_by is not None:  # as the sender of the signal expects
        signal.signal(app.ended_by, signal.SIG_DFL)
        with ENDING:
            os.kill(os.getpid(), app.ended_by)
