"""The parts of a tool: a name, arguments, and a function that answers."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import msgspec
from msgspec import Meta, Struct, structs, to_builtins

from rolloupe.errors import BadQuery, IncompleteIndex
from rolloupe.mcp.answer import Page, start_of
from rolloupe.questions import QUESTIONS

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs

WAIT_S = 20.0
"""How long an answer waits for the index; clients give up after a minute."""

Field = tuple[str, Any] | tuple[str, Any, Any]
"""The name of an argument, its type, and its default if it has one."""
Facts = dict[str, Any]
Show = Callable[["Run", Any, Any], tuple[Facts, Iterable[Any]]]
"""Makes facts and rows from a run, the arguments, and the answer."""


class RunArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of every tool."""

    run: Annotated[str, Meta(description="The id of the run; needed only if there are several.")] = ""
    cursor: Annotated[str, Meta(description="Where to go on, as the last answer to the same question says.")] = ""


class Tool(NamedTuple):
    """One tool."""

    name: str
    about: str
    """Tells the agent what it answers."""
    arguments: type[RunArguments]
    answer: "Callable[[Runs, Any], Page]"


def tool(answer: "Callable[[Runs, Any], Page]") -> Tool:
    """Return the tool of a function: its name, the record of its arguments, and its docstring, which an agent reads."""
    about = " ".join((answer.__doc__ or "").split())
    return Tool(answer.__name__, about, answer.__annotations__["asked"], answer)


def asks(name: str, rows: str, *more: Field) -> Callable[[Show], Tool]:
    """Make a tool that asks a declared question of a function that divides the answer into facts and `rows`.

    The name of the function is that of the tool, and its docstring is for the agent. `more` are arguments of the tool
    alone.
    """
    question, chosen = QUESTIONS[name], QUESTIONS[name].fields()
    fields = [(one.name, one.type, one.default) for one in structs.fields(question.query) if one.name in chosen]
    arguments = msgspec.defstruct(
        f"{name.capitalize()}Arguments", [*fields, *more], bases=(RunArguments,), kw_only=True, frozen=True,
        forbid_unknown_fields=True,
    )  # fmt: skip

    def decorate(show: Show) -> Tool:
        def answer(runs: "Runs", asked: Any) -> Page:
            run, start = run_of(runs, asked, texts=question.needs == "derived"), start_of(asked.cursor)
            given = {name: value for name, value in structs.asdict(asked).items() if name in chosen}
            facts, found = show(run, asked, run.ask(question.name, **given))
            return Page(facts, islice(found, start, None), rows, start)

        about = " ".join((show.__doc__ or "").split())
        return Tool(show.__name__, about, cast("type[RunArguments]", arguments), answer)

    return decorate


def plain_tool(name: str) -> Tool:
    """Return the tool of a question without a module here: it answers with the whole record."""
    question = QUESTIONS[name]

    def show(_: "Run", __: Any, answer: Any) -> tuple[Facts, list[Any]]:
        facts = to_builtins(answer)
        return facts, facts.pop(question.rows)

    return asks(name, question.rows)(show)._replace(name=name, about=question.about)


def run_of(runs: "Runs", arguments: Any, *, texts: bool = False) -> "Run":
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
    names = [split.name for split in run.splits()]
    if name and name not in names:
        raise BadQuery(f"no split {name!r}; there are: {', '.join(names)}")
    return name or next(iter(names), "")
