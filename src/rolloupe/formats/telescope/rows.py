"""One sample of Telescope: its row for lists, and the whole sample."""

from typing import Any, NamedTuple

from rolloupe import text
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.records import TOO_LARGE, Unusable
from rolloupe.formats.telescope.archives import UNDISPATCHED, stamp_of
from rolloupe.formats.telescope.tables import Facts, Kind, KindTables, Row, name_of
from rolloupe.formats.telescope.texts import UnpackedTexts
from rolloupe.formats.telescope.turns import label_of, prompt_turns, response_turns
from rolloupe.model import Locator, RunInfo, Sample, SampleRow, Source, Status, Turn

NUMBERS = (
    "off_policy_steps", "num_generations", "compute_reward_time", "compute_eval_metrics_time", "inference_step",
    "model_step",
)  # fmt: skip
_PLACED = {
    *NUMBERS, "step", "trainer_step", "group_id", "sample_id", "reward", "advantage", "total_tokens", "stop_reason",
    "discard_reason", "eval_name", "sample_idx", "completion_idx", "env", "tail_idx",
}  # fmt: skip
_OF_PROMPT = {
    "timestamp", "discard_reason", "trainer_step", "inference_step", "step", "group_id", "env", "prompt",
    "tokens_prompt", "system_prompt", "tokens_system_prompt", "tail_idx", "eval_name", "model_step", "sample_idx",
    "sample_id",
}  # fmt: skip
_FINISHED = ("final_answer",)
_AFTERWARDS = "_after_training"
"""The suffix of the split of an evaluation after training, absent from the evaluation's name during training."""
_LAST = 2**40
"""Samples without a number of their own come after all others."""


class Sampled(NamedTuple):
    """A sample read from its rows."""

    row: SampleRow
    facts: Facts
    turns: list[Turn]
    texts: UnpackedTexts

    def sample(self, locator: Locator) -> Sample:
        """The sample whole."""
        notes = list(self.texts.notes)
        notes += [f"more rows of {name} than are read: the rest is left out" for name in self.facts.cut]
        if self.row.status == "aborted" and not any(turn.origin == "response" for turn in self.turns):
            notes.append("cancelled before it ended: there is no answer, and no reward")
        return Sample(
            key=self.row.key,
            row=self.row,
            locator=locator,
            turns=self.turns,
            prompt_text=_joined(self.turns, "prompt"),
            response_text=self.row.response,
            label=label_of(self.facts.about.get("golden_answers", [])),
            extra=_extra(self.facts, self.row, self.texts),
            notes=notes,
        )


def sampled(run: RunInfo, source: Source, kind_tables: KindTables, number: int, facts: Facts) -> Sampled:
    """Read a sample from its rows. Raises `Unusable` if they do not identify it."""
    texts = UnpackedTexts()
    turns = [*prompt_turns(facts.prompt), *response_turns(facts, texts)]
    row = _identified(source, kind_tables, number, facts.row)
    _fill(row, kind_tables.kind, facts)
    row.metrics, row.tags = _metrics(facts), _tags(facts, kind_tables.kind)
    row.prompt, row.response = _prompt_text(turns), _joined(turns, "response")
    row.messages = [turn for turn in turns if turn.origin == "response"]
    if key := run.reading.group_by:
        row.group = fields.name(row.tags.get(key, row.metrics.get(key, row.env if key == "env" else None))) or row.group
    if key := run.reading.reward_key:
        row.reward = row.metrics.get(f"reward.{key}", row.metrics.get(key))
    return Sampled(row, facts, turns, texts)


def _identified(source: Source, kind_tables: KindTables, number: int, record: Row) -> SampleRow:
    kind = kind_tables.kind
    sample = fields.integer(record.get("sample_id"))
    step = fields.integer(record.get("step" if kind.is_eval or kind.is_trained else "trainer_step"))
    if sample is None or step is None:
        raise Unusable(f"no {'step' if sample is not None else 'sample_id'}")
    if fields.is_too_large(step):
        raise Unusable(f"step {step} {TOO_LARGE}")
    if kind.is_eval:
        stamp = stamp_of(source)
        split = f"eval/{fields.name(record.get('eval_name')) or 'unnamed'}{_AFTERWARDS if stamp else ''}"
        group, index = fields.name(record.get("sample_idx")), fields.name(record.get("completion_idx"))
        index = f"{index or '0'}-{stamp}" if stamp else index
    else:
        split, group, index = "train", fields.name(record.get("group_id")), str(sample)
    return SampleRow(
        split=split,
        step=step,
        group=group or "0",
        index=f"none-{kind_tables.nth_without_id(number)}" if sample == UNDISPATCHED else index or str(sample),
        ordinal=sample if sample >= 0 else _LAST + number,
        start=number,
        length=0,
        part=name_of("samples_data", kind),
        uid=str(sample) if sample >= 0 else "",
    )


def _fill(row: SampleRow, kind: Kind, facts: Facts) -> None:
    record, prompt = facts.row, facts.prompt
    generations = facts.about.get("generations", [])
    row.status, row.status_raw = _status(record, kind)
    row.discarded = "" if kind.is_trained or kind.is_eval else str(record.get("discard_reason") or "unknown")[:200]
    row.env = fields.name(record.get("env")) or fields.name(prompt.get("env")) or ""
    row.turns = len(generations)
    row.response_tokens = _sum([one.get("tokens") for one in generations])
    row.prompt_tokens = next(iter(filter(None, (fields.count(one.get("prompt_tokens")) for one in generations))), None)
    row.prompt_tokens = row.prompt_tokens or _sum(
        [prompt.get(f"tokens_{name}") for name in ("prompt", "system_prompt")]
    )
    if not kind.is_cancelled:  # their reward of 0 comes from no grader
        row.total_tokens = fields.count(record.get("total_tokens"))
        row.reward, row.advantage = (fields.number(record.get(name)) for name in ("reward", "advantage"))


def _status(record: Row, kind: Kind) -> tuple[Status, str]:
    if kind.is_cancelled:
        return "aborted", "cancelled"
    found, word = fields.status(record.get("stop_reason"))
    return ("completed", word) if word in _FINISHED else (found, word)


def _sum(values: list[Any]) -> int | None:
    found = [count for value in values if (count := fields.count(value)) is not None]
    return fields.count(sum(found)) if found else None


def _metrics(facts: Facts) -> dict[str, float]:
    named = {
        str(one.get("metric_name") or "metric"): one.get("value") for one in facts.about.get("rollouts_metrics", [])
    }
    named |= {name: facts.row[name] for name in NUMBERS if name in facts.row}
    return {text.clean(name): value for name, one in named.items() if (value := fields.number(one)) is not None}


def _tags(facts: Facts, kind: Kind) -> dict[str, str]:
    found = {
        text.clean(str(one.get("tag_name") or "tag")): short
        for one in facts.about.get("sample_tags", [])
        if (short := fields.tag(one.get("tag_value")))
    }
    return found | ({"cancelled": "yes"} if kind.is_cancelled else {})


def _prompt_text(turns: list[Turn]) -> str:
    """The prompt for lists and searches alone: the user's part first, as many prompts share one system part."""
    return _joined(sorted(turns, key=lambda turn: turn.role == "system"), "prompt")


def _joined(turns: list[Turn], origin: str) -> str:
    found = (
        "".join(part.text if part.raw is None else part.raw for part in turn.parts)
        for turn in turns
        if turn.origin == origin
    )
    return "\n\n".join(piece for piece in found if piece)


def _extra(facts: Facts, row: SampleRow, texts: UnpackedTexts) -> dict[str, Any]:
    """Every column without a place of its own, and rows with values that do not fit theirs."""
    found = {
        key: texts.of(value) if isinstance(value, bytes) else value
        for key, value in facts.row.items()
        if key not in _PLACED and value not in (None, "", b"")
    }
    found |= {f"prompts.{key}": value for key, value in facts.prompt.items() if key not in _OF_PROMPT and value}
    tags = {
        str(one.get("tag_name")): one.get("tag_value")
        for one in facts.about.get("sample_tags", [])
        if one.get("tag_value") and str(one.get("tag_name")) not in row.tags
    }
    answers = {str(one.get("key")): one.get("value") for one in facts.about.get("golden_answers", [])}
    found |= {"sample_tags": tags} if tags else {}
    return found | ({"golden_answers": answers} if len(answers) > 1 else {})
