"""Runs the campaign and prints what failed: `python -m tests.campaign.report --seeds 0:300`."""

import argparse
import contextlib
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.campaign import words
from tests.campaign.check import Outcome, check
from tests.campaign.folders import Case, make, put_down
from tests.campaign.style import CONTAINERS, LAYOUTS, SHAPES, TEMPLATES, TOKENS, Style
from tests.campaign.truth import Plan, plan


def outcome(seed: int, home: Path) -> Outcome:
    """Make the folder of a seed, check it, and remove it."""
    place = home / f"seed{seed}"
    try:
        (place / "run").mkdir(parents=True)
        return check(make(seed, place / "run"), place / "index")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def outcomes(seeds: Iterable[int], workers: int = 1) -> Iterator[Outcome]:
    """Check the folders of many seeds, in as many processes."""
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if workers < 2:
            yield from (outcome(seed, home) for seed in seeds)
            return
        pool = stack.enter_context(ProcessPoolExecutor(workers))
        yield from pool.map(outcome, seeds, (home for _ in iter(int, 1)), chunksize=8)


def summary(found: list[Outcome], most: int = 60) -> str:
    """Describe many outcomes: how many of each verdict, the causes, and which habits fail more often than others."""
    counts = Counter(one.verdict for one in found)
    shares = ", ".join(f"{verdict} {count} ({count / len(found):.1%})" for verdict, count in counts.most_common())
    lines = [f"{len(found)} folders: {shares}", "", "By what differs:"]
    causes: dict[tuple[str, str], list[Outcome]] = {}
    for one in found:
        if one.verdict in ("wrong", "lost"):
            causes.setdefault((one.verdict, _cause(one)), []).append(one)
    for (verdict, cause), some in sorted(causes.items(), key=lambda pair: -len(pair[1]))[:most]:
        seeds = ", ".join(str(one.case.seed) for one in some[:15])
        lines += [f"{len(some):5}  {verdict}: {cause}", f"       seeds {seeds}"]
        for one in some[:2]:
            habits = ", ".join(f"{name} {value}" for name, value in one.case.features.items() if "beside" not in name)
            lines += [
                f"       {one.case.seed} was written with {habits}",
                f"           {one.faults[0][0]}: {one.faults[0][1]}",
            ]
    habits_met: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for one in found:
        for habit in one.case.features.items():
            habits_met[habit] += 1
            failed[habit] += one.verdict in ("wrong", "lost")
    mean = (counts["wrong"] + counts["lost"]) / len(found)
    worst = sorted(habits_met, key=lambda habit: mean * habits_met[habit] - failed[habit])
    lines += ["", "By habit, those first that fail most beyond the mean:", "  failed      of  habit"]
    lines += [
        f"{failed[habit]:8}{habits_met[habit]:8}  {habit[0]}: {habit[1]}"
        for habit in worst[:most]
        if failed[habit] > mean * habits_met[habit]
    ]
    return "\n".join(lines)


def _cause(one: Outcome) -> str:
    """Name the facts that differ; of a folder that was not read, the reason without the names of its files and keys."""
    if one.verdict == "wrong":
        return one.facts
    reason = re.sub(r"\([^()]*\)", "(...)", one.faults[0][1].split(": ", 1)[-1])
    return f"{one.facts}: {reason:.160}"


ROLES: dict[str, Mapping[str, float]] = {
    "prompt": words.PROMPTS,
    "response": words.RESPONSES,
    "reward": words.REWARDS,
    "group": words.GROUPS,
    "label": words.LABELS,
    "step": words.STEPS,
    "advantage": words.ADVANTAGES,
    "end": words.END_WEIGHTS,
    "env": words.ENVIRONMENTS,
    "place": words.PLACES,
    "own_id": words.OWN_IDS,
    "count": words.COUNTS,
}
TOKEN_ROLES = {
    "logprobs": words.LOGPROBS,
    "mask": words.MASKS,
    "ids": words.RESPONSE_IDS,
    "prompt_ids": words.PROMPT_IDS,
}
OF_TOKENS = {
    "response": ("ids", "logprobs", "mask"),
    "whole": ("ids", "logprobs", "mask"),
    "labels": ("ids",),
    "none": (),
}


def alone() -> Iterator[tuple[str, Style, Plan]]:
    """Yield each habit and each word alone, in files that are usual otherwise."""
    ground = replace(plan(Random(5)), is_verdict=False, system="", steps=[1, 2], repeats_prompts=False)
    ground = replace(ground, has_turns=False, has_tools=False, has_ragged_groups=False, has_missing_rewards=False)
    keys = {"step": "step", "prompt": "prompt", "response": "completion", "reward": "reward"}
    many = {"ids": "input_ids", "logprobs": "logprobs", "mask": "loss_mask"}

    def style(more: Mapping[str, str] = keys, **changes: Any) -> Style:
        return replace(Style(step_place="row", keys=keys | dict(more)), **changes)

    for container in CONTAINERS:
        yield f"container {container}", style(container=container), ground
    for layout in LAYOUTS:
        yield f"layout {layout}", style(layout=layout), ground
    for shape in SHAPES:
        more = {"sharegpt": "conversations", "messages": "messages", "blocks": "messages"}
        yield f"shape {shape}", style({"messages": more[shape]} if shape in more else {}, shape=shape), ground
    for template in TEMPLATES:
        yield f"template {template}", style(shape="templated", template=template), ground
    for spelling in ("camel", "capital"):
        yield f"spelling {spelling}", style({"label": "ground_truth"}, spelling=spelling), ground
    for tokens in TOKENS:
        own = {role: many[role] for role in OF_TOKENS.get("response" if tokens == "whole" else tokens, ("logprobs",))}
        own |= {"logprobs": "tokens"} if tokens == "pairs" else {}
        yield (
            f"tokens {tokens}",
            style(own | ({"logprobs": "tokens"} if tokens == "pairs" else {}), tokens=tokens),
            ground,
        )
    for meta in words.METAS:
        yield f"all else in {meta}", style({"label": "ground_truth"}, nesting="meta", nest=(meta,)), ground
    for pair in words.PAIRS:
        yield f"nested in {pair}", style(nesting="pairs", nest=pair), ground
    for whole in words.WHOLES:
        yield f"whole in {whole}", style(nesting="whole", nest=(whole,)), ground
    for key, parts in words.REWARD_OBJECTS.items():
        for part in parts:
            two = ["answer_reward", "format_reward"]
            yield f"reward in {key}.{part}", style(nesting="reward", nest=(key, part), parts=two), ground
    for role, weights in ROLES.items():
        for word in weights:
            yield (
                f"{role}: {word}",
                style({role: word} | ({"response": "completion"} if role != "response" else {})),
                ground,
            )
    for word in words.VERDICTS:
        yield f"verdict: {word}", style({"reward": word}), replace(ground, is_verdict=True)
    for word in words.MESSAGES:
        yield f"messages: {word}", style({"messages": word}, shape="messages"), ground
    for role, weights in TOKEN_ROLES.items():
        for word in weights:
            rest = {"ids": "completion_ids", "logprobs": "logprobs", "mask": "loss_mask"}
            yield f"{role}: {word}", style(rest | {role: word}, tokens="response"), ground
    for word in words.ALL_IDS:
        yield f"all ids: {word}", style(many | {"ids": word}, tokens="whole"), ground


def each_alone(home: Path) -> str:
    """Describe what becomes of each habit and each word alone."""
    lines: list[str] = []
    for number, (name, style, ground) in enumerate(alone()):
        case = Case(0, home / str(number) / "run")
        if len(set(style.keys.values())) == len(style.keys):
            put_down(Random(2), case, ground, [style] * len(ground.steps))
            found = check(case, home / str(number) / "index")
            lines += [f"{found.verdict:8} {name}: {fact}: {how:.200}" for fact, how in found.faults[:2]] or ["right"]
        shutil.rmtree(home / str(number), ignore_errors=True)
    failed = [line for line in lines if line != "right"]
    return "\n".join([f"{lines.count('right')} habits and words are read right alone. The others:", *failed])


def show(seed: int, home: Path) -> str:
    """Describe one folder: its files with their beginnings, the habits, and what came of it."""
    place = home / "run"
    case = make(seed, place)
    lines = [json.dumps(case.features, ensure_ascii=False)]
    for path in sorted(place.rglob("*")):
        if path.is_file():
            lines += [f"--- {path.relative_to(place)} ({path.stat().st_size} bytes)"]
            lines.append(path.read_bytes()[:1500].decode("utf-8", "replace"))
    found = check(case, home / "index")
    lines += ["", found.verdict, *(f"  {fact}: {how}" for fact, how in found.faults)]
    return "\n".join(lines)


def main() -> None:
    """Print the table, or one folder with `--show`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:300", help="the first seed and the one after the last")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--show", type=int, metavar="SEED", help="show one folder, and what came of it")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="with --show: write the folder there, and leave it")
    parser.add_argument("--alone", action="store_true", help="check each habit and each word alone")
    options = parser.parse_args()
    if options.alone:
        with tempfile.TemporaryDirectory() as home:
            print(each_alone(Path(home)))
        return
    if options.show is None:
        first, last = (int(one) for one in options.seeds.split(":"))
        print(summary(list(outcomes(range(first, last), options.workers))))
        return
    with tempfile.TemporaryDirectory() as home:
        kept = options.keep or Path(home)
        (kept / "run").mkdir(parents=True, exist_ok=True)
        print(show(options.show, kept))


if __name__ == "__main__":
    main()
