"""The options of commands: a command takes records, and its options follow from their fields."""

import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints

import click
from msgspec import NODEFAULT, Struct, structs

from rolloupe.cli.frame import Command
from rolloupe.cli.terminal import complain, tell
from rolloupe.errors import NotRecognised, RolloupeError
from rolloupe.formats import BUILT_IN
from rolloupe.model import Reading
from rolloupe.questions import option, types_in
from rolloupe.server.settings import RunPaths

T = TypeVar("T")

STEPS = {"step_min", "step_max"}
"""Two fields that are one option, `--steps A:B`."""


def with_paths(place: RunPaths, paths: Sequence[str]) -> RunPaths:
    """Return the runs at these paths. A usage error without a path, or for an empty one."""
    if not paths:
        raise click.UsageError("Missing argument 'PATH...'. Name a folder or a file of a run.")
    if "" in (*paths, place.index_dir):
        raise click.UsageError("An empty PATH or --index-dir names nothing.")
    return place._replace(paths=tuple(paths))


def with_tokenizer(reading: Reading) -> Reading:
    """Offer to fetch a tokenizer that this machine lacks; go on without it where nobody can answer or wants it."""
    name = reading.tokenizer
    if not name or reading.download_tokenizer:
        return reading
    from rolloupe.tokenizer import is_missing_model

    if not is_missing_model(name):
        return reading
    lacks = f"The tokenizer {name} is not on this machine."
    if sys.stdin.isatty() and sys.stderr.isatty():
        if click.confirm(f"{lacks} Fetch its data from the Hugging Face hub?", default=True, err=True):
            return structs.replace(reading, download_tokenizer=True)
    else:
        complain(f"{lacks} Token ids are shown as numbers; --download-tokenizer fetches it.")
    return structs.replace(reading, tokenizer="")


def format_of(value: str) -> str:
    """Check the name of a format."""
    from rolloupe.formats import by_name

    try:
        return by_name(value).name
    except NotRecognised as error:
        raise click.BadParameter(str(error)) from None


def fields_of(value: str) -> tuple[tuple[str, str], ...]:
    """Read the pairs or the file of `--map`."""
    from rolloupe.formats import fields_in

    try:
        return fields_in(value)
    except RolloupeError as error:
        raise click.BadParameter(str(error)) from None


SIZE = re.compile(r"(?P<number>\d{1,9}(?:\.\d{1,9})?)\s*(?P<unit>[kmgt]?)(?P<binary>i?)b?", re.IGNORECASE)


def size_of(value: str) -> int:
    """Read a number of bytes: `500MB`, `20GiB`, `1000000`."""
    match = SIZE.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"{value!r} is not a size; examples: 500MB, 20GiB")
    base = 1024 if match["binary"] else 1000
    return int(float(match["number"]) * base ** " kmgt".index(match["unit"].lower() or " "))


def range_of(value: str) -> tuple[float, float]:
    """Read `LO:HI`."""
    low, _, high = value.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        bounds = math.nan, math.nan
    if not (math.isfinite(bounds[0]) and bounds[0] < bounds[1] < math.inf):
        raise click.BadParameter(f"{value!r} is not a range; examples: 0:1, -1:1")
    return bounds


def steps_of(value: str) -> tuple[int | None, int | None]:
    """Read one step, `12`, or an inclusive range with one or both ends: `3:7`, `3:`, `:7`."""
    low, colon, high = value.partition(":")
    try:
        first = int(low) if low or not colon else None
        last = first if not colon else int(high) if high else None
    except ValueError:
        message = f"{value!r} is neither a step nor a range of steps; examples: 12, 3:7, 3:, :7"
        raise click.BadParameter(message) from None
    if first is not None and last is not None and first > last:
        raise click.BadParameter(f"the range {value!r} is empty; write {last}:{first}")
    return first, last


def into_environment(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Return the callback of an option that the storage and the processes that index read from the environment."""

    def set_variable(_: click.Context, __: click.Parameter, value: Any) -> None:
        if value:
            os.environ[name] = "1" if value is True else value

    return set_variable


def listing(lines: Callable[[], Iterable[str]]) -> dict[str, Any]:
    """Return the settings of an option that makes a command print lines and end."""

    def print_lines(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
        if is_asked and not ctx.resilient_parsing:
            for line in lines():
                tell(line)
            ctx.exit()

    return {"is_eager": True, "expose_value": False, "callback": print_lines}


StepRange = tuple[int | None, int | None] | None


STEP: dict[str, Any] = {
    "about": "One step, or an inclusive range.",
    "metavar": "N|A:B",
    "flags": ("--step",),
    "convert": steps_of,
}
SPLIT: dict[str, Any] = {
    "about": "One split, such as train or eval/aime24; eval stands for every eval/... Default: all."
}
GROUP: dict[str, Any] = {"about": "One group.", "metavar": "ID"}
WHERE: dict[str, Any] = {"about": "Such as 'reward < 0.1 and status = truncated'.", "metavar": "CONDITIONS"}
JSON: dict[str, Any] = {"about": "Print one JSON object on each line.", "flags": ("--json",)}


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """The form of an answer."""

    as_json: bool = option(False, **JSON)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How to read runs."""

    reward_range: tuple[float, float] | None = option(
        None, "The lowest and the highest possible reward.", "LO:HI", convert=range_of
    )
    metrics_step: str = option(
        "",
        "The metric that holds the step in such files; `tracker` is the tracker's own count. Default: what looks "
        "like the trainer's step.",
    )
    metrics: tuple[str, ...] = option(
        (),
        "More curves: of TensorBoard, W&B, SwanLab, trackio or MLflow, CSV or JSON lines. Repeatable. Those in the "
        "folder of a run are found by themselves. With several runs, a file belongs to the run whose name the file or "
        "its folder has.",
        "PATH",
    )
    tokenizer: str = option(
        "",
        "Decode token ids with this: a file or folder of a tokenizer, or the name of a model in the local Hugging "
        "Face cache. Default: what the run holds or names.",
        "PATH|NAME",
    )
    download_tokenizer: bool = option(
        False, "Fetch a tokenizer that is not on this machine from the Hugging Face hub: its data, never code."
    )
    reward_key: str = option("", "Use this sample metric, or this part of a reward object, as the reward.")
    group_by: str = option(
        "",
        "Samples of a step with the same value of this key are a group, instead of what the format finds. Several "
        "keys have commas between; prompt and file, for the file's name, need no key.",
        "COLUMN[,...]",
    )
    fields: tuple[tuple[str, str], ...] = option(
        (),
        "For rows with unusual keys: response=reply.text,reward=grade, or a TOML file of such lines. "
        "response=a+b,reward=1+0 makes two samples of a row.",
        "PAIRS|FILE",
        flags=("--map",),
        convert=fields_of,
    )
    format: str = option(
        "",
        f"Read PATH as this format, whatever its contents: {', '.join(BUILT_IN)}, or one of an installed package.",
        convert=format_of,
    )
    index_dir: str | None = option(
        None,
        "Folder for the index, or an address such as s3://bucket/index, where many share it. Default: the user's "
        "cache directory.",
        "DIR",
    )
    endpoint: str = option(
        "",
        "Address of the object store of another provider, for s3://, gs:// and az://.",
        "URL",
        expose_value=False,
        callback=into_environment("ROLLOUPE_ENDPOINT"),
    )
    anonymous: bool = option(
        False,
        "For public buckets: send requests without credentials.",
        expose_value=False,
        callback=into_environment("ROLLOUPE_ANONYMOUS"),
    )
    follow_symlinks: bool = option(False, "Follow links that lead out of PATH, for clusters that link runs.")


def options_of(record: type[Any]) -> list[click.Parameter]:
    """Return the options of a record, in the order of its fields; a field without a description has none."""
    if not issubclass(record, Struct):
        hints = get_type_hints(record)
        return [_option(field, hints[field.name], {**field.metadata}) for field in fields(record) if field.metadata]
    options: list[click.Parameter] = []
    for field in structs.fields(record):  # of a question
        meta = field.type.__metadata__[0]
        if field.name not in STEPS and (meta.extra or {}).get("face") != "page":
            options.append(_option(field, field.type, {"help": meta.description}))
    if {*record.__struct_fields__} >= STEPS:
        about = "Only these steps, both ends included; or one step."
        options.append(click.Option(["--steps"], type=steps_of, metavar="A:B", help=about))
    return options


def _option(field: Field[Any] | structs.FieldInfo, hint: Any, settings: dict[str, Any]) -> click.Option:
    flags = settings.pop("flags", (f"--{field.name.replace('_', '-')}",))
    types = types_in(hint)
    kind = next(kind for kind in (Path, str, bool, int, float) if kind in types)
    if "type" not in settings:
        settings.setdefault("metavar", "NAME" if kind is str else None if kind is bool else "N")
    convert = settings.pop("convert", None)
    if kind is bool:
        settings["is_flag"] = True
    elif convert:
        settings["type"] = size_of if convert == "size" else convert  # `size`: the name of this type on a lower floor
    else:
        settings["multiple"] = any(get_origin(one) is tuple for one in types)
        settings.setdefault("type", click.Path(path_type=Path) if kind is Path else kind)
    low, high = settings.pop("bounds", (None, None))
    if (low, high) != (None, None):
        settings["type"] = click.IntRange(low, high) if kind is int else click.FloatRange(low, high)
    if field.default in (MISSING, NODEFAULT):
        settings["required"] = True
    elif field.default is not None and (not convert or settings.get("show_default")):
        settings["default"] = field.default
    return click.Option([*flags, field.name], **settings)


DATA_DIR = click.Option(["--data-dir", "data_dirs"], multiple=True, metavar="PATH", help="The same as PATH.")
PATHS = (click.Argument(["paths"], nargs=-1, metavar="PATH..."), DATA_DIR)
RUN = click.Option(["--run", "run_id"], metavar="ID", help="Only this run; `rolloupe ls PATH` has the ids.")


def words(metavar: str) -> tuple[click.Parameter, ...]:
    """Return the arguments of a command whose words are not all paths: it gets them in the field `words`."""
    return click.Argument(["words"], nargs=-1, metavar=metavar), DATA_DIR


def records_in(function: Callable[..., Any]) -> dict[str, type[Any]]:
    """Return the records of options that a function takes, by the names of its parameters."""
    hints = {name: parameter.annotation for name, parameter in inspect.signature(function).parameters.items()}
    return {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}


def command(
    *,
    arguments: Sequence[click.Parameter] = PATHS,
    has_run: bool = True,
    reads: bool = True,
    records: Mapping[str, type[Any]] | None = None,
    only_here: bool = False,
) -> Callable[[Callable[..., int | None]], Command]:
    """Make a command of a function, which takes records of options by name, and `place` if the command reads runs."""

    def decorate(function: Callable[..., int | None]) -> Command:
        taken = records_in(function) if records is None else records
        params = [*arguments, *([RUN] if has_run else [])]
        for record in taken.values():
            params += options_of(record)
        params += options_of(ReadingOptions) if reads else []

        def call(**given: Any) -> int | None:
            parts: dict[str, Any] = {name: record_of(record, given) for name, record in taken.items()}
            if reads:
                reading: dict[str, Any] = asdict(record_of(ReadingOptions, given))
                index_dir = reading.pop("index_dir")
                del reading["endpoint"], reading["anonymous"]  # are in the environment
                dirs = given.get("data_dirs", ())
                place = RunPaths(dirs, index_dir, with_tokenizer(Reading(**reading)), given.get("run_id"))
                parts["place"] = with_paths(place, [*given["paths"], *dirs]) if "paths" in given else place
            return function(**parts)

        about = function.__doc__ or ""
        return Command(function.__name__, params=params, callback=call, help=about, only_here=only_here)

    return decorate


def record_of(record: type[T], given: Mapping[str, Any]) -> T:
    """Return a record with the options that were given; the others have its defaults."""
    values = {name: given[name] for name in get_type_hints(record) if given.get(name) is not None}
    if issubclass(record, Struct) and {*record.__struct_fields__} >= STEPS:
        values["step_min"], values["step_max"] = given["steps"] or (None, None)
    return record(**values)
