"""D: facts that a program can check. Whatever cannot be answered has failed: checks fail closed."""

import json
import os
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from runs import outbound
from runs.executors.base import Deadline, ExecutorError, Stop
from runs.pipelines import schema
from runs.pipelines.templating import Rendered, TemplateError, evaluate, render_config, render_shell
from runs.signals.base import Outcome, Subject
from runs.signals.guard import never_raises
from runs.signals.process import ProcessError, run_shell

_SHOWN = 4_000  # characters of one text that are kept for the page; the expression sees all of it
# What the service keeps to itself; a check that needs a secret of its own is given it under another name.
_WITHHELD = ("VECTORSTEP_SECRET_KEY", "VECTORSTEP_ADMIN_PASSWORD", "DATABASE_URL", "CELERY_BROKER_URL")

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
    except (TemplateError, ProcessError, ExecutorError, Unanswered) as error:
        return Outcome(state="failed", passed=False, detail=detail, error=str(error))
    return Outcome(state="done", passed=passed, detail=detail, error="" if passed else f"not true: {check.expect}")


def _shell(check: schema.ShellCheck, seen: Mapping[str, Any], detail: dict[str, Any], stop: Stop) -> dict[str, Any]:
    rendered = render_shell(check.run, seen)
    detail["command"] = shown(rendered.text)
    command = _complete(rendered, "run")
    finished = run_shell(command, timeout=check.timeout_seconds, stop=stop, env=_environment(), cwd=settings.BASE_DIR)
    detail |= {"exit_code": finished.exit_code, "stdout": shown(finished.stdout), "stderr": shown(finished.stderr)}
    return {
        "result": finished.stdout.strip(),
        "exit_code": finished.exit_code,
        "stdout": finished.stdout,
        "stderr": finished.stderr,
    }


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
    return {name: value for name, value in os.environ.items() if name not in _WITHHELD}
