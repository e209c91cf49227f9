"""The numbers of curves of runs in `.pt` files equal what pandas makes of what PyTorch itself reads."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import rolloupe
from tests.frameworks.support import ROOT, needs
from tests.query.curves.raw_rows import number, row
from tests.query.curves.raw_trackers import Row
from tests.query.curves.test_raw_files import check_samples

torch = needs("torch")

DUMPS = {
    "slime": "slime/dump_details/rollout_data",
    "miles": "miles/demo_dump_details/rollout_data",
    "relax": "relax_dumps/debug",
}


def rows(dumps: Path) -> Iterator[Row]:
    for path in sorted(dumps.glob("*.pt")):
        split = "eval/default" if path.name.startswith("eval_") else "train"
        for one in torch.load(path, weights_only=True)["samples"]:
            reward = one["reward"]
            reward = reward["score"] if isinstance(reward, dict) else reward
            yield row(split, number(path), reward, response_tokens=one["response_length"])


@pytest.mark.parametrize("name", DUMPS)
def test_numbers_of_samples(name: str, tmp_path: Path) -> None:
    dumps = ROOT / "tests/data" / DUMPS[name]
    run = dumps if name == "relax" else dumps.parent
    with rolloupe.open(run, index_dir=tmp_path) as runs:
        check_samples(runs.only(), pd.DataFrame(list(rows(dumps))).assign(discarded=""))
