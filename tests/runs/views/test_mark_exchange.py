"""Marks as files, on their page."""

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from calibration.models import Mark
from tests import factories
from tests.runs.marked import label, markable, said
from tests.runs.views.test_feedback import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(factories.user("ada", role="admin"))
    return client


@pytest.fixture
def marker() -> Client:
    client = Client()
    client.force_login(factories.user("maria", role="marker"))
    return client


def check(client: Client, content: bytes | str, name: str = "marks.jsonl", **options: str) -> Any:
    data = content.encode() if isinstance(content, str) else content
    return client.post(reverse("ui-marks-check"), {"file": SimpleUploadedFile(name, data), **options})


def confirm(client: Client, checked: Any) -> Any:
    found = re.search(r'name="checked" value="([^"]+)"', checked.content.decode())
    assert found, "there is no button that confirms"
    return client.post(reverse("ui-marks-import"), {"checked": found[1]}, follow=True)


def line(step: Any, **more: Any) -> str:
    return json.dumps({"step_id": str(step.id), "outcome": "correct", **more}) + "\n"


def test_a_file_is_checked_then_stored_by_a_button(admin: Client) -> None:
    step = markable()
    checked = check(admin, line(step, marker="anna", note="a\nb"))
    assert "1 line: 1 mark would be added" in words(checked)
    assert "Accounts that cannot sign in would be made for anna." in words(checked)
    assert not Mark.objects.exists()
    assert "1 mark added" in words(confirm(admin, checked))
    assert said() == [("anna", "correct", True)]
    assert Mark.objects.get().note == "a\nb"
    assert label(step.id) == (1.0, "step_mark")


def test_what_has_no_marker_is_said_by_who_imports(admin: Client) -> None:
    confirm(admin, check(admin, f"step_id,outcome\r\n{markable().id},partial\r\n", "marks.csv"))
    assert said() == [("ada", "partial", True)]


def test_bad_lines_are_named_and_nothing_can_be_confirmed(admin: Client) -> None:
    checked = check(admin, line(markable()) + '{"outcome": "<b>"}\n')
    assert "1 line cannot be used" in words(checked)
    assert b"line 2: outcome: expected one of correct, partial, incorrect, not &#x27;&lt;b&gt;&#x27;" in checked.content
    assert b'name="checked"' not in checked.content


def test_lines_about_what_is_not_here_can_be_left_out(admin: Client) -> None:
    text = line(markable()) + '{"run_id": "00000000-0000-0000-0000-000000000007", "outcome": "correct"}\n'
    assert b'name="checked"' not in check(admin, text).content
    confirm(admin, check(admin, text, skip_absent="on"))
    assert Mark.objects.count() == 1


@pytest.mark.parametrize(
    ("content", "name", "status", "complaint"),
    [
        (b"\xff\xfe", "marks.csv", 400, "line 1: not UTF-8"),
        (b"x", "marks.xlsx", 400, "expected a name that ends in .csv or .jsonl"),
        (b" " * 2_000_001, "marks.csv", 413, "go in with: manage.py marks import FILE"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(
    admin: Client, content: bytes, name: str, status: int, complaint: str
) -> None:
    response = check(admin, content, name)
    assert response.status_code == status
    assert complaint in response.content.decode()


def test_no_file_is_told(admin: Client) -> None:
    assert admin.post(reverse("ui-marks-check")).status_code == 400


def test_only_what_was_checked_by_oneself_can_be_confirmed(admin: Client) -> None:
    other = Client()
    other.force_login(factories.user("bob", role="admin"))
    checked = check(other, line(markable()))
    assert "Check the file again" in confirm(admin, checked).content.decode()
    assert admin.post(reverse("ui-marks-import"), {"checked": "made up"}).status_code == 400
    assert not Mark.objects.exists()


def test_a_marker_exports_and_does_not_import(admin: Client, marker: Client) -> None:
    confirm(admin, check(admin, line(markable(), note="=1+1", marker="anna")))
    assert "needs the role admin" in words(marker.get(reverse("ui-marks")))
    assert check(marker, line(markable())).status_code == 403
    response = marker.get(reverse("ui-marks-export"), {"form": "csv", "marks": "all"})
    assert re.fullmatch(r'attachment; filename="marks-\d{4}-\d\d-\d\d\.csv"', response["Content-Disposition"])
    text = b"".join(response.streaming_content).decode()
    assert "'=1+1" in text
    response = marker.get(reverse("ui-marks-export"), {"form": "jsonl", "marks": "current"})
    assert json.loads(b"".join(response.streaming_content))["note"] == "=1+1"


@pytest.mark.parametrize("query", ["form=xlsx", "marks=some"])
def test_an_export_that_there_is_not_is_refused(marker: Client, query: str) -> None:
    assert marker.get(f"{reverse('ui-marks-export')}?{query}").status_code == 400
