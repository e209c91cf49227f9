"""How the code of 0.1.0 made `tests/data/old_state`: python -m tests.state.old_state REPOSITORY /runs OUTPUT.

The runs lie at a path that no other machine has, so that they are found by how their files begin.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import rolloupe
from rolloupe.index import Library
from rolloupe.state import State
from rolloupe.state.records import Change, RunMark, SampleMark

DATA, DEMO = "tests/data", "src/rolloupe/demo/runs"
RUNS = {
    "recorded": f"{DATA}/native/small",
    "verl": f"{DATA}/generic/verl",
    "skyrl": f"{DATA}/skyrl/dumped_evals",
    "cookbook": f"{DATA}/tinker/async_run",
    "exports": f"{DATA}/prime_rl/mini/v7_head",
    "traces": f"{DATA}/prime_rl/traces/run_wordle",
    "archives": f"{DATA}/telescope/run_default",
    "relax": f"{DEMO}/other_formats/relax",
    "board": f"{DEMO}/other_formats/rl_logging_board/gen_train_toy",
}


def digest(sample: Any) -> str:
    """What tells a sample from all others: its texts and its reward."""
    text = repr((sample.prompt_text, sample.response_text, sample.row.reward))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def main(repository: Path, place: Path, output: Path) -> None:
    """Copy the runs to a place, write the ids of some of their samples, and bookmark these."""
    for name, path in RUNS.items():
        shutil.copytree(repository / path, place / name)
    addresses: dict[str, list[dict[str, str]]] = {}
    with rolloupe.open(place, index_dir=place / "index") as runs:
        for run in runs:
            items = list(run.samples())
            chosen = [items[0], items[len(items) // 2], items[-1]]
            kept = [{"id": str(item.key), "digest": digest(run.sample(item.key))} for item in chosen]
            addresses[run.id] = kept
    state = State(output)
    with Library([place], index_dir=place / "index") as library:
        for one in library.runs:
            one.wait()
            value = RunMark(name=f"my {one.id}", colour=2, note=f"about {one.id}")
            state.write(Change(kind="run", name="", value=value, seen=0), one)
            for address in addresses[one.id]:
                mark = SampleMark(bookmarked=True, note=f"a note on {address['id']}")
                state.write(Change(kind="sample", name=address["id"], value=mark, seen=0), one)
    state.close()
    (output / "addresses.json").write_text(json.dumps(addresses, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
