"""From the bytes of a request to a JSON object that is safe to walk and to store."""

import json
import math
from typing import Any

from django.conf import settings

from runs.intake.fields import kind
from runs.intake.refusals import BadPayload, TooLarge

MAX_DEPTH = 64


def parse(raw: bytes) -> dict[str, Any]:
    """The JSON object in ``raw`` (UTF-8, a byte order mark is skipped).

    Raises TooLarge past ``limits.payload_bytes``, and BadPayload for anything else: broken JSON, NaN and
    infinities, numbers of thousands of digits, and nesting past MAX_DEPTH levels.
    """
    check_size(len(raw))
    try:
        value = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise BadPayload("", f"The payload is not UTF-8 (byte {error.start}).") from error
    except json.JSONDecodeError as error:
        raise BadPayload(
            "", f"The payload is not JSON: line {error.lineno}, column {error.colno}: {error.msg}."
        ) from error
    except RecursionError as error:
        raise BadPayload("", _TOO_DEEP) from error
    except ValueError as error:
        raise BadPayload("", f"The payload holds a number that cannot be used: {error}.") from error
    if not isinstance(value, dict):
        raise BadPayload("", f"The payload must be a JSON object, not {kind(value)}.")
    check_depth(value)
    return value


def check_size(count: int) -> None:
    """Raises TooLarge for more bytes than a payload may have."""
    limit = settings.SERVICE.limits.payload_bytes
    if count > limit:
        raise TooLarge(limit)


_TOO_DEEP = f"The payload nests more than {MAX_DEPTH} levels deep."


def check_depth(value: Any) -> None:
    """Raises BadPayload when lists and objects nest past MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return
    raise BadPayload("", _TOO_DEEP)


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is too large")
    return number
