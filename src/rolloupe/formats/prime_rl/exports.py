"""prime-rl: its trainer's token exports (May to August 2026), one packed sequence per line, seven shapes of keys.

Source: `trainer/rl/token_export.py` of prime-rl at #2551, #2592, #2596, #2641, #2746, #3189 and main of August 2026.
`schema_version` stayed 1 throughout, so the keys identify the shape. Arrays describe the token at their index; outside
`loss_mask` they hold dummies and garbage, which Rolloupe never shows and never averages.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from rolloupe import tokens
from rolloupe.formats.base import Annotations
from rolloupe.formats.prime_rl.own_tokenizer import EXPORTS, tokenizers_of
from rolloupe.formats.prime_rl.token_columns import (
    ARRAYS,
    AT_SAMPLING,
    BY_MASK,
    COUNTS,
    MEANS,
    NUMBERS,
    PROBABILITIES,
    SERIES,
    absences_of,
    columns_of,
    first_of,
    metrics_of,
    series_of,
    shown,
    token_series_of,
    tokens_of,
    turns_of,
)
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.arrays import Cutter
from rolloupe.formats.reading.files import (
    FolderEntry,
    alone,
    entries,
    files,
    folders,
    is_one_file,
    links_of,
    plain_name,
    stem,
)
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.line_reader import parse
from rolloupe.formats.reading.peek import Peek, look, look_into
from rolloupe.formats.reading.records import Record, step_of
from rolloupe.formats.token_texts import note_of, note_without_tokenizer, strings_of, tokenizer_of
from rolloupe.formats.token_texts import turns_of as turns_of_tokens
from rolloupe.model import (
    Location,
    Locator,
    RunInfo,
    RunPart,
    Sample,
    SampleRow,
    Scanned,
    Source,
)
from rolloupe.storage import is_file, path_state
from rolloupe.tokens import SampleTokens

STABLE = "STABLE"
QUIET_S = 600.0
"""A step without `STABLE` that has not changed for this long is never going to be finished."""

_RANK = re.compile(r"rank_(?P<rank>\d{1,9})\.jsonl")
_STEP = re.compile(r"step_(?P<step>\d{1,15})")
ROWS = ", rows have micro_step, micro_sequence_idx and export_sequence_idx"
_TELLING = {"micro_step", "micro_sequence_idx", "export_sequence_idx"}
_PLACED = {*ARRAYS, *NUMBERS, "step", "export_step", "run_id", "env_name", "training_mode"}


class PrimeRL(JsonlFormat):
    """Token exports of prime-rl."""

    name = "prime_rl"
    title = "prime-rl token exports"
    recognises = (
        "Files named `rank_{R}.jsonl` in a folder `token_exports/`, or in folders `step_{N}/` in it, whose rows hold "
        "`micro_step`, `micro_sequence_idx` and `export_sequence_idx`."
    )
    layout = (
        "`token_exports/rank_{R}.jsonl`, `token_exports/step_{N}/rank_{R}.jsonl`, also below one folder for each "
        "run; open the run, `token_exports/` or one file. A step of later versions is being written until it "
        "has `STABLE`, and incomplete where nothing changed for 10 minutes without it."
    )
    identity = (
        "step = `export_step`, else `step`; index = `{rank}-{export_sequence_idx}`; group = a hash of the token ids "
        "before the first one that is trained on, for the files name no group. One row is one packed sequence: a "
        "branch of a rollout, not always a whole one."
    )
    reads = (
        (
            "`token_ids`, `position_ids`",
            "the tokens: with a tokenizer prompt, response and turns as text, else shown as ids",
        ),
        ("`loss_mask`", "the sampled, trained tokens: turns are its spans, and all means are over it"),
        ("`rewards`", "the reward, and a token series, until June 2026; later versions store none"),
        ("`advantages`", "the advantage, and a token series"),
        (
            ", ".join(f"`{key}`" for key in SERIES if key not in ("advantages", "rewards", *PROBABILITIES.values())),
            f"token series, absent outside the mask; `{AT_SAMPLING}` is called `logprobs`",
        ),
        (
            f"{', '.join(f'`{key}`' for key in PROBABILITIES)} (the first shape)",
            f"the token series {', '.join(f'`{name}`' for name in PROBABILITIES.values())}",
        ),
        (", ".join(f"`{key}`" for key in MEANS), "sample metrics: the mean over the mask"),
        ("`log_importance_ratio`", "sample metric `abs_log_importance_ratio`: the mean of its magnitude over the mask"),
        (", ".join(f"`{key}`" for key in COUNTS), "sample metrics: numbers of tokens"),
        (
            "`rl_weights`, `ce_weights`, `ref_kl_weights`",
            "sample metric `ce_only`: the number of tokens trained by cross-entropy alone",
        ),
        ("`env_name`", "environment"),
        ("`training_mode`, `run_id`", "tags"),
        ("`tokens` (the first shape, a list of objects)", "the same, column by column"),
        ("any other key", "extra"),
    )
    limits = (
        "The files hold no text: name a tokenizer, unless the run has one (`tokenizer.json`, "
        "`tokenizer/`) or names in `configs/` one that the local Hugging Face cache has. They hold no group, no "
        "reward from June 2026 on, no reference logprobs. Index 0 of a packed sequence holds garbage by design; it "
        "lies outside the mask."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        links = link_root or str(path.resolve())
        if is_one_file(path):
            fits = forced or _fits([look(alone(path))])
            return [self._run(path, path, f"one file{ROWS}", "")] if fits else []
        for folder in (path, path / EXPORTS):
            found = _rank_files(str(folder), links)
            looks = [seen for _, seen in look_into([location for location, _ in found])]
            named = folder.name == EXPORTS and (forced or not looks)
            if found and (named or _fits(looks)):
                return [self._run(path, folder, _described(found, looks), links)]
        plain = [entry.path for entry in files(str(path), links)] if forced else []
        return [self._run(path, path, "read as --format says", links)] if plain else []

    def _run(self, path: Path, folder: Path, what: str, links: str) -> RunInfo:
        root = path.parent if path.name == EXPORTS else path
        name = stem(path.name) if is_one_file(path) else root.name
        part = RunPart(str(folder))
        return RunInfo(name=name, root=str(path), format=self.name, reason=what, parts=(part,), link_root=links)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        found = []
        for part in run.parts:
            if is_file(part.path):
                found.append(Source(path=part.path, name=Path(part.path).name, root=links_of(run), split="train"))
                continue
            listed = _rank_files(part.path, links_of(run))
            listed = listed or [(entry.location, None) for entry in files(part.path, links_of(run))]
            for (path, root), step in listed:
                name = Path(path).relative_to(run.root).as_posix()
                found.append(Source(path=path, name=name, root=root, split="train", step=step))
        return found

    series_keys = frozenset(ARRAYS - {"tokens", "token_ids"})

    decodes_ids = True

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        """See `Format`."""
        return tokenizers_of(run)

    def rows_of(self, run: RunInfo, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`; decodes the texts."""
        found = super().rows_of(run, source, record, start, length)
        strings = strings_of(run, columns_of(record).ids) if run.tokenizer else None
        for row in found:
            if strings is not None and isinstance(row, SampleRow):
                row.prompt, row.response = "".join(strings[: row.prompt_tokens]), "".join(strings[row.prompt_tokens :])
        return found

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        """See `Format`."""
        tokenizer_of(run)  # if its file changed, that concerns the whole part and no record
        return super().scan(run, source, start, stop)

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        """See `JsonlFormat`: decode the tokens."""
        if run.tokenizer is None:
            return
        columns = columns_of(record)
        strings = strings_of(run, columns.ids)
        by_template = (
            [] if strings is None else turns_of_tokens(run, columns.ids, strings, sample.row.prompt_tokens or 0)
        )
        sample.turns = by_template or turns_of(columns, strings)
        sample.token_strings, sample.is_decoded = strings or [], strings is not None
        origin = note_of(run, columns.ids, strings)
        sample.notes[0] = origin if by_template else f"{origin}; {BY_MASK}"

    def may_cut(self, key: str) -> bool:
        """See `JsonlFormat`."""
        return key not in ("tokens", "token_ids")

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `JsonlFormat`."""
        columns = columns_of(record)
        ids, mask = columns.ids, columns.mask
        step = step_of(record.get("export_step"))
        step = step if step is not None else step_of(record.get("step"))
        first = int(np.argmax(mask)) if mask.any() else len(ids)
        place = fields.integer(record.get("export_sequence_idx"))
        rank = fields.integer(record.get("rank"))
        tags = {key: word for key in ("training_mode", "run_id") if (word := fields.tag(record.get(key)))}
        return SampleRow(
            split="train",
            step=step if step is not None else (source.step or 0),
            group=fields.digest(shown(ids[:first])),
            index=f"{stem(source.name)}:{start}" if place is None or rank is None else f"{rank}-{place}",
            ordinal=place if place is not None else start,
            start=start,
            length=length,
            reward=first_of(columns.floats("rewards")),
            advantage=first_of(columns.floats("advantages")),
            turns=int((np.diff(mask.astype(np.int8), prepend=0) == 1).sum()),
            prompt_tokens=first,
            response_tokens=int(mask.sum()),
            total_tokens=len(ids),
            env=fields.name(record.get("env_name")) or "",
            metrics=metrics_of(record, columns),
            tags=tags,
            series=tokens.facts_of(series_of(columns)),
            prompt=shown(ids[:first]),
            response=shown(ids[first:]),
        )

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `JsonlFormat`."""
        columns = columns_of(record)
        notes = [f"{note_without_tokenizer(columns.ids)}; {BY_MASK}", *columns.notes, *absences_of(columns)]
        return Sample(
            key=row.key,
            row=row,
            locator=locator,
            turns=turns_of(columns),
            prompt_text=row.prompt,
            response_text=row.response,
            token_ids=columns.ids,
            series=token_series_of(columns),
            extra={key: fields.showable(value) for key, value in record.items() if not _is_shown(key, value)},
            notes=notes,
        )

    def reading_tokens(
        self, run: RunInfo, source: Source, annotations: Annotations
    ) -> Callable[[bytes, Locator], SampleTokens]:
        """See `JsonlFormat`: reads the ids as an array, too."""
        if run.reading.fields:
            return super().reading_tokens(run, source, annotations)
        parse_ = Cutter(parse, lambda key: key != "tokens").parse
        return lambda data, _: tokens_of(parse_(data))

    def step_states(self, run: RunInfo) -> dict[tuple[str, int], str]:
        """See `Format`. Only versions that write `STABLE` can lack it."""
        found: dict[tuple[str, int], str] = {}
        for part in run.parts:
            for folder in folders(part.path, links_of(run)):
                match = _STEP.fullmatch(folder.name)
                if match and (state := _state(folder.path, links_of(run))):
                    found["train", int(match["step"])] = state
        return found


def _is_shown(key: str, value: object) -> bool:
    if key not in _PLACED:
        return False
    if value is None:
        return True
    if key in ARRAYS:
        return tokens.length(value) is not None
    if key in ("env_name", "training_mode", "run_id"):
        return fields.tag(value) is not None
    return fields.integer(value) is not None


def _rank_files(folder: str, links: str) -> list[tuple[Location, int | None]]:
    """The files of ranks, in the order of steps."""
    found: list[tuple[Location, int | None]] = [(one, None) for one in _ranks(files(folder, links))]
    for below in folders(folder, links):
        if match := _STEP.fullmatch(below.name):
            found += [(one, int(match["step"])) for one in _ranks(files(below.path, links))]
    return sorted(found, key=lambda one: (one[1] or 0, one[0]))


def _ranks(listed: list[FolderEntry]) -> list[Location]:
    return [entry.location for entry in listed if _RANK.fullmatch(plain_name(entry.name))]


def _described(rank_files: list[tuple[Location, int | None]], looks: list[Peek]) -> str:
    steps = {step for _, step in rank_files if step is not None}
    number = f"{len(rank_files)} file{'s' if len(rank_files) != 1 else ''} of ranks"
    places = f" in {len(steps)} step{'s' if len(steps) != 1 else ''}" if steps else ""
    return f"{number}{places}{ROWS if looks else ', all of them empty so far'}"


def _fits(looks: list[Peek]) -> bool:
    return any(record.keys() >= _TELLING for seen in looks for record in seen.objects)


def _state(folder: str, links: str) -> str:
    """Whether a step is finished: empty, `being written` or `incomplete`."""
    try:
        listed = entries(folder, links)
    except OSError:
        return ""
    if any(entry.name == STABLE for entry in listed):
        return ""
    paths = _ranks(listed)
    keys = {key for _, seen in look_into(paths) for record in seen.objects for key in record}
    if not keys or ("training_mode" in keys and "export_step" not in keys):  # before #2641 there was no STABLE
        return ""
    quiet_s = time.time() - max((_changed_s(one.path) for one in paths), default=0.0)
    return "incomplete" if quiet_s > QUIET_S else "being written"


def _changed_s(path: str) -> float:
    try:
        return path_state(path).st_mtime
    except OSError:
        return 0.0
