"""Files that no format reads: their kinds, the reasons, and how to get readable files."""

import re
from collections.abc import Collection, Iterable

from rolloupe import text
from rolloupe.formats.base import Format
from rolloupe.formats.generic import hints, rows, shapes
from rolloupe.formats.generic.keys import has_sample, has_text, roles_of
from rolloupe.formats.reading.documents import beginning
from rolloupe.formats.reading.files import JSONL, FolderEntry, is_passed_over, plain_name, while_unchanged, why_shut
from rolloupe.formats.reading.line_reader import MAX_LFS_POINTER_BYTES, why_no_text
from rolloupe.formats.reading.peek import look, look_at
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.formats.reading.stream import is_decoded, open_binary
from rolloupe.formats.reading.tables.parquet_files import why_no_table, why_no_torch
from rolloupe.formats.reading.trackers.sqlite import why_no_rows, why_unread
from rolloupe.formats.reading.trainer_files import read_text
from rolloupe.formats.slime.format import TRAIN, kind_of
from rolloupe.model import Location
from rolloupe.storage import open_file

HEAD_BYTES = 2**12
KEPT_REASONS = 100_000
"""Number of files of lines whose reason is kept until they change."""

_NO_FORMAT = "no format of this version reads them. Next: write their samples as JSON lines, as docs/recording.md shows"
_NEVER = (
    "Rolloupe never unpickles what a run contains, as that can run any code. Next: have the trainer write JSON lines"
)
_KINDS: dict[str, str] = {
    ending: reason
    for endings, reason in {
        ".pt": f"PyTorch pickles, and no dumps of samples that Rolloupe reads as data: {_NEVER}",
        ".pth .ckpt": f"PyTorch pickles: {_NEVER}",
        ".pkl .pickle .joblib .npy .npz": f"pickles, or files that may hold them: {_NEVER}",
        ".parquet .arrow .feather": f"columnar files: {_NO_FORMAT}",
        ".eval": "logs of Inspect without a readable header: damaged, or still being written",
        ".zip .tar .tgz .gz .zst .bz2 .xz .7z": "archives or compressed files. Next: unpack them, and open the folder",
        ".db .sqlite .sqlite3 .duckdb": f"databases: {_NO_FORMAT}",
        ".db-wal .db-shm .db-journal": "files of SQLite: what they hold is read with the database beside them",
        ".html .htm": f"pages: {_NO_FORMAT}",
        ".json .yaml .yml .toml": (
            "documents in which no samples were found. Next: name one of them; for JSON, doctor lists its keys"
        ),
    }.items()
    for ending in endings.split()
}

_DAMAGE = {".parquet": why_no_table, ".pt": why_no_torch, ".pth": why_no_torch}

_FRAMEWORKS = {
    "export_sequence_idx micro_step": "token exports of prime-rl",
    "record_type latency_trace": "traces of Relax's reward computation, which are not samples",
    "record_type run_id": "records of RLViz, whose samples are spread over several lines",
    "record_type started_at": "records of RLViz, whose samples are spread over several lines",
}

_BESIDE = {
    "trace_id branches": "annotations of prime-rl: read with the samples that they are about",
    "trace_id chunk offset": "an index of prime-rl's annotations: it holds no samples",
    "trace_ids chunk offset": "an index of prime-rl's episodes: it holds no samples",
    "producer time step": "metrics of prime-rl: they hold no samples",
    "responses_create_params": "inputs of NeMo-Gym: prompts without responses, which are not samples",
    "run_name git_commit model_name timestamp": "metadata of open-instruct: read with its rollouts",
    "eval/all/avg_score": "metrics of SkyRL: read with its evaluations",
    "harness trackio": "copies that trackio makes of its traces. Next: open the database of the project, PROJECT.db",
    "mean/reward std/reward sample": "statistics of NeMo-Gym over the rollouts of a task: they hold no samples",
    "run_id model_name checkpoint_name timestamp": "a list of the Tinker cookbook's evaluations, without samples",
}
"""Files that belong to a layout without holding samples."""

_PLACEHOLDER = "<PLACEHOLDER ROW>"
_NO_ROLLOUTS = (
    "placeholders of NeMo-Gym in place of rollouts. Next: collect them with gym eval run, as "
    "docs/frameworks/nemo_gym.md shows"
)

_DOCUMENTS = {
    "env_id model num_examples": "metadata of verifiers: read with results.jsonl beside it",
    "metadata outputs": (
        "an output of verifiers' generate, which is one document. Next: write its outputs as lines, "
        "jq -c '.outputs[]' FILE > results.jsonl"
    ),
    "role source cwd": "a trajectory of Letta, which has no reward. Next: record it, as docs/recording.md shows",
    "training_step episode_id task_hash": (
        "an episode of rLLM's trainer, a document each. Next: make lines of them, jq -c '. as $e | "
        ".trajectories[] | {step: $e.training_step, group: $e.task_hash, reward, messages: "
        ".steps[-1].chat_completions}' FOLDER/*/episode_*.json > rollouts.jsonl"
    ),
    "id task termination_reason is_correct": (
        "an episode of rLLM's evaluations, a document each. Next: make lines of them, jq -c '.trajectories[] | "
        "{reward, messages: .steps[-1].chat_completions}' episodes/*.json > rollouts.jsonl"
    ),
    "config_general results": (
        "results of an evaluation of Atropos, or of lighteval, without samples. Next: open samples.jsonl beside it"
    ),
    "spans": "spans of a trace of MLflow. Next: open the database that has them all, mlflow.db or mlruns.db",
    "version status eval": "a log of Inspect: damaged, or no file of the format that was named",
}
"""Documents of JSON, known by the first keys of their first object."""

PROSE_CHARS = 60
"""A longer text with blanks may be what a model wrote."""

_WIDE = "text in UTF-16, and Rolloupe reads UTF-8. Next: convert it, as with iconv -f UTF-16 -t UTF-8 FILE > NEW"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_TEXTS = (*JSONL, ".json", ".csv", ".tsv", ".yaml", ".yml")

_UNTOLD = ("", ".txt", ".log", ".out", ".jl", ".jsonlines", ".data", ".ldjson")
"""Suffixes of files that may nevertheless hold JSON lines."""

_TWICE = "a file of the same name, plain or as `.zst`, lies beside it: that one counts"

_TRAIN_DUMP = re.compile(r"[/\\]train_data[/\\][0-9_]+\.pt$")
_TRAIN_DATA = "train data of slime or miles, which holds no texts. Next: open it with rollout_data/ beside its folder"

_NAMES = {
    "_training_input.pkl": (
        "a train batch of SkyRL, a pickle that can run any code when it is loaded: Rolloupe never does. Next: open its "
        "evaluations, dumped_evals/, or record rollouts as docs/frameworks/skyrl.md shows"
    ),
    "_trajectories.jsonl.zip": (
        "trajectories that Agent Lightning uploads to Weights & Biases. Next: unzip FILE, and open the lines in it"
    ),
    "generations.log": (
        "validations of EasyR1 as plain text, without steps. Next: let trainer.logger have wandb, with "
        "WANDB_MODE=offline, and open the table that it keeps; trainer.val_generations_to_log says how many"
    ),
}
"""Files known by the ends of their names."""

_FILE_OF_MLFLOW = "meta.yaml"
_OF_MLFLOW = (
    "a file of MLflow's older store, in which each metric is a file: it is not read. Next: mlflow migrate-filestore "
    "--source DIR_OF_MLRUNS --target sqlite:///mlflow.db, and open mlflow.db"
)

_ELSEWHERE = {"responses_create_params", "_swanLab"}
"""Keys of NeMo-Gym, whose prompt lies below environment keys that may look like a response; and of SwanLab's tables."""


def is_asked(reader: Format, name: str) -> bool:
    """Return whether a format may read a file with this suffix: binary suffixes must be declared by a format."""
    ending = _ending(name)
    return ending not in _KINDS or ending == ".json" or ending in reader.endings


def is_foreign(record: Record) -> bool:
    """Return whether a record with texts and scores belongs to a framework whose own format reads it."""
    return not _ELSEWHERE.isdisjoint(record)


def reasons(entries: Iterable[FolderEntry], names: Collection[str]) -> list[str]:
    """Say why a folder's files are unread, with equal reasons merged; unknown kinds of files are skipped.

    `names` are the names of all files in the folder.
    """
    by_reason: dict[str, list[str]] = {}
    for entry in entries:
        reason = _TWICE if is_passed_over(entry.name, names) else reason_for(entry.name, entry.location)
        if reason is not None:
            by_reason.setdefault(reason, []).append(entry.name)
    found = []
    for reason, names in by_reason.items():
        shown = ", ".join(text.named(name) for name in sorted(names)[:3])
        found.append(f"{len(names)} files ({shown}, ...): {reason}" if len(names) > 3 else f"{shown}: {reason}")
    return found


def reason_for(name: str, location: Location, *, is_named: bool = False) -> str | None:
    """Say why one file is not read, with its keys if a person has named it; None for an unknown kind."""
    if plain_name(name).endswith(JSONL):
        try:
            return _of_lines(location)
        except OSError as error:
            return why_shut(error)
    if plain_name(name).endswith(_TEXTS) and (reason := _why_no_text(location)):
        return reason
    if _TRAIN_DUMP.search(location.path) and kind_of(location) == TRAIN:
        return _TRAIN_DATA
    if known := next((what for end, what in _NAMES.items() if plain_name(name).endswith(end)), None):
        return known
    if name == _FILE_OF_MLFLOW and read_text(location, HEAD_BYTES).startswith("artifact_"):
        return _OF_MLFLOW
    ending = _ending(name)
    if ending in _DAMAGE and not _shut(location) and (reason := _DAMAGE[ending](location)):
        return reason
    own = (
        _named_by(beginning(location, is_list=True).keys(), _DOCUMENTS)
        if ending == ".json"
        else why_no_rows(location) or why_unread(location)
    )
    own = own or (_of_rows(location, is_named=is_named) if ending in rows.TABLES else None)
    if ending in _UNTOLD:
        if not any(has_sample(record, roles_of(record)) for record in look(location).objects):
            return None
        called = text.named(f"{name.rpartition('.')[0] or name}.jsonl")
        return f"JSON lines with samples, under a name that is not read. Next: call it {called}"
    return own or (_shut(location) or _KINDS[ending] if ending in _KINDS else None)


def _why_no_text(location: Location) -> str:
    try:
        with open_binary(location) as file:
            head = file.read(MAX_LFS_POINTER_BYTES)
            zeros = [not byte for byte in head[:4]]
            if head.startswith(_WIDE_MARKS) or zeros in ([False, True] * 2, [True, False] * 2):
                return _WIDE
            return "" if is_decoded(file) else why_no_text(head, len(head))
    except OSError:
        return ""


def _shut(location: Location) -> str:
    try:
        with open_file(location):
            return ""
    except OSError as error:
        return why_shut(error)


def _ending(name: str) -> str:
    """The last suffix, plus the one before if that identifies a compressed file: `.json` of `a.json.gz`."""
    plain = plain_name(name)
    inner = plain[plain.rfind(".") :].lower() if "." in plain else ""
    return inner if inner in (*_KINDS, *JSONL) else name[name.rfind(".") :].lower() if "." in name else ""


@while_unchanged(KEPT_REASONS)
def _of_lines(location: Location) -> str:
    if reason := _why_no_text(location):
        return reason
    seen = look_at(location)
    if seen.empty:
        return "empty so far"
    if not seen.objects:
        return _NO_ROLLOUTS if _PLACEHOLDER in seen.trouble else seen.trouble
    keys = {key for record in seen.objects for key in record}
    if framework := _named_by(keys, _FRAMEWORKS):
        return f"looks like {framework}: {_NO_FORMAT}"
    return _named_by(keys, _BESIDE) or hints.why_unread(seen.objects)


def _named_by(keys: Collection[str], kinds: dict[str, str]) -> str | None:
    """The first kind of file whose keys are all among `keys`; None if no kind fits."""
    return next((kind for wanted, kind in kinds.items() if all(key in keys for key in wanted.split())), None)


def _of_rows(location: Location, *, is_named: bool) -> str | None:
    """Why no run has a table or a document; None if it has no texts and numbers, and nobody named it."""
    if not (records := rows.first_rows(location)):
        return None
    try:
        shapes.samples_in(records[0])
    except Unusable as error:
        return f"its rows cannot be read: {error}"
    has_texts = any(has_text(record, roles_of(record)) or _has_prose(record) for record in records)
    return hints.why_unread(records) if is_named or has_texts or hints.maps_to_text(records) else None


def _has_prose(record: Record) -> bool:
    """Return whether a row, or the first of several named rows, has a text of words and a number."""
    inner = next((value for value in record.values() if isinstance(value, dict)), {})
    for row in (record, inner):
        texts = (value for value in row.values() if isinstance(value, str) and len(value) > PROSE_CHARS)
        is_prose = any(value.count(" ") > PROSE_CHARS // 10 for value in texts)
        if is_prose and any(isinstance(value, int | float) for value in row.values()):
            return True
    return False
