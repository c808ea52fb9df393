"""A small real Gateway: WebSocket calls and REST definitions on one port, each agent scripted.

In tests: ``with running(FakeGateway({"triage": Script(...)})) as gateway: gateway.url``. For the bench:
``python -m tests.fakes.gateway --port 18789``. Lean on purpose: in the bench it shares the machine
with what it is there to measure.
"""

import argparse
import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from websockets.frames import CLOSE, TEXT, Frame
from websockets.http11 import Request
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from tests.fakes.gateway_script import ANSWER, TRACE, VERDICT, Script

__all__ = ["ANSWER", "TRACE", "VERDICT", "FakeGateway", "Script", "running"]


@dataclass
class FakeGateway:
    agents: dict[str, Script] = field(default_factory=dict)
    token: str = ""
    port: int = 0
    context: ssl.SSLContext | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)  # params of each call, when recording
    recording: bool = True
    connections: int = 0  # made so far
    cancelled: int = 0  # calls whose connection went away before they ended
    open_transports: set[asyncio.Transport] = field(default_factory=set)
    _thread: threading.Thread | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _ended: asyncio.Event | None = None

    @property
    def url(self) -> str:
        return f"{'wss' if self.context else 'ws'}://127.0.0.1:{self.port}/rpc"

    @property
    def rest_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Peer(self), "127.0.0.1", self.port, ssl=self.context)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def stop(self) -> None:
        """Close the port and, without a word, every connection; returns when it is done."""
        if self._thread is not None and self._loop is not None and self._ended is not None:
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()
            self._thread = None

    def start(self) -> None:
        """Serve from a thread of its own; returns when the port is open."""
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), name="fake-gateway")
        self._thread.start()
        ready.wait()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        async with await self.serve():
            ready.set()
            await self._ended.wait()
            for transport in list(self.open_transports):
                transport.abort()
            await asyncio.sleep(0)


class _Peer(asyncio.Protocol):
    def __init__(self, gateway: FakeGateway) -> None:
        self.gateway = gateway
        self.protocol = ServerProtocol(max_size=20_000_000)
        self.logged_in = False
        self.calls: set[asyncio.Task[None]] = set()
        self.parts: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.gateway.open_transports.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.gateway.open_transports.discard(self.transport)
        self.gateway.cancelled += len(self.calls)
        for call in self.calls:
            call.cancel()

    def data_received(self, data: bytes) -> None:
        self.protocol.receive_data(data)
        for event in self.protocol.events_received():
            if isinstance(event, Request):
                self.shake_hands(event)
                continue
            assert isinstance(event, Frame)
            if event.opcode is CLOSE:
                self.flush()
                self.transport.close()
            else:
                self.take(event)
        self.flush()

    def flush(self) -> None:
        data = self.protocol.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(b"".join(data))

    def send(self, message: str) -> None:
        if self.protocol.state is OPEN:
            self.protocol.send_text(message.encode("utf-8", "surrogatepass"))

    def shake_hands(self, request: Request) -> None:
        if request.path == "/rpc":
            self.gateway.connections += 1
            self.protocol.send_response(self.protocol.accept(request))
            self.send('{"type":"event","event":"challenge","payload":{"nonce":"7f0c"}}')
            return
        status, body = _rest(self.gateway, request)
        response = self.protocol.reject(status, json.dumps(body))
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "application/json"
        self.protocol.send_response(response)
        self.flush()
        self.transport.close()

    def take(self, frame: Frame) -> None:
        if frame.opcode is TEXT or self.parts:
            self.parts.append(bytes(frame.data))
        if frame.fin and self.parts:
            message = json.loads(b"".join(self.parts))
            self.parts.clear()
            self.answer(message)

    def answer(self, message: dict[str, Any]) -> None:
        identity, params = message["id"], message["params"]
        if message["method"] == "connect":
            self.logged_in = params["auth"]["token"] == self.gateway.token
            self.send(_ok(identity, '{"protocol":3}') if self.logged_in else _error(identity, "wrong token"))
        elif not self.logged_in:
            self.send(_error(identity, "log in first"))
        elif (script := self.gateway.agents.get(params["agentId"])) is None:
            self.send(_error(identity, f"no agent {params['agentId']!r}"))
        elif not params["sessionKey"].startswith(f"agent:{params['agentId']}:"):
            self.send(_error(identity, "sessionKey belongs to another agent"))
        else:
            self.start(identity, params, script)

    def start(self, identity: str, params: dict[str, Any], script: Script) -> None:
        if self.gateway.recording:
            self.gateway.requests.append(params)
        if script.leaves:
            self.transport.abort()
            return
        self.send(_ok(identity, f'{{"status":"accepted","runId":"run-{identity}"}}'))
        if script.delay or script.event_delay or script.silent or script.flood:
            call = asyncio.get_running_loop().create_task(self.perform_slowly(identity, params, script))
            self.calls.add(call)
            call.add_done_callback(self.calls.discard)
            return
        for event in script.trace if script.streamed else ():
            self.send(_event(identity, event))
        self.end(identity, params, script)

    async def perform_slowly(self, identity: str, params: dict[str, Any], script: Script) -> None:
        for event in script.trace if script.streamed else ():
            await asyncio.sleep(script.event_delay)
            self.send(_event(identity, event))
            self.flush()
        while script.flood and not self.transport.is_closing():
            if self.transport.get_write_buffer_size() < 1_000_000:
                self.transport.write(script.flood * (200_000 // len(script.flood)))
            await asyncio.sleep(0)
        await asyncio.sleep(3600 if script.silent else script.delay)
        self.end(identity, params, script)
        self.flush()

    def end(self, identity: str, params: dict[str, Any], script: Script) -> None:
        for raw in script.raw:
            if isinstance(raw, str):
                self.send(raw)
            else:
                self.flush()
                self.transport.write(raw)
        if script.dies:
            self.flush()
            self.transport.close()
        elif script.error:
            self.send(_error(identity, script.error))
        else:
            self.send(_ok(identity, f'{{"status":"ok","result":{json.dumps(script.result(params))}}}'))
        if script.goodbye:  # in one piece with the end of the call: whoever reads the one has the other
            self.transport.write(b"".join([*self.protocol.data_to_send(), script.goodbye]))


def _ok(identity: str, payload: str) -> str:
    return f'{{"type":"res","id":{json.dumps(identity)},"ok":true,"payload":{payload}}}'


def _event(identity: str, event: dict[str, Any]) -> str:
    return _ok(identity, f'{{"status":"trace_event","event":{json.dumps(event)}}}')


def _error(identity: str, message: str) -> str:
    return json.dumps({"type": "res", "id": identity, "ok": False, "error": {"message": message}})


def _rest(gateway: FakeGateway, request: Request) -> tuple[int, Any]:
    path = request.path
    if path == "/health":
        return 200, {"status": "ok"}
    if gateway.token and request.headers.get("Authorization") != f"Bearer {gateway.token}":
        return 401, {"error": "wrong token"}
    if path == "/agents":
        return 200, [{"name": name, "version": script.version} for name, script in gateway.agents.items()]
    name = path.removeprefix("/agents/")
    script = gateway.agents.get(name)
    if script is None:
        return 404, {"error": f"no agent {name!r}"}
    return 200, {"name": name, "version": script.version, "soul_md": script.soul, "agent_yaml": script.config}


@contextlib.contextmanager
def running(gateway: FakeGateway) -> Iterator[FakeGateway]:
    """The gateway, serving until the block ends."""
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


AGENTS = {
    "instant": Script(),
    "tracing": Script(trace=TRACE),
    "critic": Script(answer=VERDICT),
    "grounding-judge": Script(answer=VERDICT),
    "slow": Script(trace=TRACE, delay=1.0),
    "slow-judge": Script(answer=VERDICT, delay=1.0),
    "broken": Script(error="the model is overloaded"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=18789)
    parser.add_argument("--token", default="")
    options = parser.parse_args()
    gateway = FakeGateway(AGENTS, token=options.token, port=options.port, recording=False)

    async def serve() -> None:
        async with await gateway.serve() as server:
            print(f"fake gateway at {gateway.url}", flush=True)  # noqa: T201
            await server.serve_forever()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve())


if __name__ == "__main__":
    main()
