"""Questions about a run, each declared once: what may be asked, and the function that answers.

Every face follows from a declaration: the route and its parameters, the TypeScript types and the function that asks,
the options of the command and its `--json`, the tool of an agent, and `Run.ask`. A face adds words and tables of its
own, nothing else.

A new question takes its record and a line of `QUESTIONS` here, and a function `(run, asked) -> answer` in the room that
knows the answer. An answer is a `Struct` whose fields have docstrings. Functions are named, not imported: this module
is on the lowest floor, so that a command shows its help without loading what answers it.
"""

import inspect
from collections.abc import Callable
from functools import cached_property
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, get_args, get_type_hints

from msgspec import Meta, Struct, to_builtins

INT64 = 2**63
Step = Annotated[int, Meta(ge=-INT64, le=INT64 - 1)]


class Query(Struct, frozen=True, kw_only=True):
    """What is asked of a run. Every field has a default, and a description for the people and agents who ask."""


class StepWindow(Query, frozen=True, kw_only=True):
    """Some of the steps of a run; both ends belong to it."""

    step_min: Annotated[Step | None, Meta(description="The first step.")] = None
    step_max: Annotated[Step | None, Meta(description="The last step, inclusive.")] = None


class Window(StepWindow, frozen=True, kw_only=True):
    """Some of the steps of a split."""

    split: Annotated[str, Meta(description="A split, such as train. Default: train, or the first one.")] = ""


Env = Annotated[str | None, Meta(description="Only samples of this environment.")]
Correct = Annotated[str, Meta(description="The sample metric that says what is correct, if its name does not say so.")]


class FindingQuery(Window, frozen=True, kw_only=True):
    """What findings are over."""

    env: Env = None
    correct: Correct = ""


class PartQuery(Window, frozen=True, kw_only=True):
    """Of which samples the parts of the reward are explained."""

    env: Env = None


class GradientQuery(StepWindow, frozen=True, kw_only=True):
    """Which trained samples to look at."""

    env: Env = None
    correct: Correct = ""
    bins: Annotated[int, Meta(ge=0, description="At most so many ranges of steps. Default: each step by itself.")] = 0


class LintQuery(StepWindow, frozen=True, kw_only=True):
    """Which samples to check."""

    split: Annotated[str, Meta(description="One split. Default: all.")] = ""


class Question(Struct, frozen=True, dict=True):
    """A question, what it needs, and where its answer comes from."""

    name: str
    """Of its route, command, tool and method."""
    query: type[Query]
    place: str
    """The function that answers, as `module:name`."""
    needs: Literal["numbers", "derived"] = "numbers"
    """What must be indexed before the answer is whole."""
    pool: Literal["questions", "looks"] = "questions"
    """Which threads of a server answer it: `looks` are few, for answers that take seconds and much memory."""
    version: str = ""
    """A function `(run, asked) -> str` that changes with the answer, as `module:name`. Default: the run's version."""

    @cached_property
    def answer(self) -> Callable[[Any, Any], Any]:
        """The function that answers."""
        function: Callable[[Any, Any], Any] = resolve_name(self.place)
        return function

    @property
    def record(self) -> type[Struct]:
        """The record of the answer."""
        record: type[Struct] = get_type_hints(self.answer)["return"]
        return record

    @property
    def about(self) -> str:
        """What it answers, in a sentence or two."""
        return str(inspect.getdoc(self.answer)).partition(" Raises")[0].partition("\n\n")[0]

    def divided(self, answer: Struct) -> tuple[dict[str, Any], str, list[Any]]:
        """Return an answer as plain facts, the name of its first list of records, and these; empty without one."""
        facts = to_builtins(answer)
        lists = [name for name in facts if isinstance(facts[name], list) and facts[name]]
        name = next((name for name in lists if isinstance(facts[name][0], dict)), "")
        return facts, name, facts.pop(name, [])

    def version_of(self, run: Any, asked: Query) -> str:
        """Return what changes whenever the answer may."""
        return str(resolve_name(self.version)(run, asked) if self.version else run.version)


def descriptions(query: type[Query]) -> dict[str, tuple[type, str]]:
    """Return the type of each field of a question without its None, and its description."""
    found: dict[str, tuple[type, str]] = {}
    for name, hint in get_type_hints(query, include_extras=True).items():
        (described,) = (note.description for note in hint.__metadata__ if isinstance(note, Meta) and note.description)
        kinds = [kind for kind in (str, int, float) if kind in _types_in(hint)]
        found[name] = kinds[0], described
    return found


def _types_in(hint: Any) -> list[Any]:
    inner = get_args(hint)
    return [hint, *(kind for part in inner for kind in _types_in(part))]


_FINDINGS_VERSION = "rolloupe.insight.findings:version_of"

QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        Question("findings", FindingQuery, "rolloupe.insight.findings:findings", "derived", "looks", _FINDINGS_VERSION),
        Question("gradient", GradientQuery, "rolloupe.insight.gradient:gradient"),
        Question("parts", PartQuery, "rolloupe.insight.parts:parts", "derived", "looks", _FINDINGS_VERSION),
        Question("lint", LintQuery, "rolloupe.insight.lint:lint", "derived"),
    )
}
"""By name."""
