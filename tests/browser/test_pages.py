"""Every page in a real browser: nothing the policy blocks, nothing axe finds serious, nothing wider than a phone."""

import datetime as dt
import re
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone

from runs.models import QueueItem, Run, SignalKind
from runs.trust.vector import VerifierInput
from tests import factories
from tests.insights.versions import AGENT, agent, answers, key, prompt
from tests.runs.views.marking import waiting

SERIOUS = {"serious", "critical"}


def escalated() -> Run:
    run = factories.run(
        status="escalated", reason="Only 3 of 6 claims are backed.", now=timezone.now(), version=trusted()
    )
    report = factories.worked_example()
    step = factories.gated(run, report, agent_trace=[{"type": "tool_call", "name": "query", "input": {"q": "up"}}] * 60)
    factories.signal(
        step, SignalKind.VERIFIER, score=0.85, detail={"mode": "critic"}, prompt="Judge.", raw_output="Fine."
    )
    claims = [{"claim": f"claim {n}", "supported": n < 3, "evidence": "seen"} for n in range(6)]
    factories.signal(step, SignalKind.GROUNDING, score=0.5, detail={"claims": claims, "trace_cut": True})
    factories.signal(step, SignalKind.CHECK, name="still_breaching", detail={"command": "true", "stdout": "x" * 500})
    for n in range(5):
        factories.event(run, "line " * 40, level=("info", "warning", "error")[n % 3])
    return run


def trusted() -> Any:
    return factories.version(
        steps=[factories.step_config(), factories.step_config("after")], description="What it is for."
    )


def failed() -> Run:
    run = factories.run(
        status="failed", reason="The answer breaks the contract.", now=timezone.now(), version=trusted()
    )
    report = factories.worked_example(verifier=VerifierInput(score=None, state="failed", error="no reply"))
    factories.gated(run, report, status="failed", error="no confidence " * 40, raw_output="x" * 9_000)
    return run


def histories() -> list[str]:
    """A prompt and an agent with two versions each, long words and long lines in them."""
    prompt("a7fad9c01b22", f"Look.\n{'w' * 300}\nold " + "word " * 400, days_ago=9, step="assess-and-remediate")
    prompt("b91c33d07e10", f"Look.\n{'w' * 299}x\nnew " + "word " * 400, days_ago=2, step="assess-and-remediate")
    for digest in ("a7fad9c01b22", "b91c33d07e10", ""):
        answers(key(step="assess-and-remediate", prompt_hash=digest), right=21, wrong=4)
    agent("v1", days_ago=9, soul="Be kind.", config="model: m1")
    agent("v2", days_ago=2, soul="Be careful.", config="model: m1")
    agent("v3", days_ago=1, note="The backend told no definition.")
    page = "/ui/insights/steps/assess-and-remediate/versions"
    agents = ["/ui/agents", f"/ui/agents/{AGENT}", f"/ui/agents/{AGENT}/versions?version=v2"]
    return [page, f"{page}?version=", f"{page}?version=unknown", *agents, f"/ui/agents/{AGENT}/versions"]


def escalations() -> list[str]:
    """One that waits and was handed on, and one that was revised, with long words in them."""
    run = factories.run(status="escalated", now=timezone.now(), summary="שלום " + "long " * 60, version=trusted())
    row = factories.gated(run, factories.worked_example())
    one = factories.escalation(row, to="leads " + "w" * 90, due_at=timezone.now() + dt.timedelta(hours=1), tier=1)
    one.decisions.create(kind="escalate", by="ann", to=one.to, reason="r" * 400, at=timezone.now())
    done = factories.escalation(factories.gated(factories.run(version=trusted()), factories.worked_example()))
    changes = {"summary": ["w" * 300, "long " * 90], "amount": [{"a": [1, 2]}, None]}
    done.decisions.create(kind="revise", by="ann", reason="seen", changes=changes, at=timezone.now())
    done.state, done.closed_at, done.closed_by = "revised", timezone.now(), "ann"
    done.save()
    revise = f"/ui/escalations/{one.id}/revise"
    return [
        "/ui/escalations", "/ui/escalations?to=nobody", f"/ui/escalations/{one.id}", f"{revise}?as=json", revise,
        f"/ui/runs/{run.id}", "/ui/escalations?show=closed", f"/ui/escalations/{done.id}", f"/ui/runs/{done.run_id}",
    ]  # fmt: skip


def addresses() -> list[str]:
    factories.pipeline("checkout-error-rate", version=trusted())
    errors = [{"file": "broken.yaml", "line": 3, "field": "steps[0].when", "message": "unknown name sumary; summary?"}]
    factories.pipeline("broken", version=None, errors=errors)
    factories.pipeline("gone", present=False)
    for status in ("queued", "running", "completed", "stopped", "aborted", "cancelled"):
        factories.run(status=status, now=timezone.now(), summary="שלום " + "long " * 60, version=trusted())
    runs = [escalated(), failed()]
    step = runs[0].steps.get()
    to_mark = [waiting("look/logs") for _ in range(3)]
    QueueItem.objects.filter(step=to_mark[1]).update(is_replay=True)
    return [
        "/ui/",
        "/ui/?period=1h",
        "/ui/settings",
        "/ui/insights/pipelines",
        "/ui/insights/agents?period=all",
        "/ui/insights/models",
        "/ui/runs",
        "/ui/runs?status=failed&period=1h",
        "/ui/runs?status=nope",
        *(f"/ui/runs/{run.id}" for run in runs),
        f"/ui/steps/{step.id}",
        f"/ui/steps/{step.id}/trace",
        f"/ui/steps/{step.id}/text/prompt",
        *histories(),
        *escalations(),
        "/ui/pipelines",
        "/ui/pipelines/checkout-error-rate",
        "/ui/pipelines/broken",
        "/ui/marking-queue",
        "/ui/marking-queue?step=look",
        "/ui/marking-queue/bulk?step=look",
        "/ui/marking-queue/done",
        f"/ui/marking-queue/{to_mark[0].id}",
        f"/ui/marking-queue/{to_mark[1].id}?label=failed_check",
        f"/ui/marking-queue/{to_mark[0].id}/trace",
        f"/ui/marking-queue/{to_mark[0].id}/text/answered",
        "/ui/nope",
    ]


def complaints(page: Any, address: str) -> list[tuple[str, ...]]:
    """What axe finds serious, and whether the page is wider than its window."""
    found = [
        (address, violation["id"], violation["nodes"][0]["html"][:150])
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in SERIOUS
    ]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        found.append((address, "wider than the window"))
    return found


def test_no_page_breaks_the_policy_or_keeps_anyone_out(site: str, page: Any, console: list[str]) -> None:
    found = []
    for number, address in enumerate(addresses()):
        # Alternating, each page kind is seen in both themes and both sizes over the list.
        page.emulate_media(color_scheme=("light", "dark")[number % 2], reduced_motion="reduce")
        page.set_viewport_size({"width": (1440, 390)[number // 2 % 2], "height": 900})
        page.goto(site + address)
        page.evaluate("for (const item of document.querySelectorAll('details')) item.open = true")
        page.wait_for_timeout(300)
        found += complaints(page, address)
    assert found == []
    assert [line for line in console if "the server responded with a status of 40" not in line] == []


def test_everything_can_be_read_without_scripts(site: str, page: Any, chromium: Any) -> None:
    run = escalated()
    context = chromium.new_context(java_script_enabled=False, storage_state=page.context.storage_state())
    plain = context.new_page()
    plain.goto(f"{site}/ui/runs")
    plain.click(f"#link-{run.id}")
    assert plain.inner_text(".big") == "50%"
    plain.click("summary:has-text('What it did')")
    plain.click("text=Open the trace")
    plain.click("text=more event")
    assert plain.locator(".trace-event").count() == 10
    plain.goto(f"{site}/ui/pipelines")
    assert "Pipelines" in plain.title()
    context.close()


def test_keys_search_and_dialogs(site: str, page: Any) -> None:
    run = escalated()
    factories.pipeline("checkout-error-rate", version=trusted())
    page.goto(f"{site}/ui/runs")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/ui/pipelines")
    page.keyboard.press("/")
    page.keyboard.type(str(run.id)[:20])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/ui/runs/{run.id}")
    page.goto(f"{site}/ui/pipelines/checkout-error-rate")
    page.click("text=Run now")
    page.fill("#payload", '{"summary": ')
    page.click("text=Start the run")
    assert page.locator("#payload-problem").inner_text() != ""
    assert page.input_value("#payload") == '{"summary": '


def test_cancel_asks_first(site: str, page: Any) -> None:
    run = factories.run(status="running", now=timezone.now())
    page.goto(f"{site}/ui/runs/{run.id}")
    page.click("text=Cancel run")
    page.click("text=Keep it running")
    run.refresh_from_db()
    assert run.status == "running"
    page.click("text=Cancel run")
    page.click("text=Cancel the run")
    page.wait_for_selector("text=The run is cancelled.")
    run.refresh_from_db()
    assert run.status == "cancelled"


def test_times_are_told_in_the_readers_zone_with_the_exact_time_at_hand(site: str, page: Any, chromium: Any) -> None:
    factories.run(status="running", now=timezone.now())
    context = chromium.new_context(
        storage_state=page.context.storage_state(), timezone_id="Asia/Kolkata", locale="en-GB"
    )
    abroad = context.new_page()
    # The first page tells the server where its reader is, as the sign-in page does; what follows is made for there.
    abroad.goto(f"{site}/ui/settings")
    abroad.goto(f"{site}/ui/runs")
    shown = abroad.locator("td time").first
    assert re.fullmatch(r"just now|\d+ s ago", shown.inner_text())
    assert "GMT+5:30" in shown.get_attribute("title")
    context.close()
