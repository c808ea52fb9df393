"""The environment variables VectorStep reads, each read in one place.

No Django import: settings, the serve command and the tests all use it.
"""

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dj_database_url
from kombu.transport import TRANSPORT_ALIASES

BASE_DIR = Path(__file__).resolve().parent.parent


class BadEnvironment(Exception):
    """A setting from the environment cannot be used; the message says what to do."""


def flag(name: str, *, environ: Mapping[str, str] = os.environ) -> bool:
    return environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}


def text(name: str, default: str, *, environ: Mapping[str, str] = os.environ) -> str:
    return environ.get(name) or default


def number(name: str, default: int, *, environ: Mapping[str, str] = os.environ) -> int:
    given = environ.get(name) or str(default)
    if not given.isascii() or not given.isdigit() or int(given) < 1:
        raise BadEnvironment(f"{name} must be a whole number above 0, not {given!r}")
    return int(given)


def path(name: str, default: str, *, environ: Mapping[str, str] = os.environ) -> Path:
    """A path; relative ones count from the project's root, not from where the command was typed."""
    return (BASE_DIR / environ.get(name, default)).resolve()


def port(*, environ: Mapping[str, str] = os.environ) -> int:
    text = environ.get("VECTORSTEP_PORT", "8000")
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise BadEnvironment(f"VECTORSTEP_PORT must be a port from 1 to 65535, not {text!r}")
    return int(text)


def names(name: str, default: str, *, environ: Mapping[str, str] = os.environ) -> list[str]:
    return [part.strip() for part in environ.get(name, default).split(",") if part.strip()]


def database(*, default: str, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """``DATABASE_URL`` as Django's settings want it. Its text, which may hold a password, is in no message."""
    parsed: dict[str, Any] = {"ENGINE": ""}
    with contextlib.suppress(ValueError):  # refused below, like a database of another kind
        parsed.update(dj_database_url.parse(environ.get("DATABASE_URL") or default))
    if parsed["ENGINE"].rpartition(".")[2] not in {"sqlite3", "postgresql"}:
        raise BadEnvironment("DATABASE_URL must be postgresql://USER:PASSWORD@HOST:PORT/NAME or sqlite:////PATH")
    return parsed


def broker(*, default: str, environ: Mapping[str, str] = os.environ) -> str:
    """``CELERY_BROKER_URL``. A kind that is not known would fail in every process, again and again."""
    url = environ.get("CELERY_BROKER_URL") or default
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in TRANSPORT_ALIASES:
        raise BadEnvironment("CELERY_BROKER_URL must be redis://HOST:PORT/0 or amqp://USER:PASSWORD@HOST//")
    return url


def secret_key(var: Path, *, environ: Mapping[str, str] = os.environ) -> str:
    """The given key, else one made once and kept in ``var/secret_key`` (readable by the owner only)."""
    if given := environ.get("VECTORSTEP_SECRET_KEY"):
        return given
    kept = var / "secret_key"
    try:
        return kept.read_text().strip()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise BadEnvironment(f"cannot read {kept}: {error.strerror}") from error
    try:
        var.mkdir(parents=True, exist_ok=True)
        # O_EXCL: of two processes that start at once, one writes and the other reads what it wrote.
        with open(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    except OSError as error:
        raise BadEnvironment(
            f"cannot write to {var}: {error.strerror}; set VECTORSTEP_VAR to another folder"
        ) from error
    return kept.read_text().strip()
