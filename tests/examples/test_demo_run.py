"""The run that comes with the package, made by the example: it is whole, and shows what it is there to show."""

from pathlib import Path
from statistics import fmean

import rolloupe
from tests.formats.support import only_run


def test_the_demo_run_reads_clean_and_its_reward_rises(demo_runs: Path, demo_index: Path) -> None:
    assert only_run(demo_runs / "tiny_grpo").format == "native"
    with rolloupe.open(demo_runs / "tiny_grpo", index_dir=demo_index) as runs:
        run = runs.runs[0]
        assert not run.problems()
        samples = list(run.samples(split="train"))
        assert {item.discarded for item in samples} == {"", "stale", "zero_advantage", "error", "run_ended"}
        early, late = (
            [item for item in samples if item.reward is not None and low <= item.key.step < low + 10] for low in (0, 80)
        )
        for name, gain in (("correct", 0.1), ("checks", 2.0)):  # it learns, and it learns to be paid for checks
            assert fmean(s.metrics[name] for s in late) > fmean(s.metrics[name] for s in early) + gain
        assert fmean(s.metrics["honest_checks"] for s in late) < fmean(s.metrics["checks"] for s in late) / 2
        traced = next(s for s in samples if s.key.step == 60 and s.key.group.endswith("00"))
        series = {one.name: list(one.values) for one in run.sample(str(traced.key)).series}
        assert {"logprobs", "trainer_logprobs", "ref_logprobs", "entropy", "advantages", "loss_mask"} <= series.keys()
        assert series["logprobs"] != series["trainer_logprobs"]
        assert len(run.checkpoints) == 5 and run.metrics("kl")


def test_the_demo_run_is_small_and_without_weights(demo_runs: Path) -> None:
    files = [path for path in (demo_runs / "tiny_grpo").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_500_000
    assert {path.suffix for path in files} == {".json", ".jsonl", ".zst", ".parquet", ".diff"}
