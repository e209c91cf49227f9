"""Questions about a run, each declared once: what may be asked, and the function that answers.

Every face follows from a declaration: the route and its parameters, the TypeScript types and the function that asks,
the options of the command and its `--json`, the tool of an agent, and `Run.ask`. A face adds words and tables of its
own, nothing else. What an answer holds is therefore public: a field that is renamed is renamed for everybody.

A new question takes its record and a line of `QUESTIONS` here, and a function `(run, asked) -> answer` in the room that
knows the answer. An answer is a `Struct` whose fields have docstrings. Functions are named, not imported: this module
is on a low floor, so that a command shows its help without loading what answers it.
"""

from collections.abc import Callable
from functools import cached_property
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, get_args, get_type_hints

from msgspec import Meta, Struct, ValidationError, convert

from rolloupe.errors import BadQuery

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
    bins: Annotated[int, Meta(ge=0, description="At most so many ranges of steps.", extra={"face": "page"})] = 0
    """0: each step by itself."""


class LintQuery(StepWindow, frozen=True, kw_only=True):
    """Which samples to check."""

    split: Annotated[str, Meta(description="One split. Default: all.")] = ""


class Question(Struct, frozen=True, kw_only=True, dict=True):
    """A question, what it needs, and where its answer comes from."""

    name: str
    """Of its route, its command and its tool; words have hyphens between."""
    about: str
    """What it answers, in a sentence."""
    query: type[Query]
    """The record of what is asked; no two questions share one."""
    place: str
    """The function that answers, as `module:name`."""
    rows: str
    """The list of records in the answer that a table shows, and of which `--json` prints a line each."""
    needs: Literal["numbers", "derived"] = "numbers"
    """What must be indexed before the answer is whole."""
    pool: Literal["questions", "looks"] = "questions"
    """Which threads of a server answer it: `looks` are few, for answers that take seconds and much memory."""
    version: str = ""
    """A function `(run, asked) -> str` that changes with the answer, as `module:name`. Default: the run's version."""
    tool: bool = True
    """False where another tool has the answer."""

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

    def version_of(self, run: Any, asked: Query) -> str:
        """Return what changes whenever the answer may."""
        return str(resolve_name(self.version)(run, asked) if self.version else run.version)

    def asked(self, values: dict[str, Any]) -> Query:
        """Return the question with these fields. Raises `BadQuery`, which names the wrong one."""
        try:
            return convert(values, self.query)
        except ValidationError as error:
            raise BadQuery(f"{self.name}: {error}") from None

    def options(self) -> dict[str, tuple[type, str]]:
        """Return the fields that people and agents choose, each with its type without None and its description."""
        found: dict[str, tuple[type, str]] = {}
        for name, hint in get_type_hints(self.query, include_extras=True).items():
            notes = [note for note in hint.__metadata__ if isinstance(note, Meta)]
            if not any((note.extra or {}).get("face") == "page" for note in notes):
                kind = next(kind for kind in (str, bool, int, float) if kind in _types_in(hint))
                found[name] = kind, next(note.description or "" for note in notes)
        return found


def _types_in(hint: Any) -> list[Any]:
    return [hint, *(kind for part in get_args(hint) for kind in _types_in(part))]


QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        Question(
            name="findings",
            about="What the reward pays for: phrases and behaviours, those that matter most first.",
            query=FindingQuery,
            place="rolloupe.insight.findings:findings",
            rows="findings",
            needs="derived",
            pool="looks",
            version="rolloupe.insight.findings:version_of",
        ),
        Question(
            name="gradient",
            about="Where the gradient of the trained samples came from.",
            query=GradientQuery,
            place="rolloupe.insight.gradient:gradient",
            rows="by_length",
        ),
        Question(
            name="parts",
            about="What each part of the reward pays for, as a formula.",
            query=PartQuery,
            place="rolloupe.insight.parts:parts",
            rows="parts",
            needs="derived",
            pool="looks",
            version="rolloupe.insight.findings:version_of",
            tool=False,  # findings lists the formulas
        ),
        Question(
            name="lint",
            about="What is wrong with the samples, the certain rules first.",
            query=LintQuery,
            place="rolloupe.insight.lint:lint",
            rows="broken",
            needs="derived",
        ),
    )
}
"""By name."""
