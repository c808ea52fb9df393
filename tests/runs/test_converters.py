import posixpath
import re
from urllib.parse import unquote, urlsplit

import pytest
from django.test import Client
from django.urls import resolve, reverse
from hypothesis import example, given
from hypothesis import strategies as st

from runs.converters import SUFFIXES
from tests import factories
from tests.vectorstep.test_parameters import patterns

PAGES = ["ui-pipeline", "ui-pipeline-run", "ui-insights-step", "ui-prompt-versions", "ui-agent-steps"]
texts = st.text(alphabet=st.sampled_from("./~a%?#\\ é"), min_size=1, max_size=12)
names = st.lists(st.sampled_from(["/", "~", "x", *SUFFIXES]), min_size=1, max_size=6).map("".join) | texts


@pytest.mark.parametrize("page", PAGES)
@given(name=names)
@example(name="..")
@example(name="../../etc")
@example(name="..~")
@example(name="gateway:./x/..")
@example(name="x/versions")
@example(name="x/versions~")
@example(name="x/run")
def test_an_address_leads_to_its_name_also_after_a_browser_took_out_its_dots(page: str, name: str) -> None:
    path = urlsplit(reverse(page, args=[name])).path
    assert not {".", ".."} & set(unquote(path).split("/"))
    assert resolve(unquote(path)).kwargs == {"name": name}


def test_common_names_stand_in_addresses_as_they_are() -> None:
    assert reverse("ui-insights-step", args=["triage/v1.2..~x"]) == "/ui/insights/steps/triage/v1.2..~x"
    assert reverse("ui-pipeline", args=["run"]) == "/ui/pipelines/run"
    assert reverse("ui-insights-step", args=["versions/x"]) == "/ui/insights/steps/versions/x"
    assert reverse("ui-insights-step", args=["x/versions"]) == "/ui/insights/steps/x/versions~"
    assert reverse("ui-prompt-versions", args=["x/versions"]) == "/ui/insights/steps/x/versions~/versions"
    assert posixpath.normpath(reverse("ui-agent-steps", args=[".."])) == "/ui/agents/..~"


def test_the_words_after_a_name_are_known() -> None:
    """One that is added later would hide the names that end in it."""
    routes = {str(pattern.pattern) for pattern in patterns()}
    after = [found for route in routes if (found := re.fullmatch(r"(.*<name:\w+>)/(.+)", route))]
    assert {found[2] for found in after if found[1] in routes} == set(SUFFIXES)


@pytest.mark.django_db
def test_a_name_that_ends_in_such_a_word_has_its_pages(client: Client) -> None:
    client.force_login(factories.user(role="viewer"))
    for name in ("x/versions", "x/calibration", "x/run", "x/versions~"):
        factories.step(factories.run(), name=name)
        path = reverse("ui-insights-step", args=[name])
        assert f"<bdi>{name}</bdi>" in client.get(path).content.decode()
        api = path.removeprefix("/ui/insights")
        assert client.get(api).json()["step_name"] == name
        assert client.get(f"{api}/versions").json()["step_name"] == name
        assert client.get(f"{api}/calibration").json()["step_name"] == name
