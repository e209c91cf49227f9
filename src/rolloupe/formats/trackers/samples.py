"""Samples that trackers hold: the tables and traces that trainers log, read as samples.

A logged sample is a record with the usual names, and the tracker's other facts about it.

Tables: TRL's and ms-swift's `completions`, verl's `val/generations` (a wide row for each validation; all others have a
row for each sample), OpenRLHF's `train/generated_samples`, NeMo-RL's `{agent}/full_result`, prime-rl's `samples`.

Traces: TRL's `log_rollout_traces`, verl's `ValidationGenerationsLogger`, and the keys of open pull requests of slime
(1935), AReaL (1360) and tunix (1534). verl's other traces (`verl/utils/rollout_trace.py`) are calls of functions, with
inputs and an output: each run of an agent loop is a sample, and calls within it (`generate`, `execute`) are its
parts. The reward is usually computed after the trace.
"""

import json
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from rolloupe import text, tokens
from rolloupe.formats.base import changed
from rolloupe.formats.curve_files import config_of, curve_locations
from rolloupe.formats.generic.keys import USUAL, Roles, has_sample, roles_of
from rolloupe.formats.generic.rows import NamedRows
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import unpacked
from rolloupe.formats.reading.field_map import member
from rolloupe.formats.reading.files import EVAL_WORDS, cause_of, words_in
from rolloupe.formats.reading.records import Record
from rolloupe.formats.reading.trackers.curves import number_of
from rolloupe.formats.reading.trainer_files import described_files
from rolloupe.formats.token_texts import add_tokens, ids_of, series_of, texts_of
from rolloupe.formats.trainers.nemo import conversation, parted
from rolloupe.formats.trainers.trl import RewardFunctions
from rolloupe.model import Location, Locator, Problem, RunFile, RunInfo, Sample, SampleRow, Scanned, Source

NAMES_OF_MODELS = ("actor_rollout_ref.model.path", "model_name_or_path", "_name_or_path", "model_name", "model")


class TokenIds(NamedTuple):
    """The tokens of a sample: their ids, and series of numbers that belong to the last tokens."""

    prompt: list[int]
    response: list[int]
    series: dict[str, Any]


class LoggedSample(NamedTuple):
    """A sample. `record` has the known ones among `prompt`, `response`, `reward`, `step` and `group`."""

    record: Record
    split: str = ""
    own_index: str = ""
    """Its name within its group; if empty, its place is its name."""
    notes: tuple[str, ...] = ()
    tokens: TokenIds | None = None


class Placed(NamedTuple):
    """A sample, or the reason why it cannot be read, at a place in its file."""

    start: int
    length: int
    part: str
    name: str
    """The name of the sample, if its tracker does not name it."""
    sample: LoggedSample | str
    record: Any = None
    """The part of the file that concerns the sample, as JSON."""


class TrackerSamples(NamedRows):
    """A format whose samples a tracker holds."""

    decodes_ids = True

    def roles(self, record: Record) -> Roles:
        prompt, response, score, step, group = (name if name in record else None for name in _OWN)
        return roles_of(record)._replace(
            messages=None, prompt=prompt, response=response, score=score, step=step, group=group
        )

    unreadable: ClassVar[tuple[type[Exception], ...]] = (OSError,)
    """Exceptions that reading a file may raise."""

    @abstractmethod
    def placed_in(self, source: Source, start: int, stop: int) -> Iterable[Placed]:
        """Return the samples that begin in `[start, stop)`, in their order. Raises `unreadable`."""

    def scan(self, run: RunInfo, source: Source, start: int, stop: int) -> Iterator[Scanned]:
        try:
            for placed in self.placed_in(source, start, stop):
                yield self.placed_item(run, source, placed)
                start = placed.start + placed.length
        except self.unreadable as error:
            yield Problem(source=source.name, reason=cause_of(error), start=start, transient=True)

    def placed_at(self, source: Source, locator: Locator) -> Placed:
        """Return the sample at a place. Raises `SourceChanged`."""
        reason = "no sample is there"
        try:
            for placed in self.placed_in(source, locator.start, locator.start + 1):
                if placed.part == locator.part:
                    return placed
        except self.unreadable as error:
            reason = cause_of(error)
        raise changed(source, locator.start, reason)

    def load(self, run: RunInfo, source: Source, locator: Locator) -> Sample:
        placed = self.placed_at(source, locator)
        row, logged = self.placed_item(run, source, placed), placed.sample
        if not isinstance(row, SampleRow) or isinstance(logged, str):
            raise changed(source, locator.start, row.reason if isinstance(row, Problem) else "it is not a sample")
        sample = self.sample(_with_texts(run, logged), row, locator)
        sample.notes += logged.notes
        if token_ids := logged.tokens:
            ids = [*token_ids.prompt, *token_ids.response]
            sample.series, notes = series_of(token_ids.series, len(ids), len(token_ids.prompt))
            sample.notes += notes
            add_tokens(run, sample, ids, len(token_ids.prompt), has_text="response" in logged.record)
        return sample

    def raw(self, source: Source, locator: Locator) -> bytes:
        """Return the part of the file that concerns the sample, as JSON."""
        record = self.placed_at(source, locator).record
        return json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")

    def first_records(self, some: Sequence[Location]) -> list[Record]:  # noqa: ARG002
        return []

    def placed_item(self, run: RunInfo, source: Source, placed: Placed) -> SampleRow | Problem:
        """Return the row of a sample, or the problem at its place."""
        reason = placed.sample
        if not isinstance(reason, str):
            try:
                return self._row(run, source, placed, reason)
            except Exception as error:  # a defect must not cost the rows after it
                reason = self._why_not(error)
        return Problem(source=source.name, reason=reason, start=placed.start, stop=placed.start + placed.length)

    def _row(self, run: RunInfo, source: Source, placed: Placed, logged: LoggedSample) -> SampleRow:
        (row,) = self.rows_of(run, source, _with_texts(run, logged), placed.start, placed.length)
        assert isinstance(row, SampleRow)
        row.split, row.part = logged.split or row.split, placed.part
        row.index = logged.own_index or placed.name
        if logged.tokens:
            row.prompt_tokens, row.response_tokens = len(logged.tokens.prompt), len(logged.tokens.response)
            row.total_tokens = row.prompt_tokens + row.response_tokens
            row.has_series = any(logged.tokens.series.values())
        return row

    def config(self, run: RunInfo) -> dict[str, Any]:
        return config_of(run)

    def files(self, run: RunInfo) -> list[RunFile]:
        return described_files(curve_locations(run))

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        config = self.config(run)
        named = (member(config, key) for key in NAMES_OF_MODELS)
        return [name for name in named if isinstance(name, str) and name]


_OWN = ("prompt", "response", "reward", "step", "group")


def _with_texts(run: RunInfo, logged: LoggedSample) -> Record:
    if logged.tokens is None or "response" in logged.record:
        return logged.record
    ids = [*logged.tokens.prompt, *logged.tokens.response]
    prompt, response = texts_of(run, ids, len(logged.tokens.prompt))
    return {"prompt": prompt} | logged.record | {"response": response}


def with_numbers(record: Record) -> Record:
    """Return a record in which `"NaN"` and similar values of trackers are numbers, except in its texts."""
    return {key: value if key in _TEXTS else _number_or(value) for key, value in record.items()}


_TEXTS = {"prompt", "response", "completion", "messages", "input", "output", "text"}


def _number_or(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _number_or(member) for key, member in value.items()}
    return number_of(value) if value in ("NaN", "Infinity", "-Infinity") else value


def split_named(name: object) -> str:
    """Return `eval/NAME` for the name of an evaluation; empty for any other name."""
    if not isinstance(name, str):
        return ""
    parts = [part for part in name.split("/") if part]
    if not any(not EVAL_WORDS.isdisjoint(words_in(part)) for part in parts):
        return ""
    other = [part for part in parts if part.lower() not in EVAL_WORDS]
    return f"eval/{'/'.join(other) or parts[0]}"


def name_of(value: object) -> str:
    """Return a framework's name for something, empty for anything else."""
    return parsers.name(value) or ""


UNWEIGHTED = "the reward is the sum of its parts without weights: neither a total nor weights are known"
FULL_RESULT = "Full result"
"""The one column of NeMo-RL's tables: a rollout of NeMo-Gym as JSON."""
STEPS = ("step", "global_step", "gen_step")
"""Columns with the step; ms-swift with Megatron has the last one."""
OF_VERL = {"step", "input", "output", "score"}
"""The columns that identify verl's validations if the key is unknown."""
_WIDE = re.compile(r"(input|output|label|score)_([0-9]{1,9})")
_GROUPS = ("example_id", "task_idx", "group", "group_id", "group_index")
_TURN = re.compile(r"<(system|user|assistant|tool)>")
UNWEIGHTED_TRACE = "the reward is the sum of its parts without weights: the trace holds neither a total nor weights"
TRACE_GROUPS = ("group_id", "group_index", "trajectory_index")
_TAKEN = (*TRACE_GROUPS, "score", "global_step", "split", "mode", "validate", "sample_index")


def samples_of_table(
    key: str, rows: Sequence[Any], step: int | None, split: str = "", known: RewardFunctions | None = None
) -> list[LoggedSample]:
    """Return the samples of a table that a trainer logged under a key; none if it holds anything else."""
    objects = [with_numbers(row) for row in rows if isinstance(row, dict)]
    if not objects or len(objects) != len(rows):
        return []
    split = split or split_named(key) or ("eval/generations" if objects[0].keys() == OF_VERL else "")
    samples = _samples_of_rows(objects, known or RewardFunctions())
    return [sample._replace(record=_with_step(sample.record, step), split=split) for sample in samples]


def _samples_of_rows(rows: list[Record], functions: RewardFunctions) -> list[LoggedSample]:
    first = rows[0]
    if {"prompt", "completion"} <= first.keys():
        names = functions.among(_number_columns(rows))
        return _grouped([_of_completion(row, names, functions) for row in rows])
    if {"input_1", "output_1"} <= first.keys():
        return [sample for row in rows for sample in _of_wide(row)]
    if first.keys() == {FULL_RESULT}:
        return [LoggedSample(_of_gym(unpacked(row[FULL_RESULT]))) for row in rows]
    if {"text", "reward"} <= first.keys():
        for row in rows:  # prompt and response are one text, which names the sample, because later tables repeat it
            row["response"] = parsers.as_text(row.pop("text"))
        return [LoggedSample(row, own_index=parsers.digest(row["response"])) for row in rows]
    if {"messages", "reward"} <= first.keys():
        return [_of_messages(row) for row in rows]
    roles = roles_of(first)
    if roles.prompt and roles.response and (roles.score or has_sample(first, roles)):
        own = {"prompt": roles.prompt, "response": roles.response, "reward": roles.score}
        return [_plain(row, own) for row in rows]
    return []


def _number_columns(rows: Sequence[Record]) -> list[str]:
    """The columns of numbers directly after the completion: reward functions, then the columns of `log_extra`."""
    names = list(rows[0])
    columns = []
    for name in names[names.index("completion") + 1 :]:
        values = [row.get(name) for row in rows]
        is_numeric = all(value is None or parsers.number(value) is not None for value in values)
        if name in ("advantage", "advantages") or not is_numeric or any(isinstance(value, bool) for value in values):
            break
        columns.append(name)
    return columns


def _of_completion(row: Record, names: list[str], functions: RewardFunctions) -> LoggedSample:
    parts = {name: number for name in names if (number := parsers.number(row.get(name))) is not None}
    total = functions.total(names, parts)
    record = {name: value for name, value in row.items() if name not in (*names, "completion", "advantages")}
    record |= {f"reward.{name}": number for name, number in parts.items()}
    record |= {"response": row["completion"], "reward": total}
    record |= {"advantage": row["advantages"]} if "advantages" in row else {}
    notes = () if functions.fit(names) or len(names) < 2 or total is None else (UNWEIGHTED,)
    return LoggedSample(record, notes=notes)


def _grouped(samples: list[LoggedSample]) -> list[LoggedSample]:
    """Name the groups of prompts that recur later in a table: TRL repeats a prompt in consecutive rows."""
    times: Counter[str] = Counter()
    last = ""
    for sample in samples:
        name = parsers.digest(parsers.joined(sample.record.get("prompt")))
        times[name] += name != last
        last = name
        if times[name] > 1:
            sample.record["group"] = f"{name}-{times[name]}"
    return samples


def _of_wide(row: Record) -> list[LoggedSample]:
    """The samples of one validation of verl: a row with three columns for each sample; EasyR1 adds the label."""
    names = {"input": "prompt", "output": "response", "label": "label", "score": "reward"}
    samples: dict[str, Record] = {}
    for name, value in row.items():
        if match := _WIDE.fullmatch(name):
            samples.setdefault(match[2], {})[names[match[1]]] = value
    shared = {"step": row["step"]} if "step" in row else {}
    return [
        LoggedSample(shared | record, own_index=number)
        for number, record in samples.items()
        if record.get("response") is not None or record.get("prompt") is not None
    ]


def _of_gym(row: Any) -> Record:
    known = row if isinstance(row, dict) else {"response": row}
    answer = known.get("response")
    prompt, response = parted(
        conversation(parsers.as_dict(known.get("responses_create_params")).get("input")),
        conversation(answer.get("output") if isinstance(answer, dict) else answer),
    )
    agent = parsers.as_dict(known.get("agent_ref")).get("name")
    names = ("responses_create_params", "response", "agent_ref")
    record = {name: value for name, value in known.items() if name not in names}
    record |= {"prompt": prompt, "response": response, "reward": known.get("reward")}
    return record | ({"env_name": agent} if name_of(agent) else {})


def _of_messages(row: Record) -> LoggedSample:
    """A sample whose conversation is in one column, as messages or as a text with roles between angle brackets."""
    messages = unpacked(row["messages"])
    if isinstance(messages, str) and _TURN.match(messages):
        pieces = _TURN.split(messages)[1:]
        turns = zip(pieces[::2], pieces[1::2], strict=True)
        messages = [{"role": role, "content": content} for role, content in turns]
    others = {name: value for name, value in row.items() if name != "messages"}
    if isinstance(messages, list):
        first = text.answer_at(messages)
        return _plain(others | {"prompt": messages[:first], "response": messages[first:]}, {})
    return _plain(others | {"response": messages}, {})


def _plain(row: Record, own: dict[str, str | None]) -> LoggedSample:
    """The sample of a row whose columns `own` names by role."""
    others = {name: value for name, value in row.items() if name not in (*own.values(), *_GROUPS, "sample_index")}
    members: Record = {role: row.get(name) for role, name in own.items() if name}
    group, env = (parsers.first(row, names, parsers.name) for names in (_GROUPS, USUAL["env"]))
    if group:  # each environment counts its own groups
        members["group"] = f"{env}-{group}" if env else group
    return LoggedSample(others | members, own_index=name_of(row.get("sample_index")))


def _with_step(record: Record, step: int | None) -> Record:
    """A record with the step of its own row, else that of its table."""
    own = parsers.first(record, STEPS, parsers.integer)
    others = {name: value for name, value in record.items() if name not in STEPS}
    return others | {"step": step if own is None else own}


def sample_of_trace(key: str, messages: Any, metadata: Any, step: int | None) -> LoggedSample | str | None:
    """Return the sample of a trace, None for a part of another trace, or why it cannot be read."""
    known = with_numbers(metadata) if isinstance(metadata, dict) else {}
    if is_call(known):
        return sample_of_call(known, step)
    if not (isinstance(messages, list) and messages and all(isinstance(message, dict) for message in messages)):
        return "a trace without messages is not a sample"
    first = text.answer_at(messages)
    record: Record = {name: value for name, value in known.items() if name not in _TAKEN}
    own_step = parsers.first(known, ("step", "global_step"), parsers.integer)
    reward, notes = _reward(known)
    record |= {"prompt": messages[:first], "response": messages[first:], "reward": reward}
    record["step"] = step if own_step is None else own_step
    advantage = next((known[name] for name in ("advantage", "advantages") if name in known), None)
    values = tokens.read_floats(advantage)
    if values is not None and len(values) and (values == values[0]).all():  # the same for each token
        advantage = float(values[0])
    if parsers.number(advantage) is not None:
        record["advantage"] = advantage
    groups = [known[name] for name in TRACE_GROUPS if name_of(known.get(name))]
    record |= {"group": groups[0]} if groups else {}
    if key.startswith("val/"):
        record["prompt"], record["response"] = _only_text(messages[:first]), _only_text(messages[first:])
    named = next((known[name] for name in ("split", "mode") if isinstance(known.get(name), str)), "")
    split = split_named(named) or ("eval/validation" if known.get("validate") is True else split_named(key))
    return LoggedSample(record, split, name_of(known.get("sample_index")), notes)


def _reward(known: Record) -> tuple[Any, tuple[str, ...]]:
    """The reward of a trace; without a total, the sum of its parts and a note that says so."""
    for name in ("reward", "score"):
        if name in known:
            return known[name], ()
    parts = [parsers.number(value) for name, value in known.items() if name.startswith("rewards/")]
    finite = [part for part in parts if part is not None and part == part]
    return (sum(finite), (UNWEIGHTED_TRACE,)) if finite else (None, ())


def _only_text(messages: list[Any]) -> Any:
    """The text of a single message, because verl's prompts are texts that contain roles; else the messages."""
    content = messages[0].get("content") if len(messages) == 1 else None
    return content if isinstance(content, str) else messages


def is_call(known: Record) -> bool:
    """Tell whether the metadata of a trace are those of a call."""
    return isinstance(known.get("op"), str) and "sample_index" in known and "rollout_n" in known


def sample_of_call(known: Record, step: int | None) -> LoggedSample | None:
    """Return the sample of a call; None if it is a part of one."""
    if not str(known.get("op")).endswith(".run"):
        return None
    inputs, output = parsers.as_dict(known.get("inputs")), parsers.as_dict(known.get("output"))
    arguments = parsers.as_dict(inputs.get("kwargs")) or inputs
    own_step = known.get("step")
    prompt, response = arguments.get("raw_prompt") or output.get("prompt_text") or None, output.get("response_text")
    # a run may use several data sets, so the number of a prompt within one is not enough
    about_prompt = (name_of(known.get("sample_index")), parsers.digest(parsers.joined(prompt)) if prompt else "")
    record: Record = {
        "prompt": prompt,
        "reward": parsers.number(output.get("reward_score")),
        "step": step if own_step is None or own_step == -1 else own_step,
        "group": name_of(arguments.get("uid")) or "-".join(filter(None, about_prompt)) or None,
        "status": known.get("status"),
        "ground_truth": parsers.as_dict(arguments.get("reward_model")).get("ground_truth"),
        "data_source": arguments.get("data_source"),
        "uid": arguments.get("uid"),
        "response": response or (None if output.get("response_ids") else ""),
        "exception_type": known.get("exception_type"),
        "exception": known.get("exception"),
        "num_turns": output.get("num_turns"),
        "metrics": parsers.as_dict(output.get("metrics")),
        "sampling_params": inputs.get("sampling_params") or None,
        "extra_fields": output.get("extra_fields") or None,
    }
    series = {"logprobs": output.get("response_logprobs"), "loss_mask": output.get("response_mask")}
    ids = ids_of(output.get("prompt_ids")), ids_of(output.get("response_ids"))
    token_ids = TokenIds(*ids, {name: values for name, values in series.items() if values}) if ids[1] else None
    split = "eval/validation" if str(known.get("validate")).lower() == "true" else ""
    stated = {name: value for name, value in record.items() if value is not None or name == "reward"}
    return LoggedSample(stated, split, name_of(known.get("rollout_n")), (), token_ids)
