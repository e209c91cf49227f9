"""Curves that trackers' own packages write: the values that those read back, or else what was logged."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.support import needs, opened

LOGGED = [
    {"train/reward": 0.25 * step, "train/kl": 1e-7 * 3**step, "train/loss": -(10.0**step), "eval/pass@1": step / 7}
    for step in range(1, 30)
]
"""A row of metrics a step, the first of step 1. The last of them is logged at every fifth step."""


def row_at(step: int) -> dict[str, float]:
    return {name: value for name, value in LOGGED[step - 1].items() if name != "eval/pass@1" or step % 5 == 0}


ROWS = {step: row_at(step) for step in range(1, len(LOGGED) + 1)}

WRITERS = {
    "wandb": """
import wandb
run = wandb.init(project="p", name="offline", mode="offline", dir=FOLDER)
for step, row in ROWS.items():
    run.log(row, step=step)
run.finish()
""",
    "swanlab": """
import swanlab
swanlab.init(project="p", name="offline", mode="offline", log_dir=FOLDER)
for step, row in ROWS.items():
    swanlab.log(row, step=step)
swanlab.finish()
""",
    "trackio": """
import trackio
trackio.init(project="p", name="local", embed=False)
for step, row in ROWS.items():
    trackio.log(row, step=step)
trackio.finish()
""",
}


def write(tracker: str, folder: Path) -> None:
    """Log the rows by a tracker's own package, in a process of its own."""
    folder.mkdir()
    code = f"FOLDER = {str(folder)!r}\nROWS = {ROWS!r}\n{WRITERS[tracker]}"
    places = {"TRACKIO_DIR": folder, "WANDB_DIR": folder, "HOME": folder.parent / "home"}
    quiet = {"WANDB_SILENT": "true", "HF_HUB_OFFLINE": "1"}
    environment = {**os.environ, **quiet, **{name: str(path) for name, path in places.items()}}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr


def read(folder: Path) -> dict[int, dict[str, float]]:
    """What the project reads: the values of each step, without those that the tracker adds of its own."""
    table = opened(folder).metrics_table()
    assert table.num_rows == len(ROWS)
    return {
        row["step"]: {name: value for name, value in row.items() if name in LOGGED[0] and value is not None}
        for row in table.to_pylist()
    }


def test_values_of_tensorboard_are_what_its_own_package_reads(tmp_path: Path) -> None:
    needs("tensorboard")
    board = needs("torch.utils.tensorboard")
    accumulators = needs("tensorboard.backend.event_processing.event_accumulator")
    with board.SummaryWriter(str(tmp_path / "tb")) as writer:
        for step, row in ROWS.items():
            for name, value in row.items():
                writer.add_scalar(name, value, step)
    own = accumulators.EventAccumulator(str(tmp_path / "tb")).Reload()
    wanted: dict[int, dict[str, float]] = {step: {} for step in ROWS}
    for name in own.Tags()["scalars"]:
        for event in own.Scalars(name):
            wanted[event.step][name] = event.value
    assert read(tmp_path / "tb") == wanted


def test_values_of_trackio_are_what_its_own_package_reads(tmp_path: Path) -> None:
    needs("trackio")
    write("trackio", tmp_path / "trackio")
    stored = "json.dumps(SQLiteStorage.get_logs('p', 'local'))"
    code = f"import json; from trackio.sqlite_storage import SQLiteStorage; print({stored})"
    environment = {**os.environ, "TRACKIO_DIR": str(tmp_path / "trackio"), "HOME": str(tmp_path / "home")}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    wanted = {
        row["step"]: {name: value for name, value in row.items() if name in LOGGED[0]}
        for row in json.loads(printed.stdout)
    }
    assert wanted == ROWS
    assert read(tmp_path / "trackio") == wanted


@pytest.mark.parametrize("tracker", ["wandb", "swanlab"])
def test_values_of_a_tracker_that_reads_no_offline_run_are_what_was_logged(tracker: str, tmp_path: Path) -> None:
    needs(tracker)
    write(tracker, tmp_path / tracker)
    found = read(tmp_path / tracker)
    assert found.keys() == ROWS.keys()
    for step, row in ROWS.items():
        assert found[step] == pytest.approx(row, rel=1e-6), step  # SwanLab keeps single precision
