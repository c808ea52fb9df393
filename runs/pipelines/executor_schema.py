"""What each executor's ``executor_config`` may hold.

Values are as written in the file: texts may be templates, which is why numbers and flags are not. The
defaults that an executor applies are given here as well, so that one place documents them.
"""

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from runs.pipelines.strict import AgentName, Headers, Json, Method, Seconds, Strict, Text, Url

Number = int | float  # an argument written without quotes, handed on as its text


class CommandConfig(Strict):
    """A local program: an argument list (never a shell), and files whose content makes its version."""

    command: Annotated[list[Text | Number], Field(min_length=1)]
    agent: AgentName | None = None
    model: str | None = None
    env: dict[str, str | Number] = {}
    pass_env: list[Text] = []
    cwd: str | None = None
    version_files: list[Text] = []
    timeout_seconds: Seconds | None = None


class GatewayConfig(Strict):
    agent: AgentName
    session_key: Text | None = None
    model: str | None = None
    thinking_level: str | None = None
    timeout_seconds: Seconds = 1200
    trace_max_chars: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _session_belongs_to_agent(self) -> "GatewayConfig":
        start = f"agent:{self.agent}:"
        if self.session_key is not None and not self.session_key.startswith(start):
            raise ValueError(f"session_key must start with {start!r}")
        return self


class WebhookConfig(Strict):
    url: Url
    method: Method = "POST"
    content_type: Text = "application/json"
    headers: Headers = {}
    timeout_seconds: Seconds = 30


def _no_template(name: str) -> str:
    if "{{" in name or "{%" in name:
        raise ValueError("is the name of a pipeline and cannot be a template: what runs must be known at load")
    return name


class PipelineConfig(Strict):
    pipeline: Annotated[Text, AfterValidator(_no_template)]
    context: dict[str, Json] = {}


class NotifyConfig(Strict):
    url: Url
    method: Method = "POST"
    headers: Headers = {}
    payload: dict[str, Json] = {}
    timeout_seconds: Seconds = 30


class HumanConfig(Strict):
    """A question to a person, who approves or rejects."""

    message: Text
    to: Text | None = None


CONFIGS: dict[str, type[Strict]] = {
    "command": CommandConfig,
    "gateway": GatewayConfig,
    "webhook": WebhookConfig,
    "pipeline": PipelineConfig,
    "notify": NotifyConfig,
    "human": HumanConfig,
}
"""Executors without an entry take any object; they are not supported yet (``unsupported.py``)."""
