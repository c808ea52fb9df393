"""What has to be true before the children start: one server per var folder, a free port, a ready database."""

import contextlib
import errno
import fcntl
import hashlib
import http.client
import os
import socket
import time
from pathlib import Path
from typing import TextIO

from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import DatabaseError, connection


class CannotStart(Exception):
    """The message says what is wrong and what to do, in one line."""


def lock(var: Path) -> TextIO:
    """Hold ``var`` for this process until the returned file is closed or the process ends."""
    file = var / "serve.lock"
    try:
        var.mkdir(parents=True, exist_ok=True)
        held = file.open("a+")
    except OSError as error:
        raise CannotStart(f"cannot write to {var}: {error.strerror}; set VECTORSTEP_VAR to another folder") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        held.seek(0)
        pid = held.read().strip() or "unknown"
        held.close()
        raise CannotStart(
            f"another server (process {pid}) is running on {var}; stop it, or set VECTORSTEP_VAR and VECTORSTEP_PORT"
        ) from None
    held.truncate(0)
    held.write(str(os.getpid()))
    held.flush()
    return held


def check_port(host: str, port: int) -> None:
    """Raises CannotStart when nothing could listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # As the server itself does: connections of a server just stopped do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(f"port {port} is taken; set VECTORSTEP_PORT to a free one") from error
        if error.errno == errno.EACCES:
            raise CannotStart(f"port {port} may not be used by this user; set VECTORSTEP_PORT above 1023") from error
        raise CannotStart(f"cannot listen on {host} port {port} ({error.strerror}); check VECTORSTEP_HOST") from error


def prepare_database() -> None:
    try:
        _connect_once()
        call_command("migrate", verbosity=0, interactive=False)
    except DatabaseError as error:
        reason = " ".join(str(error).split())
        raise CannotStart(f"cannot use the database {connection.settings_dict['NAME']}: {reason}") from error


def _connect_once() -> None:
    """A connection past the pool, which would retry for long where one refusal says it all."""
    probe = connection.copy()
    if probe.settings_dict["OPTIONS"].pop("pool", None):
        probe.settings_dict["OPTIONS"].setdefault("connect_timeout", 5)
    probe.ensure_connection()
    probe.close()


def collect_static(var: Path) -> None:
    """Collect and compress the static files when any of them changed since the last time."""
    stamp = var / "static.stamp"
    wanted = _static_digest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    call_command("collectstatic", verbosity=0, interactive=False, clear=True)
    stamp.write_text(wanted)


def _static_digest() -> str:
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in sorted(finder.list([]), key=lambda found: str(found[0])):
            file = os.stat(storage.path(path))
            digest.update(f"{path}\0{file.st_size}\0{file.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def clear_leftovers(var: Path, broker: Path) -> None:
    """Remove what a killed server left: the scheduler's memory and messages that were half written or half read.

    Whole messages stay: handling one twice or late does no harm, the database says what there is to do.
    """
    for file in var.glob("beat-schedule*"):
        file.unlink(missing_ok=True)
    minute_ago = time.time() - 60  # workers of other terminals may be using the folder right now
    for file in broker.glob("*/.*"):
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_mtime < minute_ago:
                file.unlink()


def shown_host(host: str) -> str:
    """How a browser on this machine reaches a server that listens on ``host``."""
    if host in {"0.0.0.0", "::"}:  # noqa: S104 (compared, not bound)
        return "localhost"
    return f"[{host}]" if ":" in host else host


def answers(host: str, port: int) -> bool:
    """Whether the web process answers requests (with any status)."""
    client = http.client.HTTPConnection(shown_host(host).strip("[]"), port, timeout=2)
    try:
        client.request("GET", "/health")
        client.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        client.close()
    return True
