"""How a stranger writes samples down: one habit of each kind, chosen by how common it seemed in public scripts."""

from dataclasses import dataclass, field
from random import Random

from tests.campaign import words
from tests.campaign.truth import Plan
from tests.campaign.words import pick

TABLES = ("csv", "tsv", "semicolons")
FLAT = (*TABLES, "columns", "split", "table")
"""Containers whose rows hold no objects."""

CONTAINERS = {
    "jsonl": 46,
    "list": 10,  # json.dump(rows, f)
    "pretty": 7,  # the same with indent=2
    "document": 9,  # {"step": 10, "samples": [...]}
    "pages": 2,  # several pretty objects one after another: json.dump(row, f, indent=2) to a file opened with "a"
    "keyed": 2,  # {"0": {...}, "1": {...}}
    "csv": 11,
    "tsv": 2,
    "semicolons": 1,
    "parquet": 7,
    "gz": 3,
    "columns": 1,  # pandas: df.to_json(path)
    "split": 1,  # pandas: orient="split"
    "table": 2,  # a table of Weights & Biases: {"columns": [...], "data": [[...]]}
}

ENDINGS = {
    "jsonl": "jsonl",
    "list": "json",
    "pretty": "json",
    "document": "json",
    "pages": "json",
    "keyed": "json",
    "csv": "csv",
    "tsv": "tsv",
    "semicolons": "csv",
    "parquet": "parquet",
    "gz": "jsonl.gz",
    "columns": "json",
    "split": "json",
    "table": "json",
}

LAYOUTS = {
    "rows": 72,  # a sample is a row
    "arrays": 10,  # a group is a row: RLHFlow has prompt, responses and rewards
    "objects": 7,  # a group is a row with a list of objects
    "numbered": 3,  # a group is a row: response_0, reward_0, response_1, ...
    "batch": 5,  # a step is a row: prompts, responses, rewards
}

SHAPES = {
    "text": 56,
    "templated": 12,
    "prompt_messages": 10,
    "two_messages": 6,  # TRL, conversational
    "messages": 11,
    "sharegpt": 2,
    "blocks": 1,  # Anthropic
    "choice": 1,  # a reply of the OpenAI API, whole
    "message": 2,  # {"role": "assistant", "content": ...}
}

TOKENS = {
    "none": 66,
    "logprobs": 8,
    "response": 12,
    "whole": 7,
    "labels": 1,  # -100 where there is no loss
    "openai": 2,
    "legacy": 1,  # the completions API: tokens, token_logprobs
    "vllm": 1,
    "pairs": 2,
}

TEMPLATES = {"qwen": 5, "llama": 2, "mistral": 1, "plain": 3}


@dataclass
class Style:
    """The habits of one writer. `keys` has the key for each role that is written."""

    layout: str = "rows"
    container: str = "jsonl"
    step_place: str = "file"
    nesting: str = "flat"
    spelling: str = "snake"
    shape: str = "text"
    tokens: str = "none"
    keys: dict[str, str] = field(default_factory=dict)
    nest: tuple[str, ...] = ()
    parts: list[str] = field(default_factory=list)
    distractors: list[str] = field(default_factory=list)
    template: str = "qwen"
    with_system: bool = True
    is_shuffled: bool = False
    is_plural: bool = True
    mask_kind: str = "int"
    is_prompt_null: bool = False
    cells: str = "json"
    has_index: bool = False
    is_ascii: bool = True
    numbering: str = "all"
    """Whether the key of a group counts all groups, or those of a step, or is the prompt's number."""
    starts_at: int = 0
    """The number of the first place in a group."""

    def features(self) -> dict[str, str]:
        """Name the habits, for a table of what goes wrong."""
        return {
            "layout": self.layout,
            "container": self.container,
            "step": f"{self.step_place} {self.keys.get('step', '')}".strip(),
            "nesting": " ".join((self.nesting, *self.nest)),
            "spelling": self.spelling,
            "shape": self.shape,
            "tokens": self.tokens,
            **{role: self.keys.get(role, "-") for role in ("prompt", "response", "reward", "group", "label")},
        }


def compose(rng: Random, plan: Plan, like: Style | None = None) -> Style:
    """Choose habits at random; with `like`, of a writer whose files have the same form, and who changed the rest."""
    style = Style()
    if like is None:
        style.container = pick(rng, CONTAINERS)
        style.layout = _layout(rng, style.container)
        style.step_place = _step_place(rng, style)
        if style.step_place == "none":
            del plan.steps[1:]
    else:
        style.container, style.layout, style.step_place = like.container, like.layout, like.step_place
        style.has_index = like.has_index
    style.nesting, style.nest = _nesting(rng, style)
    style.spelling = pick(rng, {"snake": 90, "camel": 4, "capital": 4, "title": 2 if style.container in TABLES else 0})
    style.shape = _shape(rng, style, plan)
    style.tokens = _tokens(rng, style)
    style.template = pick(rng, TEMPLATES)
    style.with_system = rng.random() < 0.7
    style.is_shuffled = rng.random() < 0.3
    style.is_plural = style.layout == "batch" or rng.random() < 0.85
    style.mask_kind = pick(rng, {"int": 7, "bool": 2, "float": 1})
    style.is_prompt_null = rng.random() < 0.3
    style.cells = pick(rng, {"json": 2, "repr": 1})
    style.is_ascii = rng.random() < 0.6
    style.starts_at = int(rng.random() < 0.15)
    style.numbering = pick(rng, {"all": 4, "step": 3, "prompt": 3})
    if like is None:
        style.has_index = rng.random() < 0.25
    known = like.keys if like is not None and rng.random() < 0.3 else {}
    style.keys = _keys(rng, style, plan)
    for role, key in known.items():  # what this writer does not write has no key
        if role in style.keys and key not in style.keys.values():
            style.keys[role] = key
    if like is not None and "group" not in like.keys:
        style.keys.pop("group", None)
    if like is not None and "step" in like.keys:
        style.keys["step"] = style.keys.get("step", like.keys["step"])
    if not plan.is_verdict and (style.nesting == "reward" or rng.random() < 0.2):
        style.parts = sorted({pick(rng, words.PARTS) for _ in range(2)})
    others = rng.sample(list(words.DISTRACTORS), rng.choice((0, 0, 1, 2, 4)))
    style.distractors = [key for key in others if key not in style.keys.values()]
    if plan.repeats_prompts and not (style.keys.get("group") in words.PLAIN_GROUPS and style.layout == "rows"):
        plan.repeats_prompts = False
    if plan.repeats_prompts and style.numbering == "prompt":
        style.numbering = "all"
    if style.layout == "numbered" and style.container in TABLES:
        plan.has_ragged_groups = False
    return style


def _layout(rng: Random, container: str) -> str:
    if container in TABLES:
        return pick(rng, {"rows": 94, "numbered": 6})
    if container in ("columns", "split", "table", "pages"):
        return "rows"
    if container == "parquet":
        return pick(rng, {"rows": 8, "arrays": 2, "objects": 1})
    if container in ("jsonl", "document", "gz"):
        return pick(rng, LAYOUTS)
    return pick(rng, {name: weight for name, weight in LAYOUTS.items() if name != "batch"})


def _step_place(rng: Random, style: Style) -> str:
    places = {"file": 38, "row": 36, "both": 12, "folder": 8, "none": 6}
    if style.container == "document":
        places |= {"document": 25, "row": 4, "both": 2}
    return pick(rng, places)


def _nesting(rng: Random, style: Style) -> tuple[str, tuple[str, ...]]:
    if style.container in FLAT or style.layout in ("numbered", "batch"):
        return "flat", ()
    kinds = {"flat": 74, "meta": 9, "reward": 9, "pairs": 4, "whole": 3}
    if style.layout != "rows":
        kinds = {"flat": 85, "meta": 10, "reward": 5 if style.layout == "objects" else 0}
    kind = pick(rng, kinds)
    if kind == "meta":
        return kind, (pick(rng, words.METAS),)
    if kind == "reward":
        key = rng.choice(list(words.REWARD_OBJECTS))
        return kind, (key, rng.choice(words.REWARD_OBJECTS[key]))
    if kind == "pairs":
        return kind, pick(rng, words.PAIRS)
    return (kind, (pick(rng, words.WHOLES),)) if kind == "whole" else (kind, ())


def _shape(rng: Random, style: Style, plan: Plan) -> str:
    if style.container in TABLES:
        shapes = {"text": 80, "templated": 14, "prompt_messages": 3, "two_messages": 2, "messages": 1}
    elif style.layout in ("numbered", "batch"):
        shapes = {"text": 8, "templated": 2}
    elif style.layout in ("arrays", "objects"):
        shapes = {name: SHAPES[name] for name in ("text", "templated", "prompt_messages", "two_messages")}
    else:
        shapes = dict(SHAPES)
    if plan.has_turns:
        turns = {"messages": 10, "two_messages": 4} | ({} if plan.has_tools else {"sharegpt": 1, "blocks": 1})
        shapes = {name: weight for name, weight in turns.items() if name in shapes}
        if not shapes:
            plan.has_turns = plan.has_tools = False
            return "text"
    return pick(rng, shapes)


def _tokens(rng: Random, style: Style) -> str:
    if style.container in FLAT or style.layout in ("numbered", "batch"):
        return "none"
    if style.container == "parquet":
        return pick(rng, {name: TOKENS[name] for name in ("none", "logprobs", "response", "whole")})
    return pick(rng, TOKENS)


def _keys(rng: Random, style: Style, plan: Plan) -> dict[str, str]:
    """Choose the key of each role, such that no two are the same."""
    keys: dict[str, str] = {}

    def name(role: str, weights: dict[str, int]) -> None:
        free = {key: weight for key, weight in weights.items() if key not in keys.values()}
        keys[role] = pick(rng, free)

    shape = style.shape
    name("response", words.RESPONSES)
    name(
        "prompt",
        words.PROMPTS if shape in ("text", "templated") else {"prompt": 8, "messages": 2, "prompt_messages": 1},
    )
    if shape in ("messages", "blocks"):
        name("messages", words.MESSAGES)
    elif shape == "sharegpt":
        name("messages", {"conversations": 8, "conversation": 1})
    name("reward", words.VERDICTS if plan.is_verdict else words.REWARDS)
    if rng.random() < 0.55:
        name("label", words.LABELS)
    if rng.random() < 0.4:
        name("group", words.GROUPS)
    if style.layout in ("rows", "objects") and rng.random() < 0.3:
        name("place", words.PLACES)
    if style.layout == "rows" and rng.random() < 0.12:
        name("own_id", words.OWN_IDS)
    if style.step_place in ("row", "both", "document"):
        name("step", words.STEPS)
    if rng.random() < 0.25:
        name("advantage", words.ADVANTAGES)
    if rng.random() < 0.22 and shape != "choice":
        name("end", words.END_WEIGHTS)
    if rng.random() < 0.15:
        name("env", words.ENVIRONMENTS)
    if style.tokens == "response":
        name("ids", words.RESPONSE_IDS)
        if rng.random() < 0.5:
            name("prompt_ids", words.PROMPT_IDS)
    elif style.tokens in ("whole", "labels"):
        name("ids", words.ALL_IDS if style.tokens == "whole" else {"input_ids": 1})
    if style.tokens in ("logprobs", "response", "whole") and (style.tokens == "logprobs" or rng.random() < 0.7):
        name("logprobs", words.LOGPROBS)
    if style.tokens in ("response", "whole") and (style.tokens == "whole" or rng.random() < 0.7):
        name("mask", words.MASKS)
    if style.tokens in ("openai", "legacy", "vllm"):
        name("logprobs", {"logprobs": 5, "token_logprobs": 1} if style.tokens != "legacy" else {"logprobs": 1})
    if style.tokens == "pairs":
        name("logprobs", {"tokens": 4, "token_logprobs": 2})
    if style.tokens in ("none", "logprobs") and rng.random() < 0.25:
        name("count", words.COUNTS)
    return keys
