"""`rolloupe search`: find samples by their prompts and responses, and logged conversations of no sample."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rolloupe.cli import options, progress
from rolloupe.cli.commands.query import where_there_are
from rolloupe.cli.frame import NOTHING, OK, Command, Example
from rolloupe.cli.output import dumps, sample_record
from rolloupe.cli.terminal import complain, line, number, output, tell
from rolloupe.errors import BadPattern, BadQuery, NotFound

if TYPE_CHECKING:
    from rich.text import Text

    from rolloupe.api import Run
    from rolloupe.query.search import Hit, SearchProgress, Snippet, Transcript

LIMIT = 50
"""Samples that the terminal lists unless `--limit` changes it; all are counted."""

ROLES = ("prompt", "response", "system", "user", "assistant", "tool")

EXAMPLES = (
    Example("rolloupe search RUN_DIR 'wait, let me'", "Responses and prompts with these words"),
    Example("rolloupe search RUN_DIR --regex '\\\\boxed\\{-?\\d+\\}' --step 12", "A pattern, in one step"),
    Example("rolloupe search RUN_DIR error --word --in tool --where 'reward < 0.5'", "Tool output in bad samples"),
    Example("rolloupe search RUN_DIR sorry --json --limit 10", "For a program"),
)


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("words", nargs=-1, metavar="PATH... TEXT")
@options.data_dirs
@options.one_run
@click.option("--regex", is_flag=True, help="TEXT is a regular expression (RE2).")
@click.option("--case", is_flag=True, help="Match case.")
@click.option("--word", is_flag=True, help="Match whole words only.")
@click.option(
    "--in", "roles", multiple=True, type=click.Choice(ROLES), help="Search only these texts. Repeatable. Default: both."
)
@click.option(
    "--split",
    metavar="NAME",
    help="One split, such as train or eval/aime24; eval stands for every eval/... Default: all.",
)
@click.option("--step", "steps", callback=options.steps_of, metavar="N|A:B", help="One step, or an inclusive range.")
@click.option("--group", metavar="ID", help="One group.")
@click.option("--where", default="", metavar="CONDITIONS", help="Only these samples: see `rolloupe query`.")
@click.option(
    "--limit",
    type=click.IntRange(0, 2**53),
    metavar="N",
    help=f"List at most N; all are counted. Default: {LIMIT}, with --json all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on each line.")
@options.reading
def search(
    words: tuple[str, ...],
    data_dirs: tuple[str, ...],
    run_id: str | None,
    regex: bool,
    case: bool,
    word: bool,
    roles: tuple[str, ...],
    split: str | None,
    steps: tuple[int | None, int | None] | None,
    group: str | None,
    where: str,
    limit: int | None,
    as_json: bool,
    **reading: Any,
) -> int:
    """Find a text in prompts and responses, newest step first.

    The search ignores case unless you give --case, and takes several runs at PATH one after another. --in chooses the
    speaker: `system`, `user`, `assistant` and `tool` take longer, since the search reads whole samples for them.

    After the samples, the command lists logged conversations that no sample shows, unless --where or --group narrows
    the search to certain samples.

    With --json, the object of a sample has `kind` `sample`, the keys of `rolloupe query`, `snippets` and `more` (true
    if there are more snippets). A snippet has `role` and `pieces`, which alternate between context and hit. A
    conversation has `kind` `transcript`, `run`, `split`, `step`, `title`, `snippets`, `more` and `at`: its path in the
    step's report, as child numbers such as `0.3.1`. Exit code 1: the text was not found.
    """
    *paths, text = words or ("",)
    if not (text and (paths or data_dirs)):
        missing = "TEXT" if words or data_dirs else "PATH"
        raise click.UsageError(f"Missing argument '{missing}'. Name a run, then what to search for.")
    conditions: dict[str, Any] = {
        "regex": regex, "case": case, "word": word, "roles": roles, "split": split, "steps": steps, "group": group,
        "where": where,
    }  # fmt: skip
    with options.opened(options.place_of(paths, data_dirs, **reading), run_id=run_id) as runs:
        if not len(runs):
            options.explain_nothing(runs)
            return NOTHING
        among = options.chosen(runs, run_id)
        remaining = limit if limit is not None or as_json else LIMIT
        samples = transcripts = listed = refused = 0
        for run in among:
            try:
                ended, count = _search(run, text, conditions, remaining, as_json=as_json, many=len(among) > 1)
            except (BadQuery, NotFound) as error:  # a split or a column that only other runs have
                refused += 1
                if refused == len(among) or isinstance(error, BadPattern):
                    raise
                complain(f"Run {run.id} is left out: {error}")
                continue
            samples, transcripts, listed = samples + ended.found, transcripts + ended.transcripts, listed + count
            remaining = None if remaining is None else max(0, remaining - count)
            for note in ended.notes:
                complain(f"{run.id}: not searched: {note}")
        if not samples + transcripts:
            complain(f"Nothing was found.{_missing_steps(among, split, steps)}")
        elif not as_json:
            _say_total(samples, transcripts, listed)
        return OK if samples + transcripts else NOTHING


def _missing_steps(runs: "list[Run]", split: str | None, steps: tuple[int | None, int | None] | None) -> str:
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
    run: "Run", text: str, conditions: dict[str, Any], limit: int | None, *, as_json: bool, many: bool
) -> "tuple[SearchProgress, int]":
    """Search a run, and write the hits. Returns the final progress, and the number of hits written."""
    hits = run.search(text, limit=limit, **conditions)
    count, last = 0, None
    with progress.searching() as advanced:
        for found in hits.steps():
            for hit in found.hits:
                if as_json:
                    tell(dumps(_record(run, hit)))
                    continue
                step = (hit.sample.key.split, hit.sample.key.step)
                _print(run, hit, many=many, is_new_step=step != last)
                last = step
            for transcript in found.transcripts:
                if as_json:
                    tell(dumps(_transcript_record(run, transcript)))
                else:
                    _print_transcript(run, transcript, many=many)
            count += len(found.hits) + len(found.transcripts)
            now = found.progress
            advanced(now.searched_bytes, now.known_bytes, now.found + now.transcripts)
    return hits.progress, count


def _record(run: "Run", hit: "Hit") -> dict[str, Any]:
    return {**sample_record(run.id, hit.sample), "kind": "sample", "snippets": _pieces(hit.snippets), "more": hit.more}


def _transcript_record(run: "Run", hit: "Transcript") -> dict[str, Any]:
    place = {"run": run.id, "split": hit.split, "step": hit.step, "title": hit.title, "at": hit.at}
    return {"kind": "transcript", **place, "snippets": _pieces(hit.snippets), "more": hit.more}


def _pieces(snippets: "Sequence[Snippet]") -> list[dict[str, Any]]:
    return [{"role": snippet.role, "pieces": list(snippet.pieces)} for snippet in snippets]


def _print(run: "Run", hit: "Hit", *, many: bool, is_new_step: bool) -> None:
    console = output()
    key = hit.sample.key
    if is_new_step:
        where = f"{run.id}  " if many else ""
        console.print(line(f"{where}{key.split}, step {key.step}", "bold"))
    head = line(f"  {key}", "cyan") + line(f"  reward {number(hit.sample.reward)}", "dim")
    console.print(head + line("  and more" if hit.more else "", "dim"), crop=False, soft_wrap=True)
    for snippet in hit.snippets:
        console.print(_shown(snippet), crop=False, soft_wrap=True)


def _print_transcript(run: "Run", hit: "Transcript", *, many: bool) -> None:
    console = output()
    where = f"{run.id}  " if many else ""
    head = line(f"{where}{hit.split}, step {hit.step}, report at {hit.at or 'its top'}: ", "bold")
    console.print(head + line(hit.title, "cyan") + line("  and more" if hit.more else "", "dim"), soft_wrap=True)
    for snippet in hit.snippets:
        console.print(_shown(snippet), crop=False, soft_wrap=True)


def _shown(snippet: "Snippet") -> "Text":
    """Return a snippet on one line, with the hits highlighted."""
    shown = line(f"    {snippet.role}: ", "dim") + line("" if snippet.is_start else "…", "dim")
    for place, piece in enumerate(snippet.pieces):
        shown.append_text(line(piece, "bold reverse" if place % 2 else ""))
    return shown + line("" if snippet.is_end else "…", "dim")


def _say_total(samples: int, transcripts: int, listed: int) -> None:
    total = samples + transcripts
    unlisted = f", {total - listed:,} of them not listed: see --limit" if listed < total else ""
    counted = [f"{samples:,} sample{'' if samples == 1 else 's'}"] if samples or not transcripts else []
    counted += (
        [f"{transcripts:,} logged conversation{'' if transcripts == 1 else 's'} of no sample"] if transcripts else []
    )
    complain(f"Found in {' and '.join(counted)}{unlisted}.")
