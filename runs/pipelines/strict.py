"""The types every part of the pipeline schema is made of: nothing is coerced, nothing unknown is let in."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


class Strict(BaseModel):
    """Refuses unknown keys and wrong types; ``"true"`` is no boolean, NaN no number."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, populate_by_name=True, hide_input_in_errors=True
    )


def _usable_name(name: str) -> str:
    if not name.strip() or name != name.strip():
        raise ValueError("must not be empty or begin or end with a blank")
    if "/" in name or not name.isprintable():
        raise ValueError('must be printable and without "/" (that separates a group from its branch)')
    return name


def _http_url(url: str) -> str:
    if not url.startswith(("http://", "https://", "{{", "${")):
        raise ValueError("must be a URL that begins with http:// or https:// (or a template or ${ENV} that gives one)")
    return url


def _header_name(name: str) -> str:
    if not name or not name.isascii() or any(not (char.isalnum() or char in "!#$%&'*+-.^_`|~") for char in name):
        raise ValueError("is not a header name")
    return name


def _upper(method: Any) -> Any:
    return method.upper() if isinstance(method, str) else method


Method = Annotated[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], BeforeValidator(_upper)]


def _no_template(name: str) -> str:
    if "{{" in name or "{%" in name:
        raise ValueError("must be a name and not a template: it is the agent's identity, under which it is measured")
    return name


AgentName = Annotated[str, Field(min_length=1), AfterValidator(_no_template)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0, le=7 * 24 * 3600)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_usable_name)]
Text = Annotated[str, Field(min_length=1)]
Url = Annotated[str, AfterValidator(_http_url)]
Headers = dict[Annotated[str, AfterValidator(_header_name)], str]
Json = Any
"""Whatever YAML can say; the loader lets only JSON values in."""
