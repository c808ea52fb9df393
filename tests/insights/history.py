"""Answers as runs leave them: a step with its report, its sample, and what people said of it."""

import datetime as dt
from typing import Any

from django.contrib.auth.models import User

from calibration import buckets, labels
from calibration.buckets import BucketKey
from runs.models import Step
from runs.trust.vector import CheckInput, GroundingInput, evaluate
from tests import factories
from tests.factories import NOW

STEP = "assess"


def key(**parts: str) -> BucketKey:
    return BucketKey(**{"step": STEP, "agent": "command:assess", "model": "m1", "provider": "p1", **parts})


def answer(
    bucket: BucketKey | None = None,
    confidence: float = 0.95,
    *,
    at: dt.datetime = NOW,
    stage: str = "production",
    shown: float | None = None,
    enforce: bool = False,
    check: bool | None = None,
    threshold: float = 0.75,
    marks: dict[User, str] | None = None,
    offered_by: str = "",
    is_replay: bool = False,
) -> Step:
    """One finished step. ``shown`` is its grounding score; ``marks`` what each person says of it."""
    bucket = bucket or key()
    run = factories.run(now=at, stage=stage)
    report = evaluate(
        self_report=confidence,
        grounding=None if shown is None else GroundingInput(enforce=enforce, score=shown, supported=1, total=2),
        checks=[] if check is None else [CheckInput(name="check", passed=check)],
        confidence_threshold=threshold,
        on_low_confidence="escalate",
    ).to_json()
    parts: dict[str, Any] = {name: getattr(bucket, name) for name in ("agent", "model", "provider", "prompt_hash")}
    step = factories.gated(run, report, bucket.step, agent_version=bucket.agent_version, **parts)
    buckets.record_sample(
        id=step.id,
        bucket_id=buckets.bucket_id(bucket),
        group=run.id,
        stage=stage,
        confidence=confidence,
        observed_at=at,
        check_failed=check is False,
        is_replay=is_replay,
    )
    for by, outcome in (marks or {}).items():
        labels.mark_sample(
            sample_id=step.id, by=by, outcome=outcome, now=at, was_blind=True, via="queue", offered_by=offered_by
        )
    return step


def answers(outcomes: str, confidence: float, *, by: User, bucket: BucketKey | None = None, **more: Any) -> list[Step]:
    """One answer per letter, marked correct, partial or incorrect: "ccpi"."""
    words = {"c": "correct", "p": "partial", "i": "incorrect"}
    return [answer(bucket, confidence, marks={by: words[letter]}, **more) for letter in outcomes]
