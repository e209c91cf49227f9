"""Commands that ask a declared question: their options follow from its fields."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from rolloupe.cli import options
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps
from rolloupe.cli.terminal import print_table, tell
from rolloupe.questions import QUESTIONS, Question

if TYPE_CHECKING:
    from rolloupe.api import Run

STEPS = {"step_min", "step_max"}
"""Two fields that are one option, `--steps A:B`."""


class Answers(NamedTuple):
    """What a command has to show."""

    runs: "Sequence[Run]"
    as_json: bool
    each: "Iterator[tuple[Run, Any]]"
    """The answers of these runs, one after the other: each is asked for when its turn comes."""


def asks(name: str, *, examples: Sequence[Example]) -> Callable[[Callable[..., int | None]], click.Command]:
    """Make a command that asks a question of the runs that it is given, and has a function show the answers.

    The function takes `Answers`, and the options that it declares itself. It may return an exit code.
    """
    question = QUESTIONS[name]

    def decorate(show: Callable[..., int | None]) -> click.Command:
        own = {*inspect.signature(show).parameters} - {"answers"}

        def command(run_id: str | None, as_json: bool, **given: Any) -> int:
            mine = {option: given.pop(option) for option in own}
            asked = _asked(question, given)
            is_derived = question.needs == "derived"
            with options.opened(
                options.place_of(**given), run_id=run_id, texts=is_derived, state_dir=mine.get("state_dir")
            ) as runs:
                if not len(runs):
                    options.explain_nothing(runs)
                    return NOTHING
                chosen = options.chosen(runs, run_id)
                each = ((run, run.ask(asked)) for run in chosen)
                return show(Answers(chosen, as_json, each), **mine) or OK

        command.__doc__ = show.__doc__
        made = options.reading(command)
        made = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")(made)
        made.__dict__["__click_params__"] += getattr(show, "__click_params__", [])
        for option in reversed(_options(question)):
            made = option(made)
        return click.command(name, cls=Command, examples=examples)(options.paths(options.one_run(made)))

    return decorate


def _options(question: Question) -> list[Callable[[Any], Any]]:
    """The options of a question, in the order of its fields."""
    found = []
    for field, (kind, description) in question.options().items():
        if field not in STEPS:
            flag, metavar = f"--{field.replace('_', '-')}", {str: "NAME", bool: None}.get(kind, "N")
            found.append(click.option(flag, type=kind, is_flag=kind is bool, metavar=metavar, help=description))
    if {*question.query.__struct_fields__} >= STEPS:
        about = "Only these steps, both ends included; or one step."
        found.append(click.option("--steps", callback=options.steps_of, metavar="A:B", help=about))
    return found


def _asked(question: Question, given: dict[str, Any]) -> Any:
    """What the options ask; they are taken from those that were given."""
    step_min, step_max = given.pop("steps", None) or (None, None)
    values = {field: given.pop(field) for field in question.options() if field not in STEPS}
    values |= {"step_min": step_min, "step_max": step_max} if {*question.query.__struct_fields__} >= STEPS else {}
    return question.asked({field: value for field, value in values.items() if value is not None})


def plain_command(name: str) -> click.Command:
    """Return the command of a question that no module has: it prints the facts of the answer, then its rows."""
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

    show.__doc__ = question.about
    return asks(name, examples=(Example(f"rolloupe {name} RUN_DIR --json", "For a program"),))(show)


def print_json(run: "Run", *records: Any) -> None:
    """Print records of an answer, a line each, with the run that they are of."""
    for record in records:
        tell(dumps({"run": run.id, **msgspec.to_builtins(record)}))
