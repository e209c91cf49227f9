"""What the server and the report send to a browser: typed records, one module for each subject.

`rolloupe.wire.typescript` generates the page's TypeScript types from these records, so each field is named once.
Numbers that JSON cannot represent become the strings "NaN", "Infinity" and "-Infinity", and integers past 2**53 their
digits: see `number`.
"""

from rolloupe.wire.records import (
    about,
    curves,
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
    tokens,
)
from rolloupe.wire.records.about import AboutReply as AboutReply
from rolloupe.wire.records.about import ProblemItem as ProblemItem
from rolloupe.wire.records.about import ProblemsReply as ProblemsReply
from rolloupe.wire.records.about import ReportNode as ReportNode
from rolloupe.wire.records.about import ReportReply as ReportReply
from rolloupe.wire.records.about import ReportSteps as ReportSteps
from rolloupe.wire.records.about import TrackerItem as TrackerItem
from rolloupe.wire.records.curves import AlarmItem as AlarmItem
from rolloupe.wire.records.curves import AlarmsReply as AlarmsReply
from rolloupe.wire.records.curves import CatalogueEntry as CatalogueEntry
from rolloupe.wire.records.curves import CatalogueReply as CatalogueReply
from rolloupe.wire.records.curves import CurveData as CurveData
from rolloupe.wire.records.curves import CurveGroup as CurveGroup
from rolloupe.wire.records.curves import CurvesReply as CurvesReply
from rolloupe.wire.records.curves import CurvesRequest as CurvesRequest
from rolloupe.wire.records.curves import DistributionReply as DistributionReply
from rolloupe.wire.records.curves import RunMetricItem as RunMetricItem
from rolloupe.wire.records.curves import RunMetricsReply as RunMetricsReply
from rolloupe.wire.records.curves import RunMetricsRequest as RunMetricsRequest
from rolloupe.wire.records.curves import RunsCatalogueReply as RunsCatalogueReply
from rolloupe.wire.records.groups import GroupItem as GroupItem
from rolloupe.wire.records.groups import GroupsReply as GroupsReply
from rolloupe.wire.records.lists import SamplesReply as SamplesReply
from rolloupe.wire.records.members import MemberPiece as MemberPiece
from rolloupe.wire.records.members import MembersReply as MembersReply
from rolloupe.wire.records.members import MemberText as MemberText
from rolloupe.wire.records.members import SharedPromptItem as SharedPromptItem
from rolloupe.wire.records.members import SharedPromptsReply as SharedPromptsReply
from rolloupe.wire.records.numbers import SAFE_INTEGER as SAFE_INTEGER
from rolloupe.wire.records.numbers import Number as Number
from rolloupe.wire.records.numbers import number as number
from rolloupe.wire.records.runs import ConfigItem as ConfigItem
from rolloupe.wire.records.runs import ConfigsReply as ConfigsReply
from rolloupe.wire.records.runs import MetricRange as MetricRange
from rolloupe.wire.records.runs import NoteView as NoteView
from rolloupe.wire.records.runs import RunItem as RunItem
from rolloupe.wire.records.runs import RunsReply as RunsReply
from rolloupe.wire.records.runs import SplitItem as SplitItem
from rolloupe.wire.records.runs import StepsReply as StepsReply
from rolloupe.wire.records.sample import Fact as Fact
from rolloupe.wire.records.sample import PartView as PartView
from rolloupe.wire.records.sample import Reference as Reference
from rolloupe.wire.records.sample import SampleReply as SampleReply
from rolloupe.wire.records.sample import SeriesInfo as SeriesInfo
from rolloupe.wire.records.sample import SourceInfo as SourceInfo
from rolloupe.wire.records.sample import TurnsReply as TurnsReply
from rolloupe.wire.records.sample import TurnView as TurnView
from rolloupe.wire.records.search import SearchEvent as SearchEvent
from rolloupe.wire.records.search import SearchHit as SearchHit
from rolloupe.wire.records.search import SearchHitsReply as SearchHitsReply
from rolloupe.wire.records.search import SearchRequest as SearchRequest
from rolloupe.wire.records.search import SpansReply as SpansReply
from rolloupe.wire.records.search import SpansRequest as SpansRequest
from rolloupe.wire.records.search import StepFound as StepFound
from rolloupe.wire.records.search import TranscriptHit as TranscriptHit
from rolloupe.wire.records.session import CacheStats as CacheStats
from rolloupe.wire.records.session import ErrorReply as ErrorReply
from rolloupe.wire.records.session import Event as Event
from rolloupe.wire.records.session import LoginReply as LoginReply
from rolloupe.wire.records.session import LoginRequest as LoginRequest
from rolloupe.wire.records.session import TicketReply as TicketReply
from rolloupe.wire.records.session import TicketRequest as TicketRequest
from rolloupe.wire.records.state import ConflictReply as ConflictReply
from rolloupe.wire.records.state import MarkedReply as MarkedReply
from rolloupe.wire.records.state import MarkedSample as MarkedSample
from rolloupe.wire.records.state import StateChange as StateChange
from rolloupe.wire.records.state import StateItem as StateItem
from rolloupe.wire.records.state import StateOwner as StateOwner
from rolloupe.wire.records.state import StateReply as StateReply
from rolloupe.wire.records.texts import FindReply as FindReply
from rolloupe.wire.records.texts import RawReply as RawReply
from rolloupe.wire.records.texts import Span as Span
from rolloupe.wire.records.texts import TextReply as TextReply
from rolloupe.wire.records.tokens import MaskRuleInfo as MaskRuleInfo
from rolloupe.wire.records.tokens import SampleDifference as SampleDifference
from rolloupe.wire.records.tokens import SampleUpdate as SampleUpdate
from rolloupe.wire.records.tokens import TokenArray as TokenArray
from rolloupe.wire.records.tokens import TokensHeader as TokensHeader
from rolloupe.wire.records.tokens import TopLogprobsReply as TopLogprobsReply
from rolloupe.wire.records.tokens import UpdatePush as UpdatePush
from rolloupe.wire.records.tokens import UpdateReply as UpdateReply
from rolloupe.wire.records.tokens import UpdateRuleInfo as UpdateRuleInfo

PARTS = (
    numbers,
    runs,
    curves,
    groups,
    lists,
    sample,
    members,
    texts,
    tokens,
    about,
    search,
    state,
    session,
)
"""The subjects, in the order of the page's types."""
