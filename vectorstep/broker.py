"""A Celery broker made of files, for one machine with nothing else installed.

kombu's own ``filesystem`` transport creates a message's file before it writes it, so a second
consumer can read it empty. Here a message is written under a temporary name and renamed into its
queue's folder: it appears whole or not at all, and renaming it out again is the claim, which only
one consumer can win. Losing messages is harmless (the sweeper finds the work in the database).
"""

import contextlib
import os
import time
import uuid
from collections import deque
from queue import Empty
from typing import Any
from urllib.parse import quote

from kombu.transport import virtual
from kombu.utils.json import dumps, loads

LONGEST_WAIT_SECONDS = 0.2


class Channel(virtual.Channel):
    supports_fanout = False
    do_restore = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._folders: dict[str, str] = {}
        self._seen: dict[str, deque[str]] = {}

    def _folder(self, queue: str) -> str:
        folder = self._folders.get(queue)
        if folder is None:
            root = str(self.connection.client.transport_options["folder"])
            # Quoted, so that no queue name can point outside the broker's folder.
            folder = self._folders[queue] = f"{root}/{quote(queue, safe='').replace('.', '%2E')}"
        return folder

    def _new_queue(self, queue: str, **kwargs: Any) -> None:
        os.makedirs(self._folder(queue), exist_ok=True)

    def _has_queue(self, queue: str, **kwargs: Any) -> bool:
        return os.path.isdir(self._folder(queue))

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:
        folder = self._folder(queue)
        # Names sort by arrival: time first (the machine's clock serves every process alike).
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex}"
        hidden = f"{folder}/.{name}"
        try:
            _write(hidden, dumps(message))
        except FileNotFoundError:
            self._new_queue(queue)
            _write(hidden, dumps(message))
        os.rename(hidden, f"{folder}/{name}")

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        folder = self._folder(queue)
        waiting = self._seen.get(queue)
        if not waiting:
            waiting = self._seen[queue] = deque(_listing(folder))
        while waiting:
            name = waiting.popleft()
            claimed = f"{folder}/.{name}.{os.getpid()}"
            try:
                os.rename(f"{folder}/{name}", claimed)
            except FileNotFoundError:
                continue  # another consumer won it
            with open(claimed, encoding="utf-8") as file:
                text = file.read()
            os.unlink(claimed)
            return dict(loads(text))
        raise Empty

    def _size(self, queue: str) -> int:
        return len(_listing(self._folder(queue)))

    def _purge(self, queue: str) -> int:
        names = _listing(self._folder(queue))
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # another consumer took it
                os.unlink(f"{self._folder(queue)}/{name}")
        return len(names)

    def _delete(self, queue: str, *args: Any, **kwargs: Any) -> None:
        self._purge(queue)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _listing(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except FileNotFoundError:
        return []


class Transport(virtual.Transport):
    Channel = Channel
    # 15 ms: a run starts at once and an idle worker stays under two percent of a core.
    polling_interval = 0.015
    driver_type = "filesystem"
    driver_name = "vectorstep"
    # No server, so no host to name (kombu would warn that none was).
    default_connection_params: dict[str, Any] = {}

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Wait in short turns: a worker looks only between them whether it has been told to end."""
        return super().drain_events(
            connection, timeout=LONGEST_WAIT_SECONDS if timeout is None else min(timeout, LONGEST_WAIT_SECONDS)
        )

    def driver_version(self) -> str:
        return "1"
