"""Steps that wait for a mark with everything a marker must not see, for the tests of the marking pages."""

import json
from typing import Any

from calibration import buckets
from calibration.buckets import BucketKey
from runs.marking.items import settle
from runs.models import Run, SignalKind, Step
from runs.trust.vector import CheckInput
from tests import factories

ANSWER = {
    "confidence": 0.953,
    "summary": "Offer store credit. I am 97% confident of it.",
    "next_step_context": "",
    "reasoning": {"confidence": 0.913, "days": 34},
}
TRACE = [
    {"type": "tool_call", "name": "orders.get", "input": {"order": 90125}},
    {"type": "tool_result", "name": "orders.get", "content": "delivered 34 days ago"},
    {"type": "text", "content": json.dumps(ANSWER)},
]
CLAIMS = [
    {"claim": "the voucher counts", "supported": False, "evidence": "nothing mentions a voucher"},
    {"claim": "it was delivered 34 days ago", "supported": True, "evidence": "orders.get says so"},
]
# What tells how the machine judged the answer; none of it may reach a blind marker.
SECRETS = ["0.953", "95%", "97%", "0.913", "nothing mentions", "orders.get says so", "62%", "Escalated", "escalated",
           "a check failed", "still_breaching"]  # fmt: skip


def waiting(name: str = "issue-refund", *, check_failed: bool = False, of: Run | None = None, **fields: Any) -> Step:
    """A gated step with an answer, a trace and claims, waiting in the queue."""
    of = of or factories.run(status="escalated", reason="It escalated.")
    report = factories.worked_example(
        self_report=0.953, checks=[CheckInput(name="still_breaching", passed=not check_failed)]
    )
    fields = {"prompt": "Refund order 90125?", "raw_output": json.dumps(ANSWER), **fields}
    step = factories.gated(of, report, name, **{"parsed_output": ANSWER, "agent_trace": TRACE, **fields})
    factories.signal(step, SignalKind.GROUNDING, score=0.5, detail={"claims": CLAIMS})
    buckets.record_sample(
        id=step.id,
        bucket_id=buckets.bucket_id(BucketKey(step=name.partition("/")[0], agent=step.agent)),
        group=of.id,
        stage=of.stage,
        confidence=0.953,
        observed_at=factories.NOW,
        check_failed=check_failed,
        is_replay=False,
    )
    settle([step.id])
    return step
