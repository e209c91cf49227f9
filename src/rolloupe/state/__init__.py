"""What a person adds: names, colours and notes of runs, bookmarks and notes on samples, layouts of pages, settings.

Owns one small SQLite database in the user's data directory. The index, which may be deleted at any time, is
separate, and looking at a run never needs the state. A change that cannot be stored is refused and may be tried again.
"""

from rolloupe.state.decisions import FindingAside, findings_aside, rules_off, set_finding_aside, switch_rule
from rolloupe.state.mark_lookup import LocatedMark, found, marks_of
from rolloupe.state.records import Change, Mark, Owner, RunMark, SampleMark, Written
from rolloupe.state.run_identity import Identity, identity_of
from rolloupe.state.scores import ScoreFiles, encoded, forget_scores, score_file
from rolloupe.state.store import NAME, State, default_folder

__all__ = [
    "NAME",
    "Change",
    "FindingAside",
    "Identity",
    "LocatedMark",
    "Mark",
    "Owner",
    "RunMark",
    "SampleMark",
    "ScoreFiles",
    "State",
    "Written",
    "default_folder",
    "encoded",
    "findings_aside",
    "forget_scores",
    "found",
    "identity_of",
    "marks_of",
    "rules_off",
    "score_file",
    "set_finding_aside",
    "switch_rule",
]
