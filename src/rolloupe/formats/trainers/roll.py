"""The rollouts that ROLL dumps: one file per step, with one line, whose members are columns.

Source: `write_to_json_process`. Its pipeline of verifiable rewards writes prompts and responses, the agentic one
`trajectory_data` and `messages` as texts of JSON, and fills only the row of a trajectory's last step.
"""

from typing import ClassVar

from rolloupe.formats.generic.rows import OwnNames, number_row
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.documents import columns_at, sample_count, unpacked
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record, Unusable
from rolloupe.model import Locator, Sample, SampleRow, Scanned, Source

TRAJECTORY = "trajectory_data"
_OWN = ("prompt", "responses", "scores")


class Roll(OwnNames, JsonlFormat):
    """Rollouts of ROLL."""

    name = "roll"
    title = "ROLL"
    cuts_arrays = False
    names: ClassVar[dict[str, str]] = {
        "prompt": "prompt", "response": "responses", "messages": "messages", "score": "scores",
        "step": "global_step", "group": "id", "label": "ground_truth", "env": "domain", "status_key": "stop_reason",
    }  # fmt: skip

    def fits(self, record: Record) -> bool:
        columns = _OWN if "responses" in record else (TRAJECTORY, "messages")
        return all(isinstance(record.get(key), list) for key in columns)

    def rows(self, source: Source, record: Record, start: int, length: int) -> list[Scanned]:
        """See `RecordFormat`: a sample for each place in the lists."""
        found: list[Scanned] = []
        for number in range(sample_count(record, _column(record))):
            if sample := _sample_at(record, number):
                row = number_row(self.row(source, sample, start, length), number)
                row.tags = {key: value for key, value in row.tags.items() if unpacked(value) is value}
                found.append(row)
        return found

    def own_record(self, record: Record, row: SampleRow) -> Record:
        return _sample_at(record, int(row.part))

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        sample.extra = {key: unpacked(value) for key, value in sample.extra.items()}
        return sample


def _column(record: Record) -> str:
    """The column that every sample has. Raises `Unusable`."""
    for column in ("responses", TRAJECTORY):
        if column in record:
            return column
    raise Unusable("a line without columns of responses or trajectories is not a dump of rollouts")


def _sample_at(record: Record, number: int) -> Record:
    """The values of a sample; empty for a row that ROLL left empty."""
    column = _column(record)
    sample = columns_at(record, number, sample_count(record, column))
    return _of_trajectory(sample) if column == TRAJECTORY else {"prompt": "", **sample}


def _of_trajectory(sample: Record) -> Record:
    """The values of an agentic sample, under the names that other samples use."""
    facts = unpacked(sample.get(TRAJECTORY))
    if not isinstance(facts, dict):
        return {}
    env, rewards, failure = (parsers.as_dict(facts.get(key)) for key in ("env_info", "reward_info", "failure_info"))
    messages = unpacked(sample.get("messages"))
    messages = messages if parsers.is_messages(messages) else unpacked(facts.get("messages"))
    group = "-".join(filter(None, (parsers.name(env.get("group_id")), parsers.name(env.get("seed")))))
    found = {
        "global_step": sample.get("global_step"), "scores": rewards.get("episode_reward"), "domain": env.get("tag"),
        "stop_reason": facts.get("finish_reason") or failure.get("stop_reason"), "id": group or None,
        "messages": messages if parsers.is_messages(messages) else None, "tools": unpacked(sample.get("tools")),
        "exp_name": sample.get("exp_name"), **{key: facts[key] for key in facts if key != "messages"},
    }  # fmt: skip
    return {key: value for key, value in found.items() if value is not None}
