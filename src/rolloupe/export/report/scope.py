"""Which samples a report holds, in words."""

from rolloupe.query import SampleQuery


def scope_of(run: str, query: SampleQuery) -> str:
    """Return the run, the split, the steps and the conditions of a query as a sentence."""
    words = [", ".join(query.splits) or "all splits", _steps(query.step_min, query.step_max)]
    if query.group is not None:
        words.append(f"group {query.group}")
    if query.trained is not None:
        words.append("trained on" if query.trained else "discarded")
    if query.typed:
        words.append(f"where {query.typed}")
    return f"Samples of {run}: {', '.join(words)}."


def _steps(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return "all steps"
    if low == high:
        return f"step {low}"
    if high is None:
        return f"step {low} and later"
    return f"steps {low} to {high}" if low is not None else f"steps up to {high}"


def part_of(first: int, count: int, total: int, *, is_worst: bool) -> str:
    """Return which of `total` samples a file holds: `count` of them, from number `first` on."""
    if count >= total:
        return f"{count:,} {'sample' if count == 1 else 'samples'}."
    if first:
        return f"Samples {first + 1:,} to {first + count:,} of {total:,}."
    if is_worst:
        return f"The {count:,} worst of {total:,} samples."
    return f"The first {count:,} of {total:,} samples."
