"""docs/formats.md, written from the code."""

from rolloupe.formats.base import Format
from rolloupe.formats.reading.codecs import MAX_RATIO
from rolloupe.formats.reading.line_reader import MAX_LINE_BYTES
from rolloupe.formats.reading.trackers.sqlite import MAX_ROW_BYTES
from rolloupe.formats.registry import built_in_formats

_OPENING = f"""\
# Formats

This page is generated from the code: `make pages` writes it.

Rolloupe recognises a run by the contents of its files, in the order below; `rolloupe doctor PATH` lists recognised
runs, other files, and the reasons. `--format NAME` reads a path as that format although its contents do not match.

[adding-a-format.md](adding-a-format.md) shows how to add a format, here or in a package of its own.

These rules hold for all formats; the rules about lines hold for formats of JSON lines:

- Rolloupe reads the files in place and never changes them. It refuses links that lead out of the opened root unless
  you pass `--follow-symlinks`.
- Lines end at a newline byte and nowhere else. A line is good if Python's `json` reads it as an object after invalid
  UTF-8 was replaced: `NaN`, `Infinity`, numbers beyond 64 bits, lone surrogates and duplicate keys (the last counts)
  are all read. Every other line is listed as a problem with file, byte range and reason. Blank lines are skipped, and
  so is a byte order mark at the start of a file.
- Every file may be compressed with gzip or zstd: `.gz` or `.zst` follows its suffix (`0.jsonl.zst`) and changes
  nothing else, so ids are those of the plain file. Byte offsets refer to the uncompressed content. If a folder holds a
  file both plain and compressed, Rolloupe reads the plain one; of `.zst` and `.gz`, it reads `.zst`.
- A compressed file that is cut off, still being written, or damaged yields all lines before that place, and one
  problem with the place in the compressed file. Lines after the damage are read only if a zstd seek table locates the
  next frame.
- A compressed file is read from its start, unless it ends with a zstd seek table; then its newest samples come first,
  as in plain files, and a sample costs one frame. Without a table, the first look into the middle decodes everything
  before it: about a second for 200 MB of text with gzip, a quarter of that with zstd. Later looks are quick with gzip
  and with zstd in frames; in a single zstd frame each jump back starts from the beginning. Seal a huge run in frames of
  some MiB.
- If a compressed file expands to more than 1 GiB and more than {MAX_RATIO}-fold, reading stops there.
- The unfinished last line of a file that is being written becomes a sample as soon as it is complete.
- Lines beyond {MAX_LINE_BYTES // 2**20} MiB are listed, not parsed; so are rows of SQLite beyond
  {MAX_ROW_BYTES // 2**20} MiB.
- A step is an integer: `3`, `3.0` or `"3"`. A line with any other step, except null, is listed as a problem, and so is
  such a row of the trainer's metrics. Any other key of an unexpected type never costs the sample: its value appears
  among the extra fields.
- If a framework does not name groups, samples with equal prompts within a step form a group, named by the first 12 hex
  digits of the prompt's BLAKE2b hash. If it does not name samples, the byte offset is the name, which stays the same
  as long as the file only grows.
- If several rows have the same split, step, group and index (a `sample_index` that is written twice), each of them is
  a sample: all count in means, groups, lists, searches, evaluations and exports. The last one has the plain id; the
  earlier ones are `~1`, `~2`, ... in file order. One exception: an older launch's records of a step that a later launch
  wrote again do not count, though their addresses still open them. The format `native` names launches. In any other
  format, one begins where a file goes back to an earlier step and writes a whole step again: with the same names of
  samples, or, three steps or more behind the last and not at the first step of the file, with the same number of
  samples of the same prompts. If several files hold such steps, as those of ranks do, all must go back as often.
  `rolloupe doctor` and `rolloupe lint` say what was left out. What is less certain counts, and they name it: a file
  that goes back in another way, and files of the last steps that are older than those of steps before them.
"""


def describe() -> str:
    """Return docs/formats.md."""
    return "\n".join([_OPENING, *map(_section, built_in_formats())])


def _section(reader: Format) -> str:
    rows = "\n".join(f"| {keys} | {meaning} |" for keys, meaning in reader.reads)
    return f"""\
## {reader.title} (`{reader.name}`)

**Recognised**: {reader.recognises}

**Layout**: {reader.layout}

**Identity**: {reader.identity}

| key | becomes |
|---|---|
{rows}

**Limits**: {reader.limits}
"""
