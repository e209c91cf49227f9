"""`E`: the evaluations by step, and of each its prompts by steps: solved, lost, never solved."""

from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult

from rolloupe import query
from rolloupe.model import SampleKey
from rolloupe.query import EvalSummary, Grid
from rolloupe.questions import AnswerQuery, GridQuery
from rolloupe.tui.draw.charts import BLOCKS, block_of, sparkline
from rolloupe.tui.draw.ink import DIM, GHOST, PLAIN, STRONG, Ink, Line, cut, ends, joined, padded, safe
from rolloupe.tui.draw.numbers import count, figure, listed, reward_ink, score
from rolloupe.tui.keys import EVAL_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.widgets.rows import RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

SPARK, NAME, PROMPTS = 20, 22, 500
WORDS = {"never": "never correct", "unbeaten": "never beat the reference"}


class EvalsScreen(BackScreen[SampleKey]):
    """The evaluations; Enter shows the prompts of one, and then the answers to one of them."""

    KEYS = EVAL_KEYS

    def __init__(self, rollouts: "Rollouts") -> None:
        super().__init__(rollouts)
        self._evals: list[EvalSummary] | None = None
        self._grid: Grid | None = None
        self._split = ""

    def compose(self) -> ComposeResult:
        yield self.title_bar("evals-title", self._title)
        yield RowList("evals")
        yield self.foot_bar()

    def on_mount(self) -> None:
        """Ask for the evaluations."""
        self.rows.focus()
        run = self.session.run
        self.ask("evals", lambda: query.evals(run), self._take_evals)

    def _take_evals(self, evals: list[EvalSummary]) -> None:
        self._evals = evals
        self._show(0)

    def _show(self, cursor: int) -> None:
        if self._grid is not None:
            self.rows.fill(len(self._grid.prompts), self._prompt_row, cursor, 1)
        else:
            self.rows.fill(len(self._evals or ()), self._eval_row, cursor, 2 if self.has_class("narrow") else 1)
        self.redraw("evals-title")

    def _title(self, width: int) -> list[Line]:
        if self._grid is not None:
            counts: list[Line] = [
                [(f" {WORDS.get(name, name)} ", DIM), (f"{number:,}", PLAIN)]
                for name, number in self._grid.counts.items()
                if number
            ]
            bar = self._grid.bar
            sign = "≤" if bar.falls else "≥"
            title = [
                [(" ", PLAIN), safe(self._split, STRONG)],
                [(listed(len(self._grid.prompts), self._grid.total, "prompt"), DIM)],
                [("correct if ", DIM), safe(f"{self._grid.metric} {sign} {score(bar.value)}: {bar.reason}", DIM)],
            ]
            return [cut(joined(title), width), cut(joined([*counts, self._steps(width)]), width)]
        note = "Reading …" if self._evals is None else "" if self._evals else "This run has no evaluations."
        return [[(" Evaluations  ", STRONG), (note, PLAIN)]]

    def _columns(self, width: int) -> range:
        """Return the numbers of the newest steps, as many as have room."""
        steps = len(self._grid.steps) if self._grid is not None else 0
        return range(max(0, steps - max(1, width // 3)), steps)

    def _steps(self, width: int) -> Line:
        """Return what the blocks show, and of which steps."""
        steps = [self._grid.steps[n] for n in self._columns(width)] if self._grid is not None else []
        return [(f"share correct at steps {figure(steps[0])} to {figure(steps[-1])}", DIM)] if steps else []

    def on_resize(self, event: events.Resize) -> None:
        """Give a row two lines where one is too short."""
        super().on_resize(event)
        self._show(self.rows.cursor)

    def _eval_row(self, number: int, width: int) -> list[Line]:
        assert self._evals is not None
        one = self._evals[number]
        curve = sparkline([step.score for step in one.steps], SPARK)
        name = padded([(" ", PLAIN), safe(one.split.removeprefix("eval/"), STRONG)], NAME)
        first: Line = [*name, (f"{curve:{SPARK}}  ", Ink("accent"))]
        step, *figures, counts = _facts(one)
        if self.rows.row_height == 1:
            return [cut([*first, *joined([step, *figures, counts])], width)]
        return [cut([*first, *joined([step, counts])], width), cut([("   ", PLAIN), *joined(figures)], width)]

    def _prompt_row(self, number: int, width: int) -> list[Line]:
        assert self._grid is not None
        one = self._grid.prompts[number]
        cells: Line = [_cell(one.n[step], one.c[step]) for step in self._columns(width)]
        verdict = padded([(" ", PLAIN), (one.verdict, DIM)], 9)
        return [ends([*verdict, safe(" ".join(one.prompt.split()))], [(" ", PLAIN), *cells, (" ", PLAIN)], width)]

    @property
    def is_reading(self) -> bool:
        """True until the evaluations are there, and then the prompts of the chosen one."""
        return self._evals is None or (self._grid is None and bool(self._split))

    def choose(self, number: int) -> None:
        """Show the prompts of an evaluation, or open the newest answer to a prompt."""
        run = self.session.run
        if self._grid is None:
            assert self._evals is not None
            split = self._split = self._evals[number].split
            self.ask("grid", lambda: query.grid(run, GridQuery(split=split, limit=PROMPTS)), self._take_grid)
            return
        grid, split = self._grid, self._split
        if number >= len(grid.prompts):  # clicked before the prompts were there
            return
        prompt = grid.prompts[number]
        step = next((grid.steps[n] for n in range(len(grid.steps) - 1, -1, -1) if prompt.n[n] > 0), None)
        if step is not None:

            def first_answer() -> SampleKey:
                asked = AnswerQuery(split=split, step=step, prompt=prompt.name)
                return query.sample_key(query.answers(run, asked).answers[0].id)

            self.ask("answers", first_answer, self.dismiss)

    def _take_grid(self, grid: Grid) -> None:
        self._grid = grid
        self._show(0)

    def action_back(self) -> None:
        """Go back from the prompts to the evaluations, and from those to the sample."""
        if self._grid is None:
            self.dismiss(None)
            return
        self.questions.forget("answers")
        self._grid, self._split = None, ""
        self._show(0)


def _facts(one: EvalSummary) -> list[Line]:
    """Return the newest step of an evaluation, its figures, and of how many prompts and samples they are."""
    if not one.steps:
        return [[], []]
    last = one.steps[-1]
    return [
        [(f"step {last.step}", DIM)],
        [("score ", DIM), (score(last.score), STRONG)],
        [("correct ", DIM), (score(last.correct), _share_ink(last.correct))],
        *([(f"pass@{k} ", DIM), (score(value), PLAIN)] for k, value in zip(one.ks, last.pass_at, strict=True)),
        [(f"{count(last.prompts, 'prompt')}, {count(last.samples, 'sample')}", DIM)],
    ]


def _share_ink(share: float | None) -> Ink:
    return STRONG if share is None else Ink(reward_ink(share), bold=True)


def _cell(answers: int, correct: int) -> tuple[str, Ink]:
    """Return a cell of the grid: how many of the answers at a step are correct."""
    if answers < 0:
        return ("·", GHOST)
    share = correct / answers if answers else 0.0
    return (BLOCKS[block_of(share)], Ink(reward_ink(share)))
