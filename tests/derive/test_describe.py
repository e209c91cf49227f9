"""docs/derived-metrics.md is what the code says."""

from pathlib import Path

from rolloupe.derive import METRICS, describe

PAGE = Path(__file__).parents[2] / "docs" / "derived-metrics.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == describe(), "Next: make pages"


def test_every_metric_says_what_it_is() -> None:
    assert all(f"| `derived.{name}` | {metric.label} | " in describe() for name, metric in METRICS.items())
    assert "|  |" not in describe()
