"""The buttons that pause and resume, and where a pause is shown."""

import pytest
from django.test import Client
from django.urls import reverse

from runs.engine import pauses
from runs.models import Pause
from tests import factories

pytestmark = pytest.mark.django_db
REASON = '<script>"x"</script>'


def text(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_everything_paused_is_told_on_every_page(operator: Client, viewer: Client) -> None:
    factories.pipeline()
    run = factories.run(status="queued")
    operator.post(reverse("ui-pause"), {"reason": REASON})
    for path in ("/ui/", "/ui/runs", "/ui/pipelines", "/ui/escalations", f"/ui/runs/{run.id}"):
        page = text(viewer, path)
        assert "Everything is paused" in page
        assert "olga" in page
        assert "&lt;script&gt;" in page
        assert REASON not in page
        assert reverse("ui-resume") not in page
    page = text(operator, "/ui/pipelines")
    assert reverse("ui-resume") in page
    assert "Pause everything" not in page
    operator.post(reverse("ui-resume"))
    assert "Everything is paused" not in text(viewer, "/ui/runs")
    assert Pause.objects.get().resumed_by == "olga"


def test_one_pipeline_paused_is_told_where_it_matters(operator: Client) -> None:
    factories.pipeline()
    waiting, ended = factories.run(status="queued"), factories.run()
    name = "checkout-error-rate"
    page = text(operator, reverse("ui-pipeline", args=[name]))
    assert reverse("ui-pipeline-pause", args=[name]) in page
    operator.post(reverse("ui-pipeline-pause", args=[name]), {"reason": "the model is down"})
    page = text(operator, reverse("ui-pipeline", args=[name]))
    assert "because: <bdi>the model is down</bdi>" in page
    assert reverse("ui-pipeline-resume", args=[name]) in page
    assert ">paused</span>" in text(operator, "/ui/pipelines")
    assert "The run goes on when it is resumed" in text(operator, f"/ui/runs/{waiting.id}")
    assert "The run goes on when it is resumed" not in text(operator, f"/ui/runs/{ended.id}")
    assert "Everything is paused" not in text(operator, "/ui/runs")


def test_who_comes_second_is_told_and_nothing_breaks(operator: Client) -> None:
    factories.pipeline("a/b")
    for _ in range(2):
        answer = operator.post(reverse("ui-pipeline-pause", args=["a/b"]), {"reason": ""}, follow=True)
        assert answer.status_code == 200
    assert "Paused already by olga" in answer.content.decode()
    for _ in range(2):
        answer = operator.post(reverse("ui-pipeline-resume", args=["a/b"]), follow=True)
    assert "a/b is not paused." in answer.content.decode()
    assert operator.post(reverse("ui-pipeline-pause", args=["nothing"])).status_code == 404
    assert not pauses.in_force()
