"""kombu's Redis transport, with one client per channel instead of one per acknowledgement.

Making a client sets up some two hundred response callbacks, which cost a worker more than the
acknowledgement itself. A client holds no state of its own: connections come from its pool.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis


class Channel(redis.Channel):
    _kept: Any = None

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        if client is None:
            # The pool is another one after a reconnect.
            if self._kept is None or self._kept.connection_pool is not self.pool:
                self._kept = self._create_client()
            client = self._kept
        yield client


class Transport(redis.Transport):
    Channel = Channel
