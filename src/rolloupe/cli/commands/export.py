"""`rolloupe export`: samples with their tokens as one file that a browser opens, and pairs of judged samples."""

import contextlib
import sys
from dataclasses import dataclass
from itertools import chain

import click

from rolloupe.cli import progress
from rolloupe.cli.new_file import new_file, refuse_part_of
from rolloupe.cli.options import PATHS, STEP, WHERE, StepRange, command
from rolloupe.cli.runs import only, opened
from rolloupe.cli.terminal import NOTHING, OK, complain, tell_json
from rolloupe.cli.terminal import tell as printed
from rolloupe.questions import option
from rolloupe.server.settings import STATE_DIR, RunPaths
from rolloupe.storage import own_place

LIMIT = 100
"""Samples in a report unless `--all-records`, `--worst` or `--record` says otherwise."""


@click.group()
def export() -> None:
    """Write samples in a form that needs no Rolloupe to look at."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Which samples to report, and which of their data."""

    output: str
    split: str | None = option(None, "One split; eval stands for every eval/... Default: all.")
    steps: StepRange = option(None, **STEP)
    rank: int | None = option(None, "Only this rank, if the run has ranks.", ge=0)
    env: str | None = option(None, "Only samples of this environment.")
    where: str = option("", **WHERE)
    record: int | None = option(None, "Only sample number N of each step, from 0 in file order.", ge=0)
    all_records: bool = option(False, f"All samples. Default: the first {LIMIT}.")
    worst: int | None = option(None, "Only the N worst samples, the worst first.", ge=1)
    by: str = option(
        "max_kl",
        "The measure of --worst: max_kl, mask_disagreement, or any column; the lowest rewards are the worst.",
        "MEASURE",
        show_default=True,
    )
    tokens: bool = option(True, "Include the tokens with their numbers. Default: yes.", flags=("--tokens/--no-tokens",))
    rules: tuple[str, ...] = option(
        (),
        "Include the update of the tokens under this rule too, such as dapo; may be repeated. Default: the run's own.",
        flags=("--rule",),
    )
    findings: bool = option(
        True,
        "Begin with what the reward pays for, and the rules that samples break. Default: yes.",
        flags=("--findings/--no-findings",),
    )
    title: str = option("", "The heading. Default: the name of the run.", "TEXT")
    as_json: bool = option(False, "Print what was written as a JSON object.", flags=("--json",))

    @property
    def limit(self) -> int | None:
        """The most samples, unless the options say which."""
        return None if self.all_records or self.worst is not None or self.record is not None else LIMIT

    @property
    def conditions(self) -> str:
        """All conditions on the samples as one."""
        conditions = [self.where] if self.where else []
        conditions += [f"rank = {self.rank}"] if self.rank is not None else []
        conditions += [f"number = {self.record}"] if self.record is not None else []
        conditions += ["env = '" + self.env.replace("'", "''") + "'"] if self.env is not None else []
        return conditions[0] if len(conditions) == 1 else " and ".join(f"({one})" for one in conditions)


OUTPUT = click.Option(
    ["-o", "--output"],
    required=True,
    metavar="FILE",
    help="The file to write; a name that ends in / is a folder, which large reports need; - is standard output.",
)


@command(arguments=(*PATHS, OUTPUT))
def html(asked: ReportOptions, place: RunPaths) -> int:
    """Write samples with their tokens to one file of HTML.

    The file opens in any browser, from a disk or from a mail. It holds its script and asks no server for anything; what
    the model wrote is shown as text and never executed. It has a list of the samples with a filter box, their
    transcripts, and their tokens coloured by any series, or as the step pushed them. It prints well.

    Above the list are the brief, and the results of `rolloupe findings`, `parts` and `lint` for all steps of the split,
    with links to their samples in the file. --no-findings leaves them out, and does not wait for the index of texts.

    With --json, the object has run, files, samples, tokens and size_bytes. With -o -, it goes to standard error, as
    does every message.

    Examples:
      rolloupe export html RUN_DIR -o report.html --step 12  # The first 100 samples of a step, to mail
      rolloupe export html RUN_DIR -o worst.html --worst 20  # The 20 samples with the greatest KL at a token
      rolloupe export html RUN_DIR -o low.html --worst 20 --by reward  # Those with the lowest reward
      rolloupe export html rank_0.jsonl -o one.html --record 3  # One record of one file, counted from 0
      rolloupe export html RUN_DIR -o folder/ --all-records --where 'reward < 0.1'  # Many, in several files
    """
    from rolloupe.api import sample_query

    tell = complain if asked.output == "-" else printed
    with opened(place) as runs:
        run = only(runs)
        if asked.output != "-":
            refuse_part_of(runs, own_place(asked.output))
        if asked.output.endswith("/"):
            own_place(asked.output).mkdir(parents=True, exist_ok=True)
        wanted = sample_query(split=asked.split, steps=asked.steps, where=asked.conditions, limit=asked.limit)
        total = run.total(wanted)
        if not total:
            complain("No sample matches, so nothing was written.")
            return NOTHING
        with progress.counting("Writing") as advanced:
            place_of_report = sys.stdout.buffer if asked.output == "-" else asked.output
            names = ("title", "worst", "by", "tokens", "rules", "findings")
            how = {name: getattr(asked, name) for name in names}
            done = run.report(place_of_report, wanted, advanced=advanced, **how)
    if asked.as_json:
        facts = {
            "run": run.id, "files": [str(file.absolute()) for file in done.files], "samples": done.samples,
            "tokens": done.tokens, "size_bytes": done.size_bytes,
        }  # fmt: skip
        tell_json(facts, indent=2)
        return OK
    size_mb, where = done.size_bytes / 1e6, "" if asked.output == "-" else f": {done.files[0]}"
    tell(f"{done.samples:,} of {total:,} samples, {done.tokens:,} tokens, {size_mb:.1f} MB{where}")
    if asked.worst is not None and done.samples < min(asked.worst, total):
        tell(f"The other {total - done.samples:,} samples have no {asked.by}, so they are not among the worst.")
    if asked.limit is not None and done.samples < total:
        tell(f"These are the first {LIMIT}. Next: --all-records writes all, --worst 100 the worst.")
    return OK


@dataclass(frozen=True, kw_only=True)
class PairOptions:
    """Which pairs to write."""

    output: str
    split: str | None = option(None, "One split; eval stands for every eval/... Default: all.")
    state_dir: str | None = option(None, **STATE_DIR)
    overwrite: bool = option(False, "Replace FILE if it exists.")


@command(arguments=(*PATHS, OUTPUT))
def pairs(asked: PairOptions, place: RunPaths) -> int:
    """Write pairs of a good and a bad answer to one prompt as JSON lines, for preference training.

    The answers are those that a person judged on the page. Each pair of a sample judged good and one judged bad in the
    same group has a line: prompt, chosen and rejected (whole texts), run, chosen_id, rejected_id, chosen_reward and
    rejected_reward. `rolloupe query --where 'judgement is not null' --to FILE` writes the judged samples themselves.

    The command does not replace an existing file without --overwrite.

    Examples:
      rolloupe export pairs RUN_DIR -o pairs.jsonl  # For DPO and the like
      rolloupe export pairs RUN_DIR -o - | jq -r .chosen  # Only the good answers
    """
    from rolloupe.insight.judgements import pair_lines

    tell = complain if asked.output == "-" else printed
    with opened(place, state_dir=asked.state_dir) as runs:
        count = 0
        with contextlib.ExitStack() as files:
            lines = (line for run in runs for line in pair_lines(run.preference_pairs(asked.split)))
            first = next(lines, None)
            if first is None:
                complain(
                    "No group has both a good and a bad sample, so nothing was written. Next: judge samples on the"
                    " page (j)."
                )
                return NOTHING
            target = sys.stdout.buffer
            if asked.output != "-":
                target = files.enter_context(new_file(own_place(asked.output), runs, overwrite=asked.overwrite))
            for line in chain([first], lines):
                target.write(line)
                count += 1
    tell(f"{count:,} {'pair' if count == 1 else 'pairs'}{'' if asked.output == '-' else f': {asked.output}'}")
    return OK


export.add_command(html)
export.add_command(pairs)
