"""The version of a local agent: a hash over the files that make it what it is."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from runs.calling import ExecutorError

_cache: dict[Path, tuple[tuple[int, int, int], str]] = {}


def version(files: Sequence[Path]) -> str:
    """12 hex digits over the contents and the given order of the files; "" for none.

    A file is read again only when its size, time or inode changed. Raises ExecutorError for one that cannot be read.
    """
    if not files:
        return ""
    digests = "\n".join(_digest(file) for file in files)
    return hashlib.sha256(digests.encode()).hexdigest()[:12]


def texts(files: Sequence[Path]) -> str:
    """The files one after the other, each under its path."""
    parts = []
    for file in files:
        try:
            content = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise _unreadable(file, error) from error
        parts.append(f"==> {os.path.relpath(file, settings.BASE_DIR)} <==\n{content}")
    return "\n".join(parts)


def _digest(file: Path) -> str:
    try:
        status = file.stat()
        known = (status.st_mtime_ns, status.st_size, status.st_ino)
        cached = _cache.get(file)
        if cached and cached[0] == known:
            return cached[1]
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from error
    _cache[file] = (known, digest)
    return digest


def _unreadable(file: Path, error: OSError) -> ExecutorError:
    message = f"executor_config.version_files: cannot read {file}: {error.strerror or error}"
    return ExecutorError(message, retryable=False)
