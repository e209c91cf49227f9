"""What the reward pays for in a run, with the samples that show it."""

from rolloupe.insight.findings.search import findings, version_of
from rolloupe.insight.findings.trend import CLASSES, MEANINGS, Finding, Prevalence, ReadingList, RunFindings
