"""D: facts that a program can check. Whatever cannot be answered has failed: checks fail closed."""

import json
import os
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from runs import outbound
from runs.executors import process
from runs.executors.base import Deadline, ExecutorError, Stop, Stopped
from runs.pipelines import schema
from runs.pipelines.templating import Rendered, TemplateError, evaluate, render_config, render_shell
from runs.redaction import SERVER_SECRETS
from runs.signals.base import Outcome, Subject
from runs.signals.guard import never_raises

_SHOWN = 4_000  # characters of one text that are kept for the page; the expression sees all of it
_MOST_OUTPUT = 1_000_000  # bytes of one stream: past it the check fails, for a cut text could mislead its expression

Check = schema.ShellCheck | schema.WebhookCheck


class Unanswered(Exception):
    """The check ran into something that leaves its question open; the text says what."""


@never_raises(Outcome(state="failed", passed=False))
def gather(subject: Subject, check: Check, stop: Stop) -> Outcome:
    """Run the check and decide its expression. ``passed`` is True only where the expression is exactly true.

    Where it is not, ``error`` says why. A state of failed means that the question itself could not be answered.
    """
    seen = {**subject.context, "output": subject.answer}
    detail: dict[str, Any] = {"type": check.type, "expect": check.expect}
    try:
        if isinstance(check, schema.ShellCheck):
            found = _shell(check, seen, detail, stop)
        else:
            found = _webhook(check, seen, detail, stop)
        passed = _decide(check.expect, {**seen, **found})
    except (TemplateError, ExecutorError, Unanswered) as error:
        return Outcome(state="failed", passed=False, detail=detail, error=str(error))
    return Outcome(state="done", passed=passed, detail=detail, error="" if passed else _why_not(check.expect, detail))


def _why_not(expect: str, detail: Mapping[str, Any]) -> str:
    if "status_code" in detail:
        return f"not true: {expect}; the answer was HTTP {detail['status_code']}"
    printed = shown(" ".join(detail["stdout"].split()), 80)
    return f"not true: {expect}; it printed {printed!r} and ended with exit code {detail['exit_code']}"


def _shell(check: schema.ShellCheck, seen: Mapping[str, Any], detail: dict[str, Any], stop: Stop) -> dict[str, Any]:
    rendered = render_shell(check.run, seen)
    detail["command"] = shown(rendered.text)
    exit_code, stdout, stderr = _run(_complete(rendered, "run"), check.timeout_seconds, stop)
    detail |= {"exit_code": exit_code, "stdout": shown(stdout), "stderr": shown(stderr)}
    return {"result": stdout.strip(), "exit_code": exit_code, "stdout": stdout, "stderr": stderr}


def _run(command: str, seconds: float, stop: Stop) -> tuple[int, str, str]:
    """(exit code, stdout, stderr). Raises Unanswered where the command did not come to its own end, or Stopped."""
    output: list[bytes] = []
    try:
        ended = process.run(
            ["/bin/sh", "-c", command],
            cwd=settings.BASE_DIR,
            env=_environment(),
            stdin=b"",
            deadline=Deadline(seconds),
            stop=stop,
            max_bytes=_MOST_OUTPUT,
            keep_stderr=_MOST_OUTPUT,
            on_output=output.append,
        )
    except (OSError, ValueError) as error:
        raise Unanswered(f"the command could not be started: {error}") from error
    if ended.reason == "stop":
        raise Stopped
    if ended.reason == "timeout":
        raise Unanswered(f"timed out after {seconds:g} s; the command and its children were killed")
    if ended.reason == "output" or len(ended.stderr) >= _MOST_OUTPUT:
        raise Unanswered(f"the command printed more than {_MOST_OUTPUT:,} bytes")
    return ended.returncode, b"".join(output).decode("utf-8", "replace"), ended.stderr


def _webhook(check: schema.WebhookCheck, seen: Mapping[str, Any], detail: dict[str, Any], stop: Stop) -> dict[str, Any]:
    asked = {"url": check.url, "headers": check.headers, "payload": check.payload}
    filled, warnings = render_config(asked, seen)
    detail |= {"method": check.method, "url": shown(filled["url"])}
    _complete(Rendered("", warnings), "url, headers or payload")
    body = "" if filled["payload"] is None else _body(filled["payload"])
    headers = {"content-type": "application/json", **filled["headers"]} if body else filled["headers"]
    response = outbound.request(
        check.method,
        filled["url"],
        headers=headers,
        content=body,
        deadline=Deadline(check.timeout_seconds),
        stop=stop,
        max_bytes=settings.SERVICE.limits.answer_bytes,
    )
    detail |= {"status_code": response.status_code, "body": shown(response.text)}
    return {"response": {"status_code": response.status_code, "body": _read(response), "text": response.text}}


def _body(payload: Any) -> str:
    return payload if isinstance(payload, str) else json.dumps(payload)


def _read(response: outbound.Response) -> Any:
    """The body as the expression sees it: parsed where the server says it is JSON and it is, else the text."""
    if "json" not in response.headers.get("content-type", ""):
        return response.text
    try:
        return json.loads(response.text)
    except (ValueError, RecursionError):
        return response.text


def _complete(rendered: Rendered, field: str) -> str:
    """The text, if every name in it was there: a check with a hole in its question checks something else."""
    if rendered.warnings:
        raise Unanswered(f"{field}: {'; '.join(rendered.warnings)}")
    return rendered.text


def _decide(expect: str, names: Mapping[str, Any]) -> bool:
    """Raises Unanswered unless the expression gives true or false: in Jinja, even the text "false" is truthy."""
    value = evaluate(expect, names)
    if not isinstance(value, bool):
        raise Unanswered(f"expect must give true or false; {expect} gave {shown(repr(value), 80)}")
    return value


def shown(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else text[:most] + "…"


def _environment() -> dict[str, str]:
    """The server's own, for checks are its operator's, without what the server keeps secret even from them."""
    return {name: value for name, value in os.environ.items() if name not in SERVER_SECRETS}
