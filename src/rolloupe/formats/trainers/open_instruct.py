"""The traces that open-instruct saves: lines of token ids and logprobs without text, appended over the steps.

Source: `_save_rollouts` and `save_rollout_metadata` in `rl_utils.py`. The metadata beside them name the model, and so
the tokenizer.
"""

from typing import Any

from msgspec.structs import replace

from rolloupe import tokens
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.files import files, folder_of, links_of, plain_name, stem
from rolloupe.formats.reading.jsonl import JsonlFormat
from rolloupe.formats.reading.records import Record, References, Unusable, step_of
from rolloupe.formats.reading.trainer_files import records
from rolloupe.formats.token_texts import add_tokens, ids_of, own_tokenizer, series_of, texts_of
from rolloupe.model import Location, Locator, RunInfo, Sample, SampleRow, Source
from rolloupe.storage import is_file

METADATA = "_metadata.jsonl"
PROMPT, RESPONSE = "prompt_tokens", "response_tokens"

_TEXTS = ("prompt", "response")


class OpenInstruct(JsonlFormat):
    """Traces of open-instruct."""

    name = "open_instruct"
    title = "open-instruct"
    decodes_ids = True
    needed = frozenset((PROMPT, RESPONSE, "prompt_idx", "reward"))
    placed = frozenset((
        PROMPT, RESPONSE, *_TEXTS, "step", "sample_idx", "prompt_idx", "reward", "advantage", "finish_reason",
        "dataset", "ground_truth", "logprobs",
    ))  # fmt: skip
    series_keys = frozenset((PROMPT, RESPONSE, "logprobs"))

    def sources(self, run: RunInfo) -> list[Source]:
        """See `Format`: without the metadata, whose number is not a step."""
        found = (source for source in super().sources(run) if not plain_name(source.name).endswith(METADATA))
        return [replace(source, step=None) for source in found]

    def may_cut(self, key: str) -> bool:
        return key in self.series_keys

    def needs_length(self, key: str) -> bool:
        return key == "logprobs"

    def prepared(self, run: RunInfo, record: Record) -> Record:
        """See `RecordFormat`: with the texts of its ids."""
        prompt, response = ids_of(record.get(PROMPT)), ids_of(record.get(RESPONSE))
        texts = texts_of(run, [*prompt, *response], len(prompt))
        return record | dict(zip(_TEXTS, texts, strict=True))

    def row(self, source: Source, record: Record, start: int, length: int) -> SampleRow:
        if RESPONSE not in record:
            raise Unusable("a line without response_tokens is not a trace")
        prompt, response = (tokens.length(record.get(key)) or 0 for key in (PROMPT, RESPONSE))
        dataset, names = record.get("dataset"), parsers.MetricNames()
        dataset = dataset[0] if isinstance(dataset, list) and len(dataset) == 1 else dataset
        numbers = parsers.numbers(record.get("request_info"))
        return parsers.row_of(
            start,
            length,
            record["prompt"],
            record["response"],
            split="train",
            step=step_of(record.get("step")) or 0,
            group=parsers.name(record.get("prompt_idx")) or parsers.digest(record["prompt"]),
            index=f"{stem(source.name)}:{start}",
            reward=parsers.number(record.get("reward")),
            advantage=parsers.number(record.get("advantage")),
            status=parsers.status(record.get("finish_reason")),
            prompt_tokens=prompt,
            response_tokens=response,
            total_tokens=prompt + response,
            env=parsers.name(dataset) or "",
            metrics={names[key]: number for key, number in numbers.items()},
            has_series=bool(tokens.length(record.get("logprobs"))),
        )

    def references(self, record: Record) -> References:
        return References(parsers.as_text(record.get("ground_truth")), [])

    def sample(self, record: Record, row: SampleRow, locator: Locator) -> Sample:
        sample = super().sample(record, row, locator)
        logprobs = {"logprobs": record.get("logprobs")}
        sample.series, sample.notes = series_of(logprobs, row.total_tokens or 0, row.prompt_tokens)
        return sample

    def annotate(self, run: RunInfo, record: Record, sample: Sample) -> None:
        prompt, response = ids_of(record.get(PROMPT)), ids_of(record.get(RESPONSE))
        add_tokens(run, sample, [*prompt, *response], len(prompt), has_text=False)

    def config(self, run: RunInfo) -> dict[str, Any]:
        folder = folder_of(run)
        listed = files(folder, folder if is_file(run.root) else links_of(run), (METADATA,))
        return next((record for entry in listed for record in records(entry.location)), {})

    def tokenizers(self, run: RunInfo) -> list[Location | str]:
        name = self.config(run).get("model_name")
        return [*own_tokenizer(run), *([name] if isinstance(name, str) else [])]
