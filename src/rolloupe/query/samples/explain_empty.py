"""Why a filter leaves samples out: columns without values, samples without tokens, ids without strings, discarded."""

from collections import Counter

from msgspec.structs import replace

from rolloupe.derive import METRICS
from rolloupe.formats.token_texts import tokenizer_of
from rolloupe.index import OpenRun
from rolloupe.query.engine.compile import token_texts
from rolloupe.query.engine.names import has_column, is_within, run_names, with_all_words
from rolloupe.query.filter.parser import Among, Condition, Filter, Missing, Not, leaves
from rolloupe.query.records import SampleQuery
from rolloupe.query.run_tokens.token_index import indexed
from rolloupe.query.run_tokens.words import words_of_steps
from rolloupe.query.samples.pages import in_scope, needs_whole_index, samples


def why_none(run: OpenRun, query: SampleQuery) -> list[str]:
    """Say how many samples in the scope of a query lack the values that its conditions name: a sentence each."""
    scope = replace(query, where=(), typed="", sort="index", offset=0, limit=0)
    total = samples(run, scope).total
    asked = [leaf.column for leaf in leaves(query.where) if isinstance(leaf, Condition | Among)]
    reasons = [_without(run, scope, name, total) for name in dict.fromkeys(asked) if total]
    if total and token_texts(query) and query.trained is not False:
        reasons += _of_tokens(run, scope)
    return [reason for reason in reasons if reason]


def why_few(run: OpenRun, query: SampleQuery) -> list[str]:
    """Say the same, for a query whose conditions name tokens or derived metrics: some samples may lack these."""
    snapshot = run.snapshot()
    asks = replace(query, sort="index")
    return why_none(run, query) if needs_whole_index(asks, snapshot.metrics, snapshot.tags) else []


def discarded_too(run: OpenRun, query: SampleQuery) -> int:
    """Count the discarded samples that match the conditions of a query which leaves them out. Raises as `samples`."""
    other = replace(query, trained=False, sort="index", offset=0, limit=0)
    if query.trained is not True or not query.where or not in_scope(run, other):
        return 0
    return samples(run, other).total


def _without(run: OpenRun, scope: SampleQuery, name: str, total: int) -> str:
    missing = total - _having(run, scope, name)
    if missing < total:
        return f"{missing:,} of {total:,} samples have no {name}." if missing else ""
    names = [known for known, _ in run_names(run.snapshot())]
    others = [known for known in with_all_words(name, [*names, *METRICS]) if known != name and has_column(run, known)]
    with_values = [known for known in others if _having(run, scope, known)]
    return f"No sample here has {name}.{f' There is {with_values[0]}.' if with_values else ''}"


def _having(run: OpenRun, scope: SampleQuery, name: str) -> int:
    has: Filter = Not(Missing(name))
    return samples(run, replace(scope, where=(has,))).total


def _of_tokens(run: OpenRun, scope: SampleQuery) -> list[str]:
    """Say whether the texts of tokens are known, and how many trained samples have tokens at all."""
    scope = replace(scope, trained=None, group=None)
    steps = (key[1] for key in run.snapshot().steps if is_within(replace(scope, step_min=None), *key))
    newest, reasons = max(steps, default=None), []
    if tokenizer_of(run.info) is None:
        words = words_of_steps(run, replace(scope, step_min=newest, step_max=newest), by="tokens", limit=1).words
        if words and words[0].token_id is not None:
            reasons.append(
                "The strings of tokens are unknown: the records hold ids. --tokenizer names a tokenizer that has them."
            )
    rows, _ = indexed(run, run.snapshot(), scope, ["series", "samples"])
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.values[0]] += row.values[1]
    total = samples(run, replace(scope, trained=True)).total
    missing = total - max(counts.values(), default=0)
    if missing > 0:
        reasons.append(f"{missing:,} of {total:,} samples have no tokens.")
    return reasons
