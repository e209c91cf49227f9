"""What tests of several trackers share."""

from rolloupe.model import SampleRow


def means(some: list[SampleRow]) -> dict[tuple[str, int], tuple[int, int, float | None]]:
    """The number of samples and groups of each split and step, and the mean of finite rewards."""
    found = {}
    for key in sorted({(row.split, row.step) for row in some}):
        own = [row for row in some if (row.split, row.step) == key]
        finite = [row.reward for row in own if row.reward is not None and row.reward == row.reward]
        mean = round(sum(finite) / len(finite), 6) if finite else None
        found[key] = len(own), len({row.group for row in own}), mean
    return found
