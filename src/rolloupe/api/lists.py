"""The samples of a run: lists of them, and texts looked for in them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rolloupe.api.arguments import Where, at_most, key_of, pointed, pointing, sample_query, within
from rolloupe.api.results import Samples
from rolloupe.api.runs_base import Asked
from rolloupe.api.search import Hits
from rolloupe.errors import BadQuery
from rolloupe.model import SampleKey

if TYPE_CHECKING:
    import pyarrow as pa

    from rolloupe.query import SampleQuery
    from rolloupe.query.search import RolePlace


class OfSamples(Asked):
    """What a run answers of many samples."""

    def samples(
        self,
        query: "SampleQuery | None" = None,
        *,
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
        group: str | None = None,
        trained: bool | None = None,
        where: "Where" = (),
        sort: str = "index",
        descending: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> Samples:
        """The samples of a query one after another, fetched as they are asked for: all of the run unless narrowed.

        Args:
            query: the whole question as a record; the other arguments are then left out.
            split: one split, or `eval` for every `eval/...`; every split without it.
            step: one step.
            steps: first and last step, both included; None leaves that end open.
            group: one group.
            trained: only what was trained on, or (False) only what was discarded; both without it.
            where: a filter, such as `"reward < 0.1 and (status = truncated or turns > 3)"`, or a list of `Condition`
                and others of `rolloupe.query`, all of which must be fulfilled.
            sort: `index`, or a name of `columns()`. What has no value comes last either way.
            descending: the other way round.
            offset: so many are passed over.
            limit: so many at most.

        Raises `BadQuery` where a condition cannot be read or a column does not exist.
        """
        from rolloupe import query as queries
        from rolloupe.api.items import ListedSample

        asked = sample_query(
            split=split, step=step, steps=steps, group=group, trained=trained, where=where,
            sort=sort, descending=descending, offset=offset, limit=limit,
        )  # fmt: skip
        if query is not None and asked != queries.SampleQuery():
            raise BadQuery("samples() takes a SampleQuery or single arguments, not both: put them into the query")
        run, wanted = self._ready(), query or asked

        def table(limit: int | None) -> "pa.Table":
            with pointing(where):
                return queries.table(run, wanted if limit is None else at_most(wanted, limit))

        def total() -> int:
            with pointing(where):
                return within(wanted, queries.samples(run, at_most(wanted, 0)).total)

        return Samples(map(ListedSample._make, pointed(where, queries.every(run, wanted))), table, total)

    def search(
        self,
        text: str,
        *,
        regex: bool = False,
        case: bool = False,
        word: bool = False,
        roles: Sequence[str] = (),
        split: str | None = None,
        step: int | None = None,
        steps: tuple[int | None, int | None] | None = None,
        group: str | None = None,
        where: "Where" = (),
        limit: int | None = None,
    ) -> Hits:
        """The samples whose prompts or responses hold a text, newest step first, as they are found.

        A hit has `sample`, `snippets` (`pieces` are in turn context and hit) and `more`; `.progress` says how far the
        search has come, and its `found` how many there are. Behind the last hit `.transcripts` are the conversations
        that a trainer logged, that no sample shows, and that hold the text: `split`, `step`, `title`, `snippets`,
        `more`, and `at`, as `conversations` has it. None where certain samples are asked for, by `group` or `where`.

        Args:
            text: what is looked for.
            regex: it is a regular expression, in RE2's syntax.
            case: capitals and small letters differ.
            word: only where it does not stand within a longer word.
            roles: of `prompt`, `response`, `system`, `user`, `assistant`, `tool`; prompts and responses without them.
            split: one split; every split without it.
            step: one step.
            steps: first and last step, both included; None leaves that end open.
            group: one group.
            where: conditions on the samples that are searched, as for `samples`.
            limit: so many are listed at most; all are counted.

        Raises `BadQuery` for an expression that cannot be read.
        """
        from rolloupe.query import search as searching

        asked = sample_query(split=split, step=step, steps=steps, group=group, where=where)
        wanted = searching.TextQuery(text=text, regex=regex, case=case, word=word, roles=tuple(roles))
        with pointing(where):
            return Hits(searching.search(self._ready(), wanted, asked, limit=limit))

    def spans(
        self,
        id: str | SampleKey,
        text: str,
        *,
        regex: bool = False,
        case: bool = False,
        word: bool = False,
        roles: Sequence[str] = (),
    ) -> "list[RolePlace]":
        """Where a text stands in a sample: `turn`, `part`, `field` and `start`, `stop` in code points; 5,000 at most.

        `run.sample(ID).turns[turn].parts[part].text[start:stop]` is what was found; with `field` `arguments` it is of
        `.call.arguments`. Raises as `sample` and `search`.
        """
        from rolloupe.query import search as searching

        wanted = searching.TextQuery(text=text, regex=regex, case=case, word=word, roles=tuple(roles))
        return searching.marked(self._ready(), key_of(id), wanted)[0]

    def total(self, query: "SampleQuery") -> int:
        """How many samples a query has, its limit and offset aside."""
        from msgspec.structs import replace

        from rolloupe import query as queries

        return queries.samples(self._ready(), replace(query, offset=0, limit=0)).total
