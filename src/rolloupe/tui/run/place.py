"""A place in a run: which samples a person looks at, in which order."""

from msgspec import Struct

from rolloupe.query import SampleQuery
from rolloupe.query.filter.nodes import Condition
from rolloupe.query.filter.parser import conditions


class ListPlace(Struct, frozen=True, kw_only=True):
    """A list of samples: those of a step of a split, sorted and filtered."""

    split: str = "train"
    step: int = 0
    sort: str = "index"
    descending: bool = False
    where: str = ""
    """A filter as typed."""
    dataset: str = ""
    """Only samples of this dataset, or environment; empty for all."""
    is_discarded: bool = False
    """Only samples that were not trained on."""

    def query(self, offset: int = 0, limit: int | None = None) -> SampleQuery:
        """Return the query of a page of the list. Raises `BadQuery` for a filter that cannot be read."""
        return SampleQuery(
            splits=(self.split,), step_min=self.step, step_max=self.step,
            trained=False if self.is_discarded else None,
            where=conditions(self.where) + ((Condition("env", "=", self.dataset),) if self.dataset else ()),
            typed=self.where,
            sort=self.sort, descending=self.descending, offset=offset, limit=limit,
        )  # fmt: skip
