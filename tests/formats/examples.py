"""A small run of every format with samples that the registry names, from `tests/data`."""

import json
from pathlib import Path
from typing import Any

from rolloupe.formats import BUILT_IN, by_name, discover
from rolloupe.formats.reading.files import JSONL, plain_name
from rolloupe.formats.reading.stream import open_binary
from rolloupe.model import Location, RunInfo, Source

DATA = Path(__file__).parents[1] / "data"
ROOTS = {
    "native": "native/small",
    "telescope": "telescope/run_default",
    "tinker": "tinker/async_run",
    "prime_rl": "prime_rl/mini/v2_pr2592",
    "prime_rl_traces": "prime_rl/traces/run_wordle",
    "relax": "golden/runs/relax/rollout_result",
    "slime": "slime/dump_details",
    "miles": "miles/demo_dump_details",
    "rl_logging_board": "golden/runs/rl_logging_board/eval_poem_task",
    "verl": "generic/verl_v1",
    "trl": "golden/runs/trl",
    "ms_swift": "ms_swift/run",
    "skyrl": "skyrl/dumped_evals",
    "areal": "areal",
    "roll": "roll/run",
    "open_instruct": "open_instruct/run",
    "nemo_rl": "nemo_rl/exp_001",
    "verifiers": "verifiers",
    "nemo_gym": "nemo_gym/results",
    "art": "art/older/lines",
    "atropos": "atropos",
    "tviz": "tviz/tviz.db",
    "inspect": "inspect/inspect-ai-eval.json",
    "harbor": "harbor",
    "trackio": "golden/runs/trackio/tiny_grpo_conv.db",
    "wandb": "wandb/offline-run-20261122_020830-trldemo1",
    "tensorboard": "trackers/tensorboard/openrlhf",
    "swanlab": "swanlab/v0.10_local/run-20261122_020836-adecgpsb",
    "mlflow": "mlflow/mlruns.db",
    "generic": "generic/own",
}
"""Where the example of each format lies in `tests/data`: a small run with samples and without problems."""


def example_at(root: str) -> RunInfo:
    """The run of an example."""
    (run,) = discover([DATA / root]).runs
    return run


NAMES = [name for name in BUILT_IN if by_name(name).has_samples]
EXAMPLES = {name: example_at(ROOTS[name]) for name in NAMES if name in ROOTS}
"""The example of each format with samples."""


def sample_sources(run: RunInfo) -> list[Source]:
    """The files that hold the samples of a run."""
    return [source for source in by_name(run.format).sources(run) if not source.annotates]


def _of_lines(run: RunInfo) -> bool:
    return all(plain_name(source.path).endswith(JSONL) for source in sample_sources(run))


LINES = [name for name, run in EXAMPLES.items() if _of_lines(run)]
"""The formats whose files are JSON lines."""

WHOLE = [name for name in EXAMPLES if name not in LINES]
"""The formats of other files: tables, databases, archives, dumps, documents."""


def records_of(name: str, count: int = 4) -> list[dict[str, Any]]:
    """Records of the first file of a format's example."""
    source = sample_sources(EXAMPLES[name])[0]
    with open_binary(Location(source.path, source.root)) as file:
        return [json.loads(line) for _, line in zip(range(count), file, strict=False)]
