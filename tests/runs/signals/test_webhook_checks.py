import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from typing import Any, ClassVar

import pytest

from runs.pipelines.schema import WebhookCheck
from runs.signals import checks
from runs.signals.base import Outcome
from tests.runs.signals.given import no_stop, subject

pytestmark = pytest.mark.integration


class Handler(BaseHTTPRequestHandler):
    """Answers with what the path asks for, and keeps what was asked."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.seen.append({"path": self.path, "body": body.decode(), "headers": dict(self.headers)})
        if self.path == "/slow":
            self.connection.recv(1)  # until the client has gone
            return
        status = int(self.path.rsplit("/", 1)[-1]) if self.path[-3:].isdigit() else 200
        content, kind = (b"it is [up", "text/plain") if "text" in self.path else (b'{"up": true}', "application/json")
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def _local_addresses_are_allowed(service: Any) -> None:
    service(outbound={"allow_private": [ip_network("127.0.0.0/8")]})
    Handler.seen.clear()


def ask(url: str, expect: str = "response.status_code < 400", *, seconds: float = 10, **fields: Any) -> Outcome:
    given = {"type": "webhook", "name": "check", "url": url, "expect": expect, "timeout_seconds": seconds}
    return checks.gather(subject(), WebhookCheck.model_validate(given | fields), no_stop())


def test_status_and_json_body(url: str) -> None:
    outcome = ask(f"{url}/json", "response.status_code == 200 and response.body.up")
    assert (outcome.state, outcome.passed, outcome.error) == ("done", True, "")
    assert outcome.detail["status_code"] == 200
    assert outcome.detail["body"] == '{"up": true}'


def test_a_body_that_is_no_json_is_text(url: str) -> None:
    assert ask(f"{url}/text", "'[up' in response.body").passed is True
    assert ask(f"{url}/json", "response.text == '{\"up\": true}'").passed is True


def test_an_error_status_is_an_answer_and_no_failure_by_itself(url: str) -> None:
    assert ask(f"{url}/json/503", "response.status_code == 503").passed is True
    outcome = ask(f"{url}/json/503")
    assert (outcome.state, outcome.passed) == ("done", False)
    assert "HTTP 503" in outcome.error


def test_url_headers_and_payload_are_templates(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECK_TOKEN", "t0ken")
    outcome = ask(
        f"{url}/disk/{{{{ output.disk }}}}",
        headers={"Authorization": "Bearer ${CHECK_TOKEN}", "X-Limit": "{{ vars.limit }}"},
        payload={"disk": "{{ output.disk }}", "nested": ["{{ summary }}"], "n": 1},
    )
    assert outcome.passed is True
    [seen] = Handler.seen
    assert seen["path"] == "/disk/sda1"
    assert json.loads(seen["body"]) == {"disk": "sda1", "nested": ["It fails."], "n": 1}
    headers = {name.lower(): value for name, value in seen["headers"].items()}
    assert headers["authorization"] == "Bearer t0ken"
    assert headers["x-limit"] == "90"
    assert headers["content-type"] == "application/json"
    assert "t0ken" not in json.dumps(dict(outcome.detail))


def test_an_agent_cannot_name_an_environment_variable(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECK_TOKEN", "t0ken")
    answer = {"confidence": 0.9, "summary": "${CHECK_TOKEN}", "next_step_context": ""}
    check = WebhookCheck(type="webhook", name="check", url=f"{url}/x", headers={"X-Said": "{{ output.summary }}"})
    assert checks.gather(subject(answer=answer), check, no_stop()).passed is True
    assert "t0ken" not in json.dumps(Handler.seen)


def test_without_a_payload_nothing_is_sent(url: str) -> None:
    assert ask(f"{url}/json", method="GET").passed is True
    assert Handler.seen[0]["body"] == ""


@pytest.mark.parametrize(
    ("path", "expect"),
    [
        ("/json", "response.body.down"),
        ("/json", "response.status_code"),
        ("/json", "response.status_code =="),
        ("/{{ output.nobody }}", "true"),
    ],
)
def test_what_cannot_be_evaluated_has_failed(url: str, path: str, expect: str) -> None:
    outcome = ask(url + path, expect)
    assert (outcome.state, outcome.passed) == ("failed", False)
    assert outcome.error


def test_late_unreachable_and_forbidden_have_failed(url: str) -> None:
    assert "0.3 s" in ask(f"{url}/slow", seconds=0.3).error
    for outcome in (
        ask("http://127.0.0.1:9/x"),
        ask("http://169.254.169.254/latest/meta-data"),
        ask("http://[::1]:9/"),
    ):
        assert (outcome.state, outcome.passed) == ("failed", False)
        assert outcome.error


def test_private_addresses_are_closed_by_default(url: str, service: Any) -> None:
    service(outbound={"allow_private": []})
    outcome = ask(f"{url}/json")
    assert (outcome.state, outcome.passed) == ("failed", False)
    assert not Handler.seen
