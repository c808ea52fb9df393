"""Every number leads to the runs behind it, and says there what it said here."""

import re
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
from django.test import Client

from tests import factories
from tests.insights import versions
from tests.insights.history import answer, answers, key
from tests.insights.views.reading import html

pytestmark = pytest.mark.django_db

_NOUNS = "(?: (?:label|answer|run|step)s?)?"
_LINK = re.compile(
    rf'<a [^>]*?href="([^"]*)"[^>]*>\s*(?:<b>|<span class="strong">)?([\d,]+\+?){_NOUNS}(?:</b>|</span>)?\s*</a>'
)
_FOUND = re.compile(r'<data class="found" value="(\d+\+?)">')


def numbers(page: str) -> Iterator[tuple[str, str]]:
    """(address, number) of every link of a page's main part that is a number of labels, answers, runs or steps."""
    for address, number in _LINK.findall(page.split("<main", 1)[1].split("</main>", maxsplit=1)[0]):
        yield address, number.replace(",", "")


def follow(viewer: Client, address: str) -> dict[str, str]:
    """The numbers of a page, by where they lead; each is held against what it leads to."""
    page = html(viewer, address)
    led = dict(numbers(page))
    for target, number in led.items():
        path, _, part = urljoin(address, target).partition("#")
        arrived = html(viewer, path)
        if part:
            arrived = arrived.split(f'id="{part}"', 1)[1]
        found = _FOUND.search(arrived)
        assert found is not None, f"{address} leads to {target}, which does not say how many it holds"
        assert found[1] == number, f"{address} says {number}, {target} says {found[1]}"
    return led


@pytest.fixture
def history() -> None:
    """Two agents, two steps with odd names, two prompts, replays, checks that failed, several models."""
    olga, pete = factories.user("olga"), factories.user("pete")
    versions.prompt("p1", "old", days_ago=9, step='a/b "c"')
    versions.prompt("p2", "new", days_ago=3, step='a/b "c"')
    for step, prompt, agent, told in (
        ('a/b "c"', "p1", "command:one", "ccci"),
        ('a/b "c"', "p2", "command:one", "ccp"),
        ("other", "", "gateway:<two>", "ii"),
    ):
        bucket = key(step=step, prompt_hash=prompt, agent=agent, agent_version="" if prompt else "v1")
        answers(told, 0.95, by=olga, bucket=bucket)
        answer(bucket, 0.35)
        answer(bucket, 0.9, is_replay=True)
        answer(bucket, 0.9, check=False)
        answer(bucket, 0.8, stage="testing", marks={olga: "correct", pete: "partial"})


STEP = "/ui/insights/steps/a/b%20%22c%22"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        # Per step: its labels. 4 + 3 marked once, each prompt one failed check and one marked twice; then 2 + 1 + 1.
        ("/ui/insights/steps", {"11", "4"}),
        # Three answers that olga and pete both marked, one in each version or step.
        ("/ui/insights/agreement", {"3"}),
        ("/ui/insights/steps?stage=testing", {"2", "1"}),
        # The newest bucket: 3 marked once, one twice, one failed check; of both its bins and its thresholds.
        (STEP, {"5", "4", "1"}),
        # Answers: 4 + 4 others with the first prompt, 3 + 4 with the second; those with a label.
        (f"{STEP}/versions", {"8", "6", "7", "5"}),
        ("/ui/insights/agents?period=all", {"11", "4"}),
        ("/ui/insights/models?period=all", {"15"}),
        ("/ui/agents", {"11", "4"}),
        ("/ui/agents/command:one", {"8", "6", "7", "5"}),
        ("/ui/agents/command:one/versions", {"15", "11"}),
        ("/ui/agents/gateway:<two>/versions", {"6", "4"}),
    ],
)
def test_every_number_leads_to_as_many(viewer: Client, history: None, address: str, expected: set[str]) -> None:
    assert expected <= set(follow(viewer, address).values())
