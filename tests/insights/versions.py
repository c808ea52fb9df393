"""Histories for tests: versions in the registry, and labelled answers under them."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from calibration import buckets
from calibration.buckets import BucketKey
from calibration.labels import mark_sample
from calibration.models import AgentVersion, PromptVersion, Via
from tests.calibration.factories import NOW, person

STEP, AGENT = "triage", "gateway:sre"


def key(**parts: str) -> BucketKey:
    given = {"step": STEP, "agent": AGENT, "model": "m1", "provider": "p1", "prompt_hash": "", "agent_version": "v1"}
    return BucketKey(**given | parts)


def prompt(prompt_hash: str, template: str, *, days_ago: int, step: str = STEP) -> PromptVersion:
    """A template first seen ``days_ago`` and last seen a day later."""
    first = NOW - timedelta(days=days_ago)
    return PromptVersion.objects.create(
        step=step, prompt_hash=prompt_hash, template=template, first_seen=first, last_seen=first + timedelta(days=1)
    )


def agent(version: str, *, days_ago: int, name: str = AGENT, **texts: str) -> AgentVersion:
    first = NOW - timedelta(days=days_ago)
    return AgentVersion.objects.create(
        agent=name, version=version, first_seen=first, last_seen=first + timedelta(days=1), **texts
    )


def answers(
    bucket: BucketKey, *, right: int = 0, wrong: int = 0, unmarked: int = 0, at: datetime = NOW, **given: Any
) -> None:
    """Answers of the bucket, so many marked right, so many marked wrong, so many not at all."""
    marker = person() if right or wrong else None
    outcomes = ["correct"] * right + ["incorrect"] * wrong + [""] * unmarked
    for outcome in outcomes:
        sample = uuid.uuid4()
        fields = {"stage": "production", "check_failed": False, "confidence": 0.95} | given
        buckets.record_sample(
            id=sample, bucket_id=buckets.bucket_id(bucket), group=uuid.uuid4(), observed_at=at, **fields
        )
        if outcome:
            mark_sample(sample_id=sample, by=marker, outcome=outcome, via=Via.PAGE, was_blind=False, now=at)
