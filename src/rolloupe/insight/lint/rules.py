"""Rules about rows (rewards, advantages, texts and groups), a run as a whole, and the token series of its steps."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rolloupe import query
from rolloupe.features import Floats, Grouping
from rolloupe.index import Moments
from rolloupe.insight.curves import NotChecked, counted
from rolloupe.insight.lint.rule import Breach, LintData, Mask, Places, alike, breach, evenly, extremes, lint_rule
from rolloupe.insight.lint.sample_rules import final_answer, plain_answer
from rolloupe.model import SampleKey
from rolloupe.query import SampleQuery
from rolloupe.query.samples.pages import IDENTITY, PROMPT, TEXT, whole_samples
from rolloupe.text.visible import quoted


def groups_with(grouping: Grouping, wanted: Mask) -> Iterator[slice]:
    """Yield the places of each group that has a wanted sample."""
    for group in np.flatnonzero(grouping.sums(wanted.astype(np.float64)) > 0) if len(grouping) else ():
        yield slice(grouping.starts[group], grouping.starts[group] + grouping.sizes[group])


def group_medians(grouping: Grouping, values: Floats, wanted: Mask) -> Floats:
    """Return for each sample the median of the finite values of its group; NaN if no wanted sample is in it."""
    medians = np.full(len(values), np.nan)
    for own in groups_with(grouping, wanted):
        medians[own] = np.median(values[own][np.isfinite(values[own])])
    return medians


LEAST_CORRELATION = 1e-3
NO_LAW = "the advantages of siblings are not a linear function of their rewards in this run, or are not recorded"
NOT_CENTRED = "the advantages of siblings do not add up to 0 in this run, or are not recorded"


@lint_rule(is_certain=True)
def advantage_order(data: LintData) -> Breach | None:
    """Advantages fall as rewards rise within a group, in a run where 95% of the groups of three or more have
    advantages that are a linear function of their rewards.
    """
    groups = data.groups
    if not groups.follow.any():
        raise NotChecked(NO_LAW)
    bad = groups.follow & groups.differ & groups.moves & (groups.correlation < -LEAST_CORRELATION)
    of = f"{counted(int((groups.follow & groups.differ).sum()), 'group')} whose rewards differ"
    text = f"In {int(bad.sum()):,} of {of} a worse reward has a better advantage"
    return breach(groups.members(bad), f"{text}: {{n}}.")


@lint_rule(is_certain=True)
def needless_truncation(data: LintData) -> Breach | None:
    """A truncated response of one turn ends with an end-of-sequence marker."""
    ends = (data.ends == 1) & (data.turns <= 1)
    if not ends.any():
        raise NotChecked("no response of one turn ends with an end-of-sequence marker in its text")
    return breach(
        ends & (data.status == "truncated"), "Ends with an end-of-sequence marker, yet counts as truncated: {n}."
    )


@lint_rule(is_certain=True)
def not_finite(data: LintData) -> Breach | None:
    """The reward or the advantage of a sample is NaN or infinite."""
    bad = np.zeros(len(data), np.bool_)
    for name, values in (("reward", data.reward), ("advantage", data.advantage)):
        bad |= data.has_value(name) & ~np.isfinite(values)
    reaches_update = data.trained | ~data.is_train
    return breach(bad & reaches_update, "The reward or the advantage of {n} is NaN or infinite.")


OFF_ZERO = 0.05


@lint_rule()
def off_centre(data: LintData) -> Breach | None:
    """The mean advantage of a group differs from 0 by {OFF_ZERO:.0%} of the greatest; that of 95% of the groups of
    three or more does not.
    """
    groups = data.groups
    centres = groups.centred(OFF_ZERO)
    if not centres.any():
        raise NotChecked(NOT_CENTRED)
    bad = centres & groups.whole() & (groups.sizes >= 2) & (np.abs(groups.means) > OFF_ZERO)
    text = f"In {counted(int(bad.sum()), 'group')} the advantages of siblings do not add up to 0, as in others"
    return breach(groups.members(bad), f"{text}: {{n}}.")


LATE = 5
"""The last steps of a run are a fifth of all."""
MOST_OF_TEXTS, LEAST_TEXT, LEAST_GROUPS = 0.5, 20, 8
"""What makes one response to everything: its share of the samples, its characters, and in how many groups it is."""


@lint_rule()
def one_text(data: LintData) -> Breach | None:
    """One response of {LEAST_TEXT} characters or more makes up {MOST_OF_TEXTS:.0%} of the samples of the last fifth of
    the steps, over {LEAST_GROUPS} groups or more with different prompts.
    """
    _, own, steps = _fifths(data)
    share, bad = _commonest(data.hashes(TEXT)[own])
    places = own[bad]
    is_short = bool(len(places)) and data.chars[places[0]] < LEAST_TEXT
    prompts = len(np.unique(data.hashes(PROMPT)[places]))
    if is_short or share < MOST_OF_TEXTS or min(prompts, len(np.unique(data.grouping.numbers[places]))) < LEAST_GROUPS:
        return None
    text = f"One response makes up {share:.0%} of the samples of {steps}, to {prompts:,} different prompts."
    return Breach(text, len(places), places)


MOST_OF_PROMPTS, TIMES_NEXT = 0.25, 4
"""What makes a prompt too common: its share of the samples, and how often the next one fits into that."""


@lint_rule()
def one_prompt(data: LintData) -> Breach | None:
    """One prompt makes up {MOST_OF_PROMPTS:.0%} of the samples of the last fifth of the steps, {TIMES_NEXT} times what
    the next one does, and twice its share of the first fifth.
    """
    first, own, steps = _fifths(data)
    early, prompts = (data.hashes(PROMPT)[part] for part in (first, own))
    share, bad = _commonest(prompts)
    others, _ = _commonest(prompts[~bad])
    before = float((early == prompts[bad][0]).mean()) if len(early) and bad.any() else 0.0
    if share < max(MOST_OF_PROMPTS, 2 * before) or not 0 < others * (1 - share) * TIMES_NEXT <= share:
        return None
    read = whole_samples(data.run, data.arrays, own[bad][:1].tolist(), MOST_BYTES)
    prompt = "".join(f": {quoted(' '.join(sample.prompt_text.split()))}" for _, sample in read)
    return Breach(f"One prompt makes up {share:.0%} of the samples of {steps}{prompt}.", int(bad.sum()), own[bad])


KNOWN, LEAST_KNOWN = 0.1, 10
"""What makes an evaluation known to the model: the share and the number of its prompts that training has."""
FEW_PROMPTS, OFTEN = 50, 3
"""The most prompts that are few, and at how many of the last steps each stands."""


@lint_rule()
def trained_evals(data: LintData) -> Breach | None:
    """{KNOWN:.0%} or more of the prompts of the evaluations, and at least {LEAST_KNOWN}, are prompts of the training
    split, word for word.
    """
    is_eval = np.char.startswith(data.split.astype(str), "eval/") & data.has_prompt
    if not is_eval.any() or not data.is_train.any():
        raise NotChecked("the run has no evaluation with prompts beside its training samples")
    prompts = data.hashes(PROMPT)
    bad = is_eval & np.isin(prompts, prompts[data.is_train])
    asked, known = (len(np.unique(prompts[part])) for part in (is_eval, bad))
    if known < max(LEAST_KNOWN, KNOWN * asked):
        return None
    text = f"{known:,} of the {counted(asked, 'prompt')} of the evaluations are training prompts, word for word"
    return breach(bad, f"{text}: {{n}}.")


@lint_rule()
def few_prompts(data: LintData) -> Breach | None:
    """The samples of the last fifth of the steps have {FEW_PROMPTS} prompts or fewer, and several, each at {OFTEN} of
    these steps on average or more.
    """
    first, own, steps = _fifths(data)
    (earlier, _), (count, seen) = data.prompts(first), data.prompts(own)
    own = own[data.has_prompt[own]]
    if not 1 < count <= FEW_PROMPTS or seen < OFTEN * count:
        return None
    more = f"; as many of the first steps have {earlier:,}" if earlier > 2 * count else ""
    return Breach(
        f"The samples of {steps} have {count} prompts, each at {seen / count:.0f} steps{more}.", len(own), own
    )


READ_GROUPS, READ_SIBLINGS, MOST_BYTES = 64, 4, 2**24
AGREED, DISPUTED, LEAST_DISPUTED = 0.75, 0.1, 6
"""The share of siblings that agree; the share of all groups whose label is disputed, and their number."""


@lint_rule()
def disputed_labels(data: LintData) -> Breach | None:
    """In {DISPUTED:.0%} of the groups or more, all samples have the lowest reward of the run, and {AGREED:.0%} of the
    siblings that were read agree on a final answer that is not the label.
    """
    grouping, rewards = data.grouping, np.where(data.is_train & np.isfinite(data.reward), data.reward, np.inf)
    lowest = float(rewards.min(initial=np.inf))
    is_worst = (grouping.sums((rewards == lowest).astype(np.float64)) == grouping.sizes) & (grouping.sizes >= 3)
    first, last = extremes(grouping.numbers, data.hashes(TEXT))
    is_worst &= first != last  # copies agree in anything
    own, groups = np.flatnonzero(is_worst), int(data.is_train[grouping.starts].sum())
    if not np.isfinite(lowest) or rewards[np.isfinite(rewards)].max() == lowest or len(own) < DISPUTED * groups:
        return None
    own = evenly(own, READ_GROUPS)
    siblings = grouping.starts[own][:, None] + np.arange(READ_SIBLINGS)
    read = siblings[np.arange(READ_SIBLINGS) < grouping.sizes[own][:, None]].tolist()
    answers: dict[int, list[tuple[str, str]]] = {}
    for place, sample in whole_samples(data.run, data.arrays, read, MOST_BYTES):
        if (label := plain_answer(sample.label)) and (answer := final_answer(sample.response_text)):
            answers.setdefault(int(grouping.numbers[place]), []).append((label, answer))
    if not answers:
        raise NotChecked("no group of wrong answers that lint read has labels and final answers")
    bad = [group for group, given in answers.items() if _is_disputed(given)]
    if len(bad) < LEAST_DISPUTED or len(bad) / len(answers) * is_worst.sum() < DISPUTED * groups:
        return None
    given = Counter(answer for group in bad for _, answer in answers[group])
    if given.most_common(1)[0][1] > AGREED * given.total():
        return None  # one answer to everything says nothing about labels
    places = np.flatnonzero(np.isin(grouping.numbers, bad))
    where = f"In {len(bad)} of {counted(len(answers), 'group')} read whose rewards are all {lowest:.3g}"
    return Breach(f"{where}, siblings agree on an answer that the label denies: it may be wrong.", len(places), places)


def _is_disputed(given: list[tuple[str, str]]) -> bool:
    """Return whether the siblings of a group, as labels and final answers, agree on another answer than the label."""
    answer, count = Counter(answer for _, answer in given).most_common(1)[0]
    return len(given) >= 3 and count >= AGREED * len(given) and all(label != answer for label, _ in given)


READ_LABELS, LEAST_EMPTY, BY_CHANCE = 128, 6, 1e-3
NO_LABELS = {"", "none", "null", "nan", "[]", "{}"}


@lint_rule()
def empty_labels(data: LintData) -> Breach | None:
    """{LEAST_EMPTY} or more of the samples that were read have no label, though others have one, and all of these have
    the lowest reward of the run, which would not happen by chance.
    """
    trained = np.flatnonzero(data.is_train & np.isfinite(data.reward))
    read = whole_samples(data.run, data.arrays, evenly(trained, READ_LABELS).tolist(), MOST_BYTES)
    has_label = {place: sample.label.strip().lower() not in NO_LABELS for place, sample in read}
    if not any(has_label.values()):
        raise NotChecked("no sample that lint read has a label")
    is_worst = data.reward == data.reward[trained].min()
    bare = np.array([place for place, has in has_label.items() if not has], np.int64)
    worst_share = float(is_worst[[place for place, has in has_label.items() if has]].mean())
    if len(bare) < LEAST_EMPTY or not is_worst[bare].all() or worst_share ** len(bare) > BY_CHANCE:
        return None
    text = f"{len(bare)} of {len(has_label)} samples read have no label, and all of these have the lowest reward"
    return Breach(f"{text}; of the others {worst_share:.0%} have it.", len(bare), bare)


def _fifths(data: LintData) -> tuple[Places, Places, str]:
    """Return the training samples of the first and of the last fifth of the steps, and the words for the latter.

    Raises `NotChecked` for fewer than `LATE` steps.
    """
    steps = np.unique(data.step[data.is_train])
    if len(steps) < LATE:
        raise NotChecked(f"{counted(len(steps), 'step')} with training samples; {LATE} are needed")
    count = len(steps) // LATE
    words = f"the last {count} steps" if count > 1 else "the last step"
    early, late = data.step <= steps[count - 1], data.step >= steps[-count]
    return np.flatnonzero(data.is_train & early), np.flatnonzero(data.is_train & late), words


def _commonest(hashes: NDArray[np.int64]) -> tuple[float, Mask]:
    """Return the share of the commonest hash, and where it is."""
    if not len(hashes):
        return 0.0, np.zeros(0, np.bool_)
    numbers = alike(hashes)
    counts = np.bincount(numbers)
    bad: Mask = numbers == counts.argmax()
    return float(counts.max() / len(hashes)), bad


SLACK = 1e-6
MOST_READ = 40
"""How many samples to read whole: the index knows the ends of long texts, and their white space as blanks."""


@lint_rule(is_certain=True)
def other_reward(data: LintData) -> Breach | None:
    """Two siblings of one turn have the same prompt, recorded label, response, length and status, and unequal
    rewards.
    """
    own = np.flatnonzero((data.turns <= 1) & data.has_text & np.isfinite(data.reward))
    status = np.unique(data.status[own].astype(str), return_inverse=True)[1]
    tokens = np.nan_to_num(data.tokens[own], nan=-1).astype(np.int64)
    numbers = alike(data.grouping.numbers[own], data.hashes(TEXT)[own], tokens, status)
    low, high = extremes(numbers, data.reward[own])
    bad = np.flatnonzero(high > low + SLACK)
    cases = [own[numbers == number] for number in bad[: MOST_READ // 2].tolist()]
    pairs = [pair for places in cases if (pair := _pair(data, places))]
    if not pairs:
        return None
    ids = [id_ for pair in pairs for id_ in pair]  # of conversations, other turns may differ
    more = f" of {len(cases)} read" if len(bad) > len(cases) else ""
    text = f"In {counted(len(pairs), 'case')}{more} siblings wrote the same response and earned different rewards"
    return Breach(f"{text}: the grader is not deterministic.", len(ids), ids=ids)


def _pair(data: LintData, places: Places) -> tuple[str, str] | None:
    """Return the ids of the siblings with the lowest and the highest reward, if their texts are equal."""
    rewards = data.reward[places]
    ids = data.arrays.ids(data.run, [int(places[np.argmin(rewards)]), int(places[np.argmax(rewards)])])
    first, second = (query.sample(data.run, SampleKey.parse(id_)) for id_ in ids)
    is_same = (first.response_text, first.prompt_text) == (second.response_text, second.prompt_text)
    return (ids[0], ids[1]) if is_same and first.label and first.label == second.label else None


RANGE_SLACK = 1e-6


@lint_rule(is_certain=True)
def outside_range(data: LintData) -> Breach | None:
    """A reward, or a part of it, lies outside the range that the run declares."""
    info = data.run.info
    whole = info.reading.reward_range or info.reward_range
    by_env = {} if info.reading.reward_range else {env: (low, high) for env, low, high in info.env_reward_ranges}
    if not (whole or by_env or data.ranged):
        raise NotChecked("the run declares no range; --reward-range LOW:HIGH names one")
    outside = np.zeros(len(data), np.bool_)
    if whole:
        outside |= _outside(data.reward, *whole) & ~np.isin(data.env, list(by_env))
    for env, (low, high) in by_env.items():
        outside |= _outside(data.reward, low, high) & (data.env == env)
    for name, worst, best in info.metric_ranges:
        if name in data.ranged and worst < best:  # what is better small may have no upper end
            outside |= _outside(data.arrays.numbers(name), worst, best)
    return breach(outside, "Outside the range that the run declares for the reward or a part of it: {n}.")


def _outside(values: Floats, first: float, second: float) -> Mask:
    low, high = sorted((first, second))
    slack = RANGE_SLACK * max(1.0, abs(low), abs(high))
    return np.isfinite(values) & ((values < low - slack) | (values > high + slack))


USUAL = 8.0
DECLARED = frozenset((
    "max_off_policy_steps", "max_async_level", "max_head_offpolicyness", "max_staleness", "max_staleness_steps",
    "max_steps_off_policy",
))  # fmt: skip
"""Settings of trainers that bound the lag."""
DEEPEST = 6


@lint_rule()
def policy_lag(data: LintData) -> Breach | None:
    """A trained sample comes from a policy further behind than the configuration of the run allows, or than {USUAL:g}
    versions where it names no limit.
    """
    lag = _lag(data)
    most = max(_declared(data.run.format.config(data.run.info), DEEPEST), default=None)
    limit = USUAL if most is None else most
    with np.errstate(invalid="ignore"):
        bad = data.trained & np.isfinite(lag) & (lag > limit)
    worst = float(np.max(lag[bad], initial=0))
    why = "" if most is None else ", the most that the run's configuration allows"
    return breach(bad, f"Sampled by a policy more than {limit:g} versions behind{why}: {{n}}, the worst {worst:g}.")


def _lag(data: LintData) -> Floats:
    """Return the recorded lag, or how far a version is behind the newest of its step, shape (N,)."""
    if not data.policy:
        raise NotChecked("the samples name neither the version of their policy nor its lag")
    values = data.arrays.numbers(data.policy[0])
    if data.policy[0] in query.LAGS:
        return values
    of_step = np.unique(data.step, return_inverse=True)[1]
    newest = np.full(of_step.max(initial=-1) + 1, -np.inf)
    known = data.trained & np.isfinite(values)
    np.maximum.at(newest, of_step[known], values[known])
    return newest[of_step] - values


def _declared(config: Mapping[str, Any], deepest: int) -> list[float]:
    limits = []
    for name, value in config.items():
        if isinstance(value, Mapping) and deepest:
            limits += _declared(value, deepest - 1)
        elif str(name).rsplit(".", 1)[-1] in DECLARED and isinstance(value, int | float) and 0 <= value < np.inf:
            limits.append(float(value))
    return limits


@lint_rule(is_certain=True)
def same_advantage(data: LintData) -> Breach | None:
    """Siblings have equal advantages and unequal rewards, in a run where 95% of the groups of three or more have
    advantages that are a linear function of their rewards.
    """
    groups = data.groups
    if not groups.follow.any():
        raise NotChecked(NO_LAW)
    bad = groups.follow & groups.differ & (groups.sizes >= 2) & ~groups.moves
    text = f"In {counted(int(bad.sum()), 'group')} all siblings have the same advantage, though their rewards differ"
    return breach(groups.members(bad), f"{text}: {{n}} teach nothing, or all the same.")


@lint_rule(is_certain=True)
def same_id(data: LintData) -> Breach | None:
    """Two trained samples of a step have the same group and index, or two equal siblings share a `sample_id`,
    `sample_uid` or `trajectory_id`, which siblings that differ never do.
    """
    own = np.flatnonzero(data.trained)
    twice = np.zeros(len(data), np.bool_)
    numbers = alike(data.hashes(IDENTITY)[own])
    twice[own[np.bincount(numbers)[numbers] > 1]] = True
    for name in data.recorded:
        twice |= _recorded_twice(data, name)
    return breach(twice, "Trained on, with the id of another trained sample of the step: {n}.")


def _recorded_twice(data: LintData, name: str) -> Mask:
    """Return the siblings that share a recorded id; none if different siblings share one, since it then identifies no
    samples.
    """
    twice = np.zeros(len(data), np.bool_)
    own = np.flatnonzero(data.trained & data.has_text & data.has_value(name))
    groups = data.grouping.numbers[own]
    ids = alike(groups, data.codes(name)[own])
    low, high = extremes(ids, data.hashes(TEXT)[own])
    if (low == high).all():
        ids_of_groups = np.bincount(extremes(ids, groups)[0], minlength=len(data.grouping))
        twice[own] = (np.bincount(ids)[ids] > 1) & (ids_of_groups[groups] > 1)
    return twice


LEAST_SIBLINGS = 4


@lint_rule()
def same_texts(data: LintData) -> Breach | None:
    """All samples of a group of {LEAST_SIBLINGS} or more have the same response."""
    grouping, texts = data.grouping, data.hashes(TEXT)
    first, last = extremes(grouping.numbers, texts)
    counts = (grouping.sizes >= LEAST_SIBLINGS) & (data.is_train & data.has_text)[grouping.starts]
    bad, of_groups = (first == last) & counts, data.step[grouping.starts]
    steps, recent = np.unique(of_groups[counts]), ""
    if len(steps) >= LATE:
        share = bad[counts & (of_groups >= steps[-(len(steps) // LATE)])].mean()
        recent = f", and in {share:.0%} of those of the last fifth of the steps," if share > bad[counts].mean() else ""
    of_all = f"{counted(int(counts.sum()), 'group')} of {LEAST_SIBLINGS} or more"
    text = f"In {int(bad.sum()):,} of {of_all}{recent} all siblings wrote the same response"
    return breach(bad[grouping.numbers], f"{text}: {{n}}.")


CENTRED = 1e-4


@lint_rule(is_certain=True)
def single_samples(data: LintData) -> Breach | None:
    """A trained sample has no sibling, in a run where the advantages of siblings add up to 0."""
    groups = data.groups
    compares = groups.centred(CENTRED)
    if not compares.any():
        raise NotChecked(NOT_CENTRED)
    newest = np.max(data.step[data.is_train], initial=-np.inf)
    is_older = data.step[data.grouping.starts] < newest
    bad = compares & is_older & (data.grouping.sizes == 1) & (groups.sizes == 1)
    return breach(groups.members(bad), "Trained on without any sibling, though advantages compare siblings: {n}.")


@lint_rule(is_certain=True)
def text_reward(data: LintData) -> Breach | None:
    """The reward of a sample is text, not a number."""
    texts = np.full(len(data), "", np.object_)
    for name in reversed(data.reward_tags):
        words = data.arrays.words(name)
        texts = np.where(words != "", words, texts)
    bad = np.flatnonzero(~data.has_value("reward") & (texts != ""))
    if not len(bad):
        return None
    shown = f"so it does not count; the first is “{texts[bad[0]]}”"
    return Breach(f"The reward of {counted(len(bad))} is text, not a number, {shown}.", len(bad), bad)


@lint_rule()
def truncated_rewards(data: LintData) -> Breach | None:
    """Truncated training samples have a reward above 0, and some of them the median of their group or more."""
    truncated = data.is_train & (data.status == "truncated") & np.isfinite(data.reward)
    if not (data.status[data.is_train] != "unknown").any():
        raise NotChecked("the run does not say which training samples were truncated")
    paid = truncated & (data.reward > 0)
    middle = paid & (data.reward >= group_medians(data.grouping, data.reward, paid))
    count, of_all = int(paid.sum()), int(truncated.sum())
    text = f"{count:,} of {counted(of_all, 'truncated sample')} {'was' if count == 1 else 'were'} rewarded"
    least = f"{int(middle.sum()):,} of them got at least the median of the group"
    return breach(paid, f"{text}; {least}.") if middle.any() else None


LEAST_SHIFT = 1e-6
"""A smaller change of a mean, beside the greatest reward, is rounding."""


@lint_rule()
def trained_failures(data: LintData) -> Breach | None:
    """Samples that ended by a failure of the environment or the grader have a reward, and count as trained on."""
    if not (data.cause[data.is_train] != "").any() and not (data.status[data.is_train] != "unknown").any():
        raise NotChecked("the run does not say how its training samples ended")
    failed = np.isin(data.cause, ("environment", "grader"))
    bad = data.trained & failed & np.isfinite(data.reward)
    shifts = [*_baseline_shifts(data, bad)]
    mean = f", by {np.mean(shifts):.3g} on average" if shifts else ""
    moved = f", which moved the mean reward of {counted(len(shifts), 'group')}{mean}" if shifts else ""
    text = f"{{n}} ended by a failure of the environment or the grader, and {'was' if bad.sum() == 1 else 'were'}"
    return breach(bad, f"{text} trained on all the same{moved}.")


def _baseline_shifts(data: LintData, bad: Mask) -> Iterator[float]:
    """Yield how far some samples move the mean reward of each of their groups, of which others are left."""
    for own in groups_with(data.grouping, bad):
        counts = data.trained[own] & np.isfinite(data.reward[own])
        others = counts & ~bad[own]
        shift = abs(data.reward[own][counts].mean() - data.reward[own][others].mean()) if others.any() else 0.0
        if shift > LEAST_SHIFT * np.abs(data.reward[own][counts]).max():
            yield float(shift)


MOST_NAMED = 3
"""How many losses, launches or steps a sentence names."""
MOST_TOKENS = 16
"""How many extreme tokens of a step name its samples, one of each."""


@lint_rule(is_certain=True)
def lost_data(data: LintData) -> Breach | None:
    """Some of the run's data was never written, as on a full disk, or is in the files and was not read."""
    lost = [*dict.fromkeys(loss.reason for loss in data.run.format.losses(data.run.info))]
    more = f"; and {len(lost) - MOST_NAMED:,} more, in the problems of the run" if len(lost) > MOST_NAMED else ""
    return Breach(f"{'; '.join(lost[:MOST_NAMED])}{more}.", len(lost)) if lost else None


@lint_rule()
def other_groups(data: LintData) -> Breach | None:
    """A group holds samples of different prompts, of different models or from unrelated files; or no key is known to
    name the groups, though one of the rows may.
    """
    doubts = query.group_doubts(data.run)
    return Breach(f"{'; '.join(doubts)}.", len(doubts)) if doubts else None


@lint_rule()
def several_launches(data: LintData) -> Breach | None:
    """The run was resumed and wrote steps again, or its files look so: one goes back to earlier steps, or those of the
    last steps are older than those of the steps before.
    """
    snapshot = data.run.snapshot()
    again = {key: stats.superseded for key, stats in snapshot.steps.items() if stats.superseded}
    texts = data.run.launch_doubts()
    count = sum(again.values()) + len(texts)
    if again:
        steps = [step for _, step in again]
        span = f"step {min(steps)}" if len(steps) == 1 else f"steps {min(steps)} to {max(steps)}"
        left_out = f"{counted(sum(again.values()))} of {span} left out: a later launch recorded these steps again"
        texts = [left_out, *texts]
    more = f"; and {len(texts) - MOST_NAMED:,} more places" if len(texts) > MOST_NAMED else ""
    return Breach(f"{'; '.join(texts[:MOST_NAMED])}{more}.", count) if texts else None


LOGPROBS = ("logprobs", "ref_logprobs", "trainer_logprobs", "rollout_logprobs", "old_logprobs")
RATIOS = ("importance_ratio", "ratio")

SeriesOfStep = tuple[str, int, str]
"""Split, step and name."""


def _moments(data: LintData, names: Sequence[str], noun: str) -> Mapping[SeriesOfStep, Moments]:
    """Return the moments of the series with these names. Raises `NotChecked` without any."""
    moments = {key: of for key, of in data.series().items() if key[2] in names}
    if not moments:
        raise NotChecked(f"the index has no {noun} by token of these samples")
    return moments


def _step_breach(data: LintData, bad: Sequence[SeriesOfStep], text: str, *, highest: bool = False) -> Breach | None:
    """Return the steps with a bad series, and the samples of the first of them that have its extreme tokens."""
    if not bad:
        return None
    steps = sorted({key[:2] for key in bad})
    names = ", ".join(sorted({key[2] for key in bad}))
    ids: dict[str, None] = {}
    for split, step, name in sorted(bad)[:MOST_NAMED]:
        scope = SampleQuery(splits=(split,), step_min=step, step_max=step)
        worst = query.worst_tokens(data.run, scope, name, highest=highest, one_a_sample=True, limit=MOST_TOKENS)
        ids |= dict.fromkeys(str(token.key) for token in worst.tokens)
    where = f"{counted(len(steps), 'step')}, first at {steps[0][0]} {steps[0][1]}"
    return Breach(f"{text} at {where}: {names}.", len(ids), ids=[*ids])


LEAST_TOKENS = 16


@lint_rule(is_certain=True)
def equal_logprobs(data: LintData) -> Breach | None:
    """All log-probabilities of a step with {LEAST_TOKENS} tokens or more are equal."""
    series = _moments(data, LOGPROBS, "log-probabilities")
    bad = [key for key, of in series.items() if of.count >= LEAST_TOKENS and of.min == of.max]
    return _step_breach(data, bad, "All log-probabilities are equal")


OFF_RATIO = 0.05


@lint_rule()
def off_policy(data: LintData) -> Breach | None:
    """The mean importance ratio of a step differs from 1 by more than {OFF_RATIO:g}."""
    series = _moments(data, RATIOS, "importance ratios")
    bad = [key for key, of in series.items() if of.count and abs(of.mean - 1) > OFF_RATIO]
    return _step_breach(data, bad, f"The mean importance ratio differs from 1 by more than {OFF_RATIO:g}", highest=True)


LOGPROB_SLACK = 1e-3
"""Rounding in half precision."""


@lint_rule(is_certain=True)
def positive_logprobs(data: LintData) -> Breach | None:
    """A log-probability is above 0, by {LOGPROB_SLACK:g} or more."""
    series = _moments(data, LOGPROBS, "log-probabilities")
    bad = [key for key, of in series.items() if of.count and of.max > LOGPROB_SLACK]
    return _step_breach(data, bad, "Log-probabilities are above 0", highest=True)
