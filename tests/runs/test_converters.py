import posixpath
from urllib.parse import unquote, urlsplit

import pytest
from django.urls import resolve, reverse
from hypothesis import example, given
from hypothesis import strategies as st

PAGES = ["ui-pipeline", "ui-pipeline-run", "ui-insights-step", "ui-prompt-versions", "ui-agent-steps"]
names = st.text(alphabet=st.sampled_from("./~a%?#\\ é"), min_size=1, max_size=12)


@pytest.mark.parametrize("page", PAGES)
@given(name=names)
@example(name="..")
@example(name="../../etc")
@example(name="..~")
@example(name="gateway:./x/..")
def test_an_address_leads_to_its_name_also_after_a_browser_took_out_its_dots(page: str, name: str) -> None:
    path = urlsplit(reverse(page, args=[name])).path
    assert not {".", ".."} & set(unquote(path).split("/"))
    assert resolve(unquote(path)).kwargs == {"name": name}


def test_common_names_stand_in_addresses_as_they_are() -> None:
    assert reverse("ui-insights-step", args=["triage/v1.2..~x"]) == "/ui/insights/steps/triage/v1.2..~x"
    assert posixpath.normpath(reverse("ui-agent-steps", args=[".."])) == "/ui/agents/..~"
