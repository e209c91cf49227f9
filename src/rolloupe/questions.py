"""Questions about a run, each declared once: what may be asked, and the function that answers.

Every face follows from a declaration: the route and its parameters, the TypeScript types and the function that asks,
the options of the command and its `--json`, the tool of an agent, and `Run.ask`. A face adds words and tables of its
own, nothing else. What an answer holds is therefore public: a field that is renamed is renamed for everybody.

A new question takes its record and a line of `QUESTIONS` here, and a function `(run, asked) -> answer` in the room that
knows the answer. An answer is a `Struct` whose fields have docstrings. Functions are named, not imported: this module
is on a low floor, so that a command shows its help without loading what answers it.
"""

from collections.abc import Callable
from dataclasses import MISSING, field
from functools import cached_property
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, get_args, get_type_hints

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
    """Return a type, and all that it is made of."""
    return [hint, *(kind for part in get_args(hint) for kind in types_in(part))]


class Query(Struct, frozen=True, kw_only=True):
    """What is asked of a run. Every field has a description for the people and agents who ask."""


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


class BriefQuery(Query, frozen=True, kw_only=True):
    """Of which split the brief is."""

    split: UsualSplit = ""


class LintQuery(StepWindow, frozen=True, kw_only=True):
    """Which samples to check."""

    split: AnySplit = ""


class DiscardQuery(Query, frozen=True, kw_only=True):
    """Of which split discarded samples are counted."""

    split: Split


class LandmarkQuery(Query, frozen=True, kw_only=True):
    """Nothing but the run."""


class MetricNameQuery(Query, frozen=True, kw_only=True):
    """Nothing but the run."""


class ColumnQuery(Query, frozen=True, kw_only=True):
    """Of which split the columns are."""

    split: Split


class CompletionQuery(StepWindow, frozen=True, kw_only=True):
    """An unfinished filter, and the samples that it is for."""

    split: Split
    step: Annotated[Step | None, Meta(description="One step instead of several.")] = None
    text: Annotated[str, Meta(description="The filter up to the cursor.")] = ""


class EvalQuery(Query, frozen=True, kw_only=True):
    """How evaluations are graded, and for which k."""

    metric: Judge = ""
    bar: Bar = None
    k: Annotated[str, Meta(description="The k of pass@k and pass^k, such as 1,4,8. Default: powers of two.")] = ""


class GridQuery(StepWindow, frozen=True, kw_only=True):
    """Which prompts of a split to show, how they are graded, and in which order."""

    split: Split
    metric: Judge = ""
    bar: Bar = None
    only: Annotated[str, Meta(description="Only prompts of this verdict, or `unbeaten` ones.")] = ""
    sort: Annotated[str, Meta(description="index, last, change or share.")] = "index"
    offset: Annotated[int, Meta(ge=0, le=INT64 - 1, description="How many prompts to skip.")] = 0
    limit: Annotated[int, Meta(ge=1, le=500, description="At most so many prompts.")] = 100


class AnswerQuery(Query, frozen=True, kw_only=True):
    """A prompt at a step, and how its answers are graded."""

    split: Split
    step: Annotated[Step, Meta(description="The step.")]
    prompt: Prompt
    metric: Judge = ""
    bar: Bar = None


class PromptSampleQuery(Query, frozen=True, kw_only=True):
    """A prompt at a step."""

    split: Split
    step: Annotated[Step, Meta(description="The step.")]
    prompt: Prompt


class SameQuery(Query, frozen=True, kw_only=True):
    """A prompt, by its name or as that of a sample."""

    id: Annotated[str, Meta(description="A sample with the prompt.")] = ""
    prompt: Annotated[str, Meta(description="The name of the prompt, instead of a sample.")] = ""


class StepValueQuery(Query, frozen=True, kw_only=True):
    """Sample metrics at a step."""

    split: Split
    step: Annotated[Step, Meta(description="The step.")]
    names: Annotated[tuple[str, ...], Meta(description="Metrics with a histogram and a value for each sample.")] = ()
    also: Annotated[tuple[str, ...], Meta(description="Metrics of which only the statistics are wanted.")] = ()


class TokenScope(StepWindow, frozen=True, kw_only=True):
    """The samples whose tokens count."""

    split: AnySplit = ""
    step: Annotated[Step | None, Meta(description="One step instead of several.")] = None


class TokenSeriesQuery(TokenScope, frozen=True, kw_only=True):
    """The samples whose series are named."""


class TokenStepQuery(TokenScope, frozen=True, kw_only=True):
    """A series, by step."""

    series: Series


class TokenPositionQuery(Query, frozen=True, kw_only=True):
    """A series at a step, by position."""

    split: AnySplit = ""
    step: Annotated[Step, Meta(description="The step.")]
    series: Series


class TokenMaskQuery(TokenScope, frozen=True, kw_only=True):
    """The samples whose tokens rules take out."""


class TokenWordQuery(TokenScope, frozen=True, kw_only=True):
    """Which words to list."""

    by: Annotated[str, Meta(description="kl for the words with most KL, tokens for the most frequent.")] = "kl"
    limit: Annotated[int, Meta(ge=1, le=200, description="At most so many words.")] = 20


class TokenChangeQuery(Query, frozen=True, kw_only=True):
    """Two steps whose words are compared."""

    split: Split
    before: Annotated[Step, Meta(description="One step.")]
    after: Annotated[Step, Meta(description="The other step.")]
    by: Annotated[str, Meta(description="probability, or share of all tokens.")] = "probability"
    min_tokens: Annotated[int, Meta(description="Only words that are at least so often a token.")] = 10
    limit: Annotated[int, Meta(ge=1, le=200, description="At most so many words on either side.")] = 20


class WorstTokenQuery(TokenScope, frozen=True, kw_only=True):
    """Which extreme tokens to list."""

    group: Annotated[str | None, Meta(description="Only samples of this group.")] = None
    where: Annotated[str, Meta(description="A filter: only samples that match it.")] = ""
    series: Series
    side: Annotated[Literal["high", "low"], Meta(description="The highest values, or the lowest.")] = "high"
    limit: Annotated[int, Meta(ge=1, le=64, description="At most so many tokens.")] = 20


class Question(Struct, frozen=True, kw_only=True, dict=True):
    """A question, what it needs, and where its answer comes from."""

    name: str
    """Of its route, its command and its tool; words have hyphens between."""
    about: str
    """What it answers, in a sentence."""
    query: type[Query]
    """The record of what is asked; no two questions share one. Commands and tools need a default for every field."""
    place: str
    """The function that answers, as `module:name`."""
    rows: str = ""
    """The list of records in the answer that a table shows, and of which `--json` prints a line each. Only the page
    and Python ask a question without rows."""
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
        """Return what changes whenever the answer may."""
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


QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        Question(
            name="brief",
            about="What is worth saying of a run in three sentences, each with the place that shows it.",
            query=BriefQuery,
            place="rolloupe.insight.brief:brief",
            rows="sentences",
            needs="derived",
            pool="looks",
        ),
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
            place="rolloupe.insight.reward_components:parts",
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
        Question(
            name="discards",
            about="How many samples were discarded, by step and reason.",
            query=DiscardQuery,
            place="rolloupe.query.steps.discards:discards_answer",
        ),
        Question(
            name="landmarks",
            about="Where a run saved a checkpoint or was resumed, by step.",
            query=LandmarkQuery,
            place="rolloupe.query.run.trainer_files:landmarks",
            is_cached=False,
        ),
        Question(
            name="metrics",
            about="The names of the trainer's metrics.",
            query=MetricNameQuery,
            place="rolloupe.query.run.trainer_files:metric_names_answer",
            is_cached=False,
        ),
        Question(
            name="columns",
            about="The columns to show, sort and filter samples by.",
            query=ColumnQuery,
            place="rolloupe.query.run.columns:columns_answer",
        ),
        Question(
            name="complete",
            about="How an unfinished filter may go on.",
            query=CompletionQuery,
            place="rolloupe.query.run.completion:completion_answer",
        ),
        Question(
            name="evals",
            about="Every evaluation by step.",
            query=EvalQuery,
            place="rolloupe.query.evals.scores:evals_answer",
        ),
        Question(
            name="grid",
            about="The prompts of a split by its steps, a page of them.",
            query=GridQuery,
            place="rolloupe.query.evals.scores:grid_answer",
        ),
        Question(
            name="evals/answers",
            about="The answers to a prompt at a step, graded.",
            query=AnswerQuery,
            place="rolloupe.query.evals.scores:answers",
        ),
        Question(
            name="prompt-samples",
            about="The samples of a prompt at a step.",
            query=PromptSampleQuery,
            place="rolloupe.query.prompts:prompt_samples",
        ),
        Question(
            name="same",
            about="Where a run answers one prompt, by split and step.",
            query=SameQuery,
            place="rolloupe.query.prompts:same_prompt_answer",
        ),
        Question(
            name="step-values",
            about="Sample metrics at one step, with histograms and the values of its samples.",
            query=StepValueQuery,
            place="rolloupe.query.curves.distribution:step_values_answer",
        ),
        Question(
            name="token-series",
            about="The token series that samples of a run have.",
            query=TokenSeriesQuery,
            place="rolloupe.query.run_tokens.statistics:token_series_answer",
        ),
        Question(
            name="token-steps",
            about="A token series at each step that has values.",
            query=TokenStepQuery,
            place="rolloupe.query.run_tokens.statistics:token_steps_answer",
        ),
        Question(
            name="token-positions",
            about="The mean of a token series by position at one step.",
            query=TokenPositionQuery,
            place="rolloupe.query.run_tokens.statistics:token_positions_answer",
        ),
        Question(
            name="token-masks",
            about="What each rule takes out of the loss, by step.",
            query=TokenMaskQuery,
            place="rolloupe.query.run_tokens.statistics:token_masks_answer",
        ),
        Question(
            name="token-words",
            about="Words with most KL, or the most frequent.",
            query=TokenWordQuery,
            place="rolloupe.query.run_tokens.words:token_words_answer",
        ),
        Question(
            name="token-changes",
            about="Words that gain and lose most between two steps.",
            query=TokenChangeQuery,
            place="rolloupe.query.run_tokens.words:token_changes_answer",
        ),
        Question(
            name="worst-tokens",
            about="The tokens with the most extreme values of a series.",
            query=WorstTokenQuery,
            place="rolloupe.query.run_tokens.worst:worst_tokens_answer",
        ),
    )
}
"""By name."""
