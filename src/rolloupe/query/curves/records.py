"""Records of curves: `CurveQuery`, `Curve`, and the words that a query may use."""

from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

MOMENTS = ("mean", "std", "min", "max", "count")

STATS: dict[str, tuple[str, ...]] = {
    "sample": (*MOMENTS, "p5", "p25", "median", "p75", "p95"),
    "token": MOMENTS,
    "trainer": ("value",),
    "eval": ("score", "correct", "pass_at", "pass_all", "prompts", "samples"),
    "share": ("share", "count"),
    "group": ("share", "count"),
    "mask": ("update_lost", "masked", "high", "low"),
    "outcome": ("value",),
    "correlation": ("value",),
    "samples": ("count",),
    "elapsed": ("value",),
    "cumulative": ("value",),
}
"""The statistics of each kind of curve; the first is the default."""

BANDS = {"p5-p95": ("p5", "p95"), "p25-p75": ("p25", "p75")}
"""The bands of quantiles around a curve: their lower and upper ends."""


class CurveOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options that some curves need beside a name."""

    spread: bool = False
    """For a mean: also return the standard deviation of each point."""
    smooth: int = 0
    """Span, in steps, of a bias-corrected moving average; 0 turns it off. -1 is usual: a tenth of the points, from 5 to
    50, or 0 below 30 points."""
    threshold: float | None = None
    """For an evaluation: the minimum value of a correct answer; None takes the run's own."""
    k: int = 1
    """For an evaluation: the k of pass@k and pass^k."""
    reason: str = ""
    """For the share `discarded`: count this reason only."""
    skip_first: bool = False
    """Leave out the first step of the curve."""
    outliers: float = 0.0
    """Leave out values that lie beyond the quartiles by more than this many times their distance (Tukey's rule, usually
    1.5), except those at the beginning, where a run learns; 0 keeps all."""
    from_zero: bool = False
    """Subtract the first finite value of the curve from all values."""
    last_step: int | None = None
    """Leave out the steps after this one."""
    where: str = ""
    """A filter: only samples that match it count. Curves of tokens and of the trainer have no samples to filter."""
    band: str = ""
    """For a sample metric: also return two quantiles of each step, one of `BANDS`."""
    x_min: float | None = None
    """Return only points from this x on, and the one before it, so that a line enters the range where it does."""
    x_max: float | None = None
    """Return only points up to this x, and the one after it."""


class CurveQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One curve of a run.

    `kind` decides the meaning of `name`:

    - `sample`: a numeric column or sample metric, over the samples that were trained on;
    - `token`: a token series, over the tokens of a step;
    - `trainer`: a metric that the trainer logged;
    - `eval`: the metric that grades an evaluation, or empty for the metric that the run suggests;
    - `share`: `discarded`, or a status such as `truncated`, as a share of all samples of a step; `zero_advantage`, as a
      share of the trained samples with an advantage;
    - `mask`: a rule that masks or clips tokens, such as `ppo`, or `recorded` for the trainer's own flags: the share of
      the update of the recorded tokens that is lost to it, or of these tokens;
    - `group`: `all_best`, `all_worst`, `without_spread` or `mixed`, as a share of the groups with several rewards;
    - `outcome`: `length_right` and `length_wrong`, mean response tokens, or `right` and `wrong`, numbers of answers;
    - `correlation`: a numeric column or sample metric; Pearson's r of it and the reward, over the same samples;
    - `samples`: the number of samples; its name is empty;
    - `elapsed`: seconds since the first point with a time that the trainer logged; its name is empty;
    - `cumulative`: the sum of a numeric column over the trained samples of a step and of all steps before it.
    """

    kind: str
    name: str = ""
    source: str = ""
    """The split, `eval` for all evaluations together; empty for the first split. Trainer metrics have none."""
    stat: str = ""
    """One of `STATS`; empty for the default."""
    options: CurveOptions = CurveOptions()
    x: "CurveQuery | None" = None
    """The curve whose value at a step is the x of the point, without its smoothing and cuts; None: x is the step."""


class Curve(NamedTuple):
    """The points of a curve in ascending order of step. `values`, `spread` and `smooth` are as long as `steps`.

    A step without a value has no point; NaN and the infinities are values that the data holds.
    """

    query: CurveQuery
    steps: Ints
    values: Floats
    spread: Floats | None = None
    """Standard deviations, if the query asks for them and the curve has them."""
    low: Floats | None = None
    """The lower ends of the band of quantiles, if the query asks for one and the curve has it."""
    high: Floats | None = None
    smooth: Floats | None = None
    points: int = 0
    """Number of points; `steps` may hold fewer."""
    left_out: int = 0
    """Number of outliers left out of the whole curve; they are not among the points."""
    reach: tuple[float, float] | None = None
    """If outliers are left out of a whole curve: the least and the greatest x with them."""
    x: Floats | None = None
    """The x of each point, if the query asks for another than the step. It may fall, or be the same for several."""
    without_x: int = 0
    """Number of points in the range that are left out because their step has no finite x."""
    x_start_s: float | None = None
    """For elapsed time: when it begins, in seconds since 1970."""
    with_value: Ints | None = None
    """For a sample metric or token series: how many of the `samples` of each point have a value; None if all have one,
    or if nobody counted them."""
    samples: Ints | None = None
    """The number of trained samples of each step, where `with_value` is not None."""
