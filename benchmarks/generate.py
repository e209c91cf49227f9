"""Write a run of any size in Relax's layout or as one token-less JSONL file, to measure against.

    python benchmarks/generate.py OUT --steps 100 --samples 512 --bytes 8000 [--one-file]

Text is drawn from a fixed word list with a seeded generator; rewards rise over the steps, so that curves look alive.
"""

import argparse
import json
import random
from pathlib import Path

WORDS = (
    "therefore the sum of both roots equals seven so we check again by substitution and find that this holds for "
    "every positive integer except perhaps the last one which needs a separate argument about parity let me verify"
).split()
CJK_WORDS = "因此 两个 根的 和等于 七 所以我们 再次 通过代入 检验 对每个 正整数 都成立 最后一个 需要单独 论证".split()
POOL_CHARS = 1_000_000


def text_pool(rng: random.Random, vocabulary: list[str] = WORDS, gap: str = " ") -> str:
    """A long text to cut responses from: far quicker than to draw each word."""
    words: list[str] = []
    size = 0
    while size < POOL_CHARS:
        word = rng.choice(vocabulary) if rng.random() < 0.97 else f"{rng.random():.4f}\n"
        words.append(word)
        size += len(word) + len(gap)
    return gap.join(words)


def record(rng: random.Random, pool: str, step: int, index: int, group_size: int, size_bytes: int, steps: int) -> dict:
    """One sample in Relax's keys."""
    group = step * 100_000 + index // group_size
    start = rng.randrange(len(pool) // 2)
    length = max(20, size_bytes - 500)
    body = (pool[start:] * (1 + length // (len(pool) // 2)))[:length]
    reward = float(rng.random() < 0.2 + 0.6 * step / max(1, steps))
    return {
        "rollout_id": step, "sample_index": index,
        "prompt": f"<|im_start|>user\nProblem {group}: {group % 97} * {group % 89}?<|im_end|>\n<|im_start|>assistant\n",
        "response": f"<think>\n{body}\n</think>\n\nThe answer is \\boxed{{{group % 97 * (group % 89)}}}.<|im_end|>",
        "reward": {"score": reward, "acc": reward, "format": 1.0},
        "prompt_length": 24, "response_length": length // 4, "total_length": 24 + length // 4, "agent_turns": 1,
        "status": "completed" if rng.random() < 0.95 else "truncated", "group_index": group, "label": str(group % 97),
    }  # fmt: skip


def main() -> None:
    """Write the run that the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--bytes", type=int, default=8000)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--one-file", action="store_true")
    args = parser.parse_args()
    rng = random.Random(7)
    pool = text_pool(rng)
    folder = args.out if args.one_file else args.out / "rollout_result" / "train"
    folder.mkdir(parents=True, exist_ok=True)
    for step in range(args.steps):
        path = folder / ("all.jsonl" if args.one_file else f"{step}.jsonl")
        with path.open("a" if args.one_file else "w") as file:
            for index in range(args.samples):
                row = record(rng, pool, step, index, args.group_size, args.bytes, args.steps)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
