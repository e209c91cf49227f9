"""One run as the terminal sees it: its samples, steps and bookmarks. Every method calls `query`, and may take long."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rolloupe import query
from rolloupe.errors import NotFound, SourceChanged
from rolloupe.index import OpenRun
from rolloupe.lru import Lru
from rolloupe.model import Sample, SampleKey
from rolloupe.query import SampleItem
from rolloupe.query.engine.names import EVALS, is_asked
from rolloupe.query.filter.parser import Condition, conditions
from rolloupe.state import State
from rolloupe.state.records import MAX_EXCERPT_CHARS, Change, LocatedMark, SampleMark, marks_of
from rolloupe.tui.draw.charts import thinned
from rolloupe.tui.draw.numbers import count
from rolloupe.wire.run_items import is_live


class ListPlace(Struct, frozen=True, kw_only=True):
    """A list of samples: those of a step of a split, sorted and filtered."""

    split: str = "train"
    step: int = 0
    sort: str = "index"
    descending: bool = False
    where: str = ""
    """A filter as typed."""
    dataset: str = ""
    """Only samples of this dataset, or environment; empty for all."""
    is_discarded: bool = False
    """Only samples that were not trained on."""

    def query(self, offset: int = 0, limit: int | None = None) -> query.SampleQuery:
        """Return the query of a page of the list. Raises `BadQuery` for a filter that cannot be read."""
        return query.SampleQuery(
            splits=(self.split,), step_min=self.step, step_max=self.step,
            trained=False if self.is_discarded else None,
            where=conditions(self.where) + ((Condition("env", "=", self.dataset),) if self.dataset else ()),
            typed=self.where,
            sort=self.sort, descending=self.descending, offset=offset, limit=limit,
        )  # fmt: skip


PAGE = 100
"""The number of samples of a list to request together."""

KEPT_PAGES = 32
WAIT_S = 20.0
"""The longest wait for the first sample of a run that is not indexed yet."""
PAUSE_S = 0.01
LOOK_S = 0.05
OTHERS_S = 0.5
"""The longest wait for `train` while another split is there."""


@dataclass
class RunState:
    """The run at this moment, for headers and pickers. Facts derived from its steps, perhaps thousands, are computed
    once.
    """

    version: str
    split: str
    splits: list[query.SplitSummary]
    steps: list[query.StepSummary]
    """Of the split."""
    catalogue: query.Catalogue
    sorts: list[str]
    """The numbers to sort samples by: those with values in the split."""
    columns: list[str]
    """The columns of a list beside the preview: reward, advantage and length, if they vary."""
    problems: int
    phase: str
    share: float
    """How much of the run's files is indexed, from 0 to 1."""
    changed_s: float | None
    is_live: bool
    _shown: dict[int, list[int]] = field(default_factory=dict)

    @cached_property
    def by_step(self) -> dict[int, query.StepSummary]:
        return {summary.step: summary for summary in self.steps}

    @cached_property
    def rewards(self) -> list[float | None]:
        return [summary.reward.mean for summary in self.steps]

    def shown(self, width: int) -> list[int]:
        """Return the numbers of the steps that a curve of rewards shows in `width` cells."""
        if width not in self._shown:
            self._shown[width] = thinned(self.rewards, width)
        return self._shown[width]


class SampleAt(NamedTuple):
    """A sample on the screen: number `number` of the `total` samples of a list, and its group."""

    place: ListPlace
    number: int
    total: int
    item: query.SampleItem | None
    sample: Sample | None
    """None for an empty list."""
    members: Sequence[SampleKey] = ()
    note: str = ""
    life: Sequence[query.Recurrence] = ()
    """The steps of its split where its prompt appears; empty if there is no other, or they are not known yet."""
    version: str = ""
    """The version of the run at which the sample was read."""

    def is_same(self, other: "SampleAt") -> bool:
        """Return whether both are the same sample, perhaps read at different times."""
        return self.sample is not None and other.sample is not None and self.sample.key == other.sample.key


class Session:
    """The run on the screen."""

    def __init__(self, run: OpenRun, split: str = "") -> None:
        self.run = run
        self.split = split
        """The split that a person named to begin with, perhaps before the run has it."""
        self._pages: Lru[tuple[str, ListPlace, int], query.SamplePage] = Lru(KEPT_PAGES)

    def first_place(self) -> ListPlace:
        """Return where to begin: the newest step of the named split, else of `train`, else of all evaluations.

        Raises `NotFound` for a named split that is not among those of the run.
        """
        known = self.run.snapshot().steps
        names = sorted({name for name, _ in known}, key=lambda name: (name != "train", name))
        if not names:
            return self.place_to_come()
        split = self.split or (EVALS if len(names) > 1 and names[0].startswith("eval/") else names[0])
        steps = [step for name, step in known if is_asked(name, split)]
        if not steps:
            raise NotFound(f"no split {split!r}; there are: {', '.join(names[:40])}")
        return ListPlace(split=split, step=max(steps))

    def place_to_come(self) -> ListPlace:
        """Return where to begin in a run without samples."""
        return ListPlace(split=self.split or "train")

    def wait_for_samples(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Wait until the index has a sample of the first split to show, or is complete. Without a named split, the
        first split is `train`, or after a while any other.
        """
        waited_s = 0.0
        while waited_s < WAIT_S and is_wanted() and not self.run.wait(PAUSE_S):
            waited_s += PAUSE_S
            is_any = bool(self.run.snapshot().steps) and not self.split and waited_s > OTHERS_S
            if is_any or self._has(self.split or "train"):
                return

    def first(self, is_wanted: Callable[[], bool] = lambda: True) -> SampleAt:
        """Read the first sample. The index may be read before its files are compared with it."""
        self.wait_for_samples(is_wanted)
        while not self.run.wait(0):
            try:
                return self.open(self.first_place(), 0)
            except SourceChanged:
                self.run.wait(LOOK_S)
        return self.open(self.first_place(), 0)

    def page(self, place: ListPlace, number: int) -> query.SamplePage:
        """Return the page of a list that has sample `number`. Raises as `query.samples`."""
        offset = number // PAGE * PAGE
        key = (self.run.version, place, offset)
        page = self._pages.get(key)
        if page is None:
            wanted = query.with_length(self.run, place.query(offset, PAGE))
            page = query.samples(self.run, wanted)
            self._pages.put(key, page)
        return page

    def groups(self, place: ListPlace, number: int, around: SampleKey | None = None) -> query.GroupPage:
        """Return the page of a list of groups that has group `number`, or the group of a sample. Raises as `page`."""
        wanted = query.with_length(self.run, place.query(number // PAGE * PAGE, PAGE))
        return query.groups_page(self.run, wanted, ["reward"], around)

    def open(self, place: ListPlace, number: int, key: SampleKey | None = None) -> SampleAt:
        """Read a sample of a list: `key`, if the list has it, else sample `number`, or the last sample."""
        version = self.run.version
        page = None
        if self._has(place.split):
            if key is not None:
                around = query.samples(self.run, query.with_length(self.run, place.query(0, 1)), around=key)
                number = around.offset if around.samples and around.samples[0].key == key else number
            page = self.page(place, max(0, number))
        if page is None or not page.total:
            return SampleAt(place, 0, 0, None, None, note=self._why_none(place), version=version)
        if not 0 <= number < page.total:
            return self.open(place, page.total - 1)
        item = page.samples[number - page.offset]
        sample, members = query.sample_and_group(self.run, item.key)
        return SampleAt(place, number, page.total, item, sample, members, life=self._life(sample), version=version)

    def _life(self, sample: Sample) -> Sequence[query.Recurrence]:
        """Return the steps of a split where a prompt appears, unless the first answer about the run would wait."""
        prompt = sample.row.prompt_hash
        if (query.count_steps(self.run, prompt) or 0) < 2:
            return ()
        steps = [place for place in query.recurring(self.run, prompt) if place.key.split == sample.key.split]
        return steps if len(steps) > 1 else ()

    def _has(self, split: str) -> bool:
        return any(is_asked(name, split) for name, _ in self.run.snapshot().steps)

    def _why_none(self, place: ListPlace) -> str:
        splits = sorted({name for name, _ in self.run.snapshot().steps})
        if not splits:
            if problems := query.problem_count(self.run):
                return f"No sample could be read, because of {count(problems, 'problem')}; i lists what is wrong."
            return "The run has no samples yet. They appear as soon as the trainer writes one; m shows its metrics."
        if not self._has(place.split):
            others = ", ".join(splits[:40])
            return f"The run has no samples of {place.split} yet, only of {others}; 2 chooses one of these."
        if place.where:
            lacks = query.why_none(self.run, place.query())
            kind = "discarded sample" if place.is_discarded else "sample"
            return " ".join([f"No {kind} of this step matches {place.where}", "·", *lacks, "F changes the filter."])
        if place.dataset:
            kind = "discarded samples" if place.is_discarded else "samples"
            return f"This step has no {kind} of {place.dataset} · 6 chooses another dataset."
        if place.is_discarded:
            return "No sample was discarded at this step. D shows all."
        return "This step has no samples."

    def state(self, split: str) -> RunState:
        run, progress = self.run, self.run.progress()
        splits = query.splits(run, quick=True)
        has_split = split == EVALS or any(summary.name == split for summary in splits)
        steps = query.steps(run, split) if has_split else []
        changed_s = run.sources.changed_s()
        share = progress.done_bytes / progress.total_bytes if progress.total_bytes else 1.0
        catalogue = query.catalogue(run, split)
        is_annotated = bool(run.snapshot().annotations)  # annotations add values of unknown range
        numbers = [column for column in catalogue.columns if column.kind == "number" and column.name != "step"]
        varied = [c for c in numbers if c.low is not None or (is_annotated and c.source != "derived")]
        return RunState(
            run.version, split, splits, steps, catalogue, [column.name for column in varied],
            query.usual_columns(run, split), query.problem_count(run), progress.phase, share, changed_s,
            is_live(run, changed_s, run.sources.rhythm.quiet_s),
        )  # fmt: skip

    def moved(self, place: ListPlace, split: str, step_of: Callable[[list[int]], int]) -> ListPlace:
        """Return the same list at a step of a split, perhaps a different split. Raises `NotFound`."""
        dataset = place.dataset if split == place.split else ""
        return replace(place, split=split, dataset=dataset, step=step_of(self.steps(split)))

    def steps(self, split: str) -> list[int]:
        """Return the steps of a split. Raises `NotFound` for one without samples."""
        return [summary.step for summary in query.steps(self.run, split)]


def near(steps: Sequence[int], step: int, by: int) -> int:
    """Return the step that is `by` steps after a step, or before it, or the last step on that side."""
    after = [other for other in steps if other > step]
    before = [other for other in reversed(steps) if other < step]
    ahead = after if by > 0 else before
    return ahead[min(abs(by), len(ahead)) - 1] if ahead else step


class Bookmarks:
    """The bookmarks of the open runs. The file of the state is opened with the first question."""

    def __init__(self, state_dir: str | None) -> None:
        self._folder = None if state_dir is None else Path(state_dir)
        self._state: State | None = None

    def state(self) -> State | None:
        """Return the person's state, None if nothing was ever stored; creates nothing."""
        if self._state is None and State.is_there(self._folder):
            self._state = State(self._folder)
        return self._state

    def has(self, run: OpenRun, key: SampleKey) -> bool:
        """Return whether a sample is bookmarked; creates nothing."""
        mark = self._mark(run, str(key))
        return mark is not None and mark.mark.bookmarked

    def listed(self, run: OpenRun) -> list[SampleItem]:
        """Return the bookmarked samples that the run still has, in the order of their ids; creates nothing."""
        keys = [mark.key for mark in self._marks(run) if mark.key is not None and mark.mark.bookmarked]
        items = query.named(run, keys)
        return [items[key] for key in sorted(keys) if key in items]

    def toggle(self, run: OpenRun, item: SampleItem) -> bool:
        """Set or remove a bookmark; a note stays. Returns whether it is set now."""
        state = self._state = self.state() or State(self._folder)
        is_set = not self.has(run, item.key)
        is_conflict = True
        while is_conflict:  # another viewer changed it in between
            mark = self._mark(run, item.id)
            before, seen = (mark.mark, mark.item.version) if mark else (SampleMark(), 0)
            excerpt = item.response[:MAX_EXCERPT_CHARS]
            changed = replace(before, bookmarked=is_set, uid=item.uid, excerpt=excerpt)
            kept = changed if is_set or before.note or before.judgement else None
            change = Change(kind="sample", name=item.id, value=kept, seen=seen)
            is_conflict = state.write(change, run).is_conflict
        return is_set

    def _mark(self, run: OpenRun, name: str) -> LocatedMark | None:
        return next((mark for mark in self._marks(run) if mark.item.name == name), None)

    def _marks(self, run: OpenRun) -> list[LocatedMark]:
        state = self.state()
        owner = state.owner(run) if state else None
        return marks_of(state.of(owner)) if state and owner else []

    def close(self) -> None:
        if self._state is not None:
            self._state.close()
