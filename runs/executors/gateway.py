"""The ``gateway`` executor: agents served by a VectorStep Gateway over a WebSocket (its REST side tells definitions).

One call at a time per connection, connections kept for the next call. A call runs in the calling
thread alone: the engine makes hundreds a second, and a helper thread or an event loop would cost
more than the call.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from django.conf import settings
from websockets.exceptions import InvalidURI

from runs import outbound
from runs.executors.base import AgentDefinition, Call, Deadline, ExecutorError, Reply, Stop, TraceEvent
from runs.executors.gateway_reply import Exchange, Refused
from runs.executors.websocket import Closed, Connection, ProtocolError
from runs.wire import Guard, IdlePool

DEFAULT_SECONDS = 1200.0
_DESCRIBE_SECONDS = 10.0
_DESCRIBE_BYTES = 5_000_000

_Key = tuple[str, str]  # url, token
_pool: IdlePool[Connection] = IdlePool()


class Gateway:
    kind = "gateway"
    is_agent = True
    on_interrupted = "rerun"
    default_timeout = DEFAULT_SECONDS

    def agent_name(self, config: Mapping[str, Any]) -> str:
        return str(config.get("agent") or "")

    def call(self, call: Call, stop: Stop, on_event: Callable[[TraceEvent], None]) -> Reply:
        params = _params(call)
        seconds = call.timeout
        exchange = Exchange(on_event, settings.SERVICE.limits.answer_bytes)
        try:
            with Guard(Deadline(seconds), stop) as guard:
                return _exchange(params, exchange, guard)
        except TimeoutError as error:
            message = f"agent {params['agentId']!r} gave no answer within {seconds:g} s"
            raise ExecutorError(message, trace=exchange.streamed) from error

    def describe(self, config: Mapping[str, Any]) -> AgentDefinition | None:
        name = self.agent_name(config)
        gateway = settings.SERVICE.executors.gateway
        url = f"{gateway.rest_url.rstrip('/')}/agents/{quote(name, safe='')}"
        response = outbound.request(
            "GET",
            url,
            headers={"Authorization": f"Bearer {gateway.token}"} if gateway.token else {},
            deadline=Deadline(_DESCRIBE_SECONDS),
            stop=Stop(),
            max_bytes=_DESCRIBE_BYTES,
            trusted=True,
        )
        if response.status_code == 404:
            return None
        if response.status_code != 200:
            raise ExecutorError(f"{url} answered HTTP {response.status_code}")
        return _definition(url, response.text)


def _params(call: Call) -> dict[str, Any]:
    """The call in the Gateway's words. Raises ExecutorError for a configuration that cannot work."""
    config = call.config
    agent = config.get("agent")
    if not isinstance(agent, str) or not agent:
        raise ExecutorError("executor_config.agent: expected the name of an agent at the gateway", retryable=False)
    prefix = f"agent:{agent}:"
    # A session remembers: a second try in the session of the first would see the answer that was refused.
    session = str(config.get("session_key") or f"{prefix}{call.idempotency_key}:{os.urandom(4).hex()}")
    if not session.startswith(prefix):
        message = f"executor_config.session_key: expected a text that begins with {prefix!r}, got {session!r}"
        raise ExecutorError(message, retryable=False)
    params = {"agentId": agent, "sessionKey": session, "message": call.prompt}
    for ours, theirs in (
        ("model", "model"),
        ("thinking_level", "thinkingLevel"),
        ("trace_max_chars", "traceToolResultMax"),
    ):
        if config.get(ours) not in (None, ""):
            params[theirs] = config[ours]
    if call.idempotency_key:
        params["traceparent"] = _traceparent(call.idempotency_key)
    return params


def _traceparent(idempotency_key: str) -> str:
    """W3C Trace Context, the same for the same key: how the Gateway can tell a repeated call."""
    digest = hashlib.blake2b(idempotency_key.encode("utf-8", "surrogatepass"), digest_size=24).hexdigest()
    return f"00-{digest[:32]}-{digest[32:]}-01"


def _exchange(params: dict[str, Any], exchange: Exchange, guard: Guard) -> Reply:
    """One call, its errors put into words. Raises ExecutorError and TimeoutError."""
    gateway = settings.SERVICE.executors.gateway
    key = (gateway.url, gateway.token)
    try:
        reply = _on_kept_connection(key, params, exchange, guard)
        return reply or _converse(key, _open(*key, guard), params, exchange, guard)
    except ProtocolError as error:
        raise ExecutorError(f"the gateway at {gateway.url} {error}", trace=exchange.streamed) from error
    except TimeoutError:
        raise
    except OSError as error:
        message = f"the connection to the gateway at {gateway.url} broke: {error}"
        raise ExecutorError(message, trace=exchange.streamed) from error


def _on_kept_connection(key: _Key, params: dict[str, Any], exchange: Exchange, guard: Guard) -> Reply | None:
    """None where no kept connection served: then the call was never accepted, and a new connection may be tried.

    The Gateway accepts a call before anything else. A connection that ends without that was closed while it
    was idle, however far the request had got on its way.
    """
    while (kept := _pool.take(key)) is not None:
        if not kept.is_usable():
            kept.close()
            continue
        try:
            return _converse(key, kept, params, exchange, guard)
        except TimeoutError:
            raise
        except (Closed, OSError):
            if exchange.heard:
                raise
            return None
    return None


def _converse(key: _Key, connection: Connection, params: dict[str, Any], exchange: Exchange, guard: Guard) -> Reply:
    """Ask and listen to the end; afterwards the connection is kept, or closed where it is not clean."""
    clean = False
    try:
        connection.hold(guard)
        request_id = connection.new_id()
        connection.send({"type": "req", "id": request_id, "method": "agent", "params": params}, guard)
        reply = exchange.run(connection, request_id, guard)
        clean = True
        return reply
    except Refused:
        clean = True  # the call failed, the connection is fine
        raise
    finally:
        guard.release()
        if clean:
            _pool.give(key, connection)
        else:
            connection.close()  # which cancels the call at the gateway


def _open(url: str, token: str, guard: Guard) -> Connection:
    """Connect, wait for the challenge and log in."""
    try:
        connection = Connection.open(url, guard, max_bytes=settings.SERVICE.limits.answer_bytes)
    except (InvalidURI, UnicodeError, ValueError) as error:
        raise ExecutorError(f"executors.gateway.url is no WebSocket url: {error}", retryable=False) from error
    except ProtocolError as error:
        raise ExecutorError(f"the gateway at {url} {error}") from error
    except TimeoutError:
        raise
    except OSError as error:
        raise ExecutorError(f"cannot connect to the gateway at {url}: {error.strerror or error}") from error
    try:
        _log_in(connection, url, token, guard)
    except BaseException:
        connection.close()
        raise
    return connection


def _log_in(connection: Connection, url: str, token: str, guard: Guard) -> None:
    try:
        while connection.receive(guard).get("event") != "challenge":
            pass
        request_id = connection.new_id()
        params = {"auth": {"token": token}}
        connection.send({"type": "req", "id": request_id, "method": "connect", "params": params}, guard)
        while (answer := connection.receive(guard)).get("id") != request_id:
            pass
    except ProtocolError as error:
        raise ExecutorError(f"the gateway at {url} {error} (while logging in)") from error
    if answer.get("ok") is not True:
        raise ExecutorError(f"the gateway at {url} refused the token: {_error_text(answer)}", retryable=False)


def _error_text(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    return str(error.get("message") or error) if isinstance(error, dict) else str(error or "no reason given")


def _definition(url: str, text: str) -> AgentDefinition:
    try:
        described = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExecutorError(f"{url} answered with something that is not JSON") from error
    if not isinstance(described, dict):
        raise ExecutorError(f"{url} answered with JSON that is not an object")
    texts = {key: described.get(key) for key in ("version", "soul_md", "agent_yaml")}
    version, soul, config = (value if isinstance(value, str) else "" for value in texts.values())
    return AgentDefinition(version=version, soul=soul, config=config)
