"""`E`: the evaluations by step, and the prompts of each: solved, lost, never solved."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual import events
from textual.widget import Widget

from rolloupe import query
from rolloupe.model import SampleKey
from rolloupe.query import EvalSummary, PromptGrid
from rolloupe.questions import AnswerQuery, GridQuery
from rolloupe.tui.draw.charts import BLOCKS, block_of, sparkline
from rolloupe.tui.draw.ink import DIM, GHOST, PLAIN, STRONG, Ink, Line, cut, ends, joined, padded, safe
from rolloupe.tui.draw.numbers import count, figure, listed, reward_ink, score
from rolloupe.tui.keys import EVAL_KEYS
from rolloupe.tui.screens.over import BackScreen
from rolloupe.tui.widgets.lines import RowList

if TYPE_CHECKING:
    from rolloupe.tui.screens.rollouts import Rollouts

SPARK, NAME, PROMPTS = 20, 22, 500
WORDS = {"never": "never correct", "unbeaten": "never beat the reference"}


class EvalsScreen(BackScreen[SampleKey]):
    """The evaluations; Enter shows the prompts of one, and then the answers to one of them."""

    KEYS = EVAL_KEYS

    def __init__(self, rollouts: "Rollouts", split: str = "") -> None:
        super().__init__(rollouts)
        self._first = split
        """The evaluation that the cursor begins at."""
        self._evals: list[EvalSummary] = []
        self._is_read = False
        self._grid: PromptGrid | None = None
        self._split = ""

    def body(self) -> Iterator[Widget]:
        yield RowList("evals", self.choose)

    def on_mount(self) -> None:
        run = self.session.run

        def take(evals: list[EvalSummary]) -> None:
            self._evals, self._is_read = evals, True
            splits = [one.split for one in evals]
            self._show(splits.index(self._first) if self._first in splits else 0)

        self.ask("evals", lambda: query.evals(run), take)

    def _show(self, cursor: int) -> None:
        if self._grid is not None:
            self.rows.fill(len(self._grid.prompts), self._prompt_row, cursor, 1)
        else:
            self.rows.fill(len(self._evals), self._eval_row, cursor, 2 if self.has_class("narrow") else 1)
        self.redraw("title")

    def title_lines(self, width: int) -> list[Line]:
        if self._grid is not None:
            counts: list[Line] = [
                [(f" {WORDS.get(name, name)} ", DIM), (f"{number:,}", PLAIN)]
                for name, number in self._grid.counts.items()
                if number
            ]
            grid, steps = self._grid, [self._grid.steps[n] for n in self._columns(width)]
            bar = f"{'≤' if grid.falls else '≥'} {score(grid.bar)}: {grid.reason}"
            span = f"share correct at steps {figure(steps[0])} to {figure(steps[-1])}" if steps else ""
            title = [
                [(" ", PLAIN), safe(self._split, STRONG)],
                [(listed(len(grid.prompts), grid.total, "prompt"), DIM)],
                [("correct if ", DIM), safe(f"{grid.metric} {bar}", DIM)],
            ]
            return [cut(joined(title), width), cut(joined([*counts, [(span, DIM)] if span else []]), width)]
        note = "" if self._evals else "This run has no evaluations." if self._is_read else "Reading …"
        return [[(" Evaluations  ", STRONG), (note, PLAIN)]]

    def _columns(self, width: int) -> range:
        steps = len(self._grid.steps) if self._grid is not None else 0
        return range(max(0, steps - max(1, width // 3)), steps)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._show(self.rows.cursor)

    def _eval_row(self, number: int, width: int) -> list[Line]:
        evaluation = self._evals[number]
        curve = sparkline([step.score for step in evaluation.steps], SPARK)
        name = padded([(" ", PLAIN), safe(evaluation.split.removeprefix("eval/"), STRONG)], NAME)
        first: Line = [*name, (f"{curve:{SPARK}}  ", Ink("accent"))]
        step, *figures, counts = _facts(evaluation)
        if self.rows.row_height == 1:
            return [cut([*first, *joined([step, *figures, counts])], width)]
        return [cut([*first, *joined([step, counts])], width), cut([("   ", PLAIN), *joined(figures)], width)]

    def _prompt_row(self, number: int, width: int) -> list[Line]:
        assert self._grid is not None
        prompt = self._grid.prompts[number]
        cells: Line = []
        for step in self._columns(width):
            answers, correct = prompt.n[step], prompt.c[step]
            share = correct / answers if answers else 0.0
            cells.append(("·", GHOST) if answers < 0 else (BLOCKS[block_of(share)], Ink(reward_ink(share))))
        verdict = padded([(" ", PLAIN), (prompt.verdict, DIM)], 9)
        return [ends([*verdict, safe(" ".join(prompt.prompt.split()))], [(" ", PLAIN), *cells, (" ", PLAIN)], width)]

    @property
    def is_reading(self) -> bool:
        return not self._is_read or (self._grid is None and bool(self._split))

    def choose(self, number: int) -> None:
        run = self.session.run
        if self._grid is None:
            split = self._split = self._evals[number].split

            def take(grid: PromptGrid) -> None:
                self._grid = grid
                self._show(0)

            self.ask("grid", lambda: query.grid(run, GridQuery(split=split, limit=PROMPTS)), take)
            return
        grid, split = self._grid, self._split
        if number >= len(grid.prompts):  # clicked before the prompts appeared
            return
        prompt = grid.prompts[number]
        step = next((grid.steps[n] for n in range(len(grid.steps) - 1, -1, -1) if prompt.n[n] > 0), None)
        if step is not None:

            def first_answer() -> SampleKey:
                asked = AnswerQuery(split=split, step=step, prompt=prompt.name)
                return query.sample_key(query.answers(run, asked).answers[0].id)

            self.ask("answers", first_answer, self.dismiss)

    def action_back(self) -> None:
        """Go back from the prompts to the evaluations, and from those to the sample."""
        if self._grid is None:
            self.dismiss(None)
            return
        self.questions.forget("answers")
        self._grid, self._split = None, ""
        self._show(0)


def _facts(evaluation: EvalSummary) -> list[Line]:
    """Return the newest step of an evaluation, its figures, and the numbers of prompts and samples behind them."""
    if not evaluation.steps:
        return [[], []]
    last = evaluation.steps[-1]
    ink = STRONG if last.correct is None else Ink(reward_ink(last.correct), bold=True)
    return [
        [(f"step {last.step}", DIM)],
        [("score ", DIM), (score(last.score), STRONG)],
        [("correct ", DIM), (score(last.correct), ink)],
        *([(f"pass@{k} ", DIM), (score(value), PLAIN)] for k, value in zip(evaluation.ks, last.pass_at, strict=True)),
        [(f"{count(last.prompts, 'prompt')}, {count(last.samples, 'sample')}", DIM)],
    ]
