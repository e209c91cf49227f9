"""Rows whose members have the usual names: one row becomes a sample, whatever kind of file holds it."""

import re
from typing import ClassVar

from rolloupe import text, tokens
from rolloupe.formats.generic import row_tokens
from rolloupe.formats.generic.keys import Roles, is_aside, is_prompt_alone, may_be_sample, roles_of, weak_group
from rolloupe.formats.reading import fields
from rolloupe.formats.reading.field_map import as_pairs
from rolloupe.formats.reading.files import stem
from rolloupe.formats.reading.records import Record, RecordFormat, References, Unusable, step_of
from rolloupe.model import Locator, Sample, SampleRow, Source

SHOWN_TEXTS = 12
_UID = re.compile(r"(?P<group>.+)_[0-9]+_[0-9]+", re.DOTALL)

_ROLES = ("prompt", "response", "messages", "score", "step", "group", "label", "env", "status_key")


class NamedRows(RecordFormat):
    """A format whose rows hold the parts of a sample under usual names; `roles` says under which."""

    series_in_samples = True
    pad: ClassVar[str] = ""
    """The token that pads responses, if the framework has one of its own."""
    scores_tokens: ClassVar[bool] = False
    """True if a list of rewards is always one of the tokens, whether the record tells their number or not."""

    def roles(self, record: Record) -> Roles:
        """Return the key in each role. What a format leaves open, `known_roles` adds."""
        return roles_of(record)

    def known_roles(self, record: Record) -> Roles:
        """Return the key in each role: no format knows less of a row than its usual names say."""
        own = self.roles(record)
        return own if type(self).roles is NamedRows.roles else own.with_usual(roles_of(record))

    def may_cut(self, key: str) -> bool:
        return is_aside(key)

    def needs_length(self, key: str) -> bool:
        return row_tokens.needs_length(key)

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        record = row_tokens.with_choice(record)
        roles = self.known_roles(record)
        if not (roles.prompt or roles.response or roles.score or may_be_sample(record)):
            raise Unusable("an object without a text or a score under a usual name is no sample")
        reward = self._reward(roles, record)
        status, status_raw = roles.status(record)
        prompt_value, response_value = roles.texts(record)
        prompt = fields.joined(prompt_value)
        metrics, tags = roles.rest(record)
        step = step_of(record.get(roles.step)) if roles.step else source.step
        if step is None and roles.weak_step:
            step = fields.integer(record[roles.weak_step])
        found = _tokens(roles, record)
        if roles.score is None and status == "unknown" and not found.keys and is_prompt_alone(record):
            raise Unusable("a prompt without a response, a score or a status is no sample")
        prompt_tokens, response_tokens = self._counts(roles, record, found)
        return SampleRow(
            split=source.split or "train",
            step=step if step is not None else (source.step or 0),
            group=_group(roles, record) or (not prompt and weak_group(record)) or fields.digest(prompt),
            index=f"{stem(source.name)}:{start}",
            ordinal=start,
            start=start,
            length=length,
            reward=reward.value,
            advantage=fields.number(record.get(roles.advantage)) if roles.advantage else None,
            status=status,
            status_raw=status_raw,
            turns=_turn_count(response_value, prompt),
            prompt_tokens=prompt_tokens,
            response_tokens=response_tokens,
            total_tokens=roles.tokens(record, "total"),
            env=(fields.name(record.get(roles.env)) or "") if roles.env else "",
            uid=fields.name(record.get("uid")) or "",
            discarded=fields.reason(record.get("discarded")) or "",
            metrics=metrics | reward.metrics,
            tags=tags | reward.tags,
            has_series=found.has_series,
            prompt=prompt,
            response=fields.joined(response_value, thoughts=True),
            messages=fields.chat(response_value),
        )

    def _reward(self, roles: Roles, record: Record) -> fields.Reward:
        """The reward; of a list that has a number for each token the sum. Raises `Unusable` for any other list."""
        value = record.get(roles.score) if roles.score else None
        if isinstance(value, str) and fields.tag(value) and not fields.is_shown_reward(value):
            return fields.reward(value)._replace(tags={str(roles.score): value})
        if not isinstance(value, list):
            return fields.reward(value)
        if len(value) == 1:
            return fields.reward(value[0])
        rewards = tokens.read_floats(value)
        if rewards is not None and (self.scores_tokens or _is_of_tokens(len(value), roles, record)):
            return fields.Reward(tokens.nan_sum(rewards), {}, {})
        what = f"`{roles.score}` has {len(value)} numbers for one response"
        if not fields.joined(roles.texts(record)[1]).strip():
            texts = [key for key, member in record.items() if isinstance(member, str) and member.strip()]
            paths = "by their paths from the row, as in --map response=KEY,reward=LIST.0.KEY"
            among = f"; its texts are {', '.join(texts[:SHOWN_TEXTS])}" if texts else ""
            raise Unusable(f"{what}, which is empty. Next: name the text and its score {paths}{among}")
        key = "KEY" if roles.score == "reward" else roles.score  # a person may have named a list of another name
        pairs = as_pairs({"reward": f"{key}.0"}) or "FILE, a file of TOML"
        raise Unusable(f"{what}, which has not so many tokens. Next: name the one that counts, as with --map {pairs}")

    def _counts(self, roles: Roles, record: Record, found: row_tokens.RowTokens) -> tuple[int | None, int | None]:
        """The tokens of prompt and response: as the row says, else as many as it holds without padding."""
        prompt, response = roles.tokens(record, "prompt"), roles.tokens(record, "response")
        if response is not None or not len(found.pieces):
            return prompt, response
        extent = row_tokens.extent_of(found, prompt, self.pad)
        return extent.prompt, extent.response

    def references(self, record: Record) -> References:
        record = row_tokens.with_choice(record)
        label = self.known_roles(record).label
        return References(fields.as_text(record.get(label)) if label else "", [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        record = row_tokens.with_choice(record)
        roles = self.known_roles(record)
        prompt, response = roles.texts(record)
        found = _tokens(roles, record)
        sample = fields.sample_of(row, locator, prompt, response)
        sample.label = self.references(record).label
        in_place = row_tokens.placed_row(found, roles.tokens(record, "prompt"), self.pad)
        unplaced = row_tokens.add_row_tokens(sample, found, in_place)
        placed = found.keys.keys() - unplaced
        sample.extra = {
            key: fields.showable(value)
            for key, value in record.items()
            if key not in placed and (key in unplaced or not roles.shows(key, value, row))
        }
        return sample


def _is_of_tokens(count: int, roles: Roles, record: Record) -> bool:
    """Whether a response has so many tokens, as a count or another list says."""
    if roles.tokens(record, "response") == count:
        return True
    texts = (roles.score, roles.messages, roles.prompt, roles.response)
    lists = (value for key, value in record.items() if key not in texts)
    return any(tokens.length(value) == count for value in lists)


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


def _tokens(roles: Roles, record: Record) -> row_tokens.RowTokens:
    """The tokens of a row; a list of scores counts among them if it has a number for each."""
    found = row_tokens.row_tokens(record)
    scores = record[roles.score] if roles.score else None
    count = tokens.length(scores)
    if not count and "rollout_logprobs" not in found.arrays:
        return found
    arrays, keys = dict(found.arrays), dict(found.keys)
    if count and all(tokens.length(values) == count for values in arrays.values()):
        arrays["token_rewards"], keys[str(roles.score)] = scores, "token_rewards"
    if "rollout_logprobs" in arrays and "trainer_logprobs" not in arrays:
        renamed = {"rollout_logprobs": "logprobs", "logprobs": "trainer_logprobs"}
        arrays = {renamed.get(name, name): values for name, values in arrays.items()}
        keys = {key: renamed.get(name, name) for key, name in keys.items()}
    return found._replace(arrays=arrays, keys=keys)


class OwnNames(NamedRows):
    """A format that names the key of each role; roles that it does not name have none."""

    names: ClassVar[dict[str, str]] = {}
    """Keys by role."""
    counts: ClassVar[dict[str, str]] = {}
    """Keys of token counts: `prompt`, `response`, `total`."""

    def roles(self, record: Record) -> Roles:
        """See `NamedRows`."""
        own = {role: key if (key := self.names.get(role)) in record else None for role in _ROLES}
        if own["messages"] and not fields.is_messages(record[own["messages"]]):
            own["messages"] = None
        return Roles(**own, counts={what: key for what, key in self.counts.items() if key in record})
