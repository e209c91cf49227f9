"""What each tool is made of: a name, arguments, and a function that answers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from rolloupe.errors import BadQuery, IncompleteIndex
from rolloupe.mcp.answer import Page

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs

WAIT_S = 20.0
"""How long an answer waits for the index; clients give up after a minute."""


class RunArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every tool may be given."""

    run: Annotated[str, Meta(description="The id of the run; needed only if there are several.")] = ""
    cursor: Annotated[str, Meta(description="Where to go on, as the last answer to the same question says.")] = ""


class WindowArguments(RunArguments, frozen=True, kw_only=True):
    """A part of a run."""

    split: Annotated[str, Meta(description="A split, such as train. Default: train, or the first one.")] = ""
    step_min: Annotated[int | None, Meta(description="The first step.")] = None
    step_max: Annotated[int | None, Meta(description="The last step, inclusive.")] = None


class Tool(NamedTuple):
    """One tool."""

    name: str
    about: str
    """What it answers, for the agent."""
    arguments: type[RunArguments]
    answer: "Callable[[Runs, Any], Page]"


def run_of(runs: "Runs", arguments: RunArguments, *, texts: bool = False) -> "Run":
    """Return the run in question, indexed. Raises `NotFound`, and `IncompleteIndex` if it takes long."""
    run = runs.run(arguments.run) if arguments.run else runs.only()
    if not run.wait(WAIT_S, texts=texts):
        done, total = run.indexed_bytes()
        raise IncompleteIndex(
            f"the run is being indexed: {done:,} of {total:,} bytes, then texts; ask again in a while"
        )
    return run


def split_of(run: "Run", name: str) -> str:
    """Return the split in question: `train`, or the first one. Raises `BadQuery` for an unknown one."""
    names = [one.name for one in run.splits()]
    if name and name not in names:
        raise BadQuery(f"no split {name!r}; there are: {', '.join(names)}")
    return name or next(iter(names), "")
