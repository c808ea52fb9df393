"""The schema of what judges a step: verifier, grounding, checks, calibration."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from runs.pipelines.strict import AgentName, Fraction, Headers, Json, Method, Name, Seconds, Strict, Text, Url
from runs.trust.inputs import OLD_MODES

AgentKind = Literal["command", "gateway", "a2a", "agent"]
OnError = Literal["ignore", "escalate"]


class VerifierTrigger(Strict):
    """Fires when ``confidence_above < S < confidence_below``, or always."""

    always: bool = False
    confidence_below: Fraction = 1.0
    confidence_above: Fraction = 0.0

    @model_validator(mode="after")
    def _band_not_empty(self) -> "VerifierTrigger":
        if not self.always and self.confidence_above >= self.confidence_below:
            raise ValueError("can never fire: confidence_above must be lower than confidence_below")
        return self


def _current_mode(mode: Any) -> Any:
    return OLD_MODES.get(mode, mode) if isinstance(mode, str) else mode


class Verifier(Strict):
    """A second opinion. ``trigger`` of None means: after every answer."""

    executor: AgentKind
    executor_config: dict[str, Json] = {}
    mode: Annotated[Literal["critic", "independent"], BeforeValidator(_current_mode)] = "critic"
    combination_strategy: Literal["minimum", "veto"] = "minimum"
    veto_floor: Fraction = 0.60
    trigger: VerifierTrigger | None = None
    max_trace_chars: Annotated[int, Field(ge=1)] = 1500
    on_error: OnError = "ignore"


class Grounding(Strict):
    """A judge that looks for the evidence of each claim; recorded only, unless ``enforce``."""

    agent: AgentName = "grounding-judge"
    executor: AgentKind = "gateway"
    executor_config: dict[str, Json] = {}
    timeout_seconds: Seconds = 120
    enforce: bool = False
    max_trace_chars: Annotated[int, Field(ge=1)] = 1500
    on_error: OnError = "ignore"


class ShellCheck(Strict):
    type: Literal["shell"]
    name: Name
    run: Text
    expect: Text = "exit_code == 0"
    timeout_seconds: Seconds = 30


class WebhookCheck(Strict):
    type: Literal["webhook"]
    name: Name
    url: Url
    method: Method = "POST"
    headers: Headers = {}
    payload: Json = None
    expect: Text = "response.status_code < 400"
    timeout_seconds: Seconds = 30


class HumanCheck(Strict):
    type: Literal["human"]
    name: Name
    message: Text
    timeout_seconds: Seconds = 300


Check = Annotated[ShellCheck | WebhookCheck | HumanCheck, Field(discriminator="type")]


class Calibration(Strict):
    """Whether the measured track record replaces the claimed confidence, and what to do while there is none."""

    enforce: bool = False
    on_uncalibrated: Literal["proceed", "escalate"] = "proceed"
