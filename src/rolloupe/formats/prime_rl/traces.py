"""prime-rl from September 2026: `monitors/file/traces/`, a stream of episodes and their later annotations.

Source: prime-rl #3444, #3465, #3525. The trainer writes an episode once, on arrival; annotations add advantages, the
step in which it was shipped, and the trainer's numbers. The index joins the annotations of a whole trace or branch;
values per token are folded in when a sample is read.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import msgspec

from rolloupe import model
from rolloupe.formats.base import Annotations
from rolloupe.formats.prime_rl import episodes
from rolloupe.formats.reading import files, jsonl, line_reader, peek
from rolloupe.formats.reading import trainer_files as trainer
from rolloupe.formats.reading import value_parsers as parsers
from rolloupe.formats.reading.records import Record, Unusable, step_of
from rolloupe.formats.reading.value_parsers import as_dict, as_list
from rolloupe.storage import is_file, is_folder
from rolloupe.tokens import SampleTokens, tokens_of

MONITORS = "monitors/file"
TRACES = "traces"
STREAM = "stream"
ANNOTATIONS = "annotations"
MAX_TEXT_CHARS = 64 * 2**20
"""The most text of one line: its branches share text that the line stores once."""

MAX_METRICS = 1_000
"""Maximum number of sample metrics of a trace: each of its branches has them."""

_QUIET = {"nodes", "version", "is_completed", "ok", "is_timeout", "mm_token_type_id_map"}
_NOT_LOGGED = {"message", "token_ids", "mask", "is_content", "sampled", "parent", *episodes.COMPACT}


class PrimeRLTraces(jsonl.JsonlFormat):
    """Trace streams of prime-rl."""

    name = "prime_rl_traces"
    title = "prime-rl trace streams"
    series_are_annotated = True

    def detect(self, path: Path, *, forced: bool = False, link_root: str = "") -> list[model.RunInfo]:
        links = link_root or str(path.resolve())
        if files.is_one_file(path):
            named = path.parent.name == STREAM or files.stem(path.name) == STREAM
            fits = forced or (named and _fits([peek.look(files.alone(path))]))
            return [self._run(path, path, "one file, rows have traces", "")] if fits else []
        for folder in (path / MONITORS / TRACES, path):
            chunks = _stream_files(str(folder), links)
            placed = folder != path or (folder.name == TRACES and is_folder(folder / ANNOTATIONS))
            if chunks and (forced or placed or _fits(peek.first_looks([entry.location for entry in chunks]).values())):
                number = f"{files.counted(chunks, 'chunk')} of a stream of episodes"
                return [self._run(path, folder, number, links)]
        is_forced = forced and files.files(str(path), links)
        return [self._run(path, path, "read as --format says", links)] if is_forced else []

    def _run(self, root: Path, part: Path, reason: str, links: str) -> model.RunInfo:
        folder = root if is_folder(root) else root.parent
        name = files.telling_name(folder, (TRACES, STREAM, "monitors", "file"))
        return self._run_at(root, reason, links, name, (model.RunPart(os.path.realpath(part)),))

    def sources(self, run: model.RunInfo) -> list[model.Source]:
        """Episodes determine the split, not `Source.split`."""
        links = files.links_of(run)
        sources = []
        for part in run.parts:
            if is_file(part.path):
                sources.append(files.source_at(run, model.Location(part.path, links)))
                continue
            listed = _stream_files(part.path, links) or files.files(part.path, links)
            sources += [model.Source(path=e.path, name=os.path.relpath(e.path, part.path), root=e.root) for e in listed]
        if (folder := _annotation_folder(run)) is not None:
            around = os.path.dirname(folder)
            for stream in episodes.streams(folder, links):
                sources += [
                    model.Source(path=e.path, name=os.path.relpath(e.path, around), root=e.root, annotates=True)
                    for _, e in sorted(stream.chunks.items())
                ]
        return sources

    def rows(self, source: model.Source, record: Record, start: int, length: int) -> list[model.Scanned]:
        if source.annotates:
            return [*_annotations(record, start, length)]
        if "traces" not in record:
            raise Unusable("an object without traces is not a sample")
        branches, is_cut = episodes.branches_of(record)
        rows: list[model.Scanned] = []
        chars, of_trace = (
            0,
            model.SampleRow(split="", step=0, group="", index="", ordinal=start, start=start, length=length),
        )
        for branch in branches:
            if not branch.number:
                of_trace = _row_of_trace(record, branch.trace, start, length)
            row = _row(source, branch, of_trace)
            chars += len(row.prompt) + len(row.response)
            if rows and chars > MAX_TEXT_CHARS:
                is_cut = True
                break
            rows.append(row)
        if is_cut:
            reason = f"more branches in this episode than are listed: {len(rows)} are"
            rows.append(model.Problem(source=source.name, reason=reason, start=start, stop=start + length))
        return rows

    def sample(self, record: Record, row: model.SampleRow, locator: model.Locator) -> model.Sample:
        branch = _branch(record, row.part)
        turns: list[model.Turn] = []
        for of_node, node in zip(episodes.turns_of(branch), branch.members, strict=True):
            of_node[0].logs |= {k: parsers.showable(v) for k, v in node.record.items() if k not in _NOT_LOGGED and v}
            turns += of_node
        of_episode = _filled(record, {"traces"})
        repeated = {"task"} if branch.trace.get("task") == record.get("task") else set[str]()
        of_trace = _filled(branch.trace, _QUIET | repeated)
        return parsers.sample_with(
            row,
            locator,
            turns,
            label=parsers.as_text(as_dict(as_dict(branch.trace.get("task")).get("data")).get("answer")),
            token_ids=[value for node in branch.members for value in node.ids],
            series=episodes.series_of(branch, {}),
            extra={key: value for key, value in (("episode", of_episode), ("trace", of_trace)) if value},
            notes=[*episodes.notes_of(branch), *_notes(record, branch)],
        )

    def annotate(self, run: model.RunInfo, record: Record, sample: model.Sample) -> None:
        trace_id, folder = sample.row.trace_id, _annotation_folder(run)
        if trace_id and folder is not None:
            records, notes = episodes.annotations_of(episodes.streams(folder, files.links_of(run)), trace_id)
            self._fold(record, sample, records)
            sample.notes += notes

    def reading_tokens(
        self, run: model.RunInfo, source: model.Source, annotations: Annotations
    ) -> Callable[[bytes, model.Locator], SampleTokens]:
        lines = self.lines_at(run, chain.from_iterable(annotations.values()))
        newer = {place: line_reader.parse(data) for place, data in lines.items()}

        def read(data: bytes, place: model.Locator) -> SampleTokens:
            record, row = self._parsed(run, source, data, place)
            sample = self.sample(record, row, place)
            if noted := [newer[note] for note in dict.fromkeys(annotations.get(place, ())) if note in newer]:
                self._fold(record, sample, noted)
            return tokens_of(sample)

        return read

    def _fold(self, record: Record, sample: model.Sample, records: Sequence[Record]) -> None:
        branch = _branch(record, sample.row.part)
        paths = [other.path for other in episodes.branches_of(record)[0] if other.trace is branch.trace]
        sample.series = episodes.series_of(branch, episodes.folded(branch.nodes, paths, records))
        info = episodes.merged_info([{"info": branch.trace.get("info")}, *records])
        _inform(sample.row, info)
        for branch_record in (as_dict(note) for record in records for note in as_list(record.get("branches"))):
            if parsers.count(branch_record.get("index")) == branch.number:
                sample.row.metrics = sample.row.metrics | episodes.metrics_of(branch_record)
        if info:
            sample.extra["info"] = parsers.showable(info)
        shipped = parsers.integer(as_dict(info.get("ship")).get("step"))
        if shipped is not None and shipped != sample.row.step:
            listed = f"listed under step {sample.row.step} that it was generated for"
            sample.notes.append(f"shipped in step {shipped}, {listed}")

    def metrics(self, run: model.RunInfo) -> list[model.MetricRow]:
        rows = trainer.metrics_of(_metrics_file(run))
        for row in rows:
            row.values.pop("time", None)
        return rows

    def trainer_files(self, run: model.RunInfo) -> list[model.Source]:
        return trainer.json_sources(run.root, [_metrics_file(run)])


def _metrics_file(run: model.RunInfo) -> model.Location | None:
    return files.file_of(str(Path(run.root, MONITORS)), "metrics.jsonl", files.links_of(run))


def _stream_files(folder: str, link_root: str) -> list[files.FolderEntry]:
    """List the chunks of a stream in order; the first release had a single file."""
    chunks = [
        entry for entry in files.files(str(Path(folder, STREAM)), link_root) if files.stem(entry.name).isdecimal()
    ]
    plain = [entry for entry in files.files(folder, link_root) if files.stem(entry.name) == STREAM]
    return plain + sorted(chunks, key=lambda entry: int(files.stem(entry.name)))


def _annotation_folder(run: model.RunInfo) -> str | None:
    """Return the folder of annotations beside the stream, whichever folder of the layout was opened."""
    part = Path(run.parts[0].path)
    around = next((folder for folder in (part, *part.parents[:2]) if folder.name == TRACES), None)
    return None if around is None else str(around / ANNOTATIONS)


def _fits(looks: Iterable[peek.Peek]) -> bool:
    return any(episodes.is_episode(record) for seen in looks for record in seen.objects)


def _branch(record: Record, part: str) -> episodes.Branch:
    return next(branch for branch in episodes.branches_of(record)[0] if branch.part == part)


def _row_of_trace(episode: Record, trace: Record, start: int, length: int) -> model.SampleRow:
    """The fields that all branches of a trace share; metrics and tags are not copied."""
    status, status_raw = episodes.status_of(episode, trace)
    env = episode.get("env")
    env = (parsers.first(env, ("name", "id"), parsers.name) if isinstance(env, dict) else parsers.name(env)) or ""
    reward, parts = episodes.reward_of(trace)
    run = as_dict(episode.get("run"))
    work = as_dict(run.get("work"))
    kind = as_dict(trace.get("info")).get("kind") or work.get("type") or run.get("type")
    tags = {
        "agent": as_dict(trace.get("agent")).get("name"),
        "task": as_dict(trace.get("task")).get("key"),
        "episode": episode.get("id"),
        "run": run.get("id"),
    }
    row = model.SampleRow(
        split=f"eval/{env or 'default'}" if kind == "eval" else "train",
        step=step_of(work.get("step")) or 0,
        group=parsers.name(as_dict(episode.get("group")).get("id")) or "",
        index="",
        ordinal=start,
        start=start,
        length=length,
        reward=reward,
        status=status,
        status_raw=status_raw,
        env=env,
        metrics=parts | _metrics(trace, as_dict(work.get("policy"))),
        tags=parsers.tags(tags),
    )
    _inform(row, as_dict(trace.get("info")))
    row.metrics = dict(islice(row.metrics.items(), MAX_METRICS))
    return row


def _row(source: model.Source, branch: episodes.Branch, of_trace: model.SampleRow) -> model.SampleRow:
    prompt, response = episodes.texts_of(branch)
    prompt_tokens, response_tokens, total_tokens = episodes.counts_of(branch)
    return msgspec.structs.replace(
        of_trace,
        group=of_trace.group or parsers.digest(prompt),
        index=branch.uid or f"{files.stem(source.name)}:{of_trace.start}:{branch.part}",
        part=branch.part,
        turns=max(1, sum(node.is_sampled for node in branch.members)),
        prompt_tokens=prompt_tokens,
        response_tokens=response_tokens,
        total_tokens=total_tokens,
        uid=branch.uid,
        trace_id=parsers.name(branch.trace.get("id")) or "",
        prompt=prompt,
        response=response,
        messages=episodes.answers_of(branch),
    )


def _metrics(trace: Record, policy: Record) -> dict[str, float]:
    times = parsers.numbers(as_dict(trace.get("timing")).get("agent"))
    named = as_dict(trace.get("metrics")) | {key: trace.get(key) for key in ("num_input_tokens", "num_output_tokens")}
    named |= {f"policy.{key}": policy.get(key) for key in ("start", "end")}
    if times.get("start") and times.get("end"):
        named["duration_s"] = times["end"] - times["start"]
    return parsers.numbers(named)


def _inform(row: model.SampleRow, info: Record) -> None:
    annotation = _annotation(row.trace_id, row.start, row.length, info)
    row.advantage = row.advantage if annotation.advantage is None else annotation.advantage
    row.discarded = row.discarded if annotation.discarded is None else annotation.discarded
    row.metrics = row.metrics | annotation.metrics  # a new dict: branches share the old one


def _annotations(record: Record, start: int, length: int) -> Iterator[model.Annotation]:
    trace_id = parsers.name(record.get("trace_id"))
    if trace_id is None:
        raise Unusable("an annotation without trace_id")
    yield _annotation(trace_id, start, length, as_dict(record.get("info")))
    for branch in map(as_dict, as_list(record.get("branches"))[: episodes.MAX_BRANCHES]):
        number, metrics = parsers.count(branch.get("index")), episodes.metrics_of(branch)
        if number is not None and metrics:
            yield model.Annotation(uid=f"{trace_id}:{number}", start=start, length=length, metrics=metrics)


def _annotation(trace_id: str, start: int, length: int, info: Record) -> model.Annotation:
    """Return the annotations of a trace as a whole: its advantage, whether it was trained on, and numbers."""
    effective = info.get("effective")
    others = {key: value for key, value in info.items() if key not in ("advantage", "effective")}
    return model.Annotation(
        uid=trace_id,
        start=start,
        length=length,
        advantage=parsers.number(info.get("advantage")),
        discarded=("" if effective else "not effective") if isinstance(effective, bool) else None,
        metrics=parsers.numbers(others | {"ship.step": as_dict(info.get("ship")).get("step")}),
    )


def _filled(record: Record, without: set[str]) -> Record:
    return {k: parsers.showable(v) for k, v in record.items() if k not in without and v not in ({}, [], None)}


def _notes(episode: Record, branch: episodes.Branch) -> list[str]:
    """Return the messages of errors, and notes on what is left out."""
    errors = as_list(branch.trace.get("errors")) or as_list(episode.get("errors"))
    notes = [
        f"error: {parsers.as_text(error.get('type'))[:200]}: {parsers.as_text(error.get('message'))[:2000]}"
        for error in map(as_dict, errors[-3:])
    ]
    if not branch.trace:
        notes.append("an episode without traces")
    elif len(as_list(branch.trace.get("nodes"))) > episodes.MAX_NODES:
        notes.append(f"more than {episodes.MAX_NODES} messages: the rest of the trace is left out")
    if sum(len(as_dict(branch.trace.get(key))) for key in ("rewards", "metrics", "info")) > MAX_METRICS:
        notes.append(f"more than {MAX_METRICS} numbers: the others appear only in the extra fields")
    return notes
