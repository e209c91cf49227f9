"""The parts of examples/tiny_grpo that are plain Python: stories, teacher, tokens and rewards. Training needs torch."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards import CHECK, CORRECT, FORMAT, MOST_CHECKS, REWARD_RANGE, answer_of, grade
from task import LARGEST, Problem, Step, Teacher, calculate, demonstrate, make_problem, make_sum
from vocabulary import END, PAD, Vocabulary

PROBLEM = Problem(
    "Mia has 9 shells. A gull steals 2 of them. Tom gives her 5 more. How many shells does Mia have now?",
    "Mia starts with 9 shells.",
    (Step("A gull steals 2", 9, "-", 2, 7), Step("Tom gives 5", 7, "+", 5, 12)),
)
RIGHT = """<think>
Mia starts with 9 shells.
A gull steals 2, so 9 minus 2 is 7.
Tom gives 5, so 7 plus 5 is 12.
</think>
<answer> 12 </answer>"""
VOCABULARY = Vocabulary()
SEEDS = st.integers(0, 2**32)
EVENTS = st.integers(2, 5)


def with_lines(*lines: str) -> str:
    return RIGHT.replace("</think>", "\n".join([*lines, "</think>"]))


@given(SEEDS, EVENTS)
def test_a_story_holds_only_numbers_that_the_vocabulary_has(seed: int, events: int) -> None:
    problem = make_problem(Random(seed), events)
    assert len(problem.steps) == events
    for before, after in zip(problem.steps, problem.steps[1:], strict=False):
        assert before.result == after.left
    for step in problem.steps:
        assert 1 <= step.result == calculate(step.left, step.sign, step.right) <= LARGEST


@given(SEEDS, EVENTS)
def test_a_teacher_without_faults_earns_all_but_the_checks(seed: int, events: int) -> None:
    problem = make_problem(Random(seed), events)
    found = grade(problem, demonstrate(problem, Random(seed), Teacher(slip=0, check=0, untidy=0)))
    assert found.reward == CORRECT + FORMAT
    assert (found.checks, found.false_sums) == (0, 0)


@given(SEEDS, EVENTS)
def test_a_teacher_who_checks_everything_is_right_in_spite_of_slips(seed: int, events: int) -> None:
    problem = make_problem(Random(seed), events)
    found = grade(problem, demonstrate(problem, Random(seed), Teacher(slip=1, check=1, untidy=0)))
    assert found.correct == CORRECT
    assert 1 <= found.honest_checks <= found.checks == events


@given(SEEDS, EVENTS)
def test_stories_and_solutions_become_tokens_and_back(seed: int, events: int) -> None:
    random = Random(seed)
    problem = make_problem(random, events)
    for text in (problem.prompt, demonstrate(problem, random, Teacher(slip=0.5, check=0.5, untidy=0.5))):
        ids = VOCABULARY.encode(text)
        assert VOCABULARY.decode([*ids, VOCABULARY.end, VOCABULARY.pad]) == text == "".join(VOCABULARY.strings(ids))


@given(SEEDS)
def test_a_sum_of_the_drill_holds(seed: int) -> None:
    assert grade(PROBLEM, f"{make_sum(Random(seed))}.").false_sums == 0


def test_the_same_seed_makes_the_same_story() -> None:
    assert make_problem(Random("7/train/3/1"), 3) == make_problem(Random("7/train/3/1"), 3)


def test_tokens_are_words_with_the_space_before_them() -> None:
    assert VOCABULARY.strings(VOCABULARY.encode("Check: 7 plus 5 is 12.\n")) == [
        "Check", ":", " 7", " plus", " 5", " is", " 12", ".", "\n",
    ]  # fmt: skip
    assert VOCABULARY.strings([VOCABULARY.pad, VOCABULARY.end]) == [PAD, END]


@pytest.mark.parametrize("text", ["Mia has 41 shells.", "Mia has 7 dragons.", "Mia  has", "é"])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"vocabulary|no tokens"):
        VOCABULARY.encode(text)


def test_a_right_and_tidy_response_is_paid_for_both() -> None:
    assert grade(PROBLEM, RIGHT).reward == CORRECT + FORMAT


@pytest.mark.parametrize(
    ("response", "correct", "tidy"),
    [
        (RIGHT.replace("<answer> 12", "<answer> 13"), False, True),
        (RIGHT.replace("<answer> 12 </answer>", "The answer is 12."), False, False),
        (RIGHT.replace("</think>\n", ""), True, False),
        (RIGHT + "\n<answer> 12 </answer>", True, False),
        (RIGHT + " 13", False, False),
        ("", False, False),
        ("<think>\n", False, False),
    ],
)
def test_each_part_is_paid_for_by_itself(response: str, correct: bool, tidy: bool) -> None:
    found = grade(PROBLEM, response)
    assert (found.correct, found.format) == (CORRECT * correct, FORMAT * tidy)


def test_the_naive_counter_pays_for_anything_that_is_called_a_check() -> None:
    found = grade(
        PROBLEM, with_lines("Check: 9 minus 2 is 7.", "Check: 9 minus 2 is 7.", "Check: 7 plus 5 is 30.", "Check")
    )
    assert found.checking == pytest.approx(4 * CHECK)
    assert (found.checks, found.honest_checks, found.false_sums) == (4, 1, 1)


def test_the_mended_counter_pays_for_honest_checks() -> None:
    lines = ("Check: 9 minus 2 is 7.", "Check: 9 minus 2 is 7.", "Check: 1 plus 1 is 2.", "Check: 7 plus 5 is 13.")
    assert grade(PROBLEM, with_lines(*lines), "mended").checking == pytest.approx(CHECK)


def test_no_reward_is_above_its_range() -> None:
    assert grade(PROBLEM, with_lines(*["Check"] * 50)).reward == pytest.approx(REWARD_RANGE[1])
    assert grade(PROBLEM, with_lines(*["Check"] * 50)).checking == pytest.approx(CHECK * MOST_CHECKS)


@given(st.text())
def test_any_text_can_be_graded(text: str) -> None:
    assert REWARD_RANGE[0] <= grade(PROBLEM, text).reward <= REWARD_RANGE[1]
    answer_of(text)
