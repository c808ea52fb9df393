"""The record of many buckets at once, for pages and the API: two queries, however many buckets."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from calibration import binning, tallies
from calibration.bins import Bin, Sums, brier, ece, make_bins, total
from calibration.buckets import STAGES, BucketKey
from calibration.flags import Flag, flag
from calibration.models import Bucket

Stage = Literal["all", "production", "testing"]
SHOWN: Mapping[str, tuple[str, ...]] = {**STAGES, "testing": ("testing",)}
ADVICE = {
    "over": "raise the threshold, change the model, or add grounding.",
    "under": "the threshold may be lower, or let calibration be enforced.",
}


@dataclass(frozen=True)
class Summary:
    """One bucket's labelled samples (never replays).

    ``total_n`` is the number of labels, ``bins`` are all bins of [0, 1], ``flags`` the validated ones
    far from what they claim, the farthest first. ``ece`` and ``brier`` are None without any label.
    """

    bucket_id: int
    key: BucketKey
    total_n: int
    bins: list[Bin]
    ece: float | None
    brier: float | None
    by_step_mark: int
    by_failed_check: int
    by_run_mark: int
    recommendation: str | None
    flags: list[Flag]


def summaries(
    *,
    step: str | None = None,
    agent: str | None = None,
    bucket_ids: Collection[int] | None = None,
    bin_width: float,
    n_min: int,
    stage: Stage = "all",
) -> list[Summary]:
    """The buckets that match everything given, in order of step, agent and id; those without a label too.

    Raises ValueError for a width that does not divide 1 or an unknown stage.
    """
    bins = binning.bins_of(bin_width)
    if stage not in SHOWN:
        raise ValueError(f"stage: expected one of {', '.join(SHOWN)}, not {stage!r}")
    buckets = _buckets(step, agent, bucket_ids)
    everything = step is None and agent is None and bucket_ids is None
    ids = None if everything else [owner for owner, _ in buckets]
    sums = tallies.read(bucket_ids=ids, stages=SHOWN[stage], bins=bins)
    return [_summary(owner, key, sums.get(owner, {}), bin_width, n_min) for owner, key in buckets]


def _buckets(step: str | None, agent: str | None, bucket_ids: Collection[int] | None) -> list[tuple[int, BucketKey]]:
    rows = Bucket.objects.order_by("step", "agent", "id")
    if step is not None:
        rows = rows.filter(step=step)
    if agent is not None:
        rows = rows.filter(agent=agent)
    if bucket_ids is not None:
        rows = rows.filter(pk__in=bucket_ids)
    names = ("id", "step", "agent", "model", "provider", "prompt_hash", "agent_version")
    return [(row[0], BucketKey(*row[1:])) for row in rows.values_list(*names)]


def _summary(bucket_id: int, key: BucketKey, sums: Mapping[int, Sums], bin_width: float, n_min: int) -> Summary:
    bins = make_bins(sums, bin_width=bin_width, n_min=n_min)
    whole = total(sums.values())
    flags = sorted(filter(None, map(flag, bins)), key=lambda one: (-one.gap, one.lo))
    return Summary(
        bucket_id=bucket_id,
        key=key,
        total_n=whole.n,
        bins=bins,
        ece=ece(bins),
        brier=brier(whole),
        by_step_mark=whole.by_step_mark,
        by_failed_check=whole.by_failed_check,
        by_run_mark=whole.by_run_mark,
        recommendation=_recommend(flags),
        flags=flags,
    )


def _recommend(flags: list[Flag]) -> str | None:
    """What the farthest bin suggests; one that the interval supports goes before one it does not."""
    if not flags:
        return None
    worst = max(flags, key=lambda one: (one.supported, one.gap))
    return f"{worst.sentence.capitalize()}: {ADVICE[worst.direction]}"
