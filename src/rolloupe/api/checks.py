"""What rules found in the curves of a run, as a list and as a table."""

from typing import TYPE_CHECKING, Any

from rolloupe.api.results import Rows, html_table
from rolloupe.insight import CheckedCurves, Raised

if TYPE_CHECKING:
    import pyarrow as pa

FIELDS = ("title", "text", "first_step", "last_step", "split", "where", "sort")


class RunCheck(Rows[Raised]):
    """The alarms of a run, errors first, and which rules were checked."""

    def __init__(self, found: CheckedCurves) -> None:
        super().__init__(found.raised)
        self.checked = found.checked
        """The rules that the run has enough for, by name."""
        self.unchecked = found.unchecked
        """The other ones: `rule` and `reason`."""

    def arrow(self) -> "pa.Table":
        """Return the alarms as a `pyarrow.Table`: `rule`, `severity`, the fields of an alarm, and `words`."""
        import pyarrow as pa

        steps = {"first_step", "last_step"}
        names = ("rule", "severity", *FIELDS, "words")
        schema = pa.schema([(name, pa.int64() if name in steps else pa.string()) for name in names])
        return pa.Table.from_pylist(self._rows(), schema=schema)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"rule": rule.name, "severity": rule.severity, **{name: getattr(alarm, name) for name in FIELDS},
             "words": rule.words}
            for rule, alarm in self
        ]  # fmt: skip

    def _repr_html_(self) -> str:
        without = f"<p>{len(self.checked)} rules checked; {len(self.unchecked)} could not be</p>"
        return html_table(self._rows(), len(self)) + without
