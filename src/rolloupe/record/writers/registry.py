"""The layouts that can be written, by name."""

from importlib import import_module
from pathlib import Path
from typing import Final

from rolloupe.errors import NotRecognised
from rolloupe.record.writers.base import Writer

WRITERS: Final = {
    "native": "rolloupe.record.writers.native:NativeWriter",
    "tinker": "rolloupe.record.writers.tinker:TinkerWriter",
    "prime_rl": "rolloupe.record.writers.prime_rl.writer:PrimeRLWriter",
    "relax": "rolloupe.record.writers.relax:RelaxWriter",
    "rl_logging_board": "rolloupe.record.writers.rl_logging_board:RLLoggingBoardWriter",
}
"""Where the writer of each layout is; it is made from the folder that it writes to."""


def check(name: str) -> None:
    """Raise `NotRecognised`, naming the layouts that can be written, where none is called so."""
    if name not in WRITERS:
        raise NotRecognised(f"no writable layout is called {name!r}. There are: {', '.join(WRITERS)}")


def writer_of(name: str, folder: Path) -> Writer:
    """Return a writer of that layout into a folder, which it may make at once. Raises as `check`."""
    check(name)
    module, _, kind = WRITERS[name].partition(":")
    writer: Writer = getattr(import_module(module), kind)(folder)
    return writer
