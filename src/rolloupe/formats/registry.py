"""All formats, in the order in which discovery asks them: the most specific first.

Formats of other packages come after Rolloupe's own layout, whose runs carry a marker, and before all others. They
register through the entry point group `rolloupe.formats`: the entry's name is that of the format, its value the class.
Nothing is imported before it is needed.
"""

import importlib
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from rolloupe.errors import NotRecognised, words_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from rolloupe.formats.base import Format

BUILT_IN: Final = {
    "native": "native.format:Native",
    "telescope": "telescope.format:Telescope",
    "tinker": "tinker.format:Tinker",
    "prime_rl": "prime_rl.exports:PrimeRL",
    "prime_rl_traces": "prime_rl.traces:PrimeRLTraces",
    "relax": "relax:Relax",
    "slime": "slime.format:Slime",
    "miles": "slime.miles:Miles",
    "rl_logging_board": "rl_logging_board:RLLoggingBoard",
    "verl": "verl:Verl",
    "trl": "trainers.trl:TRL",
    "ms_swift": "trainers.trl:MsSwift",
    "skyrl": "trainers.skyrl:SkyRL",
    "areal": "trainers.areal:AReaL",
    "roll": "trainers.roll:Roll",
    "open_instruct": "trainers.open_instruct:OpenInstruct",
    "nemo_rl": "trainers.nemo:NemoRL",
    "verifiers": "trainers.verifiers:Verifiers",
    "nemo_gym": "trainers.nemo:NemoGym",
    "art": "trainers.art:Art",
    "atropos": "trainers.atropos:Atropos",
    "tviz": "trainers.tviz:Tviz",
    "inspect": "inspect_logs:InspectLogs",
    "harbor": "harbor:Harbor",
    "trackio": "trackers.trackio:Trackio",
    "wandb": "trackers.table_files:WeightsAndBiases",
    "tensorboard": "trackers.tensorboard:TensorBoard",
    "swanlab": "trackers.table_files:SwanLab",
    "mlflow": "trackers.mlflow:MLflow",
    "generic": "generic.format:Generic",
    "curves": "curve_files:Curves",
}
"""One line for each format: its name, and the module and class below `rolloupe.formats`."""

GROUP: Final = "rolloupe.formats"


class BrokenFormat(NamedTuple):
    """A format of another package that could not be loaded."""

    name: str
    origin: str
    reason: str

    def __str__(self) -> str:
        return f"the format {self.name} of {self.origin} could not be loaded: {self.reason}"


class OtherFormats(NamedTuple):
    """The formats of other packages."""

    loaded: "dict[str, Format]"
    broken: list[BrokenFormat]


def by_name(name: str) -> "Format":
    """Return the format of that name. Raises `NotRecognised`, which lists the known names."""
    if name in BUILT_IN:
        return _built_in(name)
    others = other_formats()
    if name in others.loaded:
        return others.loaded[name]
    for broken in others.broken:
        if broken.name == name:
            raise NotRecognised(f"{broken}. Next: update or remove {broken.origin}")
    names = ", ".join(reader.name for reader in all_formats())
    raise NotRecognised(f"no format is called {name!r}. There are: {names}")


def all_formats() -> "tuple[Format, ...]":
    """Return every format, in the order of discovery."""
    first, *rest = built_in_formats()
    return (first, *other_formats().loaded.values(), *rest)


def built_in_formats() -> "tuple[Format, ...]":
    """Return Rolloupe's own formats."""
    return tuple(map(_built_in, BUILT_IN))


@cache
def other_formats() -> OtherFormats:
    """Load the formats of other packages, once in a process."""
    from importlib.metadata import entry_points

    found = OtherFormats({}, [])
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (entry.name, _origin(entry))):
        try:
            found.loaded[entry.name] = _checked(entry, found.loaded)
        except (Exception, SystemExit) as error:  # any exception of its module at import
            found.broken.append(BrokenFormat(entry.name, _origin(entry), words_of(error)))
    return found


@cache
def _built_in(name: str) -> "Format":
    from rolloupe.formats.base import Format

    module, _, kind = BUILT_IN[name].partition(":")
    instance = getattr(importlib.import_module(f"rolloupe.formats.{module}"), kind)()
    assert isinstance(instance, Format)
    return instance


def _checked(entry: "EntryPoint", loaded: "dict[str, Format]") -> "Format":
    """Load an entry point. Raises whatever its module raises, and TypeError or ValueError for an invalid format."""
    from rolloupe.formats.base import Format

    kind = entry.load()
    if not (isinstance(kind, type) and issubclass(kind, Format)):
        raise TypeError(f"{entry.value} is not a subclass of rolloupe.formats.Format")
    instance = kind()
    if getattr(instance, "name", None) != entry.name or not isinstance(getattr(instance, "title", None), str):
        raise ValueError(f"{entry.value} must have the name {entry.name!r}, as its entry point has, and a title")
    if entry.name in BUILT_IN or entry.name in loaded:
        raise ValueError("another format has this name")
    return instance


def _origin(entry: "EntryPoint") -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
