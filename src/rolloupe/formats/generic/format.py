"""Any JSON lines whose rows hold text and a score under usual names: SkyRL, AReaL, verifiers, own scripts.

If a row lacks a step, group or split, names of files and folders, and equal prompts, supply it.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from rolloupe.formats.generic.folder_words import EVAL_WORDS, words_in
from rolloupe.formats.generic.keys import (
    GROUPS,
    PROMPTS,
    RESPONSES,
    SCORES,
    STEPS,
    has_sample,
    has_text,
    roles_of,
)
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.generic.tables import PARQUET, TABLES, DocumentRows, LineRows, ParquetRows, ending_of, first_rows
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.documents.file_kinds import ByEnding
from rolloupe.formats.reading.field_map import ROLES, Fields, renamed
from rolloupe.formats.reading.files import FolderEntry, alone, files, folders, is_one_file, links_of, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.peek import MAX_FILES, Peek, look, look_into
from rolloupe.formats.reading.records import Record, RecordFormat
from rolloupe.formats.unreadable import is_foreign
from rolloupe.model import Location, RunInfo, RunPart, Source
from rolloupe.storage import is_file
from rolloupe.tokens import LOSS_MASKS

MAX_STEP_FOLDERS = 100_000
"""Number of step folders to look at below one run."""

_NO_NAME = re.compile(r"data|(?:global|steps?|iter|iteration|rollout)?[0-9]*")


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


class Generic(ByEnding, NamedRows, JsonlFormat):
    """JSON lines with text and a score."""

    name = "generic"
    title = "JSON lines with text and a score"
    takes_field_map = True
    endings = (".parquet",)
    recognises = (
        "`.jsonl` or `.ndjson` files, or in a folder without these `.parquet`, `.csv`, `.tsv` or `.json` (an array, "
        "or an object with `columns` and `data`, as pandas, `mlflow.log_table` and W&B write tables), whose rows hold "
        "a text or a list of messages (prompt: "
        f"{_listed(PROMPTS)}; response: {_listed(RESPONSES)}; or `messages` alone) and a score ({_listed(SCORES)})."
    )
    layout = (
        "One file, a folder of files, or a folder whose folders are named by a step (`global_step_3_evals/`, `12/`) "
        "and hold such files. Files without samples (`aggregated_results.jsonl`) and inputs of NeMo-Gym are left out."
    )
    identity = (
        f"step = {_listed(STEPS)}, else the number in the name of the folder or the file, else 0; group = "
        f"{_listed(GROUPS)}, `uid` without its last two numbers, `id` if messages are stored "
        "beside it, else a hash of the prompt; index = `{file}:{byte offset}`. Split `train`, or `eval/{name}` if the "
        "file or folder is named after an evaluation (`val_...`, `global_step_3_evals/gsm8k.jsonl`)."
    )
    reads = (
        (
            "prompt and response keys, `messages`",
            "turns; of `messages` alone the response begins at the first assistant message",
        ),
        (
            "score keys",
            (
                "the reward: a number; of an object `score`, else `reward`, else its only number; of a list of numbers "
                "the sum, and the list is the token series `token_rewards` if no other series has another length"
            ),
        ),
        ("`advantage`", "advantage"),
        ("`discarded`", "why the trainer discarded it, a text"),
        ("`status`, `finish_reason`, `stop_reason`, `stop_condition`, `is_truncated`, `error`", "status"),
        ("`ground_truth`, `gts`, `label`, `target`, `answer`, ...", "ground truth"),
        ("`response_length`, `completion_tokens`, `prompt_len`, `seqlen`, ...", "token counts"),
        ("`data_source`, `dataset`, `env_name`, `env_class`, `task`, ...", "environment"),
        (
            "`logprobs`, `ref_logprobs`, `entropy`, `advantages`, ... as lists",
            (
                "token series; beside a mask one that covers neither the response, nor prompt and response, nor the "
                "trained tokens alone is not shown, else they are cut to the shortest, both with a note"
            ),
        ),
        ("`rollout_logprobs` as a list", "the token series `logprobs`; `logprobs` beside it are `trainer_logprobs`"),
        (
            f"{_listed(LOSS_MASKS)}; `attention_mask`",
            "the token series `loss_mask`, 0 for a token that was not trained; 0 for padding: no values there",
        ),
        (
            (
                "`logprobs`, `token_logprobs`, `output_token_logprobs`, ... as OpenAI's API, vLLM or SGLang write them "
                "or as pairs or objects with a token and a logprob; `choices` with one choice"
            ),
            "`logprobs`, token strings, ids and alternatives; of a choice the response and the status as well",
        ),
        ("`top_logprobs`: pairs, or objects as vLLM and OpenAI's API write them", "alternatives of tokens"),
        (
            "`response_tokens`, `completion_ids`, `response_ids`, `prompt_ids`, `input_ids`, `token_ids`, ... as lists",
            "token strings and ids, without the padding that every mask leaves out",
        ),
        ("other numbers, true and false, and the numbers in `metrics`", "sample metrics"),
        (f"other texts of at most {fields.MAX_TAG_CHARS} characters", "tags"),
        ("any other key", "extra"),
    )
    limits = (
        "A row without any of the text and score keys is listed as a problem. Token ids without text are not decoded. "
        "Rows with other keys are read with `--map FILE` (in Python `fields=`), which maps roles to keys: a TOML file "
        f'of lines such as `reward = "grade.total"`. The roles are {_listed(tuple(ROLES))}; a key with dots leads into '
        "objects, and by numbers into lists."
    )

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[RunInfo]:
        """See `Format`."""
        if is_one_file(path):
            return self._found(path, stem(path.name), [alone(path)], "one file", "", forced=forced)
        root = link_root or str(path.resolve())
        listed = [
            entry.location for entry in files(str(path), root) if forced or _may_hold_samples(entry, (), forced=False)
        ]
        places = "" if listed else "in folders named by a step"
        listed += [entry.location for folder in _step_folders(str(path), root) for entry in files(folder.path, root)]
        if not listed:
            return self._tables_in(path, root, forced=forced)
        number = f"{len(listed)} file{'s' if len(listed) != 1 else ''} of JSON lines {places}".rstrip()
        return self._found(path, path.name, listed, number, root, forced=forced)

    def _found(
        self, path: Path, name: str, listed: list[Location], what: str, links: str, *, forced: bool
    ) -> list[RunInfo]:
        fitting = next((roles_of(record) for record in _beginnings(listed) if not is_foreign(record)), None)
        if not listed or not (fitting or forced):
            return []
        reason = f"{what}, {fitting.described() if fitting else 'read as a person asked'}"
        parts = (RunPart(str(path)),)
        return [RunInfo(name=name, root=str(path), format=self.name, reason=reason, parts=parts, link_root=links)]

    def _tables_in(self, folder: Path, links: str, *, forced: bool) -> list[RunInfo]:
        """The run of a folder without JSON lines."""
        listed = [one.location for one in files(str(folder), links, TABLES) if forced or _is_table_of_samples(one, ())]
        listed += [
            one.location
            for below in _step_folders(str(folder), links)
            for one in files(below.path, links, TABLES)
            if forced or _is_table_of_samples(one, ())
        ]
        kinds = " and ".join(sorted({ending_of(place.path)[1:] for place in listed}))
        return self._found(folder, folder.name, listed, f"{len(listed)} files of {kinds}", links, forced=forced)

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`."""
        found = []
        for part in run.parts:
            if is_file(part.path):
                found.append(_source(run, Location(part.path, links_of(run))))
                continue
            listed = files(part.path, links_of(run))
            for folder in _step_folders(part.path, links_of(run)):
                listed += files(folder.path, links_of(run))
            choice = run.reading.format or run.reading.fields
            candidates = [
                entry for entry in listed if _may_hold_samples(entry, run.reading.fields, forced=bool(choice))
            ]
            if not listed:
                places = [part.path, *(one.path for one in _step_folders(part.path, links_of(run)))]
                listed = [one for place in places for one in files(place, links_of(run), TABLES)]
                candidates = [one for one in listed if _is_table_of_samples(one, run.reading.fields)]
            found += [_source(run, entry.location) for entry in (listed if choice and not candidates else candidates)]
        return found

    def reader_of(self, source: Source) -> RecordFormat:
        """See `ByEnding`."""
        return _READERS.get(ending_of(source.path), _LINES)


_LINES = LineRows()
_READERS: dict[str, RecordFormat] = {
    ending: ParquetRows() if ending == PARQUET else DocumentRows() for ending in TABLES
}


def _beginnings(listed: list[Location]) -> Iterator[Record]:
    """The samples among the first records of a few of many files."""
    tables = [place for place in listed if ending_of(place.path)]
    yield from (one for place in tables[:MAX_FILES] for one in first_rows(place) if has_sample(one, roles_of(one)))
    if len(tables) < len(listed):
        yield from (record for _, seen in look_into(listed) for record in _samples(seen, ()))


def _samples(seen: Peek, named: Fields) -> list[Record]:
    """The records that are samples; of one that is too long to be seen whole, the score may follow its text."""
    records = [renamed(record, named) for record in seen.objects]
    is_sample = has_sample if seen.whole else has_text
    return [record for record in records if is_sample(record, roles_of(record))]


def _is_table_of_samples(entry: FolderEntry, named: Fields) -> bool:
    records = (renamed(record, named) for record in first_rows(entry.location))
    return any(has_sample(record, roles_of(record)) for record in records)


def _step_folders(folder: str, link_root: str) -> list[FolderEntry]:
    named = [entry for entry in folders(folder, link_root) if fields.step_of_folder(entry.name) is not None]
    return named[:MAX_STEP_FOLDERS]


def _source(run: RunInfo, location: Location) -> Source:
    path, root = location
    file = Path(path)
    name = file.name if path == run.root else file.relative_to(run.root).as_posix()
    of_file = fields.step_in(stem(file.name))
    of_folder = fields.step_of_folder(file.parent.name)
    first, second = (of_folder, of_file) if "/" in name else (of_file, of_folder)
    return Source(path=path, name=name, root=root, split=_split(run, name), step=second if first is None else first)


def _split(run: RunInfo, name: str) -> str:
    """`eval/NAME` if the file, a folder between it and the run, or the run's own folder names an evaluation."""
    *above, file = stem(name).removesuffix(ending_of(name)).split("/")
    words = [word for word in words_in(file) if not _NO_NAME.fullmatch(word)]
    if words and words[0] in EVAL_WORDS:
        return f"eval/{'_'.join(words[1:]) or words[0]}"
    folder = next((part for part in above if not EVAL_WORDS.isdisjoint(words_in(part))), "")
    top = Path(run.root).name
    if not folder and top.lower() in EVAL_WORDS:
        folder = top
    return f"eval/{'_'.join(words) or folder}" if folder else "train"


_with_samples: set[tuple[str, int, Fields, bool]] = set()


def _may_hold_samples(entry: FolderEntry, named: Fields, *, forced: bool) -> bool:
    """Return whether rows of a file may be samples. Remembers a yes, as a file may begin with other rows."""
    key = (entry.path, entry.inode, named, forced)
    if key in _with_samples:
        return True
    seen = look(entry.location)
    found = any(forced or not is_foreign(record) for record in _samples(seen, named))
    if found:
        _with_samples.add(key)
    return found or not seen.objects
