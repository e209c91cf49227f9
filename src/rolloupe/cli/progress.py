"""Progress on standard error: only in a terminal, and only after a second."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rolloupe.cli.terminal import complain, console_of

if TYPE_CHECKING:
    from rolloupe.api import Runs

PATIENCE_S = 1.0
SILENCE_S = 5.0
"""Without a terminal, a line is printed after this time in place of the bar."""
STEP_S = 0.1


@contextmanager
def looking() -> Iterator[None]:
    """Show that the search for runs continues, once it takes long."""
    shown = ExitStack()

    def show() -> None:
        if sys.stderr.isatty():
            shown.enter_context(console_of(sys.stderr).status("Looking for runs"))
        else:
            complain("Looking for runs ...")

    timer = threading.Timer(PATIENCE_S if sys.stderr.isatty() else SILENCE_S, show)
    timer.daemon = True
    timer.start()
    with shown:
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def wait(runs: "Runs", *, texts: bool = False) -> None:
    """Wait until the numbers of all runs are indexed, and with `texts` their texts, too."""
    began = time.monotonic()
    if all(run.wait(max(0.0, began + PATIENCE_S - time.monotonic()), texts=texts) for run in runs):
        return
    if not sys.stderr.isatty():
        for run in runs:
            run.wait(texts=texts)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True), TimeRemainingColumn()
    with Progress(*columns, console=console_of(sys.stderr), transient=True) as bar:
        task = bar.add_task("Indexing", total=None)
        while not all(run.wait(0, texts=texts) for run in runs):
            done, total = (sum(part) for part in zip(*(run.indexed_bytes() for run in runs), strict=True))
            is_text = texts and all(run.wait(0) for run in runs)
            bar.update(task, completed=done, total=total or None, description="Texts" if is_text else "Indexing")
            time.sleep(STEP_S)


@contextmanager
def counting(doing: str, *, of_bytes: bool = False) -> "Iterator[Callable[..., None]]":
    """Show how much of the whole is done, once it takes long; yields a function of both, and of what they count.

    The bar disappears while a command prints: print nothing else before the next call.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    size, end = (DownloadColumn(binary_units=True), []) if of_bytes else (MofNCompleteColumn(), [TimeRemainingColumn()])
    columns = TextColumn(doing), BarColumn(), size, TextColumn("{task.description}"), *end
    bar = Progress(*columns, console=console_of(sys.stderr), transient=True)
    task = bar.add_task("", total=None)
    began = time.monotonic()

    def advanced(done: int, total: int, what: str = "samples") -> None:
        if not bar.live.is_started and time.monotonic() - began > PATIENCE_S:
            bar.start()
        bar.update(task, completed=done, total=total or None, description=what)

    try:
        yield advanced
    finally:
        bar.stop()
