"""Runs that happened elsewhere, as a file tells them: one run with its steps, their signals and what people said.

docs/importing.md describes these fields to those who write such files.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from runs.marking.markers import NAME_CHARS, NOTE_CHARS
from runs.moments import is_future, utc
from runs.pipelines.strict import Fraction, Strict

Outcome = Literal["correct", "partial", "incorrect"]
RunEnd = Literal["completed", "stopped", "escalated", "aborted", "failed", "cancelled"]
StepEnd = Literal["completed", "stopped", "escalated", "aborted", "failed", "skipped"]
IMPORTED = "imported"


def _moment(moment: datetime, told: ValidationInfo) -> datetime:
    """Raises ValueError for one that lies in the future, where the reader told the time as ``now``."""
    known = utc(moment)
    _refuse_future(known, told, "the time")
    return known


def _refuse_future(moment: datetime, told: ValidationInfo, what: str) -> None:
    if told.context and is_future(moment, now=told.context["now"]):
        raise ValueError(f"{what} is in the future")


def _name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError("expected a printable name")
    return name


Moment = Annotated[datetime, AfterValidator(_moment)]
Name = Annotated[str, Field(max_length=200), AfterValidator(_name)]
Label = Annotated[str, Field(max_length=200)]
MOST_DOLLARS = 1_000_000
Dollars = Annotated[Decimal, Field(ge=0, le=MOST_DOLLARS, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Mark(Strict):
    """What a person said. ``marker`` is a user's name; one that nobody has gets an account that cannot sign in."""

    outcome: Outcome
    note: Annotated[str, Field(max_length=NOTE_CHARS)] = ""
    marker: Annotated[str, Field(max_length=NAME_CHARS), AfterValidator(_name)] = IMPORTED
    made_at: Moment


class Judge(Strict):
    """Who judged the answer, what they were asked and what they said."""

    agent: Label = ""
    model: Label = ""
    provider: Label = ""
    prompt: str = ""
    answer: str = ""
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    error: str = ""


class Verifier(Judge):
    score: Fraction | None = None
    mode: Literal["critic", "independent", "reviewer", "challenger", ""] = ""
    combination_strategy: Literal["minimum", "veto"] = "minimum"
    veto_floor: Fraction = 0.60


class Claim(Strict):
    claim: str
    supported: bool
    evidence: str = ""


class Grounding(Judge):
    score: Fraction | None = None
    enforce: bool = False
    claims: list[Claim] = []


class Check(Strict):
    name: Label
    passed: bool
    detail: str = ""
    duration_ms: Count | None = None


class Calibration(Strict):
    """The track record that the gate was shown."""

    enforce: bool = False
    on_uncalibrated: Literal["proceed", "escalate"] = "proceed"
    n: Count
    n_min: Annotated[int, Field(ge=1, le=2**31 - 1)] = 20
    accuracy: Fraction | None = None
    lo: Fraction | None = None
    hi: Fraction | None = None


class Step(Strict):
    """One execution of one step. With a ``confidence`` it is a sample, and can be marked."""

    name: Name
    status: StepEnd = "completed"
    error: str = ""
    executor: Label = IMPORTED
    agent: Label = ""
    model: Label = ""
    provider: Label = ""
    prompt_hash: Label = ""
    prompt_template: str | None = None
    agent_version: Label = ""
    prompt: str = ""
    answer: str = ""
    output: Any = None
    trace: list[Any] | None = None
    confidence: Fraction | None = None
    confidence_after_verifier: Fraction | None = None
    verifier: Verifier | None = None
    calibration: Calibration | None = None
    grounding: Grounding | None = None
    checks: list[Check] = []
    threshold: Fraction | None = None
    on_low_confidence: Literal["escalate", "abort", "proceed"] = "escalate"
    trust: Fraction | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cost_usd: Dollars | None = None
    started_at: Moment | None = None
    completed_at: Moment | None = None
    duration_ms: Count | None = None
    marks: list[Mark] = []

    @property
    def check_failed(self) -> bool:
        return not all(check.passed for check in self.checks)


class LogLine(Strict):
    at: Moment
    level: Literal["info", "warning", "error"] = "info"
    kind: Label = IMPORTED
    message: str
    step: Label = ""


class Run(Strict):
    """``id`` is the run's name where it comes from: the same one again is the same run, and is not added twice."""

    id: Annotated[str, Field(min_length=1, max_length=500)]
    pipeline: Name
    status: RunEnd = "completed"
    reason: str = ""
    stage: Literal["testing", "production"] = "production"
    team: Label = ""
    source: Label = IMPORTED
    summary: str = ""
    context: dict[str, Any] = {}
    payload: Any = {}
    version: Label = ""
    is_replay: bool = False
    triggered_at: Moment
    started_at: Moment | None = None
    completed_at: Moment | None = None
    steps: Annotated[list[Step], Field(max_length=10_000)] = []
    marks: list[Mark] = []
    log: Annotated[list[LogLine], Field(max_length=100_000)] = []

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Run":
        names = [step.name for step in self.steps]
        if len(set(names)) < len(names):
            raise ValueError("two steps have the same name")
        return self

    @model_validator(mode="after")
    def _steps_have_ended(self, told: ValidationInfo) -> "Run":
        for step in self.steps:
            _refuse_future(self.finished_at(step), told, f"the end of step {step.name[:100]!r}")
        return self

    @property
    def began_at(self) -> datetime:
        return self.started_at or self.triggered_at

    def finished_at(self, step: Step) -> datetime:
        """When the step ended, as well as the file knows."""
        if step.completed_at is not None:
            return step.completed_at
        began = step.started_at or self.began_at
        return began + timedelta(milliseconds=step.duration_ms or 0)


class PromptVersion(Strict):
    """One text that a step's prompt template has had."""

    step: Name
    prompt_hash: Label
    template: str
    first_seen: Moment
    last_seen: Moment


class AgentVersion(Strict):
    agent: Name
    version: Label
    soul: str = ""
    config: str = ""
    note: str = ""
    first_seen: Moment
    last_seen: Moment
