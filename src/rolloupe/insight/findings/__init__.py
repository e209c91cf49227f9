"""What the reward pays for in a run, with the samples that show it."""

from rolloupe.insight.findings.records import CLASSES, MEANINGS, Finding, Prevalence, ReadingList, RunFindings
from rolloupe.insight.findings.search import findings, version_of
