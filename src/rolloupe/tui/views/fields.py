"""Which fields of samples are shown. Fields are learned from every sample that is looked at, and from the run."""

from collections.abc import Iterable, Iterator, Mapping

TEXTS = ("prompt", "response", "label", "reference", "notes")
"""Fields that are texts, in reading order."""


class Fields(Mapping[str, bool]):
    """The known fields in order, each with whether it is shown, by choice or by default."""

    def __init__(self) -> None:
        self._known: dict[str, None] = dict.fromkeys(TEXTS)
        self._chosen: dict[str, bool] = {}

    def learn(self, names: Iterable[str]) -> bool:
        """Add fields. Returns whether any was new."""
        before = len(self._known)
        self._known.update(dict.fromkeys(names))
        return len(self._known) > before

    def toggle(self, name: str) -> None:
        """Show a hidden field, or hide a shown one."""
        self._chosen[name] = not self[name]

    def in_table(self, name: str) -> bool:
        """Return whether a table shows a field: unless a person hid it."""
        return self._chosen.get(name, True)

    def __getitem__(self, name: str) -> bool:
        return self._chosen.get(name, not name.startswith("extra.") and name != "uid")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
