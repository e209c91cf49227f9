"""What looks as if the rewards of a run were none: text in their place, or numbers that count the rows."""

from rolloupe.errors import RolloupeError
from rolloupe.formats.reading.fields import REWARDS
from rolloupe.index import OpenRun
from rolloupe.query.engine import database
from rolloupe.query.engine.database import Question
from rolloupe.query.engine.names import has_column
from rolloupe.query.filter.parser import conditions
from rolloupe.query.records import SampleQuery
from rolloupe.query.samples.pages import samples

LEAST_ROWS = 5
"""So many rows of a file whose rewards count up are no chance."""
COUNTS = """
SELECT count(*), count(DISTINCT reward), min(reward), max(reward) FROM base GROUP BY source LIMIT 1000
"""


def text_rewards(run: OpenRun) -> list[str]:
    """Return the tags of a run under a usual name of a reward."""
    return [name for name in (f"tag.{one}" for one in REWARDS) if has_column(run, name)]


def reward_doubts(run: OpenRun) -> list[str]:
    """What looks as if rewards were none, where only a person can tell what the score is: a sentence each."""
    if not run.wait(0):
        return []
    try:
        return [one for one in (*(_of_text(run, name) for name in text_rewards(run)), _counter(run)) if one]
    except RolloupeError:  # the index is being rebuilt
        return []


def _of_text(run: OpenRun, name: str) -> str:
    """What to say of samples with a text in place of their reward; empty for none."""
    query = SampleQuery(where=conditions(f"reward is null and not {name} is null"), limit=1)
    page = samples(run, query, columns=[name])
    if not page.total:
        return ""
    (first,) = page.samples
    many = "1 sample has" if page.total == 1 else f"{page.total:,} samples have"
    return f"{many} a text in place of a reward, which is no number; the first is “{first.values[0]}”"


def _counter(run: OpenRun) -> str:
    """What to say of rewards that a field map took from what counts the rows of each file; empty for others."""
    key = dict(run.info.reading.fields).get("reward")
    rows = [*database.ask(run, Question(run.snapshot().holding(), COUNTS))] if key else []
    is_counter = bool(rows) and all(
        rows_of_file == different >= LEAST_ROWS and low in (0, 1) and high == low + different - 1
        for rows_of_file, different, low, high in rows
    )
    what = f"the rewards count the rows of each file, as `{key}` says: a counter is no score"
    return f"{what}. Next: name another key with --map reward=KEY" if is_counter else ""
