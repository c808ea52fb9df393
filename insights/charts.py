"""What the charts of a step are drawn from; a static script draws them."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from calibration.summary import Summary
from insights import strip
from insights.said_shown import Comparison, running_means
from runs.views.zone import wall


def reliability(summary: Summary, urls: Sequence[str]) -> list[dict[str, Any]]:
    """One point per bin, null where it is empty, with the address of the answers behind it."""
    return [
        {
            "range": strip.percent_range(one.lo, one.hi),
            "middle": (one.lo + one.hi) / 2,
            "n": one.n,
            "said": one.mean_confidence,
            "right": one.mean_label,
            "interval": one.interval,
            "kind": strip.kind_of(one),
            "words": strip.WORDS[strip.kind_of(one)],
            "url": url,
        }
        for one, url in zip(summary.bins, urls, strict=True)
    ]


def said_against_shown(comparison: Comparison) -> dict[str, Any]:
    """Each answer, and the running means of both numbers."""
    answers = comparison.answers
    # Looked up once for all: looking up the address of each of 400 runs takes longer than the rest of the page.
    some_run = uuid.UUID(int=0)
    address = reverse("ui-run", args=[some_run])
    return {
        "answers": [
            {
                "at": wall(one.at),
                "said": one.said,
                "shown": one.shown,
                "wide": one.wide,
                "capped": one.would_be_capped,
                "url": f"{address.replace(str(some_run), str(one.run_id))}#step-{one.step_id}",
            }
            for one in answers
        ],
        "saidMeans": running_means([one.said for one in answers]),
        "shownMeans": running_means([one.shown for one in answers]),
    }
