"""What the command line prints: as words and, where there is `--json`, as JSON."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rolloupe.index import Library
from rolloupe.query import SampleQuery, samples
from tests.cli.support import rolloupe
from tests.golden.frozen import LARGEST, LIKE_ANOTHER, Answers, plain

EACH_RUN: tuple[tuple[str, ...], ...] = (
    ("steps",), ("metrics",), ("brief",), ("findings",), ("gradient",), ("parts",), ("lint",), ("check",),
    ("query", "--limit", "5", "--sort", "reward", "--desc"), ("query", "--where", "reward > 0.5", "--limit", "3"),
)  # fmt: skip
OF_A_SAMPLE: tuple[tuple[str, ...], ...] = (("show",), ("tokens", "--limit", "20"))
AS_JSON = ("relax", "gen_train_toy", "tiny-grpo-conv")
"""Runs that are asked with `--json` too: with evaluations, with tokens, of a tracker."""
EVERYTHING: tuple[tuple[str, ...], ...] = (("ls",), ("doctor",))


def command_lines(library: Library, whole: Path) -> Iterator[tuple[str, ...]]:
    """Yield every command line, without `--json` and of some runs with it."""
    for run in library.runs:
        if run.id == LIKE_ANOTHER:
            continue
        scope, ways = ("--run", run.id), _both if run.id in AS_JSON else _in_words
        for command, *options in EACH_RUN:
            yield from ways(command, str(whole), *scope, *options)
        for sample in samples(run, SampleQuery(limit=1)).samples:
            for command, *options in OF_A_SAMPLE:
                yield from ways(command, str(whole), sample.id, *scope, *options)
            yield from ways("prompt", str(whole), *scope, "--id", sample.id)
        if run.id != LARGEST:
            yield from ways("search", str(whole), "the", *scope, "--limit", "3")
    for command, *options in EVERYTHING:
        yield from _both(command, str(whole), *options)
    yield ("lint", "--rules")
    yield ("check", "--rules")
    yield ("query", str(whole), "--where", "no_such > 1")
    yield ("show", str(whole), "no id")


def _in_words(*words: str) -> Iterator[tuple[str, ...]]:
    yield words


def _both(*words: str) -> Iterator[tuple[str, ...]]:
    yield words
    yield (*words, "--json")


def answers_of(library: Library, folder: Path, whole: Path, index_dir: Path) -> Answers:
    """Run every command line."""
    answers: Answers = {}
    for words in command_lines(library, whole):
        index = () if "--rules" in words else ("--index-dir", str(index_dir))
        done = rolloupe(*words, *index)
        asked = " ".join(words).replace(str(folder), "FOLDER")
        answers[asked] = [done.code, _printed(done.out, folder), plain(done.err.splitlines(), folder)]
    return answers


def _printed(text: str, folder: Path) -> Any:
    """What a command printed: as values if it is JSON, else as lines."""
    try:
        return plain(json.loads(text), folder)
    except ValueError:
        pass
    try:
        return [plain(json.loads(line), folder) for line in text.splitlines()]
    except ValueError:
        return plain(text.splitlines(), folder)
