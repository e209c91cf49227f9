"""The writable layouts, by name."""

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
"""Where each layout's writer is; its argument is the folder to write to."""


def check(name: str) -> None:
    """Raise `NotRecognised`, which names the writable layouts, if this is not one of them."""
    if name not in WRITERS:
        raise NotRecognised(f"no writable layout is named {name!r}. There are: {', '.join(WRITERS)}")


def writer_of(name: str, folder: Path) -> Writer:
    """Return a layout's writer into a folder, which it may create at once. Raises like `check`."""
    check(name)
    module, _, kind = WRITERS[name].partition(":")
    writer: Writer = getattr(import_module(module), kind)(folder)
    return writer
