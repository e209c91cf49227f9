"""Writes a run in another layout, step by step, through the writer of that layout, and reports the losses.

Memory holds one sample at a time. Everything is written to a folder beside the target and moved into it at the end, so
a conversion that fails leaves the target as it was. The source is never written to.
"""

import os
import secrets
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rolloupe.errors import NotFound, NotWritable
from rolloupe.formats.token_texts import strings_of_prompt
from rolloupe.model import Sample
from rolloupe.record.failures import RecorderWarning
from rolloupe.record.writers import check as check_layout
from rolloupe.record.writers import writer_of
from rolloupe.storage import is_below, own_place

COUNTED = {
    "rows of trainer metrics": ("row", "rows", "trainer metrics"),
    "configurations": ("file", "files", "configuration"),
    "checkpoints": ("checkpoint", "checkpoints", "that they were saved, and their location"),
    "that a checkpoint has no step": ("checkpoint", "checkpoints", "the fact that they have no step"),
    "differences of code": ("file", "files", "differences of the code"),
    "reports of the trainer (logtree)": ("report", "reports", "outlines of the trainer (logtree)"),
    "earlier attempts at a sample": ("sample", "samples", "earlier attempts"),
}
"""Losses that are not counted in samples: the unit in singular and plural, and a description."""

PLAIN = {
    "group": "the group's own name",
    "group (joined with another)": "the group: groups with the same prompt become one",
    "status": "how the sample ended",
    "original word for the status": "the framework's own word for how the sample ended",
    "sample number": "the sample's own number in its group",
    "form of turns": "template markers, delimiters or blanks around the content of turns",
    "parts of turns": "the kinds of parts: text, thinking, tool call or result",
    "turns and their roles": "the starts of turns, and their roles",
    "tool calls, or their ids": "tool calls as such, or their ids",
    "names in turns": "the names in turns, and the tool calls that they answer",
    "form of the text of the prompt": "the exact text of the prompt (its content is the same)",
    "form of the text of the response": "the exact text of the response (its content is the same)",
    "form of the prompt (now a list of messages)": "the form of the prompt, which is now a list of messages",
    "form of the response (now a list of messages)": "the form of the response, which is now a list of messages",
    "list of messages of the prompt": "the messages of the prompt, which is now one text",
    "list of messages of the response": "the messages of the response, which is now one text",
    "form of the messages of the prompt": "how the messages of the prompt are written",
    "form of the messages of the response": "how the messages of the response are written",
    "form of the reference": "how the response of the reference is written",
    "digits of token series beyond float32": "digits of token series beyond those of a float32",
}
"""Full descriptions for people. Scripts get the keys."""

WHOLE = "samples "
"""Losses with this prefix count samples that were left out."""


def described(word: str, count: int) -> tuple[str, str]:
    """Return how many things a loss concerns, such as `24 samples`, and what they lost."""
    what = f"all of it: {word.removeprefix(WHOLE)}" if word.startswith(WHOLE) else PLAIN.get(word, word)
    singular, plural, what = COUNTED.get(word, ("sample", "samples", what))
    return f"{count:,} {singular if count == 1 else plural}", what


REPORTS = "reports of the trainer (logtree)"
"""Reports are copied if the layout has a place for them and the run has them as files."""


UNREAD = "tokens beyond those that are read of a sample"


class Selection(NamedTuple):
    """The part of a run to convert, by default all of it."""

    splits: Sequence[str] = ()
    """The splits to convert; `eval` means every `eval/...`."""
    steps: tuple[int | None, int | None] = (None, None)
    """First and last step, both included."""

    def has_split(self, split: str) -> bool:
        """Return whether a split is part of it."""
        return not self.splits or split in self.splits or ("eval" in self.splits and split.startswith("eval/"))

    def has_step(self, step: int | None) -> bool:
        """Return whether a step is part of it; rows without a step belong only to a selection of all steps."""
        low, high = self.steps
        if step is None:
            return low is None and high is None
        return (low is None or step >= low) and (high is None or step <= high)


WHOLE_RUN = Selection()


class Conversion(NamedTuple):
    """The result of a conversion: how much was read, and which losses occurred in how many samples."""

    samples: int
    steps: int
    """The number of steps, counted for each split."""
    left: dict[str, int]
    splits: dict[str, int]

    @property
    def written(self) -> int:
        """How many samples the layout could hold."""
        return self.samples - sum(count for word, count in self.left.items() if word.startswith(WHOLE))


def convert(
    run: Any,
    target: Path,
    layout: str,
    *,
    selection: Selection = WHOLE_RUN,
    force: bool = False,
    advanced: Callable[[int, int], None] = lambda _done, _total: None,
) -> Conversion:
    """Write a run in another layout into the folder `target`.

    Args:
        run: a `rolloupe.Run`.
        target: a folder that is empty or does not exist; with `force`, files of the same names are replaced, and
            others stay.
        layout: the name of a writable layout.
        selection: the splits and steps to convert, by default all.
        force: write into a folder that is not empty.
        advanced: called with the number of converted samples and their total.

    Raises `NotRecognised` for a layout that cannot be written, `NotFound` if there is nothing to convert,
    `NotWritable` for a target that must not be written to, `SourceChanged` if a file was rewritten meanwhile.
    """
    check_layout(layout)
    check(target, [Path(run.path)], force=force)
    todo = _steps(run, selection)
    if not todo:
        raise NotFound(f"run {run.id!r} has no samples there; `rolloupe ls PATH` lists its splits and steps")
    total = sum(count for _, _, count in todo)
    losses: Counter[str] = Counter()
    done = 0

    def counted(samples: Iterator[Sample]) -> Iterator[Sample]:
        nonlocal done
        for sample in samples:
            losses[UNREAD] += sample.unread_tokens > 0
            sample.token_strings = sample.token_strings[strings_of_prompt(sample) :]
            sample.is_decoded = False
            yield sample
            done += 1
            advanced(done, total)

    with _beside(target) as folder, warnings.catch_warnings(action="ignore", category=RecorderWarning):
        writer = writer_of(layout, folder)
        for split, step, _ in todo:
            losses.update(writer.write(split, step, counted(run.whole(step, split))))
        for split, step in run.logtrees():  # steps without samples included
            if selection.has_split(split) and selection.has_step(step):
                files = run.report_files(step, split) if writer.takes_reports else {}
                if files:
                    writer.report(split, step, files)
                losses[REPORTS] += not files
        losses.update(writer.metrics([row for row in run.metric_rows() if selection.has_step(row.step)]))
        losses.update(writer.keep(run.config, run.checkpoints, run.code_diff()))
        writer.close()
        if not any(folder.iterdir()):
            descriptions = (described(word, count) for word, count in losses.most_common(5) if count)
            summary = "; ".join(f"{of}: {what}" for of, what in descriptions)
            raise NotFound(f"{layout} can hold none of the {done:,} samples: {summary}")
    if total > done:
        losses["earlier attempts at a sample"] = total - done
    left = {word: count for word, count in losses.most_common() if count}
    return Conversion(done, len(todo), left, dict(Counter(split for split, _, _ in todo)))


def check(target: Path, sources: Sequence[Path], *, force: bool) -> None:
    """Raise `NotWritable` for a folder that must not be written to."""
    place = own_place(target).resolve()
    for source in (path.resolve() for path in sources):
        if is_below(str(place), str(source)) or is_below(str(source), str(place)):
            raise NotWritable(f"{target} contains, or lies in, the source {source}: name a separate folder")
    try:
        if place.exists() and not place.is_dir():
            raise NotWritable(f"{target} is a file: name a folder")
        if not force and place.is_dir() and any(place.iterdir()):
            raise NotWritable(f"{target} is not empty: name another folder, or add --overwrite to write into it")
    except OSError as error:
        raise NotWritable(f"{target} cannot be examined: {error.strerror or error}") from error


def _steps(run: Any, selection: Selection) -> list[tuple[str, int, int]]:
    """Return the splits, their steps and the numbers of samples, in order."""
    names = [split.name for split in run.splits()]
    for choice in selection.splits:
        if choice not in names and not (choice == "eval" and any(name.startswith("eval/") for name in names)):
            raise NotFound(f"run {run.id!r} has no split {choice!r}; there are: {', '.join(names[:40]) or 'none'}")
    return [
        (name, summary.step, summary.samples)
        for name in names
        if selection.has_split(name)
        for summary in run.steps(name)
        if selection.has_step(summary.step)
    ]


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Yield a temporary folder: at the end its files move into the target, on an error they are removed."""
    place = target.resolve()
    new_folders = [parent for parent in (place, *place.parents) if not parent.exists()]
    temporary = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        try:
            temporary.rename(place)  # if `place` is missing or empty; otherwise the files move one by one
        except OSError:
            for path in sorted(path for path in temporary.rglob("*") if not path.is_dir()):
                goal = place / path.relative_to(temporary)
                goal.parent.mkdir(parents=True, exist_ok=True)
                path.replace(goal)
            shutil.rmtree(temporary)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        for parent in new_folders:
            with suppress(OSError):
                os.rmdir(parent)
        if isinstance(error, OSError):
            raise NotWritable(f"{target} cannot be written: {error.strerror or error}") from error
        raise
