"""kombu's Redis transport without the work that the engine does not need.

kombu keeps a copy of each message in Redis until it is acknowledged, so that a message of a killed
worker comes back. Here the database knows what was being done, and the sweeper hands it out again;
the copies were half of what a message cost. And kombu makes a client for each command, which sets
up some two hundred response callbacks; a client holds no state, so one per channel will do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport import redis


class Channel(redis.Channel):
    ack_emulation = False
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
