"""Where tests sleep in real time, and why. `tests/test_house.py` compares this list with the code.

What a test of the index, of a viewer or of the terminal waits for comes with an injected clock (`SteppedClock`).
"""

import re
from pathlib import Path

SLEEPING = re.compile(r"\bsleep\((?!0\))|\bwait_for_timeout\(")

PROCESS = "asks another process again until it has done something"
SLOW = "plays something slow: a disk, a server, a grader, a person"
GAP = "leaves a gap between two things whose order is what is tested"
NOTHING = "waits to see that nothing happens"

SLEEPS = {
    **dict.fromkeys(
        (
            "cli/test_over_ssh.py", "cli/test_tail.py", "cli/test_terminal.py", "forks.py", "index/support.py",
            "index/token_stats/test_pass.py", "index/test_recovery.py", "record/test_upload.py",
            "server/team/provider.py", "server/team/test_bounds.py", "server/team/test_deployment.py",
            "server/routes/test_events.py", "server/routes/test_run_tokens.py", "server/routes/test_search_ends.py",
            "server/test_waiting.py", "sshd.py", "storage/remote/others.py", "storage/remote/s3.py",
            "tui/support.py", "tui/test_exit_handler.py", "tui/test_snapshots.py", "tui/test_tmux.py",
        ),
        PROCESS,
    ),
    **dict.fromkeys(
        (
            "cli/test_doctor.py", "cli/test_rescore.py", "index/test_follow.py", "insight/rescore/test_process.py",
            "query/engine/test_time_limit.py", "query/run/test_group_doubts.py",
            "query/samples/test_joined_texts.py", "query/search/test_reports.py", "record/kills.py",
            "record/test_logtree.py", "server/process/test_serve.py", "server/process/test_slow_readers.py",
            "storage/remote/test_hostile.py", "storage/remote/test_hub.py", "test_rescore.py",
            "tui/test_screens.py",
        ),
        SLOW,
    ),
    **dict.fromkeys(
        (
            "formats/test_two_writers.py", "formats/tinker/test_tinker.py", "index/test_manifest.py",
            "index/test_run_scheduler.py", "server/team/test_process.py", "server/team/test_visible_runs.py",
            "storage/remote/test_changes.py",
        ),
        GAP,
    ),
    **dict.fromkeys(
        (
            "page/looks/test_first_sight.py", "page/looks/test_frame.py", "page/rollouts/test_page.py",
            "page/rollouts/test_reference.py",
        ),
        NOTHING,
    ),
}  # fmt: skip
"""By file."""


def sleeping_tests() -> set[str]:
    """Return the files of tests that sleep."""
    tests = Path(__file__).parent
    files = (path for path in tests.rglob("*.py") if path != Path(__file__) and "scale" not in path.parts)
    return {path.relative_to(tests).as_posix() for path in files if SLEEPING.search(path.read_text(encoding="utf-8"))}
