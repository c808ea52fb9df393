"""What a pipeline file says, as typed values.

Every field of the language is here, also those that ``unsupported.py`` still refuses at load.
"""

import hashlib
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag, model_validator

from runs.pipelines.readiness import Readiness
from runs.pipelines.schedule import Schedule
from runs.pipelines.signals_schema import (
    Calibration,
    Check,
    Grounding,
    HumanCheck,
    ShellCheck,
    Verifier,
    VerifierTrigger,
    WebhookCheck,
)
from runs.pipelines.strict import Fraction, Headers, Json, Method, Name, Seconds, Strict, Text, Url
from runs.pipelines.trigger import Trigger

__all__ = [
    "Branch",
    "Calibration",
    "Check",
    "FanOut",
    "Grounding",
    "Group",
    "HumanCheck",
    "Parallel",
    "Pipeline",
    "Readiness",
    "Schedule",
    "ShellCheck",
    "Step",
    "StepBody",
    "Trigger",
    "Verifier",
    "VerifierTrigger",
    "WebhookCheck",
    "prompt_hash",
]

Location = tuple[str | int, ...]
ExecutorKind = Literal["command", "gateway", "webhook", "pipeline", "notify", "human", "a2a", "agent"]
OnLowConfidence = Literal["escalate", "abort", "proceed"]
OnAbort = Literal["notify", "silent"]
Channel = Literal["log", "webhook", "email", "slack", "telegram", "msteams"]
Join = Literal["all_must_pass", "any_must_pass", "weighted_average"]


def prompt_hash(template: str | None) -> str:
    """12 hex digits that name a prompt template's text; "" without a template.

    Blanks at the ends of lines and blank lines at both ends do not count: no agent sees a difference.
    """
    lines = [line.rstrip(" \t\r") for line in (template or "").split("\n")]
    text = "\n".join(lines).strip("\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12] if text else ""


class FailureWebhook(Strict):
    url: Url
    method: Method = "POST"
    headers: Headers = {}
    payload: Json = None
    timeout_seconds: Seconds = 30


class OnFailure(Strict):
    policy: Literal["abort", "continue"] = "abort"
    webhook: FailureWebhook | None = None


def _policy_alone(value: Any) -> Any:
    return {"policy": value} if isinstance(value, str) else value


class Retry(Strict):
    """Tries in all, after executor errors and answers that break the contract; never after low confidence."""

    attempts: Annotated[int, Field(ge=1, le=100)] = 3
    backoff: Literal["fixed", "exponential"] = "fixed"
    delay_seconds: Annotated[float, Field(ge=0, le=24 * 3600)] = 1


class LoopUntil(Strict):
    """Ask again until the confidence after V reaches ``confidence``; the best pass counts."""

    confidence: Fraction
    max_iterations: Annotated[int, Field(ge=1, le=100)] = 3


class Escalation(Strict):
    to: Text | None = None
    after_seconds: Seconds | None = None
    on_timeout: Literal["abort", "keep"] = "keep"


class ThresholdBias(Strict):
    """How the agent's drift over its last ``window`` judged answers moves the step's threshold."""

    enforce: bool = False
    window: Annotated[int, Field(ge=1, le=1000)] = 10
    min: Annotated[int, Field(ge=1, le=1000)] = 5
    band: Fraction = 0.10
    allow_lower: bool = False

    @model_validator(mode="after")
    def _window_holds_min(self) -> "ThresholdBias":
        if self.min > self.window:
            raise ValueError(f"min: {self.min} answers are never among the last {self.window}; window must hold min")
        return self


class StepBody(Strict):
    """What a step and a fan-out have in common."""

    name: Name
    executor: ExecutorKind
    executor_config: dict[str, Json] = {}
    prompt_template: str | None = None
    confidence_threshold: Fraction = 0.75
    on_low_confidence: OnLowConfidence = "escalate"
    on_abort: OnAbort = "notify"
    timeout_seconds: Seconds | None = None
    when: Text | None = None
    on_failure: Annotated[OnFailure, BeforeValidator(_policy_alone)] = OnFailure()
    verifier: Verifier | None = None
    grounding: Grounding | None = None
    deterministic_checks: list[Check] = []
    calibration: Calibration | None = None
    retry: Retry | None = None
    loop_until: LoopUntil | None = None
    readiness: Readiness | None = None
    escalation: Escalation | None = None
    threshold_bias: ThresholdBias | None = None

    @cached_property
    def prompt_hash(self) -> str:
        return prompt_hash(self.prompt_template)


class Step(StepBody):
    pass


class Branch(StepBody):
    """A step of a ``parallel`` group: it gates by itself only if it sets a threshold of its own."""

    confidence_threshold: Fraction | None = None  # type: ignore[assignment]
    weight: Annotated[float, Field(gt=0)] = 1.0


class Parallel(Strict):
    """Steps side by side. ``timeout_seconds`` is for the whole group."""

    name: Name
    join: Join = "all_must_pass"
    confidence_threshold: Fraction = 0.75
    on_low_confidence: OnLowConfidence = "escalate"
    on_abort: OnAbort = "notify"
    timeout_seconds: Seconds | None = None
    when: Text | None = None
    readiness: Readiness | None = None
    steps: Annotated[list[Branch], Field(min_length=1)]


class FanOut(StepBody):
    """One step for each item of ``over``, side by side. ``timeout_seconds`` is for each branch."""

    over: Text
    as_: Annotated[Text, Field(alias="as", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = "item"
    join: Join = "all_must_pass"
    max_items: Annotated[int, Field(ge=1, le=10_000)] = 20
    on_empty: Literal["complete", "skip", "abort"] = "complete"


Group = Parallel | FanOut


class ParallelEntry(Strict):
    parallel: Parallel


class FanOutEntry(Strict):
    fan_out: FanOut


def _kind_of_entry(entry: Any) -> str:
    for kind in ("parallel", "fan_out"):
        if hasattr(entry, kind) or (isinstance(entry, dict) and kind in entry):
            return kind
    return "step"


Entry = Annotated[
    Annotated[Step, Tag("step")] | Annotated[ParallelEntry, Tag("parallel")] | Annotated[FanOutEntry, Tag("fan_out")],
    Discriminator(_kind_of_entry),
]


class ContextTemplate(Strict):
    """Which fields of the payload's context templates may name, besides those that are always there."""

    include: list[Annotated[Text, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = []


class Durable(Strict):
    """Overrides what the executor does when a worker dies in the middle of its call."""

    on_interrupted: Literal["rerun", "escalate"] | None = None
    max_resume_age_seconds: Seconds | None = None


def _old_durable(value: Any) -> Any:
    if value is True:
        return {"on_interrupted": "rerun"}
    if value is False:
        raise ValueError("every run survives a crash, so it cannot be false; leave it out")
    return value


class Notification(Strict):
    channel: Channel
    template: Text | None = None
    config: dict[str, Json] = {}


def _one_or_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


Notifications = Annotated[list[Notification], BeforeValidator(_one_or_list)]


class NotificationRules(Strict):
    escalate: Notifications = []
    abort: Notifications = []
    stop: Notifications = []
    notify: Notifications = []


def _as_written(value: Any) -> Any:
    """A number of the file as the decimal it was written as, not as the binary fraction next to it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("expected an amount in dollars, such as 0.50")
    return Decimal(repr(value))


# Fifteen digits: as many as a JSON number gives back as they were written.
Dollars = Annotated[
    Decimal,
    BeforeValidator(_as_written),
    Field(gt=0, le=1_000_000, decimal_places=9),
    PlainSerializer(float, when_used="json"),
]


class Budget(Strict):
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_usd: Dollars | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> "Budget":
        if self.max_tokens is None and self.max_usd is None:
            raise ValueError("needs max_tokens or max_usd")
        return self


class Links(Strict):
    """One-use links to a decision of a run: for how long they are good, and whether they decide without a login."""

    without_login: bool = False
    expires_seconds: Seconds = 24 * 3600


class Head(Strict):
    """Everything of a pipeline but its steps."""

    name: Name
    description: str = ""
    tags: list[str] = []
    version: Annotated[int, Field(ge=1)] = 1
    stage: Literal["testing", "production"] = "testing"
    trigger: Trigger = Trigger()
    context_template: ContextTemplate = ContextTemplate()
    vars: dict[str, Json] = {}
    notifications: NotificationRules | None = None
    schedule: Schedule | None = None
    budget: Budget | None = None
    readiness: Readiness | None = None
    links: Links | None = None
    durable: Annotated[Durable | None, BeforeValidator(_old_durable)] = None


class Pipeline(Head):
    """``steps`` as the file nests them; ``entries`` are the steps and groups themselves, in their order."""

    steps: Annotated[list[Entry], Field(min_length=1)]

    @cached_property
    def entries(self) -> list[Step | Parallel | FanOut]:
        return [_inner(entry) for entry in self.steps]

    def bodies(self) -> Iterator[tuple[Location, StepBody]]:
        """Everything that calls an executor, branches included, each with where it stands in the file."""
        for position, entry in enumerate(self.entries):
            if isinstance(entry, Parallel):
                for place, branch in enumerate(entry.steps):
                    yield ("steps", position, "parallel", "steps", place), branch
            elif isinstance(entry, FanOut):
                yield ("steps", position, "fan_out"), entry
            else:
                yield ("steps", position), entry


def _inner(entry: Step | ParallelEntry | FanOutEntry) -> Step | Parallel | FanOut:
    if isinstance(entry, ParallelEntry):
        return entry.parallel
    return entry.fan_out if isinstance(entry, FanOutEntry) else entry
