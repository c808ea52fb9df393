import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from runs.models import Run, Step
from tests import factories

pytestmark = pytest.mark.django_db


def text_of(client: Client, address: str, **headers: str) -> str:
    response = client.get(address, headers=headers)
    assert response.status_code == 200, response.content[:500]
    return unescape(re.sub(r"\s+", " ", response.content.decode()))


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def fanned(count: int, *, name: str = "each", run: Run | None = None, index: int = 0, **of: Any) -> Run:
    """A run with one fan-out over hosts; ``of`` says what is different about a branch, by its number: b3={...}."""
    body = {**factories.step_config(name), "over": "{{ data.hosts }}", "as": "host"}
    if run is None:
        run = factories.run(status="failed", version=factories.version(steps=[{"fan_out": body}]))
    factories.step(run, name, executor="fan_out", agent="", index=index, parsed_output=None, status="failed")
    Step.objects.bulk_create(
        Step(run=run, name=f"{name}/{n}", branch=n, created_at=run.triggered_at, executor="command", index=index,
             **{"agent": "command:look", "status": "completed", "combined_trust": 0.9,
                "branch_context": {"host": {"name": f"web-{n}"}, "fan_out_index": n}, **of.get(f"b{n}", {})})
        for n in range(count)
    )  # fmt: skip
    return run


def names_in(html: str) -> list[str]:
    return re.findall(r'class="strong">(each/\d+)</bdi>', html)


def test_a_group_is_a_table_of_its_branches_and_those_that_went_wrong_come_first(viewer: Client) -> None:
    run = fanned(1000, b7={"status": "escalated", "combined_trust": 0.4}, b999={"status": "failed"})
    html = text_of(viewer, f"/ui/runs/{run.id}")
    assert html.count("<article") == 1  # the group's panel: branches open one by one
    assert names_in(html)[:4] == ["each/999", "each/7", "each/0", "each/1"]
    assert len(names_in(html)) == 50
    told = words(html)
    assert "1–50 of 1,000" in told
    assert "1,000 branches , 1 failed" in told or "1,000 branches, 1 failed" in told
    assert '{"name": "web-7"}' in told or '{"name":"web-7"}' in told
    assert "trusted 40%" in told


def test_pages_and_statuses_of_the_table_have_addresses_that_need_no_script(viewer: Client) -> None:
    run = fanned(120, b7={"status": "failed"})
    address = f"/ui/runs/{run.id}/branches?group=each"
    html = text_of(viewer, f"{address}&from=100")
    assert "<html" in html
    assert names_in(html) == [f"each/{n}" for n in range(100, 120)]
    assert "101–120 of 120" in words(html)
    failed = text_of(viewer, f"{address}&status=failed", **{"HX-Request": "true"})
    assert "<html" not in failed
    assert names_in(failed) == ["each/7"]
    assert "1–1 of 1" in words(failed)
    assert "hx-preserve" not in failed.split(">")[0]  # or the part could never take the place of the old one


def test_a_branch_opens_at_an_address_that_names_it_with_what_it_was_set_up_to_do(viewer: Client) -> None:
    run = fanned(2)
    html = text_of(viewer, f"/ui/runs/{run.id}")
    assert f'href="/ui/runs/{run.id}/step?name=each%2F1"' in html
    told = words(text_of(viewer, f"/ui/runs/{run.id}/step?name=each%2F1"))
    assert "Executor command" in told
    assert "Threshold" not in told.split("Executor command")[1].split("Ran as")[0]  # only its group has one


def test_a_branch_of_a_parallel_group_is_set_up_by_its_own_entry(viewer: Client) -> None:
    entry = {"parallel": {"name": "both", "steps": [factories.step_config("logs", confidence_threshold=0.6)]}}
    run = factories.run(version=factories.version(steps=[entry]))
    factories.step(run, "both", executor="parallel", agent="")
    factories.step(run, "both/logs", branch=0)
    assert "Threshold 60%" in words(text_of(viewer, f"/ui/runs/{run.id}/step?name=both/logs"))


def test_a_group_without_branches_says_so(viewer: Client) -> None:
    told = words(text_of(viewer, f"/ui/runs/{fanned(0).id}"))
    assert "It has no branches" in told


@pytest.mark.parametrize(
    ("query", "status"),
    [("group=nope", 404), ("group=each/0", 404), ("", 404), ("group=each&from=50", 404), ("group=each&status=odd", 400),
     ("group=each&from=x", 400), ("group=each&from=-1", 400)],
)  # fmt: skip
def test_what_is_not_there_and_what_is_no_question(viewer: Client, query: str, status: int) -> None:
    run = fanned(3)
    assert viewer.get(f"/ui/runs/{run.id}/branches?{query}").status_code == status


def test_nothing_in_an_item_or_a_name_is_markup(viewer: Client) -> None:
    hostile = "<script>alert('x')</script>" + "\u202e" + "y" * 1_000_000
    run = fanned(1, b0={"branch_context": {"host": hostile}, "model": hostile[:200]})
    response = viewer.get(f"/ui/runs/{run.id}")
    assert b"<script>alert" not in response.content
    assert len(response.content) < 80_000


def test_the_number_of_queries_does_not_grow_with_groups_or_branches(
    viewer: Client, django_assert_num_queries: Any
) -> None:
    small, large = fanned(3), fanned(200)
    for index in range(1, 6):
        fanned(30, name=f"group-{index}", run=large, index=index)
    # as for any run, and of the branches: their counts (of the overview and of the tables), and their first pages
    for run in (small, large):
        with django_assert_num_queries(21):
            viewer.get(f"/ui/runs/{run.id}")
