"""docs/formats.md, written from the code."""

from rolloupe.formats.reading.codecs import MAX_RATIO
from rolloupe.formats.reading.jsonl import MAX_LINE_BYTES, JsonlFormat
from rolloupe.formats.registry import ARCHIVES, JSONL_FORMATS
from rolloupe.formats.telescope.format import Telescope

_OPENING = f"""\
# Formats

This page is written by `rolloupe.formats.describe()`; a test compares the two.

A run is recognised by what its files hold, in the order below; `rolloupe doctor PATH` says what was recognised, what
was not, and why. `--format NAME` reads a path as that format although its contents say otherwise.

What holds for all of them, lines being those of the formats that are JSON lines (all but Telescope):

- The files are read where they lie and never changed. Links that lead out of the opened root are refused unless
  `--follow-symlinks` is given.
- Lines end at a newline byte and nowhere else. A line is good if Python's `json` reads it as an object after invalid
  UTF-8 was replaced: `NaN`, `Infinity`, numbers beyond 64 bits, lone surrogates and duplicate keys (the last counts)
  are all read. Every other line is listed as a problem with file, byte range and reason. Blank lines are passed over,
  and so is a byte order mark at the start of a file.
- Every file may be compressed with gzip or zstd: `.gz` or `.zst` stands behind its ending (`0.jsonl.zst`) and counts
  for nothing else, so ids are those of the plain file. Byte offsets are those of what the file holds. Where a file
  lies there plain and compressed, the plain one is read; of `.zst` and `.gz`, `.zst`.
- A compressed file that is cut off, still being written, or damaged gives all lines before that, and one problem with
  the place in the compressed file. What lies behind damage is read only where a zstd seek table tells where to go on.
- A compressed file is read from its start, unless it ends with a zstd seek table; then its newest samples come first,
  as in plain files, and a sample costs one frame. Without one, the first look into the middle decodes all before it:
  about a second for 200 MB of text with gzip, a quarter of that with zstd. Later looks are quick with gzip and with
  zstd in frames; in a single zstd frame each jump back begins at the start again. A huge run is best sealed in frames
  of some MiB.
- Of a compressed file that expands to more than 1 GiB and more than {MAX_RATIO}-fold, no more is read.
- The unfinished last line of a file that is being written is a sample as soon as it is whole.
- Lines beyond {MAX_LINE_BYTES // 2**20} MiB are listed, not parsed.
- A step is an integer: `3`, `3.0` or `"3"`. A line with any other step, but null, is listed as a problem, and so is
  such a row of the trainer's metrics. Any other key of an unexpected type never costs the sample: its value is shown
  among the extra fields.
- Where a framework has no name for the group of a sample, samples with equal prompts within a step are a group, named
  by the first 12 hex digits of the prompt's BLAKE2b hash. Where it has none for the sample, the byte offset is its
  name, which stays the same as long as the file is only appended to.
- Where several rows have the same split, step, group and index (a `sample_index` that is written twice), each of them
  is a sample: all count in means, groups, lists, searches, evaluations and exports. The last one has the plain id; the
  earlier ones are `~1`, `~2`, ... in file order. Only what an older launch recorded of a step is left aside, in the
  format `native`, which alone names launches.
"""


def describe() -> str:
    """Return docs/formats.md."""
    return "\n".join([_OPENING, _section(JSONL_FORMATS[0]), _section(ARCHIVES), *map(_section, JSONL_FORMATS[1:])])


def _section(one: JsonlFormat | Telescope) -> str:
    rows = "\n".join(f"| {keys} | {meaning} |" for keys, meaning in one.reads)
    return f"""\
## {one.title} (`{one.name}`)

**Recognised**: {one.recognises}

**Layout**: {one.layout}

**Identity**: {one.identity}

| key | becomes |
|---|---|
{rows}

**Limits**: {one.limits}
"""
