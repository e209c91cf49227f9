"""Commands that ask a declared question: their options follow from its fields."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from rolloupe.cli.frame import OK
from rolloupe.cli.options import OutputOptions, command, records_in
from rolloupe.cli.runs import opened
from rolloupe.cli.terminal import print_table, tell, tell_json
from rolloupe.questions import QUESTIONS, Query
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run


class Answers(NamedTuple):
    """The answers that a command shows."""

    runs: "Sequence[Run]"
    as_json: bool
    each: "Iterator[tuple[Run, Any]]"
    """Each run with its answer; each question is asked when the iteration reaches the run."""


def asks(name: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a command that asks a question of the runs that it is given, and has a function show the answers.

    The function takes `Answers`, and records of options of its own. It may return an exit code.
    """
    question = QUESTIONS[name]

    def decorate(show: Callable[..., int | None]) -> click.Command:
        records: dict[str, type[Any]] = {
            "query": question.query,
            **records_in(show),
            "output": OutputOptions,
        }

        def ask(place: RunPaths, query: Query, output: OutputOptions, **own: Any) -> int:
            state_dir = getattr(own.get("asked"), "state_dir", None)
            with opened(place, texts=question.needs == "derived", state_dir=state_dir) as runs:
                each = map(lambda run: (run, run.ask(query)), runs)  # noqa: C417  # it goes on after an error
                return show(Answers(runs, output.as_json, each), **own) or OK

        ask.__name__, ask.__doc__ = name, show.__doc__
        return command(records=records)(ask)

    return decorate


def plain_command(name: str) -> click.Command:
    """Return the command of a question without a module: it prints the facts of the answer, then its rows."""
    question = QUESTIONS[name]

    def show(answers: Answers) -> None:
        for run, answer in answers.each:
            facts = msgspec.to_builtins(answer)
            rows = facts.pop(question.rows)
            if answers.as_json:
                print_json(run, facts, *rows)
                continue
            named = (f"{fact} {value}" for fact, value in facts.items() if value not in (None, "", [], {}))
            tell(f"{run.id}: {', '.join(named)}")
            if rows:
                print_table([*rows[0]], [[str(value) for value in row.values()] for row in rows])

    show.__doc__ = f"{question.about}\n\nExamples:\nrolloupe {name} RUN_DIR --json # For a program"
    return asks(name)(show)


def print_json(run: "Run", *records: Any) -> None:
    """Print records of an answer, one JSON object a line, each with the id of its run."""
    for record in records:
        tell_json({"run": run.id, **msgspec.to_builtins(record)})
