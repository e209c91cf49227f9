"""The formats that there are, in the order in which they are tried: what is most particular comes first."""

from typing import Final

from rolloupe.errors import NotRecognised
from rolloupe.formats.base import Format
from rolloupe.formats.generic.format import Generic
from rolloupe.formats.native.format import Native
from rolloupe.formats.prime_rl.exports import PrimeRL
from rolloupe.formats.prime_rl.traces import PrimeRLTraces
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.relax import Relax
from rolloupe.formats.rl_logging_board import RLLoggingBoard
from rolloupe.formats.telescope.format import Telescope
from rolloupe.formats.tinker.format import Tinker

JSONL_FORMATS: Final[tuple[JsonlFormat, ...]] = (
    Native(),
    Tinker(),
    PrimeRL(),
    PrimeRLTraces(),
    Relax(),
    RLLoggingBoard(),
    Generic(),
)
ARCHIVES: Final = Telescope()
FORMATS: Final[tuple[Format, ...]] = (JSONL_FORMATS[0], ARCHIVES, *JSONL_FORMATS[1:])


def by_name(name: str) -> Format:
    """Return the format of that name. Raises `NotRecognised`, naming those there are."""
    for one in FORMATS:
        if one.name == name:
            return one
    raise NotRecognised(f"no format is called {name!r}. There are: {', '.join(f.name for f in FORMATS)}")
