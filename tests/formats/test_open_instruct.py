"""open-instruct: ids without text, which the run's tokenizer decodes."""

import gzip
from collections import Counter
from pathlib import Path

from rolloupe.formats import by_name
from rolloupe.model import Problem
from tests.formats.support import items, mean_reward, only_run, rows, samples, write

DATA = Path(__file__).parents[1] / "data" / "open_instruct" / "run"
TOKENIZER = Path(__file__).parents[1] / "data" / "miles" / "demo_dump_details" / "tokenizer"


def test_steps_groups_and_series_of_ids() -> None:
    run = only_run(DATA)
    found = rows(run)
    assert (run.format, len(found), mean_reward(found)) == ("open_instruct", 12, mean_reward(found))
    assert Counter((row.step, row.group) for row in found) == {(1, "0"): 4, (2, "0"): 4, (3, "0"): 4}
    sample = samples(run)[0]
    assert (sample.row.prompt_tokens, sample.row.response_tokens, len(sample.token_ids)) == (15, 29, 44)
    (series,) = sample.series
    assert (series.name, series.offset, len(series.values)) == ("logprobs", 15, 29)
    assert "no tokenizer. Next: open it with --tokenizer" in sample.notes[-1]
    assert by_name("open_instruct").tokenizers(run) == ["tiny"]


def test_ids_are_decoded_by_the_runs_tokenizer() -> None:
    sample = samples(only_run(DATA, tokenizer=str(TOKENIZER)))[0]
    assert sample.response_text == "".join(sample.token_strings[15:])
    assert sample.prompt_text and not sample.prompt_text[0].isdigit()
    assert sample.key == samples(only_run(DATA))[0].key


def test_a_shard_that_grows_and_is_compressed(tmp_path: Path) -> None:
    data = (DATA / "toy_run_rollouts_000000.jsonl").read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "b.jsonl").write_bytes(data[:-30])
    found = items(only_run(tmp_path))
    assert [isinstance(one, Problem) for one in found].count(True) == 1 and len(found) == 24


def test_values_of_wrong_types_cost_nothing(tmp_path: Path) -> None:
    line = {"step": 1, "prompt_tokens": "x", "response_tokens": [1, None, 2.5], "prompt_idx": None, "reward": "no"}
    write(tmp_path / "a.jsonl", line)
    (sample,) = samples(only_run(tmp_path))
    assert (sample.row.reward, sample.row.response_tokens) == (None, 3)
