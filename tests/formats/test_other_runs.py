"""Runs that are not among the examples open as what they are, with the right numbers in `rolloupe ls --json`."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import rolloupe
from tests.formats.other_runs import CASES


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What `rolloupe ls --json` says of all runs, by the case."""
    folder = tmp_path_factory.mktemp("runs")
    for name, one in CASES.items():
        one.write(folder / name)
    found = rolloupe("ls", folder, "--json").json
    by_case: dict[str, list[dict[str, Any]]] = {name: [] for name in CASES}
    for run in found:
        by_case[Path(run["path"]).relative_to(folder).parts[0]].append(run)
    return by_case


@pytest.mark.parametrize("name", CASES)
def test_another_run_has_its_format_groups_samples_and_reward(
    name: str, listed: dict[str, list[dict[str, Any]]]
) -> None:
    holds = CASES[name].holds
    (run,) = listed[name]
    mean = None if run["reward_mean"] is None else round(run["reward_mean"], 9)
    assert (run["format"], run["groups"], run["samples"], mean) == holds
    assert run["problems"] == 0
