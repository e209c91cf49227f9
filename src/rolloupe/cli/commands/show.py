"""`rolloupe show`: print one whole sample."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from msgspec import to_builtins

from rolloupe.cli.options import command, words
from rolloupe.cli.runs import holding, opened, sample_in
from rolloupe.cli.terminal import block, console_of, line, number, tell_json, tell_safe
from rolloupe.errors import NotFound
from rolloupe.questions import option
from rolloupe.server.settings import RunPaths
from rolloupe.text import legible_parts, shortened, with_results
from rolloupe.text.visible import visible

if TYPE_CHECKING:
    from rich.text import Text

    from rolloupe.api import Run, Runs
    from rolloupe.model import Sample, Turn
    from rolloupe.query.search.pattern import Mask


RANGE = re.compile(r"(?P<file>.+):(?P<start>\d{1,18})-(?P<stop>\d{1,18})", re.DOTALL)
BLOCK_BYTES = 2**20

STYLES = {
    "think": "dim",
    "marker": "dim",
    "placeholder": "dim",
    "tool_call": "cyan",
    "tool_result": "cyan",
    "answer": "bold",
}


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """Which sample to show, and in which form."""

    words: tuple[str, ...]
    raw: bool = option(False, "The record as its file holds it, byte for byte unless a terminal shows it.")
    as_bytes: bool = option(
        False,
        "ID is FILE:START-STOP, as `rolloupe doctor` prints it: show these bytes of one of the run's files.",
        flags=("--bytes",),
    )
    as_json: bool = option(False, "Print the sample, with all its turns and fields, as JSON.", flags=("--json",))
    whole: bool = option(False, "Print every line of long tool results, not only the first and last ones.")
    mask_str: str = option("", "Show each match as *, and a run of N as *×N.", "REGEX")


@command(arguments=words("PATH... ID"))
def show(asked: ShowOptions, place: RunPaths) -> None:
    """Show one whole sample.

    An ID is split/step/group/index, as in `rolloupe query` and the page's address; or split/step#N, sample number N of
    a step, counted from 0 in file order.

    With --json, the object has id, run and the fields of `rolloupe.Sample`; numbers that JSON lacks are the strings
    "NaN", "Infinity" and "-Infinity". The terminal shows control characters as symbols such as ␛, and repeated template
    placeholders as one, with their number.

    Examples:
      rolloupe show RUN_DIR train/12/3/97  # One sample, by its id
      rolloupe show RUN_DIR train/12#40  # Sample number 40 of a step, from 0
      rolloupe show RUN_DIR train/12/3/97 --raw > sample.json  # Its record, as the trainer wrote it
      rolloupe show RUN_DIR train/12.jsonl:0-4096 --bytes | less  # A record that could not be read
      rolloupe show RUN_DIR train/12/3/97 --json | jq .turns  # Everything that Rolloupe reads from it
    """
    if asked.raw + asked.as_bytes + asked.as_json > 1:
        raise click.UsageError("--raw, --bytes and --json exclude each other.")
    place, sample_id = sample_in(asked.words, place)
    with opened(place, reads_index=not asked.as_bytes, may_be_empty=True) as runs:
        if asked.as_bytes:
            _write_bytes(runs, sample_id)
            return
        run, sample_id = holding(runs, sample_id)
        if asked.raw:
            data = run.raw(sample_id).data
            _write(data if data.endswith(b"\n") else data + b"\n")
            return
        sample = run.sample(sample_id)
        if asked.as_json:
            facts = {"id": str(sample.key), "run": run.id, **to_builtins(sample, enc_hook=list)}
            tell_json(facts, indent=2)
            return
        from rolloupe.query.search.pattern import mask_of

        console = console_of(sys.stdout)
        for text in _page(run, sample, mask_of(asked.mask_str) if asked.mask_str else None, is_whole=asked.whole):
            console.print(text, soft_wrap=True)


def _write_bytes(runs: "Runs", place: str) -> None:
    found = RANGE.fullmatch(place)
    if found is None:
        raise click.UsageError(f"{place!r} is not FILE:START-STOP.")
    if len(runs) != 1:
        raise NotFound(f"choose the run with --run: {', '.join(run.id for run in runs[:20]) or 'no run was found'}")
    start, stop = int(found["start"]), int(found["stop"])
    if start >= stop:
        raise click.UsageError(f"{place!r}: the range ends where it begins or before.")
    if not runs[0].read(found["file"], start, start + 1):
        raise NotFound(f"{found['file']} ends before byte {start}")
    while start < stop and (block := runs[0].read(found["file"], start, min(start + BLOCK_BYTES, stop))):
        _write(block)
        start += len(block)


def _write(data: bytes) -> None:
    """Write bytes as they are; in a terminal, as text without control characters."""
    if sys.stdout.isatty():
        tell_safe(visible(data.decode("utf-8", "replace")))
    else:
        sys.stdout.buffer.write(data)


def _page(run: "Run", sample: "Sample", mask: "Mask | None", *, is_whole: bool) -> "Iterator[Text]":
    yield line(f"{run.id}  {sample.key}", "bold")
    facts = list(_facts(sample))
    width = min(48, max(len(name) for name, _ in facts))
    for name, value in facts:
        yield line(f"{name:{width}} ", "dim") + line(value)
    for note in sample.notes:
        yield block("\n    ".join(f"Note: {note}".rstrip().split("\n")), "yellow")
    yield from _transcript(sample.turns, mask, is_whole=is_whole)
    if sample.label:
        yield _heading("label")
        yield block(mask(sample.label) if mask else sample.label)
    if sample.ref_turns:
        yield _heading("reference response", number(sample.ref_reward))
        yield from _transcript(sample.ref_turns, mask, is_whole=is_whole)


def _facts(sample: "Sample") -> Iterator[tuple[str, str]]:
    from rolloupe.derive import PREFIX, values_of_sample

    row, where = sample.row, sample.locator
    yield "reward", number(row.reward)
    yield "advantage", number(row.advantage)
    yield "status", row.status + (f" ({row.status_raw})" if row.status_raw not in ("", row.status) else "")
    if row.cause:
        yield "ended by", row.cause
    if row.env:
        yield "environment", row.env
    if row.discarded:
        yield "discarded", row.discarded
    counts = (("prompt", row.prompt_tokens), ("response", row.response_tokens), ("total", row.total_tokens))
    yield "tokens", ", ".join(f"{name} {count}" for name, count in counts if count is not None) or "-"
    for name, value in row.metrics.items():
        yield name, number(value)
    yield from row.tags.items()
    for name, derived in values_of_sample(row).items():
        yield f"{PREFIX}{name}", number(derived)
    for name, fact in sample.facts.items():
        yield name, fact if isinstance(fact, str) else number(fact)
    if sample.series:
        yield "token series", ", ".join(f"{series.name} ({len(series.values)})" for series in sample.series)
    place = f"bytes {where.start} to {where.start + where.length}" if where.length else f"record {where.start}"
    yield "source", f"{where.source}, {place}"


def _transcript(turns: "Sequence[Turn]", mask: "Mask | None", *, is_whole: bool) -> "Iterator[Text]":
    for turn in with_results(turns):
        tokens = "" if turn.tokens is None else f"{turn.tokens} tokens"
        reward = "" if turn.reward is None else f"reward {number(turn.reward)}"
        facts = (f"{name} {fact if isinstance(fact, str) else number(fact)}" for name, fact in turn.facts.items())
        error = "error" if turn.logs.get("is_error") or turn.logs.get("error") else ""
        yield _heading(turn.role, turn.name, turn.tool_call_id, error, tokens, reward, turn.stop_reason, *facts)
        body = block("")
        for part, written in legible_parts(turn.parts):  # without a mask, repeated placeholders as one, with a number
            shown = part.text if part.kind == "placeholder" and part.raw and mask is None else written
            if part.kind == "tool_result" and not is_whole:
                shown = shortened(shown)
            body.append_text(block(mask(shown) if mask else shown, STYLES.get(part.kind, "")))
        body.rstrip()
        yield body


def _heading(title: str, *more: str) -> "Text":
    words = [line(word, "dim") for word in more if word]
    return block("\n") + block("  ").join([line(f" {title} ", "bold reverse"), *words])
