"""Episodes that verifiers writes: what it says of its traces is what is read back."""

import json
import math
from pathlib import Path

import pytest

import rolloupe
from tests.frameworks.support import ROOT, needs

STREAM = ROOT / "tests/data/prime_rl/traces/run_wordle/monitors/file/traces/stream/00000.jsonl"


def test_traces_are_read_as_verifiers_counts_them(tmp_path: Path) -> None:
    episodes = needs("verifiers.v1.episode")
    store = needs("verifiers.v1.utils.trace_store")
    written = [episodes.WireEpisode.model_validate(json.loads(line)) for line in STREAM.read_text().splitlines()]
    for episode in written:
        store.write_episode(tmp_path, episode)
    compared = 0
    with rolloupe.open(tmp_path, index_dir=tmp_path / "index") as runs:
        run = runs.only()
        assert run.problems() == []
        items = (item for split in run.splits() for item in run.samples(split=split.name))
        found = {run.sample(item.id).row.trace_id: item for item in items}
        traces = [trace for episode in written for trace in episode.traces]
        assert len(traces) == len(found) > 3
        for trace in traces:
            item = found[trace.id]
            sample = run.sample(item.id)
            (branch,) = trace.branches
            assert item.reward == pytest.approx(trace.reward)
            for name, reward in trace.rewards.items():
                assert item.metrics[f"reward.{name}"] == pytest.approx(reward.score)
                compared += 1
            for name, value in trace.metrics.items():
                assert item.metrics[name] == pytest.approx(value)
                compared += 1
            assert item.turns == trace.num_turns
            assert sample.token_ids == branch.token_ids
            series = {one.name: list(one.values) for one in sample.series}
            mask = branch.sampled_mask
            assert [one == 1 for one in series["loss_mask"]] == mask
            logprobs = [one for one in series["logprobs"] if not math.isnan(one)]
            assert logprobs == pytest.approx([one for one, counts in zip(branch.logprobs, mask, strict=True) if counts])
            assert [turn.role for turn in sample.turns] == [one.role for one in branch.messages]
            compared += 5 + len(mask) + len(logprobs)
    assert compared > 100
