"""Runs that are not among the examples open as what they are, with the right numbers in `rolloupe ls --json`."""

from pathlib import Path

from tests.cli.support import rolloupe
from tests.formats.other_runs import CASES
from tests.formats.other_runs.writing import Holds


def test_each_other_run_has_its_format_groups_samples_and_reward(tmp_path: Path) -> None:
    for name, one in CASES.items():
        one.write(tmp_path / name)
    by_case: dict[str, list[Holds]] = {name: [] for name in CASES}
    for run in rolloupe("ls", tmp_path, "--json").json:
        mean = None if run["reward_mean"] is None else round(run["reward_mean"], 9)
        name = Path(run["path"]).relative_to(tmp_path).parts[0]
        by_case[name].append(Holds(run["format"], run["groups"], run["samples"], mean))
        assert run["problems"] == 0, name
    assert by_case == {name: [one.holds] for name, one in CASES.items()}
