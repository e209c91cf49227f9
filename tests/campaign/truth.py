"""The truth of a folder: what its samples are, made from a seed before anything decides how they are written."""

from dataclasses import dataclass, field
from random import Random

from tests.campaign.words import pick


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: str
    text: str


@dataclass
class Sample:
    """One sample, with every fact that a style may write down."""

    step: int
    group: int
    """Its group, counted over all steps."""
    place: int
    """Its place in the group."""
    prompt: tuple[Message, ...]
    response: tuple[Message, ...]
    reward: float | None
    label: str
    is_cut: bool
    prompt_ids: list[int]
    ids: list[int]
    token_texts: list[str]
    logprobs: list[float]
    mask: list[int]
    advantage: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    env: str = ""
    slot: int = 0
    """The place of its group in the step."""
    asked: int = 0
    """The number of its prompt among all prompts."""

    @property
    def question(self) -> str:
        """The last message of the prompt."""
        return self.prompt[-1].text

    @property
    def answer(self) -> str:
        """What the model wrote, of a sample with one turn."""
        return self.response[0].text


@dataclass
class Plan:
    """What kind of samples a folder has."""

    is_verdict: bool
    """The reward is true or false."""
    system: str
    """What the system message says; empty: there is none."""
    has_turns: bool
    """The model answers more than once, with something between its answers."""
    has_tools: bool
    repeats_prompts: bool
    """Two groups of a step may have the same prompt."""
    recurs: bool
    """A prompt appears again at another step."""
    has_ragged_groups: bool
    has_missing_rewards: bool
    steps: list[int] = field(default_factory=list)


NAMES = ("Ana", "Björn", "Chloé", "Dmitri", "Emre", "Fatima", "小林", "Zoë")
THINGS = ("apples", "marbles", "books", "stickers", "tickets; all red", "coins", "pencils", "cards")
OPENINGS = ("Let me think.", "Okay, so", "First,", "We know that", "Hmm,", "Step 1:", "Sure!", "To solve this,", "嗯,")
MIDDLES = (
    "adding the two numbers,",
    "I get $x = {n}$,",
    'so "{n}" it is,',
    "wait, let me check:\n\n",
    "**{n}** → that is,",
    "a list: [1, 2, {n}],",
    "| a | b |\n|---|---|\n| {n} | 2 |\n",
    "```python\nprint({n})\n```\n",
)
ENDINGS = ("the answer is {a}.", "\\boxed{{{a}}}", "#### {a}", "<answer>{a}</answer>", "**Answer:** {a}", "{a}")
SYSTEMS = (
    "You are a helpful assistant.",
    "Please reason step by step, and put your final answer within \\boxed{}.",
    "Respond in the following format:\n<think>\n...\n</think>\n<answer>\n...\n</answer>",
)


def plan(rng: Random) -> Plan:
    """Decide what kind of samples there are, and at which steps."""
    has_turns = rng.random() < 0.12
    first = pick(rng, {0: 45, 1: 35, 10: 6, 5: 4, 100: 4, 50: 2, 37: 2})
    stride = pick(rng, {1: 50, 10: 18, 5: 10, 2: 6, 50: 6, 100: 6, 20: 4})
    return Plan(
        is_verdict=rng.random() < 0.1,
        system=rng.choice(SYSTEMS) if rng.random() < 0.4 else "",
        has_turns=has_turns,
        has_tools=has_turns and rng.random() < 0.5,
        repeats_prompts=rng.random() < 0.1,
        recurs=rng.random() < 0.3,
        has_ragged_groups=rng.random() < 0.12,
        has_missing_rewards=rng.random() < 0.06,
        steps=[first + stride * one for one in range(pick(rng, {1: 15, 2: 35, 3: 30, 4: 12, 6: 6, 12: 2}))],
    )


def samples(rng: Random, plan: Plan) -> list[Sample]:
    """Make the samples of all steps, group by group."""
    made: list[Sample] = []
    size = pick(rng, {1: 12, 2: 25, 3: 10, 4: 35, 8: 18})
    count = pick(rng, {1: 15, 2: 40, 3: 25, 4: 20})
    rewards = pick(rng, {"whole": 4, "fractions": 4, "shaped": 2})
    asked: list[tuple[tuple[Message, ...], str]] = []
    group = 0
    for step in plan.steps:
        here: list[tuple[tuple[Message, ...], str]] = []
        for _ in range(count):
            if plan.repeats_prompts and here and rng.random() < 0.5:
                prompt, label = rng.choice(here)
            elif plan.recurs and asked and rng.random() < 0.5:
                prompt, label = rng.choice(asked)
                if any(prompt == one for one, _ in here):
                    prompt, label = _question(rng, plan, len(asked))
            else:
                prompt, label = _question(rng, plan, len(asked))
            here.append((prompt, label))
            asked.append((prompt, label))
            siblings = size if not plan.has_ragged_groups else rng.randint(1, size)
            made += [_sample(rng, plan, rewards, (step, group, place), prompt, label) for place in range(siblings)]
            group += 1
    numbers = {prompt: number for number, (prompt, _) in reversed(list(enumerate(asked)))}
    for one in made:
        one.slot, one.asked = one.group % count, numbers[one.prompt]
        one.env = ("gsm8k", "math", "countdown")[one.asked % 3]
    for number in range(group):
        _advantages([one for one in made if one.group == number])
    return made


def _question(rng: Random, plan: Plan, number: int) -> tuple[tuple[Message, ...], str]:
    a, b = rng.randint(2, 99), rng.randint(100, 9999)
    kind = pick(rng, {"story": 5, "sum": 4, "countdown": 2, "lines": 2})
    if kind == "story":
        text = (
            f"{rng.choice(NAMES)} has {a} {rng.choice(THINGS)}, and buys {b} more. How many are there in case {number}?"
        )
    elif kind == "sum":
        text = f"What is {a} + {b}? (No. {number})"
    elif kind == "countdown":
        text = f"Using the numbers [{a}, {b}, {number}], make an equation that equals {a + b}."
    else:
        text = f'Q{number}: add these.\n\n- {a}\n- {b}\n\nAnswer with a number, "quoted".'
    system = (Message("system", plan.system),) if plan.system else ()
    return (*system, Message("user", text)), str(a + b)


def _sample(
    rng: Random, plan: Plan, rewards: str, at: tuple[int, int, int], prompt: tuple[Message, ...], label: str
) -> Sample:
    response = _turns(rng, plan, label) if plan.has_turns else (Message("assistant", _answer(rng, label)),)
    if plan.is_verdict or rewards == "whole":
        reward: float | None = float(rng.random() < 0.5)
    elif rewards == "fractions":
        reward = rng.randint(0, 20) / 16
    else:
        reward = round(rng.uniform(-1.5, 2.5), 3)
    if plan.has_missing_rewards and not plan.is_verdict and rng.random() < 0.2:
        reward = None
    words = [word for turn in response for word in turn.text.split(" ")][:24]
    texts = [word if first == 0 else f" {word}" for first, word in enumerate(words)]
    shares = [(turn.role == "assistant") for turn in response for _ in turn.text.split(" ")][:24]
    shares[-1] = True  # untrained tokens at the end are what padding looks like
    asked = prompt[-1].text.split(" ")[:12]
    if rng.random() < 0.1:
        last = len(shares) - 1
        shares = [share and (place % 3 != 1 or place == last) for place, share in enumerate(shares)]
    step, group, place = at
    return Sample(
        step=step,
        group=group,
        place=place,
        prompt=prompt,
        response=response,
        reward=reward,
        label=label,
        is_cut=rng.random() < 0.2,
        prompt_ids=[1, *[rng.randint(10, 30_000) for _ in asked]],
        ids=[rng.randint(10, 150_000) for _ in texts],
        token_texts=texts,
        logprobs=[round(-rng.random() * 3 - 0.001, 6) for _ in texts],
        mask=[int(one) for one in shares],
    )


def _answer(rng: Random, label: str) -> str:
    number = rng.randint(100_000, 999_999)
    answer = label if rng.random() < 0.5 else str(number)
    body = f"{rng.choice(OPENINGS)} {rng.choice(MIDDLES).format(n=number)} {rng.choice(ENDINGS).format(a=answer)}"
    if rng.random() < 0.25:
        body = f"<think>\n{rng.choice(OPENINGS)} {number}\n</think>\n{body}"
    return f"{body} [{number}]"


def _turns(rng: Random, plan: Plan, label: str) -> tuple[Message, ...]:
    turns: list[Message] = []
    for _ in range(rng.randint(1, 2)):
        turns += [
            Message("assistant", _answer(rng, label)),
            Message("tool" if plan.has_tools else "user", f"Observation: {rng.randint(1000, 9999)} is not it."),
        ]
    return (*turns, Message("assistant", _answer(rng, label)))


def _advantages(group: list[Sample]) -> None:
    values = [one.reward or 0.0 for one in group]
    mean = sum(values) / len(values)
    std = (sum((one - mean) ** 2 for one in values) / len(values)) ** 0.5
    for one, value in zip(group, values, strict=True):
        one.advantage = round((value - mean) / (std + 1e-4), 6)
