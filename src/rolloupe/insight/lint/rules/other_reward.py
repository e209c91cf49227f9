"""The same response to the same prompt earned another reward: the grader is not deterministic."""

import numpy as np

from rolloupe import query
from rolloupe.features import Grouping
from rolloupe.insight.lint.data import LintData
from rolloupe.insight.lint.rule import NOWHERE, Breach, LintRule, Places, counted
from rolloupe.model import SampleKey

SLACK = 1e-6
MOST_READ = 40
"""How many samples to read whole: the index knows the ends of long texts, and their white space as blanks."""


def look(data: LintData) -> Breach | None:
    """Compare siblings whose response, tokens and status are the same; of conversations the other turns may differ."""
    own = np.flatnonzero((data.turns <= 1) & data.has_text & np.isfinite(data.reward))
    status = np.unique(data.status[own].astype(str), return_inverse=True)[1]
    keys = (data.grouping.numbers[own], data.texts[own], np.nan_to_num(data.tokens[own], nan=-1), status)
    order = np.lexsort(keys[::-1])
    own, ordered = own[order], [key[order] for key in keys]
    alike = Grouping(np.cumsum(np.any([np.diff(key, prepend=key[:1]) != 0 for key in ordered], axis=0)))
    rewards = data.reward[own]
    low, high = (way.reduceat(rewards, alike.starts) if len(own) else rewards for way in (np.minimum, np.maximum))
    bad = np.flatnonzero(high > low + SLACK)
    places = [own[alike.starts[one] : alike.starts[one] + alike.sizes[one]] for one in bad[: MOST_READ // 2].tolist()]
    found = [pair for own in places if (pair := _pair(data, own))]
    if not found:
        return None
    ids = [id_ for pair in found for id_ in pair]
    more = f" of {len(places)} read" if len(bad) > len(places) else ""
    text = f"In {counted(len(found), 'case')}{more} siblings wrote the same response and earned another reward"
    return Breach(NOWHERE, f"{text}: the grader is not deterministic.", ids, len(ids))


def _pair(data: LintData, places: Places) -> tuple[str, str] | None:
    """The ids of the least and the best paid, if their texts are the same."""
    rewards = data.reward[places]
    ids = data.arrays.ids(data.run, [int(places[np.argmin(rewards)]), int(places[np.argmax(rewards)])])
    first, second = (query.sample(data.run, SampleKey.parse(id_)) for id_ in ids)
    is_same = (first.response_text, first.prompt_text) == (second.response_text, second.prompt_text)
    return (ids[0], ids[1]) if is_same and first.label and first.label == second.label else None


RULE = LintRule(
    "other_reward",
    "two siblings of one turn have the same prompt, recorded label, response, length and status, and unequal rewards",
    look,
    is_certain=True,
)
