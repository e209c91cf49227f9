"""The file of a report.

It holds the script and the style sheet of the browser app, and the samples as data. Its policy allows only that script,
by its hash, and no fetches. The data lie in an element that no browser executes, with every `<` escaped;
tokens are compressed, as `docs/tokens-wire.md` describes them, in base64.
"""

import base64
import hashlib
import html
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rolloupe import query, text
from rolloupe._version import __version__
from rolloupe.errors import NotFound
from rolloupe.export.report.contents import Measured, ReportedCurve, ReportedInsight, ReportedSample
from rolloupe.model import Sample
from rolloupe.query import SampleQuery
from rolloupe.storage import atomic
from rolloupe.wire import to_wire, token_bytes
from rolloupe.wire.app_files import app_files, built
from rolloupe.wire.encoding import encode
from rolloupe.wire.samples import SampleReply, TurnView


def scope_of(run: str, asked: SampleQuery) -> str:
    """Return the run, the split, the steps and the conditions of a query as a sentence."""
    words = [", ".join(asked.splits) or "all splits", _steps(asked.step_min, asked.step_max)]
    if asked.group is not None:
        words.append(f"group {asked.group}")
    if asked.trained is not None:
        words.append("trained on" if asked.trained else "discarded")
    if asked.typed:
        words.append(f"where {asked.typed}")
    return f"Samples of {run}: {', '.join(words)}."


def _steps(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return "all steps"
    if low == high:
        return f"step {low}"
    if high is None:
        return f"step {low} and later"
    return f"steps {low} to {high}" if low is not None else f"steps up to {high}"


PREVIEW_CHARS = 160
LINE_CHARS = 1_000_000
"""The most text that a browser parses at once without a noticeable wait."""
PART_BYTES = 50 * 2**20
"""A browser opens a file of this size at once; more samples go into more files."""
ALTERNATIVE_DECIMALS = 3
"""Decimals of the logprob of an alternative: its probability is then exact to 0.05%."""
NO_ROOM = f"the samples do not fit into one file of {PART_BYTES // 2**20} MB"

Insight = Callable[[], ReportedInsight | None]
"""Computes a report's statements on the whole run; called once, after the samples of a file."""


class Report(Struct, kw_only=True):
    """The head of the file, above the samples."""

    title: str
    about: str = ""
    total: int = 0
    """The number of samples to choose from."""
    part: str = ""
    """The samples in this file, in words."""
    made: str = ""
    measure: str = ""
    """The measure by which the samples are the worst."""
    measure_title: str = ""
    next_file: str = ""
    insight: ReportedInsight | None = None
    """What the reward pays for, and the rules that samples break."""
    curve: ReportedCurve | None = None
    """The mean reward by step."""
    failures: Sequence[str] = ()
    """Errors that ended the writing of the file early."""


def made_now() -> str:
    """Return the sentence with the version and the time that made a report."""
    return f"Made by Rolloupe {__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."


class ReportedTokens(NamedTuple):
    """Whether a report has tokens, and the rules of their updates."""

    is_there: bool = True
    rules: tuple[str, ...] = ()
    """Rules of updates, besides the usual rule of each sample."""


class Alternatives(Struct, kw_only=True):
    """The tokens that the model could have sampled in the place of each token, in order."""

    strings: list[str]
    counts: list[int]
    """The number of alternatives of each token."""
    chosen: list[int]
    """For each token, the alternative that the model did sample; -1 for none."""
    places: list[int]
    """For each alternative, the index of its string in `strings`."""
    logprobs: list[float]


class SampleInReport(Struct, kw_only=True):
    """A sample as the script of the report reads it. Token data are base64 of compressed bytes."""

    reply: SampleReply
    preview: str
    note: str
    measured: Measured | None = None
    tokens: str | None = None
    updates: dict[str, str] = {}
    """For each rule, how the step updates the tokens."""
    alternatives: str | None = None


class FurtherTurns(Struct, kw_only=True):
    """More turns of the preceding sample."""

    turns: list[TurnView]


class FurtherText(Struct, kw_only=True):
    """More text for the member `text` or `raw` of a part of the preceding turn."""

    part: int
    of: str
    more: str


class WrittenReport(NamedTuple):
    """What was written."""

    files: list[Path]
    samples: int
    tokens: int
    size_bytes: int


def write_report(
    target: Path | BinaryIO,
    about: Report,
    samples: Iterable[ReportedSample],
    *,
    tokens: ReportedTokens,
    insight: Insight,
) -> WrittenReport:
    """Write a report to a file, to files in a folder if `target` is one, or piece by piece to an open file.

    Raises `NotFound` if the browser app is not built, `OSError`, and `ValueError` if the samples are too many for one
    file. The pieces written to an open file by then are a whole report.
    """
    is_folder = isinstance(target, Path) and target.is_dir()
    records = _Records(samples, tokens, may_cut=is_folder)
    insight, errors = cache(insight), list[Exception]()
    files: list[Path] = []
    size_bytes = 0
    while not records.is_over:
        pieces = _document(about, records, insight, errors, _name(len(files) + 1) if is_folder else "")
        if isinstance(target, Path):
            files.append(target / _name(len(files)) if is_folder else target)
        with _opened(files[-1]) if isinstance(target, Path) else nullcontext(target) as file:
            for piece in pieces:
                size_bytes += file.write(piece)
                file.flush()
            if errors:
                raise errors[0]
    return WrittenReport(files, records.samples, records.tokens, size_bytes)


def _opened(path: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file that is complete once it has its name; links are followed, devices and pipes are not replaced."""
    if path.exists() and not path.is_file():
        return path.open("wb")
    return atomic.replacing(path.resolve() if path.is_symlink() else path)


def report_pieces(
    about: Report, samples: Iterable[ReportedSample], *, tokens: ReportedTokens, insight: Insight
) -> Iterator[bytes]:
    """Yield a report of one file in pieces, with as many of the samples as fit; its head names them.

    Nothing is computed before the first piece, and `insight` is called after the samples. Raises `NotFound` if the
    browser app is not built.
    """
    return _document(about, _Records(samples, tokens, may_cut=True), insight, [])


class _Records:
    """The samples as JSON, for one file after the other. Without `may_cut`, all of them must fit into the first."""

    def __init__(self, samples: Iterable[ReportedSample], tokens: ReportedTokens, *, may_cut: bool) -> None:
        self._records, self._may_cut = _records(samples, tokens), may_cut
        self._next: tuple[bytes, int] | None = None
        self.is_over = False
        self.samples = self.tokens = 0

    def of_file(self) -> Iterator[bytes]:
        """Yield the samples that fit into the next file, at least one."""
        size_bytes = 0
        while (record := self._next or next(self._records, None)) is not None:
            data, token_count = record
            if size_bytes and size_bytes + len(data) > PART_BYTES:
                self._next = record
                if self._may_cut:
                    return
                raise ValueError(NO_ROOM)
            self._next = None
            yield data
            size_bytes += len(data)
            self.samples += 1
            self.tokens += token_count
        self.is_over = True


def _holding(about: Report, first: int, count: int) -> Report:
    """Return the head of a file that holds `count` samples, from number `first` on."""
    total = about.total or first + count
    which = f"{count:,} worst" if about.measure else f"first {count:,}"
    part = (
        f"Samples {first + 1:,} to {first + count:,} of {total:,}." if first else f"The {which} of {total:,} samples."
    )
    if count >= total:
        part = f"{count:,} {'sample' if count == 1 else 'samples'}."
    return replace(about, part=part)


def _name(number: int) -> str:
    return f"part-{number + 1}.html" if number else "index.html"


def _records(samples: Iterable[ReportedSample], tokens: ReportedTokens) -> Iterator[tuple[bytes, int]]:
    """Yield each sample as JSON that is safe within HTML, and the number of its tokens."""
    for reported in samples:
        sample = reported.sample
        reply = to_wire.sample_reply(reported.run, sample, reported.members)
        # all turns: a file has no server to ask for more pages
        further = to_wire.turn_views(sample.turns, len(reply.turns))
        preview = " ".join(sample.response_text[: 4 * PREVIEW_CHARS].split())[:PREVIEW_CHARS]
        record = SampleInReport(
            reply=replace(reply, turns=[*reply.turns, *further]), preview=text.clean(preview),
            note=text.clean(reported.note), measured=reported.measured,
        )  # fmt: skip
        count = _add_tokens(record, reported, tokens.rules) if tokens.is_there else 0
        yield b"\n".join(map(_harmless, _lines_of(record))), count


def _lines_of(record: SampleInReport) -> Iterator[bytes]:
    """Yield a sample as lines of JSON that a browser reads in order: the lines after the first have its turns."""
    turns, line, size = record.reply.turns, list[TurnView](), 0
    yield encode(replace(record, reply=replace(record.reply, turns=[])))
    for turn in turns:
        long = [
            (number, name, whole)
            for number, part in enumerate(turn.parts)
            for name, whole in (("text", part.text), ("raw", part.raw or ""))
            if len(whole) > LINE_CHARS
        ]
        if line and (size + turn.chars > LINE_CHARS or long):
            yield encode(FurtherTurns(turns=line))
            line, size = [], 0
        if long:
            begun = [
                replace(part, text=part.text[:LINE_CHARS], raw=part.raw and part.raw[:LINE_CHARS])
                for part in turn.parts
            ]
            yield encode(FurtherTurns(turns=[replace(turn, parts=begun)]))
            for number, name, whole in long:
                for start in range(LINE_CHARS, len(whole), LINE_CHARS):
                    yield encode(FurtherText(part=number, of=name, more=whole[start : start + LINE_CHARS]))
            continue
        line.append(turn)
        size += turn.chars
    if line:
        yield encode(FurtherTurns(turns=line))


def _add_tokens(record: SampleInReport, reported: ReportedSample, rules: Sequence[str]) -> int:
    sample, loss = reported.sample, reported.loss
    page, name = query.token_page(sample, loss=loss), str(sample.key)
    if not page.total:
        return 0
    usual = query.usual_update(page.updates, loss)
    page = page._replace(updates=[rule for rule in page.updates if rule == usual or rule in rules])
    record.tokens = _packed(token_bytes.encoded(name, page, is_compact=True))
    empty = page._replace(rules=[], updates=[], partial={})
    kl_weight = None if "ref_logprobs" in page.series else 0.0
    for rule in page.updates:
        update = query.token_update(sample, query.choice_of(loss, rule, kl_weight=kl_weight))
        record.updates[rule] = _packed(token_bytes.encoded(name, empty, (rule, update), is_compact=True))
    if page.has_alternatives:
        record.alternatives = _packed(encode(_alternatives(sample, page.total)))
    return page.total


def _alternatives(sample: Sample, total: int) -> Alternatives:
    strings: dict[str, int] = {}
    by_token = [query.token_alternatives(sample, token) for token in range(total)]
    every = [alternative for of_token in by_token for alternative in of_token]
    return Alternatives(
        counts=[*map(len, by_token)],
        chosen=[next((at for at, it in enumerate(of_token) if it.is_chosen), -1) for of_token in by_token],
        places=[strings.setdefault(alternative.text, len(strings)) for alternative in every],
        logprobs=[round(alternative.logprob, ALTERNATIVE_DECIMALS) for alternative in every],
        strings=list(strings),
    )


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def _document(
    about: Report, records: _Records, insight: Insight, errors: list[Exception], next_file: str = ""
) -> Iterator[bytes]:
    """Yield a file in pieces: its samples, then a line with its head, which reports failures; `errors` gets them."""
    script, sheet = _app("report/report.js"), _app("report/report.css")
    licenses = html.escape(_app("report/licenses.md"))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(sheet)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer"><title>{html.escape(text.clean(about.title))}</title>
<style>{sheet}</style></head><body><div id="app"></div>
<noscript>This report needs JavaScript. Allow scripts and reload.</noscript>
<script type="text/plain" id="licenses">{licenses}</script>
<script type="application/jsonl" id="data">
"""

    def rest() -> Iterator[bytes]:
        failures: list[str] = []
        first, above = records.samples, about
        try:
            for record in records.of_file():
                yield record + b"\n"
        except Exception as error:
            errors.append(error)
            failures.append(f"Reading the samples ended early: {text.clean(str(error))}")
        above = replace(_holding(about, first, records.samples - first), next_file="" if records.is_over else next_file)
        try:
            above = replace(above, insight=insight())
        except Exception as error:
            errors.append(error)
            failures.append(f"The findings about the whole run are missing: {text.clean(str(error))}")
        yield _harmless(encode(replace(above, failures=failures)))
        yield b'</script>\n<script type="module">' + script.encode()
        yield b"</script></body></html>\n"

    return chain([head.encode()], rest())


def _app(name: str) -> str:
    found = built()
    data = app_files(found[0]).get(name) if found else None
    if data is None:
        raise NotFound("the browser app is not built, so there is nothing to draw a report with. Next: `make web`")
    content = data.decode()
    if "</script" in content.lower() or "</style" in content.lower():
        raise NotFound(f"{name} cannot be written into a page")
    return content.rstrip("\n")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _harmless(data: bytes) -> bytes:
    r"""Escape what could end the element that holds JSON: `<` occurs only in strings, where `\u003c` is the same."""
    return data.replace(b"<", b"\\u003c")
