"""The curves that a run has: their queries, with words for people, in sections."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from rolloupe import tokens
from rolloupe.derive import PREFIX, summary_of, token_metrics
from rolloupe.index import OpenRun
from rolloupe.query.curves.points import (
    DISCARDED,
    ENDED,
    GROUP_SHARES,
    STATUSES,
    ZERO_ADVANTAGE,
    CurveOptions,
    CurveQuery,
    correlations,
    group_counts,
    outcomes,
    share_counts,
)
from rolloupe.query.engine.names import unknown
from rolloupe.query.evals.grader import evaluations, judge_of
from rolloupe.query.evals.scores import eval_summary
from rolloupe.query.run.columns import ColumnInfo, catalogue
from rolloupe.query.run.trainer_files import metric_table
from rolloupe.query.run_tokens.statistics import masked_by_rule, usual_rules
from rolloupe.query.steps.moments import discards, sample_number, sample_points, token_points, token_series_names
from rolloupe.query.steps.summaries import first_split

REWARD, GROUPS, LENGTH, TOKENS, EVALS, SAMPLES, TEXTS, PROGRESS = (
    "Reward", "Groups", "Length and status", "Tokens", "Evals", "Sample metrics", "Texts", "Progress",
)  # fmt: skip
SECTIONS = (REWARD, GROUPS, LENGTH, TOKENS, EVALS, SAMPLES, TEXTS, PROGRESS)
"""The first sections, in this order; the trainer's metrics follow, in sections by the parts of their names."""

TRAINER = "Trainer"  # the section of the trainer's metrics whose names have one part
_LENGTHS = frozenset(("prompt_tokens", "response_tokens", "total_tokens", "turns", "response_chars", "prompt_chars"))
TOKEN_KL = {"kl": "Token KL", "kl_k3": "Token KL k3"}
"""Titles that tell the KL of recorded tokens from the one that the trainer logs for a step."""
_OF_TOKENS = frozenset(PREFIX + name for name in token_metrics())


class CurveEntry(NamedTuple):
    """A curve that a run has."""

    query: CurveQuery
    title: str
    section: str
    unit: str = ""
    about: str = ""  # its meaning in a sentence; empty if only the framework knows it
    low: float | None = None  # the bounds of the values of its samples; None where they are unknown
    high: float | None = None


def curve_catalogue(run: OpenRun, split: str = "") -> list[CurveEntry]:
    """Return the curves of a run: those of a split (the first one), its evaluations, and the trainer's."""
    split = split or first_split(run)
    columns = catalogue(run, split).columns
    names = {column.name for column in columns if column.low is not None}
    entries = [*_of_samples(run, split, columns), *_of_shares(run, split), *_of_lengths(run, split, names)]
    entries += [*_of_tokens(run, split), *_of_evals(run), *_of_progress(run, split, names)]
    order = {name: place for place, name in enumerate(SECTIONS)}
    entries.sort(key=lambda entry: order[entry.section])
    return [*entries, *_of_trainer(run)]


def curve_name(query: CurveQuery) -> str:
    """Return the name of a curve: the name of the trainer's metric, or the kind of the curve and the name in it."""
    if query.kind == "trainer":
        return query.name
    parts = [query.kind, query.name or query.source.removeprefix("eval/"), query.options.reason]
    of_k = f"@{query.options.k}" if query.options.k > 1 else ""
    return "/".join(part for part in parts if part) + (f"/{query.stat}{of_k}" if of_k else "")


def named_curve(run: OpenRun, name: str) -> CurveQuery:
    """Return the curve that a name stands for: the mean of a sample metric with values, before a metric of the trainer.

    Others are a token series, or a curve of the catalogue by its kind and name, such as `share/discarded`. Raises
    `BadQuery`, which lists the nearest names.
    """
    is_of_trainer = name in metric_table(run).columns
    if sample_number(run.snapshot(), name) is not None:
        points = sample_points(run, name, first_split(run)) if is_of_trainer else ()
        if not is_of_trainer or any(point.stats.count for point in points):
            return CurveQuery(kind="sample", name=name)
    if is_of_trainer:
        return CurveQuery(kind="trainer", name=name)
    if name in token_series_names(run):
        return CurveQuery(kind="token", name=name)
    known = {curve_name(entry.query): entry.query for entry in reversed(curve_catalogue(run))}
    if name not in known:
        short = [known_name.removeprefix("sample/").removeprefix("token/") for known_name in reversed(known)]
        raise unknown("curve", name, short, f" in run {run.id!r}")
    return known[name]


def _of_samples(run: OpenRun, split: str, columns: Sequence[ColumnInfo]) -> Iterator[CurveEntry]:
    """Yield the columns with a finite number; if annotations may hold others, the bounds are unknown."""
    annotated = run.snapshot().annotated()
    for column in columns:
        if column.kind != "number" or column.name == "step":
            continue
        is_there = column.source != "fixed" or share_counts(run, ZERO_ADVANTAGE, split)
        if column.low is None and not (column.name in annotated and is_there):
            continue
        query = CurveQuery(kind="sample", name=column.name, source=split)
        about = "a sample metric, as the framework recorded it" if column.source == "metric" else ""
        if column.source == "derived":
            about = summary_of(column.name.removeprefix(PREFIX))
        title = column.label or column.name
        yield CurveEntry(query, title, _section(column), column.unit, about, column.low, column.high)


def _section(column: ColumnInfo) -> str:
    if column.name in ("reward", "advantage") or column.name.startswith("reward."):
        return REWARD
    if column.name in _LENGTHS:
        return LENGTH
    if column.source != "derived":
        return SAMPLES
    return TOKENS if column.name in _OF_TOKENS else TEXTS


def _of_shares(run: OpenRun, split: str) -> Iterator[CurveEntry]:
    for name, (title, about) in GROUP_SHARES.items() if group_counts(run, split) else ():
        yield _entry(split, "group", name, title, GROUPS, "share of groups", about)
    for name in (DISCARDED, *STATUSES):
        if name != "unknown" and any(chosen for chosen, _ in share_counts(run, name, split).values()):
            about = f"samples that were {name}, of all samples of the step, discarded ones too"
            yield _entry(split, "share", name, name.capitalize(), LENGTH, "share of samples", about)
    for name, what in ENDED.items():
        if any(chosen for chosen, _ in share_counts(run, name, split).values()):
            about = f"samples that ended by {what}, of all samples of the step, discarded ones too"
            yield _entry(split, "share", name, f"Ended by {what}", LENGTH, "share of samples", about)
    for reason in sorted({discard.reason for discard in discards(run, split)}):
        about = f"samples that were discarded for the reason {reason}, of all samples of the step"
        options = CurveOptions(reason=reason)
        yield _entry(
            split, "share", DISCARDED, f"Discarded: {reason}", LENGTH, "share of samples", about, options=options
        )
    if share_counts(run, ZERO_ADVANTAGE, split):
        about = "samples with an advantage of 0: nothing is learned from them; of the trained samples with an advantage"
        yield _entry(split, "share", ZERO_ADVANTAGE, "Zero advantage", GROUPS, "share of samples", about)


def _of_lengths(run: OpenRun, split: str, names: Collection[str]) -> Iterator[CurveEntry]:
    if "reward" not in names:
        return
    judge = judge_of(run, split)
    graded = f"by {judge.metric}, at {'most' if judge.bar.falls else 'least'} {judge.bar.value:g}"
    for name, title in (("length_right", "Length, right"), ("length_wrong", "Length, wrong")):
        if outcomes(run, split, name):
            about = f"mean response tokens of {name.removeprefix('length_')} answers, {graded}"
            yield _entry(split, "outcome", name, title, LENGTH, "tokens", about)
    name = next((length for length in ("response_tokens", "response_chars") if length in names), "")
    if name and correlations(run, name, split):
        about = f"Pearson's r of the reward and {name}, over the trained samples of a step"
        yield _entry(split, "correlation", name, "Correlation of reward and length", LENGTH, "", about)


def _of_tokens(run: OpenRun, split: str) -> Iterator[CurveEntry]:
    for name in token_series_names(run):
        if not token_points(run, name, split):
            continue
        kind = tokens.kind_of(name)
        yield _entry(split, "token", name, TOKEN_KL.get(name, kind.title), TOKENS, "", kind.about)
    rules = masked_by_rule(run, split)
    for rule in usual_rules(run, rules):
        if any(shares.update_lost is not None for shares in rules[rule].values()):
            title, takes = tokens.UPDATES[rule].title, f"the rule {tokens.UPDATES[rule].title} takes"
            if rule == tokens.RECORDED:
                title, takes = "masks", "the trainer's flags take"
            about = f"what {takes} from the update of the recorded tokens"
            yield _entry(split, "mask", rule, f"Update lost to {title}", TOKENS, "share of the update", about)


def _of_evals(run: OpenRun) -> Iterator[CurveEntry]:
    """Yield scores, and each pass@k and share of right answers that differs from the score."""
    for name in evaluations(run):
        title, summary = name.removeprefix("eval/"), eval_summary(run, name, "", None, ())
        steps, judge = summary.steps, f"{summary.metric}, {summary.reason}"
        yield _entry(name, "eval", "", title, EVALS, "", f"the mean score of {name}", stat="score")
        for at, k in enumerate(summary.ks):
            if k > 1 or any(step.score != step.pass_at[at] for step in steps):
                answers = "an answer is" if k == 1 else f"one of {k} answers is"
                about = f"probability that {answers} right, mean over the prompts of {name}: {judge}"
                more: dict[str, Any] = {"stat": "pass_at", "options": CurveOptions(k=k)}
                yield _entry(name, "eval", "", f"{title} pass@{k}", EVALS, "share of prompts", about, **more)
        if any(step.correct not in (step.score, step.pass_at[0]) for step in steps):
            about = (
                f"share of all answers of {name} that are right: {judge}; a prompt with more answers counts for more"
            )
            yield _entry(name, "eval", "", f"{title}: right answers", EVALS, "share of answers", about, stat="correct")


def _of_progress(run: OpenRun, split: str, names: Collection[str]) -> Iterator[CurveEntry]:
    if metric_table(run).start_s is not None:
        about = "seconds since the first time that the trainer logged"
        yield _entry("", "elapsed", "", "Elapsed time", PROGRESS, "s", about)
    name = next((length for length in ("total_tokens", "response_tokens") if length in names), "")
    if name:
        about = f"{name} of the trained samples of a step and of all steps before it"
        yield _entry(split, "cumulative", name, "Tokens so far", PROGRESS, "tokens", about)


def _of_trainer(run: OpenRun) -> Iterator[CurveEntry]:
    """Metrics of one section stand together, those of few parts first."""
    parted = sorted((*name.split("/")[:-1], "", name.rpartition("/")[2]) for name in metric_table(run).columns)
    has_token_kl = not {*TOKEN_KL, "ref_logprobs"}.isdisjoint(token_series_names(run))
    for *section, _, last in parted:
        title = f"{last} (trainer)" if has_token_kl and last.lower() in ("kl", "mean_kl") else last
        yield _entry("", "trainer", "/".join((*section, last)), title, "/".join(section) or TRAINER)


def _entry(
    source: str, kind: str, name: str, title: str, section: str, unit: str = "", about: str = "", **more: Any
) -> CurveEntry:
    return CurveEntry(CurveQuery(kind=kind, name=name, source=source, **more), title, section, unit, about)
