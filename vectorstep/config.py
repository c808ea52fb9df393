"""The service's own configuration file (``VECTORSTEP_CONFIG``), checked when the process starts.

Code below the project floor reads it as ``django.conf.settings.SERVICE``.
"""

import os
from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from calibration.binning import bins_of
from runs import pricing, redaction, signing
from runs.variables import NotSet, expanded
from vectorstep.env import BadEnvironment

# Pages and answers list every bin; narrower ones would hold next to nothing.
MOST_BINS = 1000
AGENT_EXECUTORS = ("command", "gateway")
A_WEEK = 7 * 24 * 60


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def no_truth_for_a_number(cls, given: Any) -> Any:
        """``n_min: yes`` is a slip of the pen, not a 1."""
        for name, value in given.items() if isinstance(given, dict) else ():
            field = cls.model_fields.get(name)
            if isinstance(value, bool) and field is not None and field.annotation is not bool:
                raise ValueError(f"{name}: expected a value, not {str(value).lower()}")
        return given


class Calibration(Section):
    n_min: int = Field(20, ge=1, le=1_000_000)
    bin_width: float = Field(0.1, gt=0, le=1)
    evidence: Literal["all", "production"] = "all"

    @field_validator("bin_width")
    @classmethod
    def divides_one(cls, width: float) -> float:
        if bins_of(width) > MOST_BINS:
            raise ValueError(f"bin_width must divide 1 into at most {MOST_BINS} bins, which {width!r} does not")
        return width


class Gateway(Section):
    url: str = "ws://127.0.0.1:18789/rpc"
    rest_url: str = "http://127.0.0.1:18789"
    token: str = ""


class Executors(Section):
    gateway: Gateway = Gateway()


class Limits(Section):
    payload_bytes: int = Field(1_000_000, ge=1_000)
    backlog: int = Field(10_000, ge=1)
    answer_bytes: int = Field(10_000_000, ge=1_000)
    template_seconds: float = Field(2.0, gt=0)
    template_output_chars: int = Field(5_000_000, ge=1_000)
    lease_seconds: float = Field(10.0, ge=1)
    workers_per_step: int = Field(5, ge=1)


class Dedup(Section):
    enabled: bool = True
    window_seconds: int = Field(300, ge=0)


class Outbound(Section):
    """Where pipelines may send requests; link-local and metadata addresses never, private ones only if listed."""

    allow_private: list[Annotated[IPv4Network | IPv6Network, Field()]] = []
    signing_secrets: list[str] = []

    @field_validator("signing_secrets")
    @classmethod
    def usable(cls, secrets: list[str]) -> list[str]:
        """An empty one is left out: a variable that is not set."""
        given = [secret for secret in secrets if secret]
        for place, secret in enumerate(given):
            if not signing.is_secret(secret):
                raise ValueError(f"number {place + 1} is not whsec_ followed by 24 to 64 bytes in base64")
        return given


class Marking(Section):
    """``second_opinion_share``: of the marked steps, how many are offered to a second marker."""

    second_opinion_share: float = Field(0.0, ge=0, le=1)
    hold_minutes: float = Field(10.0, gt=0, le=A_WEEK)


Dollars = Annotated[Decimal, Field(ge=0, le=10_000, decimal_places=6)]


class PriceMatch(Section):
    """``model``: how the names of the models begin that the price is for; "" is every model of the provider."""

    provider: str
    model: str


class Price(Section):
    """Dollars for a million tokens."""

    match: PriceMatch
    input_per_mtok: Dollars
    output_per_mtok: Dollars


class AgentLimits(Section):
    """``max_calls``: how many steps may ask the agent at the same time, over all workers."""

    max_calls: int = Field(ge=1, le=100_000)


class Service(Section):
    calibration: Calibration = Calibration()
    executors: Executors = Executors()
    limits: Limits = Limits()
    dedup: Dedup = Dedup()
    outbound: Outbound = Outbound()
    marking: Marking = Marking()
    prices: list[Price] = []
    public_url: str = ""

    @field_validator("public_url")
    @classmethod
    def an_address_to_build_on(cls, url: str) -> str:
        """Without a slash at its end. Whoever reads a message elsewhere must get here by it."""
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment):
            raise ValueError(f"expected an address such as https://vectorstep.example, not {url!r}")
        return url.rstrip("/")

    agents: dict[str, AgentLimits] = {}

    @field_validator("agents")
    @classmethod
    def agents_have_an_executor(cls, agents: dict[str, AgentLimits]) -> dict[str, AgentLimits]:
        """A name alone would silently limit nothing."""
        for name in agents:
            executor, _, agent = name.partition(":")
            if executor not in AGENT_EXECUTORS or not agent:
                expected = " or ".join(f"{one}:NAME" for one in AGENT_EXECUTORS)
                raise ValueError(f"{name!r} is no agent; expected {expected}")
        return agents

    @field_validator("prices")
    @classmethod
    def one_price_each(cls, prices: list[Price]) -> list[Price]:
        """Of two prices for the same names nobody could say which holds."""
        seen = set()
        for price in prices:
            key = (price.match.provider, price.match.model)
            if key in seen:
                raise ValueError(f"two prices match provider {key[0]!r} and model {key[1]!r}")
            seen.add(key)
        return prices

    @cached_property
    def price_table(self) -> list[pricing.Price]:
        """The prices as ``runs.pricing`` takes them."""
        return [
            pricing.Price(one.match.provider, one.match.model, one.input_per_mtok, one.output_per_mtok)
            for one in self.prices
        ]


def _expand(value: Any, environ: Mapping[str, str]) -> Any:
    """``${NAME}`` or ``${NAME:-default}`` in every text of the file. Raises NotSet."""
    if isinstance(value, str):
        return expanded(value, environ, tell=redaction.learn)
    if isinstance(value, dict):
        return {key: _expand(item, environ) for key, item in value.items()}
    if isinstance(value, list):
        return [_expand(item, environ) for item in value]
    return value


def load(file: Path, *, environ: Mapping[str, str] = os.environ) -> Service:
    """The checked configuration; every default when there is no file.

    Raises BadEnvironment naming the file, the field and what was expected.
    """
    try:
        raw = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if environ.get("VECTORSTEP_CONFIG"):
            raise BadEnvironment(f"VECTORSTEP_CONFIG names {file}, which does not exist") from None
        return Service()
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadEnvironment(f"{file}: {error}") from error
    try:
        return Service.model_validate(_expand(raw if raw is not None else {}, environ))
    except NotSet as error:
        raise BadEnvironment(f"{file}: {error}") from error
    except ValidationError as error:
        raise BadEnvironment(f"{file}: " + "; ".join(_told(problem) for problem in error.errors())) from error


def _told(problem: Mapping[str, Any]) -> str:
    """A field and what is wrong with it."""
    message = "there is no such field" if problem["type"] == "extra_forbidden" else problem["msg"]
    return f"{'.'.join(map(str, problem['loc'])) or 'top level'}: {message}"
