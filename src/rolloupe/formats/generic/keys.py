"""The usual names of a row's members: its prompt, its response, its score, its step, and so on.

A name is known however it is written (`group_id`, `groupId`, `Group ID`). A row without a usual name for its prompt,
its response, its score or its step may have a name that ends in one of the usual words, such as `decoded_completion`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice, takewhile
from typing import Any, NamedTuple, TypeVar

from rolloupe import text
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import Record
from rolloupe.lru import Lru
from rolloupe.model import SampleRow, Status

Names = tuple[str, ...]

USUAL: dict[str, Names] = {
    role: tuple(names.split())
    for role, names in {
        "prompt": """prompt input question query problem input_prompt instruction prompt_text prompts inputs user_prompt
            queries input_text full_prompt prompt_messages input_messages user_message user_input problem_statement
            prompt_in text_in in_text msg_in in_msg message_in""",
        "response": """response completion output generation answer_text output_response response_text completion_text
            output_text generated_text model_output generated candidates reply model_response llm_output solution_str
            resps response_out model_out llm_out text_out out_text msg_out out_msg message_out""",
        "weak_response": """text code generated_code prediction pred answer solution summary translation trajectory
            rewrite""",
        "messages": "messages conversation chat trajectory traj history dialog dialogue",
        "weak_messages": "turns utterances transcript transcripts",
        "score": f"""{" ".join(parsers.REWARDS)} reward_value final_reward final_score reward_total episode_reward
            reward_info reward_details grade reward_score rm_score""",
        "outcome": """correct is_correct accuracy acc acc_norm passed success solved is_solved resolved is_success
            is_resolved is_passed correctness pass exact_match""",
        "weak_score": "r rew rwd ret rm",
        "step": """step global_step global_steps iteration training_step train_step iter update itr trainer_step
            policy_step rl_step optim_step step_idx step_id iteration_id update_step""",
        "weak_step": "rollout_id epoch",
        "group": """group group_id group_index group_idx prompt_id prompt_idx prompt_index example_id task_id group_uid
            prompt_uid problem_id question_id instance_id query_id puzzle_id doc_id qid problem_idx problem_index
            question_idx question_index task_idx task_index example_idx example_index instance_idx query_idx group_key
            group_name prompt_hash prompt_key item_id group_num group_no prompt_num problem_uid question_uid task_uid
            question_hash prompt_group q_idx q_id gid""",
        "weak_group": "session_id id idx index key",
        "short": "it t s g y a",
        "label": """ground_truth gts label target golden_answer reference_answer answer gt gold gold_answer
            expected_answer expected expected_output correct_answer reference target_answer answer_key canonical_answer
            canonical_solution correct_text solution reference_solution possible_answer gt_answer ground_truth_answer
            true_answer""",
        "env": "env_name env_id env env_class data_source dataset task environment task_name dataset_name benchmark",
        "status_key": "status finish_reason stop_reason stop_condition termination_reason exit_status",
        "truncated": "is_truncated truncated was_truncated",
        "split": """is_eval is_evaluation is_validation is_validate is_val is_test is_heldout is_held_out is_holdout
            eval evaluation validation heldout held_out holdout split data_split dataset_split split_name subset
            data_subset partition data_partition phase mode stage rollout_mode run_phase""",
        "advantage": "advantage adv advantages normalized_advantage group_advantage",
        "prompt_tokens": """prompt_length prompt_tokens prompt_len prompt_token_count input_tokens num_prompt_tokens
            n_prompt_tokens""",
        "response_tokens": """response_length response_tokens response_len response_token_count completion_tokens
            completion_length output_tokens num_response_tokens num_completion_tokens completion_len output_length
            num_output_tokens n_tokens num_tokens token_count generated_tokens num_generated_tokens gen_len
            exact_token_count n_tok resp_len resp_length""",
        "total_tokens": "total_length total_tokens total_token_count seqlen seq_len",
    }.items()
}
"""The usual names of each role, the most usual first; a weak one counts in a row without any other, and a short
one beside a weak score: see `doubted`.

An outcome is a verdict, and the reward of a row without any other: a truth value is preferred to a number. `truncated`
says whether a sample was cut short, and `split` whether it belongs to an evaluation.
"""
_ENDINGS = {
    "prompt": ("prompt", "question", "query", "problem", "instruction"),
    "response": ("response", "completion", "output", "generation", "reply", "answer", "solution", "prediction"),
    "score": ("reward", "score"),
    "step": ("step", "iteration", "iter"),
}
"""The last words of names that indicate a role if no usual name does, the surest first."""
_OF_ANOTHER = frozenset(
    """num n max min total env mean avg std system reference ref parsed extracted expected gold golden target correct
    true gt label canonical best worst chosen rejected first last""".split()
)
"""Words that change the meaning of a name with such a last word."""
_EVALUATION = re.compile(r"(?:eval(?:uation)?s?|val(?:id|idation)?|held[_\-.]?out|hold[_\-.]?out)(?![a-z])")
"""How the name of an evaluation begins. `test` and `dev` are such names alone, or where the key names a split."""
_PART = re.compile(r"(?:test|dev)(?![a-z])")
_TRAINING = re.compile(r"train(?:ing)?(?![a-z])")
_OF_MESSAGES = frozenset(("messages", "conversation", "chat"))
_VERDICTS = frozenset(name.replace("_", "") for name in USUAL["outcome"])
_OF_OUTCOMES = frozenset(("correct", "correctness", "passed", "success", "solved", "resolved"))
_OF_JUDGEMENTS = {*"match matched rating rated judge judged judgement judgment grade graded verdict passed pass "
                   "success succeeded solved resolved correct correctness accuracy acc em f1".split()}  # fmt: skip
"""Words in the name of the only number that can be a reward, in rows without any usual name of one."""
NO_SCORES = {*"id ids idx index step steps iteration iter epoch group uid hash seed rank length len tokens token count "
             "num n time times timestamp ts seconds ms latency duration cost temperature lr loss kl entropy advantage "
             "version year size turns turn position offset results used k diff searches option gold truth label target "
             "expected choice run attempt trial".split()}  # fmt: skip
"""Words in the names of numbers that are not scores."""
_NO_JUDGEMENTS = NO_SCORES | {*"confidence difficulty level format threshold weight reference parsed error".split()}
_REWARDS = frozenset(("reward", "rewards", "score", "scores"))
_WEIGHTS = frozenset(("weight", "weights"))
_ROLES = ("prompt", "response", "messages", "score", "step", "group", "label", "env", "status_key", "advantage")
NO_TEXT = {*"id ids idx index hash uid uuid name path file url type model version date time timestamp split source "
           "status reason key role env dataset task system error feedback reference judge note".split()}  # fmt: skip
_NO_PROMPT = NO_TEXT | {*"reasoning thinking thought thoughts think rationale explanation critique rubric comment plan "
                         "analysis output chosen rejected baseline stdout stderr log".split()}  # fmt: skip
"""Words of names of texts that are neither prompt nor response; and of texts before a response that are no prompt."""
_WEAK_ROLES = ("truncated", "split", "weak_response", "weak_messages", "weak_score", "weak_step", "weak_group", "short")
_words = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_no_letter = re.compile(r"[^a-z0-9]")
MAX_NAME_CHARS = 64
KEPT_ROWS, KEPT_KEYS, KEPT_CHARS = 512, 1000, 20_000
"""The most sets of keys with cached results, and the most keys and characters of such a set."""
KEPT_LARGE, KEPT_BYTES, KEY_BYTES = 4, 2**24, 64
"""The most cached results for larger sets: the samples of one record have the same keys."""

Test = Callable[[object], object]
T = TypeVar("T")


class NamedKeys(NamedTuple):
    """The keys of a row by the roles that their names indicate, the most usual first."""

    by_role: dict[str, Names]
    counts: dict[str, Names]
    """The keys of token counts, by `prompt`, `response`, `total`."""

    def of(self, *roles: str) -> Names:
        """Return the keys of these roles, role by role."""
        return sum((self.by_role.get(role, ()) for role in roles), ())


class Roles(NamedTuple):
    """The key in each role, None for a role without one."""

    prompt: str | None = None
    response: str | None = None
    messages: str | None = None
    score: str | None = None
    step: str | None = None
    group: str | None = None
    label: str | None = None
    env: str | None = None
    status_key: str | None = None
    counts: Mapping[str, str] = {}
    advantage: str | None = "advantage"
    weak_step: str | None = None
    split: str | None = None

    def with_usual(self, usual: "Roles") -> "Roles":
        """Return these roles, with the usual keys for a missing group, label, environment or status."""
        own = {*self[:9], *self.counts.values()}
        more = {
            role: key
            for role in ("group", "label", "env", "status_key", "split")
            if getattr(self, role) is None and (key := getattr(usual, role)) not in own
        }
        counts = {**{what: key for what, key in usual.counts.items() if key not in own}, **self.counts}
        return self._replace(**more, counts=counts)

    def short(self) -> dict[str, str]:
        """Return the roles of the short keys."""
        roles = ((getattr(self, role), role) for role in ("step", "group", "advantage", "label"))
        return {key: role for key, role in roles if key and fold(key) in USUAL["short"]}

    def described(self, doubts: Collection[str] = ()) -> str:
        """For a person: the keys that identify a sample, the short ones with their roles; `doubts` are uncertain."""
        keys = [key for key in (self.prompt, self.response, self.messages, self.score) if key]
        shown = [text.named(key) for key in keys]
        found = f"rows have {' and '.join(filter(None, (', '.join(shown[:-1]), shown[-1])))}"
        if self.score and candidates((self.score,)).by_role.keys() in ({"judgement"}, {"weak_score"}):
            short = self.short().items()
            taken = "".join(f", {text.named(key)} as the {role}" for key, role in short if role not in doubts)
            found += f"; {text.named(self.score)} is taken as the reward{taken}, and --map reward=KEY names another"
            found += "".join(f"; --map {role}={key}, if it is the {role}" for key, role in short if role in doubts)
        if self.prompt and "weak_prompt" in candidates((self.prompt, "response")).by_role:
            found += f"; {text.named(self.prompt)} is taken as the prompt, and --map prompt=KEY names another"
        return found

    def texts(self, record: Record) -> tuple[Any, Any]:
        """Prompt and response; in a conversation, the response begins at the first assistant message."""
        prompt = _unpack(record.get(self.prompt)) if self.prompt else None
        if self.messages is None:
            if self.response or not isinstance(prompt, list):
                return prompt, _unpack(record.get(self.response)) if self.response else None
            first = text.answer_at(prompt)  # a whole conversation under the name of a prompt
            return (prompt[:first], prompt[first:]) if first < len(prompt) else (prompt, None)
        messages = _unpack(record[self.messages])
        if self.response:
            return (prompt if self.prompt else messages), _unpack(record.get(self.response))
        first = text.answer_at(messages)
        return (messages[:first] if first or not self.prompt else prompt), messages[first:]

    def tokens(self, record: Record, what: str) -> int | None:
        key = self.counts.get(what)
        return parsers.count(record[key]) if key else None

    def evaluation(self, record: Record) -> str:
        """The split of a row that belongs to an evaluation made at a training step; empty for any other row."""
        value = record[self.split] if self.split else None
        if value is True:
            return f"eval/{str(self.split).lower().removeprefix('is_')}"
        return f"eval/{str(value).lower()}" if self.split and split_of(self.split, value) == "eval" else ""

    def status(self, record: Record) -> tuple[Status, str]:
        """The status, from a word or from keys that imply it."""
        value = record[self.status_key] if self.status_key else None
        error = record.get("error")
        is_verdict = isinstance(value, bool) and isinstance(error, str)  # a grader's verdict on an answer that ended
        if error and not is_verdict and (self.status_key == "error" or not isinstance(value, str)):
            return "error", "error"
        if isinstance(value, str):
            return parsers.status(value)
        if isinstance(value, bool) and self.status_key:
            return ("truncated", self.status_key) if value else ("completed", f"not {self.status_key}")
        if record.get("is_completed") is True:
            return "completed", "is_completed"
        return "unknown", ""

    def rest(self, record: Record) -> tuple[dict[str, float], dict[str, str]]:
        """Sample metrics and tags: numbers and short texts without a role."""
        metrics: dict[str, float] = {}
        tags: dict[str, str] = {}
        # not a weak step, which may count something else beside the step
        keys_with_role = {*self[:9], *self.counts.values(), self.advantage, "uid"}
        for key, value in record.items():
            if key in keys_with_role or (key == "discarded" and parsers.reason(value) is not None):
                continue
            if (value_as_number := parsers.number(value)) is not None:
                metrics[key] = value_as_number
            elif (short := parsers.tag(value)) is not None:
                tags[key] = short
            elif type(value) is dict and is_of_rewards(key):
                metrics |= parsers.reward(value).metrics
        inner = record.get("metrics")
        return (parsers.numbers(inner) | metrics if isinstance(inner, dict) else metrics), tags

    def shows(self, key: str, value: object, row: SampleRow) -> bool:
        """Whether a member appears outside the extra fields."""
        if key in row.metrics or key in row.tags or key in (self.prompt, self.response, self.messages, self.label):
            return True
        if key == self.score:
            return parsers.is_shown_reward(value)
        if key in (self.step, self.weak_step, self.group, self.env, "uid"):
            return parsers.name(value) is not None
        if key == "metrics":
            return isinstance(value, dict) and all(parsers.number(member) is not None for member in value.values())
        if key == self.advantage:
            return parsers.number(value) is not None
        if type(value) is dict and is_of_rewards(key):
            return parsers.reward(value).whole
        if key == "discarded":
            return parsers.reason(value) is not None
        if key == "top_logprobs":
            return isinstance(value, list)
        return key == self.status_key or key in self.counts.values()


def roles_of(record: Record) -> Roles:
    """Find the key in each role: the first usual name whose value has the right type, if any."""
    found = candidates(tuple(record))
    names = found.by_role.get
    prompts, responses = names("prompt", ()), names("response", ())
    scores, steps = names("score", ()), names("step", ())
    prompt, response = _first(record, prompts, _is_text), _first(record, responses, _is_response)
    chats = () if prompt and response else names("messages", ())
    messages = _first(record, chats, lambda value: parsers.is_messages(value) or text.conversation(value) is not None)
    turns = () if response or messages else names("weak_messages", ())
    messages = messages or _first(record, turns, lambda value: text.answers_in(text.conversation(value) or ()) > 0)
    if response is None and (messages is None or not text.answers_in(_unpack(record[messages]))):
        response = _first(record, names("weak_response", ()), _is_response)
    step = _first(record, steps, parsers.integer)
    score = _first(record, scores, _is_score)
    response = response or (None if messages else _first(record, responses))
    if score is None and "outcome" in found.by_role:
        is_answered = response or messages or (prompt and text.answers_in(text.conversation(record[prompt]) or ()))
        verdicts = [key for key in found.by_role["outcome"] if is_answered and is_verdict(key, record[key])]
        score = _first(record, verdicts, _is_flag) or next(iter(verdicts), None)
    if score is None and not scores and (messages or (response and not is_weak_response(response))):
        judged = [key for key in names("judgement", ()) if parsers.number(record[key]) is not None]
        score = judged[0] if len(judged) == 1 else None
    short: Names = ()
    if score is None and not scores and (messages or (prompt and response)):
        score = _first(record, names("weak_score", ()), parsers.number)
        short = names("short", ()) if score else ()
        step = step or _first(record, [key for key in short if fold(key) in ("it", "t", "s")], parsers.integer)
    group = _first(record, (*names("group", ()), *(key for key in short if fold(key) == "g")), parsers.name)
    if group is None and type(record.get("id")) is int and parsers.is_messages(record.get("prompt")):
        group = "id"  # verifiers until September 2025: rollouts of one example share it
    if step is None and steps:  # anything, which then counts as a problem; but `steps` may be what a sample did
        others = [key for key in steps if isinstance(record[key], str | int | float) or not fold(key).endswith("steps")]
        step = _first(record, others)
    prompt = prompt or _first(record, prompts)
    if not prompt and response and chats:  # messages that are a text
        prompt = _first(record, [key for key in chats if fold(key) in _OF_MESSAGES], _is_word)
    if not prompt and response and score and not messages:
        prompt = _first(record, names("weak_prompt", ()), lambda value: type(value) is str and value.count(" ") > 2)
    labels = [key for key in names("label", ()) if key != response and record[key] is not None]  # but no ids of tokens
    labels += [key for key in short if fold(key) == "y" and isinstance(record[key], str | int | float)]
    return Roles(
        prompt,
        response,
        messages,
        score or _first(record, scores, lambda value: value is None),
        step,
        group,
        _first(
            record, labels, lambda value: not (isinstance(value, list) and len(value) > 1 and isinstance(value[0], int))
        ),
        _first(record, names("env", ()), parsers.name),
        _first(record, names("status_key", ()), _is_word) or _first(record, names("truncated", ()), _is_flag),
        {what: key for what, keys in found.counts.items() if (key := _first(record, keys, parsers.count))},
        _first(record, (*names("advantage", ()), *(key for key in short if fold(key) == "a")), parsers.number),
        _first(record, names("weak_step", ()), parsers.integer),
        next((key for key in names("split", ()) if split_of(key, record[key])), None),
    )


def doubted(files: Iterable[tuple[int | None, Sequence[Record]]]) -> list[str]:
    """Return the roles of short keys that their values in the first rows of some files do not show.

    A step repeats, never goes down within a file, and is the one in the name of the file, if any. The rows of a group
    follow each other and have one prompt, and some group has several. Some advantages are negative, or all are 0.
    """
    placed = ((file, at, row) for file, (at, rows) in enumerate(files) for row in rows)
    first = [*islice(placed, 1)]
    roles = roles_of(first[0][2]) if first else Roles()
    if not roles.short():
        return []
    seen = [*first, *placed]
    steps = [(file, parsers.integer(row.get(str(roles.step))) or 0, at) for file, at, row in seen]
    groups = [(*step, parsers.name(row.get(str(roles.group)))) for step, (*_, row) in zip(steps, seen, strict=True)]
    asked = {(*group, str(row.get(str(roles.prompt)))) for group, (*_, row) in zip(groups, seen, strict=True)}
    numbers = [parsers.number(row.get(str(roles.advantage))) or 0 for *_, row in seen]
    named = all(at in (None, step) for _, step, at in steps)
    shown = {
        "step": named and len({*steps}) < len(steps) and steps == sorted(steps),
        "group": len({*groups}) == len([*groupby(groups)]) == len(asked) < len(groups),
        "advantage": min(numbers, default=0) < 0 or not any(numbers),
    }
    return [role for role in roles.short().values() if not shown.get(role, True)]


def split_of(key: str, value: object) -> str:
    """Return `eval` if a value names an evaluation, or is true, `train` if it names the training, else nothing."""
    if isinstance(value, str):
        return _split_named(key, value[: parsers.MAX_TAG_CHARS].lower())
    return "eval" if value is True else ""


@lru_cache(maxsize=4096)
def _split_named(key: str, name: str) -> str:
    may_be_part = name in ("test", "dev") or not {*words_of(key)}.isdisjoint(("split", "subset", "partition"))
    if " " in name:
        return ""
    if _EVALUATION.match(name) or (may_be_part and _PART.match(name)):
        return "eval"
    return "train" if _TRAINING.match(name) else ""


def _first(record: Record, keys: Iterable[str], fits: Test = lambda value: value is not None) -> str | None:
    """The first of some keys whose value fits, or can be read. A plain loop: this runs a dozen times for each row."""
    for key in keys:
        found = fits(record[key])
        if found is not None and found is not False:
            return key
    return None


def keep_by_keys(of_keys: Callable[[Names], T]) -> Callable[[Names], T]:
    """Cache a function of the keys of a row; if the keys are many or long, for a few rows only."""
    known: dict[Names, T] = {}
    large: Lru[Names, T] = Lru(KEPT_LARGE, KEPT_BYTES)

    def kept_of(keys: Names) -> T:
        found = known.get(keys)
        if found is None:
            chars = len("".join(keys))
            if len(keys) > KEPT_KEYS or chars > KEPT_CHARS:
                return large.get_or_make(keys, lambda: of_keys(keys), lambda _: chars + KEY_BYTES * len(keys))
            found = of_keys(keys)
            if len(known) >= KEPT_ROWS:
                known.clear()
            known[keys] = found
        return found

    return kept_of


@keep_by_keys
def candidates(keys: Names) -> NamedKeys:
    """Sort the keys of a row by the roles that their names indicate."""
    plain: dict[str, list[str]] = {}
    for key in keys:
        if len(key) <= MAX_NAME_CHARS:
            folded = fold(key)
            plain.setdefault(folded, []).append(key)
            if folded.endswith("s"):
                plain.setdefault(folded[:-1], []).append(key)
                plain.setdefault(folded.removesuffix("es"), []).append(key)
    by_role = {role: _keys_called(role, plain) for role in _ROLES}
    placed = {*chain.from_iterable(by_role.values())}
    for role, endings in _ENDINGS.items():
        if not by_role[role]:
            by_role[role] = _ending_in(endings, [key for key in keys if key not in placed])
    if not (by_role["response"] or by_role["messages"]):
        by_role["response"] = _keys_called("weak_response", plain)
    if not by_role["score"]:
        parts = [key for key in keys if key not in placed and not _OF_ANOTHER.intersection(words := {*words_of(key)})
                 and words & {"reward", "score"}]  # fmt: skip
        by_role["score"] = tuple(parts) if len(parts) == 1 else ()
    elif len(by_role["score"]) > 1 and not _keys_called("score", plain):
        by_role["score"] = ()  # several parts of a reward, none of them the whole
    outcomes = _keys_called("outcome", plain) or tuple(
        key for key in keys if not _OF_OUTCOMES.isdisjoint(words_of(key))
    )
    by_role["outcome"] = tuple(key for key in outcomes if key not in placed)
    judged = (key for key in keys if key not in placed and not _OF_JUDGEMENTS.isdisjoint(words_of(key)))
    by_role["judgement"] = tuple(key for key in judged if _NO_JUDGEMENTS.isdisjoint(words_of(key)))
    by_role |= {role: _keys_called(role, plain) for role in _WEAK_ROLES}
    if by_role["response"] and not by_role["prompt"]:
        known = {*chain.from_iterable(by_role.values())}
        before = takewhile(lambda key: key not in by_role["response"], keys)
        by_role["weak_prompt"] = tuple(
            key for key in before if key not in known and _NO_PROMPT.isdisjoint(words_of(key))
        )
    counted = ((what, _keys_called(f"{what}_tokens", plain)) for what in ("prompt", "response", "total"))
    counts = {what: names for what, names in counted if names}
    return NamedKeys({role: names for role, names in by_role.items() if names}, counts)


def _keys_called(role: str, plain: dict[str, list[str]]) -> Names:
    """The keys with one of the usual names of a role, each once."""
    found = (key for name in USUAL[role] for key in sorted(plain.get(_folded(name), ()), key=lambda key: key != name))
    return tuple(dict.fromkeys(found))


def _ending_in(endings: Sequence[str], keys: Iterable[str]) -> Names:
    """The keys whose last word is one of these, the surest first."""
    found: list[tuple[int, str]] = []
    for key in keys:
        words = words_of(key)
        last = words[-1].removesuffix("s") if len(words) > 1 else ""
        if last in endings and _OF_ANOTHER.isdisjoint(words[:-1]):
            found.append((endings.index(last), key))
    return tuple(key for _, key in sorted(found, key=lambda ranked: ranked[0]))


def fold(key: str) -> str:
    """Return the letters and digits of a name in lower case: the same for all ways to write it."""
    return _no_letter.sub("", key.lower())


_folded = lru_cache(maxsize=4096)(fold)
_WEAK_RESPONSES = frozenset(map(fold, USUAL["weak_response"]))


def is_weak_response(key: str) -> bool:
    """Whether a name means the response only in a row without a more usual one."""
    return fold(key) in _WEAK_RESPONSES


def words_of(key: str) -> list[str]:
    """Return the words in the name of a member, in lower case."""
    return [word.lower() for word in _words.findall(key[:MAX_NAME_CHARS])]


def is_of_rewards(key: str) -> bool:
    """Whether an object under this name has the parts of a reward, which their weights are not."""
    words = words_of(key)
    return not _REWARDS.isdisjoint(words) and _WEIGHTS.isdisjoint(words)


def weak_group(record: Record) -> str | None:
    """Return the key that may name the group of a row without a prompt."""
    key = _first(record, candidates(tuple(record)).of("weak_group"), parsers.name)
    return parsers.name(record[key]) if key else None


def has_answer(record: Record, roles: Roles) -> bool:
    """Whether a row has a response, or messages."""
    return bool(roles.response or roles.messages) and has_text(record, roles)


def has_text(record: Record, roles: Roles) -> bool:
    """Whether a row has a text or messages in one of these roles."""
    return any(key and _is_text(record[key]) for key in (roles.prompt, roles.response, roles.messages))


def has_sample(record: Record, roles: Roles) -> bool:
    """Whether a row is certainly a sample: it has a text and a score; with several scores, a non-empty answer."""
    if roles.score is None or not has_text(record, roles):
        return False
    return type(record[roles.score]) is not list or any(record[key] for key in (roles.response, roles.messages) if key)


_LISTS = {fold(name) for role in ("prompt", "response", "weak_response", "messages", "score") for name in USUAL[role]}
_LISTS.add("error")
"""The names, without a final s, whose value may be a list with its own meaning."""


def is_aside(key: str) -> bool:
    """Whether a list under this key can only be a token series or an extra field."""
    folded = _folded(key[:MAX_NAME_CHARS])
    return folded not in _LISTS and folded.removesuffix("s") not in _LISTS


def _unpack(value: object) -> Any:
    """The messages of a conversation, in whatever form it is stored; any other value unchanged."""
    return value if (messages := text.conversation(value)) is None else messages


def _is_text(value: object) -> bool:
    return type(value) is str or text.conversation(value) is not None


def _is_response(value: object) -> bool:
    return _is_text(value) or value == []


def _is_score(value: object) -> bool:
    if isinstance(value, int | float):
        return True
    if isinstance(value, list):
        return bool(value) and all(isinstance(entry, int | float) for entry in value)
    if isinstance(value, str):
        return parsers.score_in(value) is not None
    found = parsers.reward(value)
    return bool(found.metrics) or found.value is not None


def is_verdict(key: str, value: object) -> bool:
    """Whether a value, or each member of a list, is true or false, or a share under a usual name."""
    if isinstance(value, list):
        return bool(value) and all(is_verdict(key, verdict) for verdict in value)
    is_usual = fold(key).removesuffix("s") in _VERDICTS or fold(key) in _VERDICTS
    if isinstance(value, str):
        return is_usual and fold(key) != "correct" and parsers.score_in(value) in (0, 1)  # `correct` may be the answer
    return isinstance(value, bool) or (is_usual and isinstance(value, int | float) and 0 <= value <= 1)


def _is_word(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)
