"""What crosses to the browser: the replies of the HTTP interface as typed records, a file for each subject.

The TypeScript types of the page are generated from these records (`rolloupe.server.typescript`), so a field is
named once. Numbers that JSON cannot carry travel as the strings "NaN", "Infinity" and "-Infinity", and integers past
2**53 as their digits: see `number`.
"""

from rolloupe.server.wire import (
    about,
    cache,
    evals,
    groups,
    lists,
    members,
    numbers,
    runs,
    sample,
    search,
    session,
    state,
    texts,
)
from rolloupe.server.wire.about import (
    AboutReply,
    CheckpointItem,
    FileItem,
    MetricNamesReply,
    ProblemItem,
    ProblemsReply,
    ReportNode,
    ReportReply,
    ReportSteps,
)
from rolloupe.server.wire.cache import CacheStats
from rolloupe.server.wire.evals import AnswerItem, CellReply, EvalItem, EvalsReply, EvalStepItem, GridReply, ProblemRow
from rolloupe.server.wire.groups import DiscardsReply, GroupItem, GroupsReply
from rolloupe.server.wire.lists import ColumnItem, ColumnsReply, CompleteReply, SampleItem, SamplesReply, SuggestionItem
from rolloupe.server.wire.members import MemberPiece, MembersReply, MemberText, SameReply, SameStep
from rolloupe.server.wire.numbers import SAFE_INTEGER, Number, number
from rolloupe.server.wire.runs import CurveReply, MetricRange, Note, Progress, RunItem, RunsReply, SplitItem, StepsReply
from rolloupe.server.wire.sample import (
    CallView,
    Fact,
    PartView,
    Reference,
    SampleReply,
    SeriesInfo,
    SourceInfo,
    TurnsReply,
    TurnView,
)
from rolloupe.server.wire.search import (
    SearchEvent,
    SearchHit,
    SearchHitsReply,
    SearchRequest,
    SnippetView,
    SpansReply,
    SpansRequest,
    TextSearch,
)
from rolloupe.server.wire.session import ErrorReply, Event, LoginReply, LoginRequest
from rolloupe.server.wire.state import (
    ConflictReply,
    MarkedReply,
    MarkedSample,
    RunMark,
    SampleMark,
    StateChange,
    StateItem,
    StateOwner,
    StateReply,
)
from rolloupe.server.wire.texts import FindReply, RawReply, Span, TextReply

PARTS = (numbers, runs, groups, evals, lists, sample, members, texts, about, search, cache, state, session)
"""The subjects, in the order in which the page has their types."""

__all__ = [
    "PARTS",
    "SAFE_INTEGER",
    "AboutReply",
    "AnswerItem",
    "CacheStats",
    "CallView",
    "CellReply",
    "CheckpointItem",
    "ColumnItem",
    "ColumnsReply",
    "CompleteReply",
    "ConflictReply",
    "CurveReply",
    "DiscardsReply",
    "ErrorReply",
    "EvalItem",
    "EvalStepItem",
    "EvalsReply",
    "Event",
    "Fact",
    "FileItem",
    "FindReply",
    "GridReply",
    "GroupItem",
    "GroupsReply",
    "LoginReply",
    "LoginRequest",
    "MarkedReply",
    "MarkedSample",
    "MemberPiece",
    "MemberText",
    "MembersReply",
    "MetricNamesReply",
    "MetricRange",
    "Note",
    "Number",
    "PartView",
    "ProblemItem",
    "ProblemRow",
    "ProblemsReply",
    "Progress",
    "RawReply",
    "Reference",
    "ReportNode",
    "ReportReply",
    "ReportSteps",
    "RunItem",
    "RunMark",
    "RunsReply",
    "SameReply",
    "SameStep",
    "SampleItem",
    "SampleMark",
    "SampleReply",
    "SamplesReply",
    "SearchEvent",
    "SearchHit",
    "SearchHitsReply",
    "SearchRequest",
    "SeriesInfo",
    "SnippetView",
    "SourceInfo",
    "Span",
    "SpansReply",
    "SpansRequest",
    "SplitItem",
    "StateChange",
    "StateItem",
    "StateOwner",
    "StateReply",
    "StepsReply",
    "SuggestionItem",
    "TextReply",
    "TextSearch",
    "TurnView",
    "TurnsReply",
    "number",
]
