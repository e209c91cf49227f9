"""The task: short stories with arithmetic in them, and a sloppy teacher who solves them step by step.

Owns the wording. A story says how much somebody has and what happens to it, two to four times, now and then with a
number in it that matters to nobody. The teacher writes a line of reasoning for each event and then the answer, and
makes mistakes on purpose: a slip in the sum, an answer without its tags. Training has to do better than that.

Everything follows from the `random.Random` that is passed in.
"""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

LARGEST = 40
"""No number in a story, and none on the way to its answer, is larger."""
WORD_OF = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


class Person(NamedTuple):
    """Somebody in a story, with the words that stand for them."""

    name: str
    they: str
    them: str
    their: str


class Event(NamedTuple):
    """Something that changes a number: `told` in the story, `thought` in the reasoning. `{k}` is by how much."""

    sign: str
    told: str
    thought: str


PEOPLE = tuple(Person(name, "She", "her", "Her") for name in ("Ada", "Lena", "Mia", "Noor")) + tuple(
    Person(name, "He", "him", "His") for name in ("Emre", "Otto", "Ravi", "Tom")
)
ITEMS = ("apples", "buttons", "candles", "marbles", "pears", "shells", "stamps", "walnuts")
EVENTS = (
    Event("+", "{they} finds {k} more under the bed.", "{they} finds {k} more"),
    Event("+", "{they} buys {k} more at the market.", "{they} buys {k} more"),
    Event("+", "{friend} gives {them} {k} more.", "{friend} gives {k}"),
    Event("+", "The post brings {k} more.", "The post brings {k}"),
    Event("-", "{they} gives {k} of them to {friend}.", "{they} gives {k} away"),
    Event("-", "{they} loses {k} of them on the way home.", "{they} loses {k}"),
    Event("-", "A gull steals {k} of them.", "A gull steals {k}"),
    Event("-", "{friend} borrows {k} of them.", "{friend} borrows {k}"),
    Event("*", "Then a wizard doubles what is there.", "The wizard doubles them"),
    Event("*", "Then a wizard triples what is there.", "The wizard triples them"),
    Event("/", "{they} keeps half and sells the rest.", "{they} keeps half"),
    Event("/", "{they} shares them equally with two friends.", "Three people share them"),
)
FACTOR = {"doubles": 2, "triples": 3, "half": 2, "equally": 3}
"""How much an event changes a number by, where its words say so and no `{k}` does."""
ASIDES = (
    "It is a rainy day.",
    "{their} coat is red.",
    "{friend} is {k} years old.",
    "There are {k} ducks on the pond.",
    "The clock strikes {k}.",
)
OPENING = "{name} has {k} {items}."
STARTING = "{name} starts with {k} {items}."
QUESTION = "How many {items} does {name} have now?"
LOOSE_ANSWER = "The answer is {k}."


class Step(NamedTuple):
    """One line of reasoning: what happened, and `left sign right = result`."""

    why: str
    left: int
    sign: str
    right: int
    result: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A story with its only right solution."""

    prompt: str
    start: str
    steps: tuple[Step, ...]

    @property
    def answer(self) -> int:
        """What is there at the end."""
        return self.steps[-1].result


@dataclass(frozen=True, slots=True)
class Teacher:
    """How sloppy the demonstrations are: chances per step of reasoning, but `untidy`, which is per demonstration."""

    slip: float = 0.20
    """The sum is wrong, and the story goes on from there."""
    check: float = 0.10
    """A line is added that does the sum again, rightly: a slip is noticed and corrected."""
    untidy: float = 0.25
    """The answer stands outside of its tags, or the thinking never ends."""


def calculate(left: int, sign: str, right: int) -> int:
    """Return `left sign right`; a division must come out even. ValueError where it does not, or for another sign."""
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" if right and left % right == 0:
            return left // right
    raise ValueError(f"{left} {sign} {right} has no whole result")


def statement(left: int, sign: str, right: int, result: int) -> str:
    """Return the sum in words: `7 plus 5 is 12`."""
    return f"{left} {WORD_OF[sign]} {right} is {result}"


def make_sum(random: Random) -> str:
    """Make up a sum of the kind that stories hold, and solve it: `7 plus 5 is 12`."""
    amount = random.randint(1, LARGEST)
    event, size = _possible_event(random, amount, list(EVENTS))
    return statement(amount, event.sign, size, calculate(amount, event.sign, size))


def make_problem(random: Random, events: int) -> Problem:
    """Make up a story in which that many things happen."""
    person, friend = random.sample(PEOPLE, 2)
    words = {**person._asdict(), "friend": friend.name, "items": random.choice(ITEMS)}
    amount = random.randint(3, 15)
    told, steps = [OPENING.format(k=amount, **words)], []
    start = STARTING.format(k=amount, **words)
    left = list(EVENTS)
    for _ in range(events):
        event, size = _possible_event(random, amount, left)
        left.remove(event)
        result = calculate(amount, event.sign, size)
        told.append(event.told.format(k=size, **words))
        steps.append(Step(event.thought.format(k=size, **words), amount, event.sign, size, result))
        amount = result
        if random.random() < 0.2:
            told.append(random.choice(ASIDES).format(k=random.randint(3, 12), **words))
    told.append(QUESTION.format(**words))
    return Problem(" ".join(told), start, tuple(steps))


def _possible_event(random: Random, amount: int, events: list[Event]) -> tuple[Event, int]:
    """Draw an event that leaves a whole number from 1 to LARGEST, and how much it changes the number by."""
    while True:
        event = random.choice(events)
        fixed = next((factor for word, factor in FACTOR.items() if word in event.told), None)
        size = fixed or random.randint(2, 9)
        if event.sign == "/" and amount % size:
            continue
        if 1 <= calculate(amount, event.sign, size) <= LARGEST:
            return event, size


def demonstrate(problem: Problem, random: Random, teacher: Teacher) -> str:
    """Write a solution as the teacher would: mostly right, mostly tidy."""
    lines, amount = [problem.start], problem.steps[0].left
    for step in problem.steps:
        before, right = amount, _as_well_as_it_goes(amount, step)
        amount = _near(random, right) if random.random() < teacher.slip else right
        lines.append(f"{step.why}, so {statement(before, step.sign, step.right, amount)}.")
        if random.random() < teacher.check:
            amount = right
            lines.append(f"Check: {statement(before, step.sign, step.right, amount)}.")
    thought = "\n".join(lines)
    match random.choice(("loose", "endless")) if random.random() < teacher.untidy else "tidy":
        case "loose":
            return f"<think>\n{thought}\n</think>\n{LOOSE_ANSWER.format(k=amount)}"
        case "endless":
            return f"<think>\n{thought}\n<answer> {amount} </answer>"
        case _:
            return f"<think>\n{thought}\n</think>\n<answer> {amount} </answer>"


def _as_well_as_it_goes(amount: int, step: Step) -> int:
    """Return what the step leaves of an amount that may be wrong already: within bounds, a division rounded down."""
    result = amount // step.right if step.sign == "/" else calculate(amount, step.sign, step.right)
    return min(max(result, 0), LARGEST)


def _near(random: Random, right: int) -> int:
    """Return a number that somebody who calculates badly could take for the right one."""
    return min(max(right + random.choice((-10, -2, -1, 1, 2, 10)), 0), LARGEST)


def every_wording() -> list[str]:
    """Return texts in which each word that a story or a solution can hold stands at least once."""
    people = [{**person._asdict(), "friend": person.name} for person in PEOPLE]
    frames = [OPENING, STARTING, QUESTION, LOOSE_ANSWER, *ASIDES]
    frames += [text for event in EVENTS for text in (event.told, f"{event.thought}, so")]
    filled = [frame.format(k=0, items=item, **words) for frame in frames for words in people for item in ITEMS]
    sums = [f"Check: {statement(0, sign, 0, 0)}." for sign in WORD_OF]
    numbers = [f" {number}" for number in range(LARGEST + 1)]
    return [*filled, *[f" {text}" for text in filled], *sums, *numbers, "<think>\n</think>\n<answer> </answer>"]
