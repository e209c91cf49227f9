"""`rolloupe search`: find samples by their prompts and responses, and logged conversations of no sample."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import progress
from rolloupe.cli.commands.query import where_there_are
from rolloupe.cli.options import GROUP, JSON, SPLIT, STEP, StepRange, command, with_paths, words
from rolloupe.cli.runs import opened
from rolloupe.cli.terminal import NOTHING, OK, complain, counted, number, sample_record, show_line, tell_json
from rolloupe.errors import BadPattern, BadQuery, NotFound
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths

if TYPE_CHECKING:
    from rolloupe.api import Run, Runs
    from rolloupe.query.search import Hit, SearchProgress, Transcript

LIMIT = 50
"""Samples that the terminal lists unless `--limit` changes it; all are counted."""

ROLES = ("prompt", "response", "system", "user", "assistant", "tool")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What to search for, and where."""

    words: tuple[str, ...]
    regex: bool = option(False, "TEXT is a regular expression (RE2).")
    case: bool = option(False, "Match case.")
    word: bool = option(False, "Match whole words only.")
    roles: tuple[str, ...] = option(
        (), "Search only these texts. Repeatable. Default: both.", flags=("--in",), type=click.Choice(ROLES)
    )
    split: str | None = option(None, **SPLIT)
    steps: StepRange = option(None, **STEP)
    group: str | None = option(None, **GROUP)
    where: str = option("", "Only these samples: see `rolloupe query`.", "CONDITIONS")
    limit: int | None = option(
        None, f"List at most N; all are counted. Default: {LIMIT}, with --json all.", "N", 0, 2**53
    )
    as_json: bool = option(False, **JSON)


@command(arguments=words("PATH... TEXT"))
def search(asked: SearchOptions, place: RunPaths) -> int:
    r"""Find a text in prompts and responses, newest step first.

    The search ignores case unless you give --case, and takes several runs at PATH one after another. --in chooses the
    speaker: `system`, `user`, `assistant` and `tool` take longer, since the search reads whole samples for them.

    After the samples, the command lists logged conversations that no sample shows, unless --where or --group narrows
    the search to certain samples.

    With --json, the object of a sample has `kind` `sample`, the keys of `rolloupe query`, `snippets` and `more` (true
    if there are more snippets). A snippet has `role` and `pieces`, which alternate between context and hit. A
    conversation has `kind` `transcript`, `run`, `split`, `step`, `title`, `snippets`, `more` and `at`: its path in the
    step's report, as child numbers such as `0.3.1`. Exit code 1: the text was not found.

    Examples:
      rolloupe search RUN_DIR 'wait, let me'  # Responses and prompts with these words
      rolloupe search RUN_DIR --regex '\\boxed\{-?\d+\}' --step 12  # A pattern, in one step
      rolloupe search RUN_DIR error --word --in tool --where 'reward < 0.5'  # Tool output in bad samples
      rolloupe search RUN_DIR sorry --json --limit 10  # For a program
    """
    *paths, text = asked.words or ("",)
    if not (text and (paths or place.paths)):
        missing = "TEXT" if asked.words or place.paths else "PATH"
        raise click.UsageError(f"Missing argument '{missing}'. Name a run, then what to search for.")
    with opened(with_paths(place, [*paths, *place.paths])) as runs:
        remaining = asked.limit if asked.limit is not None or asked.as_json else LIMIT
        samples = transcripts = listed = refused = 0
        for run in runs:
            try:
                ended, count = _search(run, text, asked, remaining, many=len(runs) > 1)
            except (BadQuery, NotFound) as error:  # a split or a column that only other runs have
                refused += 1
                if refused == len(runs) or isinstance(error, BadPattern):
                    raise
                complain(f"Run {run.id} is left out: {error}")
                continue
            samples, transcripts, listed = samples + ended.found, transcripts + ended.transcripts, listed + count
            remaining = None if remaining is None else max(0, remaining - count)
            for note in ended.notes:
                complain(f"{run.id}: not searched: {note}")
        if not samples + transcripts:
            complain(f"Nothing was found.{_missing_steps(runs, asked.split, asked.steps)}")
            return NOTHING
        if not asked.as_json:
            total = samples + transcripts
            unlisted = f", {total - listed:,} of them not listed: see --limit" if listed < total else ""
            places = [counted(samples, "sample")] if samples or not transcripts else []
            places += [f"{counted(transcripts, 'logged conversation')} of no sample"] if transcripts else []
            complain(f"Found in {' and '.join(places)}{unlisted}.")
        return OK


def _missing_steps(runs: "Runs", split: str | None, steps: StepRange) -> str:
    """Say that no run has a step that the search was narrowed to, and which there are; empty if one has."""
    if steps is None:
        return ""
    low, high = steps
    for run in runs:
        for name in [one.name for one in run.splits()] if split is None else [split]:
            if any((low is None or low <= one.step) and (high is None or one.step <= high) for one in run.steps(name)):
                return ""
    if low == high:
        which = f"no step {low}"
    else:
        which = f"none of the steps {'' if low is None else low}:{'' if high is None else high}"
    return f" There is {which}." + where_there_are(runs)


def _search(
    run: "Run", text: str, asked: SearchOptions, limit: int | None, *, many: bool
) -> "tuple[SearchProgress, int]":
    """Search a run, and write the hits. Returns the final progress, and the number of hits written."""
    names = ("regex", "case", "word", "roles", "split", "steps", "group", "where")
    hits = run.search(text, limit=limit, **{name: getattr(asked, name) for name in names})
    count, last, name = 0, None, f"{run.id}  " if many else ""
    with progress.counting("Searching", of_bytes=True) as advanced:
        for found in hits.steps():
            for hit in found.hits:
                if asked.as_json:
                    tell_json({**sample_record(run.id, hit.sample), "kind": "sample", **_snippets(hit)})
                    continue
                key, reward = hit.sample.key, number(hit.sample.reward)
                if last != (key.split, key.step):
                    show_line((f"{name}{key.split}, step {key.step}", "bold"))
                last = key.split, key.step
                _print(hit, (f"  {key}", "cyan"), (f"  reward {reward}", "dim"))
            for transcript in found.transcripts:
                if asked.as_json:
                    keys = {name: getattr(transcript, name) for name in ("split", "step", "title", "at")}
                    tell_json({"kind": "transcript", "run": run.id, **keys, **_snippets(transcript)})
                    continue
                where = f"{transcript.split}, step {transcript.step}, report at {transcript.at or 'its top'}: "
                _print(transcript, (f"{name}{where}", "bold"), (transcript.title, "cyan"))
            count += len(found.hits) + len(found.transcripts)
            now = found.progress
            advanced(now.searched_bytes, now.known_bytes, f"{now.found + now.transcripts:,} found")
    return hits.progress, count


def _snippets(hit: "Hit | Transcript") -> dict[str, Any]:
    snippets = [{"role": snippet.role, "pieces": list(snippet.pieces)} for snippet in hit.snippets]
    return {"snippets": snippets, "more": hit.more}


def _print(hit: "Hit | Transcript", *title: tuple[str, str]) -> None:
    show_line(*title, ("  and more" if hit.more else "", "dim"))
    for snippet in hit.snippets:
        start, end = ("" if is_whole else "…" for is_whole in (snippet.is_start, snippet.is_end))
        pieces = [(piece, "bold reverse" if nth % 2 else "") for nth, piece in enumerate(snippet.pieces)]
        show_line((f"    {snippet.role}: {start}", "dim"), *pieces, (end, "dim"))
