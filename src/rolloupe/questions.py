"""Questions about a run, each declared once: what may be asked, and the function that answers.

Every face follows from a declaration: the route and its parameters, the TypeScript types and the function that asks,
the options of the command and its `--json`, the tool of an agent, and `Run.ask`. A face adds words and tables of its
own, nothing else. The fields of an answer are therefore public: renaming a field renames it for everybody.

A new question takes a record here, with the decorator `question`, and a function `(run, asked) -> answer` in the room
that knows the answer. An answer is a `Struct` whose fields have docstrings. Functions are named, not imported: this
module is on a low floor, so that a command shows its help without loading the function that answers.
"""

from collections.abc import Callable
from dataclasses import MISSING, field
from functools import cached_property
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

from msgspec import Meta, Struct, ValidationError, convert

from rolloupe.errors import BadQuery

INT64 = 2**63
Step = Annotated[int, Meta(ge=-INT64, le=INT64 - 1)]
FirstStep = Annotated[int | None, Meta(description="The first step.")]
LastStep = Annotated[int | None, Meta(description="The last step, inclusive.")]
UsualSplit = Annotated[str, Meta(description="A split, such as train. Default: train, or the first one.")]


def option(
    default: Any, about: str, metavar: str | None = None, ge: float | None = None, le: float | None = None, **more: Any
) -> Any:
    """Return a field that a person chooses on the command line, required if its default is `...`.

    `more` are settings of its `click.Option`.
    """
    named = {"metavar": metavar} if metavar else {}
    settings = {"help": about, "bounds": (ge, le), **named, **more}
    return field(default=MISSING if default is ... else default, metadata=settings)


def types_in(hint: Any) -> list[Any]:
    """Return a type and the types in it."""
    return [hint, *(kind for part in get_args(hint) for kind in types_in(part))]


class Query(Struct, frozen=True, kw_only=True):
    """The record of a question about a run. Every field has a description for the people and agents who ask."""


class Question(Struct, frozen=True, kw_only=True, dict=True):
    """A question, what it needs, and where its answer comes from."""

    name: str
    """The name of its route, its command and its tool, with hyphens between words."""
    about: str
    """What it answers, in a sentence."""
    query: type[Query]
    """The record of what is asked; no two questions share one. Commands and tools need a default for every field."""
    place: str
    """The function that answers, as `module:name`."""
    rows: str = ""
    """The list of records in the answer: the rows of a table, the lines of `--json`. Only the page and Python ask a
    question without rows."""
    needs: Literal["numbers", "derived"] = "numbers"
    """What must be indexed before the answer is whole."""
    pool: Literal["questions", "looks"] = "questions"
    """Which threads of a server answer it: `looks` are few, for answers that take seconds and much memory."""
    is_cached: bool = True
    """False for an answer that depends on more than the run's version, such as the trainer's files."""
    version: str = ""
    """A function `(run, asked) -> str` that changes with the answer, as `module:name`. Default: the run's version."""
    tool: bool = True
    """False where another tool has the answer."""
    judged: bool = False
    """True if the answer depends on the judgements of the person who asks."""

    @property
    def has_tool(self) -> bool:
        """True if a tool of an agent asks it."""
        return self.tool and bool(self.rows)

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
        """Return a string that changes whenever the answer may change."""
        return str(resolve_name(self.version)(run, asked) if self.version else run.version)

    def asked(self, values: dict[str, Any]) -> Query:
        """Return the question with these fields. Raises `BadQuery`, which names the wrong one."""
        try:
            return convert(values, self.query)
        except ValidationError as error:
            raise BadQuery(f"{self.name}: {error}") from None

    def fields(self) -> list[str]:
        """Return the fields that people and agents choose: not those of the page alone."""
        hints = get_type_hints(self.query, include_extras=True)
        return [name for name, hint in hints.items() if (hint.__metadata__[0].extra or {}).get("face") != "page"]


QUESTIONS: dict[str, Question] = {}
"""By name."""

AnyQuery = TypeVar("AnyQuery", bound=Query)


def question(name: str, place: str, **needs: Any) -> Callable[[type[AnyQuery]], type[AnyQuery]]:
    """Declare the question that a record asks. The docstring of the record is what it answers."""

    def declare(query: type[AnyQuery]) -> type[AnyQuery]:
        QUESTIONS[name] = Question(name=name, about=query.__doc__ or "", query=query, place=place, **needs)
        return query

    return declare


class StepWindow(Query, frozen=True, kw_only=True):
    """Some of the steps of a run; both ends belong to it."""

    step_min: FirstStep = None
    step_max: LastStep = None


class Window(StepWindow, frozen=True, kw_only=True):
    """Some of the steps of a split."""

    split: UsualSplit = ""


Env = Annotated[str | None, Meta(description="Only samples of this environment.")]
Correct = Annotated[str, Meta(description="The sample metric that says what is correct, if its name does not say so.")]
Split = Annotated[str, Meta(min_length=1, description="The split, such as train.")]
AnySplit = Annotated[str, Meta(description="One split. Default: all.")]
Prompt = Annotated[str, Meta(min_length=1, description="The prompt, by the name that other answers have for it.")]
Judge = Annotated[str, Meta(description="The sample metric that grades answers. Default: the run's own.")]
Bar = Annotated[float | None, Meta(description="The threshold of a correct answer. Default: the run's own.")]
Series = Annotated[str, Meta(min_length=1, description="The token series, such as logprobs.")]


@question("brief", "rolloupe.insight.brief:brief", rows="sentences", needs="derived", pool="looks")
class BriefQuery(Query, frozen=True, kw_only=True):
    """What is worth saying of a run in three sentences, each with the place that shows it."""

    split: UsualSplit = ""


@question(
    "findings",
    "rolloupe.insight.findings:findings",
    rows="findings",
    needs="derived",
    pool="looks",
    version="rolloupe.insight.findings:version_of",
)
class FindingQuery(Window, frozen=True, kw_only=True):
    """What the reward pays for: phrases and behaviours, those that matter most first."""

    env: Env = None
    correct: Correct = ""


@question("gradient", "rolloupe.insight.gradient:gradient", rows="by_length")
class GradientQuery(StepWindow, frozen=True, kw_only=True):
    """Where the gradient of the trained samples came from."""

    env: Env = None
    correct: Correct = ""
    bins: Annotated[int, Meta(ge=0, description="The maximum number of ranges of steps.", extra={"face": "page"})] = 0
    """0: each step by itself."""


@question(
    "parts",
    "rolloupe.insight.reward_components:parts",
    rows="parts",
    needs="derived",
    pool="looks",
    version="rolloupe.insight.findings:version_of",
    tool=False,  # findings lists the formulas
)
class PartQuery(Window, frozen=True, kw_only=True):
    """What each part of the reward pays for, as a formula."""

    env: Env = None


@question("lint", "rolloupe.insight.lint:lint", rows="broken", needs="derived")
class LintQuery(StepWindow, frozen=True, kw_only=True):
    """What is wrong with the samples, the certain rules first."""

    split: AnySplit = ""


@question("discards", "rolloupe.query.steps.moments:discards_answer")
class DiscardQuery(Query, frozen=True, kw_only=True):
    """How many samples were discarded, by step and reason."""

    split: Split


@question("landmarks", "rolloupe.query.run.trainer_files:landmarks", is_cached=False)
class LandmarkQuery(Query, frozen=True, kw_only=True):
    """Where a run saved a checkpoint or was resumed, by step."""


@question("metrics", "rolloupe.query.run.trainer_files:metric_names_answer", is_cached=False)
class MetricNameQuery(Query, frozen=True, kw_only=True):
    """The names of the trainer's metrics."""


@question("columns", "rolloupe.query.run.columns:columns_answer")
class ColumnQuery(Query, frozen=True, kw_only=True):
    """The columns to show, sort and filter samples by."""

    split: Split


@question("complete", "rolloupe.query.run.completion:completion_answer", judged=True)
class CompletionQuery(StepWindow, frozen=True, kw_only=True):
    """How an unfinished filter may go on."""

    split: Split
    step: Annotated[Step | None, Meta(description="One step instead of several.")] = None
    text: Annotated[str, Meta(description="The filter up to the cursor.")] = ""
    trained: Annotated[
        bool | None, Meta(description="Only values of trained samples, or of discarded ones; both by default.")
    ] = None


@question("judging-queue", "rolloupe.insight.judgements:judging_queue", pool="looks", judged=True)
class JudgingQuery(StepWindow, frozen=True, kw_only=True):
    """Which samples to judge next."""

    split: Split
    step: Annotated[Step | None, Meta(description="One step instead of several.")] = None
    where: Annotated[str, Meta(description="A filter: only samples that match it.")] = ""
    discarded: Annotated[bool, Meta(description="Discarded samples instead of trained ones.")] = False
    order: Annotated[
        Literal["random", "strata", "disagreement"],
        Meta(description="At random, low to high rewards in equal shares, or where the reward is most in doubt first."),
    ] = "random"
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, description="Another number gives another random order.")] = 0
    limit: Annotated[int, Meta(ge=1, le=1000, description="The maximum number of samples.")] = 200


@question("agreement", "rolloupe.insight.judgements:agreement", rows="cells", judged=True)
class AgreementQuery(Query, frozen=True, kw_only=True):
    """Whether the reward agrees with the judgements of a person."""

    split: AnySplit = ""
    threshold: Annotated[
        float | None,
        Meta(description="A reward is high from here on. Default: the value that best splits the rewards in two."),
    ] = None
    ids: Annotated[tuple[str, ...], Meta(description="Only these samples.", extra={"face": "page"})] = ()


@question("evals", "rolloupe.query.evals.scores:evals_answer")
class EvalQuery(Query, frozen=True, kw_only=True):
    """Every evaluation by step."""

    metric: Judge = ""
    bar: Bar = None
    k: Annotated[str, Meta(description="The k of pass@k and pass^k, such as 1,4,8. Default: powers of two.")] = ""


@question("grid", "rolloupe.query.evals.scores:grid")
class GridQuery(StepWindow, frozen=True, kw_only=True):
    """The prompts of a split by its steps, a page of them."""

    split: Split
    metric: Judge = ""
    bar: Bar = None
    only: Annotated[str, Meta(description="Only prompts of this verdict, or `unbeaten` ones.")] = ""
    sort: Annotated[str, Meta(description="index, last, change or share.")] = "index"
    offset: Annotated[int, Meta(ge=0, le=INT64 - 1, description="How many prompts to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=500, description="The maximum number of prompts.")] = 100


@question("evals/answers", "rolloupe.query.evals.scores:answers")
class AnswerQuery(Query, frozen=True, kw_only=True):
    """The answers to a prompt at a step, graded."""

    split: Split
    step: Annotated[Step, Meta(description="The step.")]
    prompt: Prompt
    metric: Judge = ""
    bar: Bar = None


@question("prompt-samples", "rolloupe.query.prompts:prompt_samples")
class PromptSampleQuery(Query, frozen=True, kw_only=True):
    """The samples of a prompt at a step."""

    split: Split
    step: Annotated[Step, Meta(description="The step.")]
    prompt: Prompt


@question("prompt", "rolloupe.query.prompts:prompt_life", rows="steps")
class PromptQuery(Query, frozen=True, kw_only=True):
    """How the answers to one prompt changed: the steps where it appears, with its best and its worst sample."""

    id: Annotated[str, Meta(description="A sample with the prompt.")] = ""
    prompt: Annotated[str, Meta(description="The name of the prompt, instead of a sample.")] = ""


@question("step-values", "rolloupe.query.curves.distribution:step_values")
class StepValueQuery(Query, frozen=True, kw_only=True):
    """Sample metrics at one step, with histograms and the values of its samples."""

    split: Split
    step: Annotated[Step, Meta(description="The step.")]
    names: Annotated[tuple[str, ...], Meta(description="Metrics with a histogram and a value for each sample.")] = ()
    also: Annotated[tuple[str, ...], Meta(description="Metrics whose statistics alone are wanted.")] = ()


class TokenScope(StepWindow, frozen=True, kw_only=True):
    """The samples whose tokens count."""

    split: AnySplit = ""
    step: Annotated[Step | None, Meta(description="One step instead of several.")] = None


@question("token-series", "rolloupe.query.run_tokens.statistics:token_series_answer")
class TokenSeriesQuery(TokenScope, frozen=True, kw_only=True):
    """The token series that samples of a run have."""


@question("token-steps", "rolloupe.query.run_tokens.statistics:token_steps_answer")
class TokenStepQuery(TokenScope, frozen=True, kw_only=True):
    """A token series at each step that has values."""

    series: Series


@question("token-positions", "rolloupe.query.run_tokens.statistics:token_positions_answer")
class TokenPositionQuery(Query, frozen=True, kw_only=True):
    """The mean of a token series by position at one step."""

    split: AnySplit = ""
    step: Annotated[Step, Meta(description="The step.")]
    series: Series


@question("token-masks", "rolloupe.query.run_tokens.statistics:token_masks_answer")
class TokenMaskQuery(TokenScope, frozen=True, kw_only=True):
    """What each rule takes out of the loss, by step."""


@question("token-words", "rolloupe.query.run_tokens.words:token_words_answer")
class TokenWordQuery(TokenScope, frozen=True, kw_only=True):
    """Words with most KL, or the most frequent."""

    by: Annotated[str, Meta(description="kl for the words with most KL, tokens for the most frequent.")] = "kl"
    limit: Annotated[int, Meta(ge=1, le=200, description="The maximum number of words.")] = 20


@question("token-changes", "rolloupe.query.run_tokens.words:token_changes_answer")
class TokenChangeQuery(Query, frozen=True, kw_only=True):
    """Words that gain and lose most between two steps."""

    split: Split
    before: Annotated[Step, Meta(description="One step.")]
    after: Annotated[Step, Meta(description="The other step.")]
    by: Annotated[str, Meta(description="probability, or share of all tokens.")] = "probability"
    min_tokens: Annotated[int, Meta(description="The minimum number of tokens of a word.")] = 10
    limit: Annotated[int, Meta(ge=1, le=200, description="The maximum number of words on either side.")] = 20


@question("worst-tokens", "rolloupe.query.run_tokens.token_index:worst_tokens_answer")
class WorstTokenQuery(TokenScope, frozen=True, kw_only=True):
    """The tokens with the most extreme values of a series."""

    group: Annotated[str | None, Meta(description="Only samples of this group.")] = None
    where: Annotated[str, Meta(description="A filter: only samples that match it.")] = ""
    series: Series
    side: Annotated[Literal["high", "low"], Meta(description="The highest values, or the lowest.")] = "high"
    limit: Annotated[int, Meta(ge=1, le=64, description="The maximum number of tokens.")] = 20
