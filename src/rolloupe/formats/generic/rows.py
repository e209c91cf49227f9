"""Rows whose members have the usual names: one row becomes a sample, whatever kind of file holds it."""

import re

from rolloupe import text, tokens
from rolloupe.formats.alternatives import STRINGS, alternatives_of, with_lists
from rolloupe.formats.generic.keys import SERIES, Roles, is_aside, may_be_sample, roles_of
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.files import stem
from rolloupe.formats.reading.records import Record, RecordFormat, References, Unusable, step_of
from rolloupe.model import Locator, Sample, SampleRow, Source, TokenSeries

_UID = re.compile(r"(?P<group>.+)_[0-9]+_[0-9]+", re.DOTALL)


class NamedRows(RecordFormat):
    """A format whose rows hold the parts of a sample under usual names; `roles` says under which."""

    series_in_samples = True

    def roles(self, record: Record) -> Roles:
        """Return the key in each role."""
        return roles_of(record)

    def may_cut(self, key: str) -> bool:
        """See `RecordFormat`."""
        return is_aside(key)

    def needs_length(self, key: str) -> bool:  # noqa: ARG002
        """See `RecordFormat`."""
        return True

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        """See `RecordFormat`."""
        if not may_be_sample(record):
            raise Unusable("an object without a text or a score under a usual name is no sample")
        roles = self.roles(record)
        reward = _reward(roles, record)
        status, status_raw = roles.status(record)
        prompt_value, response_value = roles.texts(record)
        prompt = fields.joined(prompt_value)
        metrics, tags = roles.rest(record)
        step = step_of(record.get(roles.step)) if roles.step else None
        return SampleRow(
            split=source.split or "train",
            step=step if step is not None else (source.step or 0),
            group=_group(roles, record) or fields.digest(prompt),
            index=f"{stem(source.name)}:{start}",
            ordinal=start,
            start=start,
            length=length,
            reward=reward.value,
            advantage=fields.number(record.get("advantage")),
            status=status,
            status_raw=status_raw,
            turns=_turn_count(response_value, prompt),
            prompt_tokens=roles.tokens(record, "prompt"),
            response_tokens=roles.tokens(record, "response"),
            total_tokens=roles.tokens(record, "total"),
            env=(fields.name(record.get(roles.env)) or "") if roles.env else "",
            uid=fields.name(record.get("uid")) or "",
            discarded=fields.reason(record.get("discarded")) or "",
            metrics=metrics | reward.metrics,
            tags=tags | reward.tags,
            has_series=bool(_arrays(roles, with_lists(record))),
            prompt=prompt,
            response=fields.joined(response_value, thoughts=True),
            messages=fields.chat(response_value),
        )

    def references(self, record: Record) -> References:
        """See `RecordFormat`."""
        label = self.roles(record).label
        return References(fields.as_text(record.get(label)) if label else "", [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        """See `RecordFormat`."""
        roles, opened = self.roles(record), with_lists(record)
        is_choice, record = opened is not record, opened
        prompt, response = roles.texts(record)
        arrays = _arrays(roles, record)
        sample = fields.sample_of(row, locator, prompt, response)
        sample.label = self.references(record).label
        sample.top_logprobs = alternatives_of(record.get("top_logprobs"))
        sample.series, sample.notes = _series(arrays)
        sample.token_strings = record.pop(STRINGS) if is_choice else []
        sample.extra = {
            key: fields.showable(value)
            for key, value in record.items()
            if not roles.shows(key, value, row) or (key == roles.score and _is_left_out(value, arrays))
        }
        return sample


def _reward(roles: Roles, record: Record) -> fields.Reward:
    value = record.get(roles.score) if roles.score else None
    if isinstance(value, list):
        rewards = tokens.read_floats(value)
        return fields.Reward(None if rewards is None else tokens.nan_sum(rewards), {}, {})
    return fields.reward(value)


def _group(roles: Roles, record: Record) -> str | None:
    if roles.group:
        return fields.name(record.get(roles.group))
    uid = record.get("uid")
    match = _UID.fullmatch(uid) if isinstance(uid, str) else None
    return fields.name(match["group"]) if match else None


def _turn_count(response: object, prompt: str) -> int:
    messages = fields.chat(response)
    if messages is None:
        return text.bare_answers(response, prompt) if isinstance(response, str) else 1
    return max(1, text.answers_in(messages)) if messages else 0


def _arrays(roles: Roles, record: Record) -> Record:
    """What may be token series, by name."""
    found = {key: record[key] for key in SERIES if tokens.length(record.get(key))}
    scores = record[roles.score] if roles.score else None
    count = tokens.length(scores)
    if count and all(tokens.length(values) == count for values in found.values()):
        found["token_rewards"] = scores
    if "rollout_logprobs" in found and "trainer_logprobs" not in found:
        renamed = {"rollout_logprobs": "logprobs", "logprobs": "trainer_logprobs"}
        found = {renamed.get(name, name): values for name, values in found.items()}
    return found


def _is_left_out(scores: object, arrays: Record) -> bool:
    return isinstance(scores, list) and all(scores is not values for values in arrays.values())


def _series(lists: Record) -> tuple[list[TokenSeries], list[str]]:
    """The token series, and a note if some are cut."""
    read = ((name, tokens.read_floats(values)) for name, values in lists.items())
    arrays = {name: values for name, values in read if values is not None}
    length, notes = tokens.aligned({name: len(values) for name, values in arrays.items()})
    found = [TokenSeries(name=name, values=tokens.packed(values[:length])) for name, values in arrays.items()]
    for mask in tokens.MASKS:
        tokens.hide_masked(found, (mask,))
    return found, notes
