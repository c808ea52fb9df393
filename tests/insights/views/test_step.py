import datetime as dt
import json
import re
import uuid
from typing import Any

import pytest
from django.test import Client

from calibration.buckets import bucket_id
from calibration.labels import mark_sample
from tests import factories
from tests.factories import NOW
from tests.insights.history import STEP, answer, answers, key
from tests.insights.views.reading import html

pytestmark = pytest.mark.django_db

PAGE = f"/ui/insights/steps/{STEP}"


@pytest.fixture(autouse=True)
def four_are_enough(service: Any) -> None:
    service(calibration={"n_min": 4})


def chart(text: str, name: str) -> Any:
    return json.loads(text.split(f'<script id="{name}" type="application/json">')[1].split("</script>", maxsplit=1)[0])


def test_a_step_nobody_knows_is_not_found(viewer: Client) -> None:
    assert viewer.get("/ui/insights/steps/nope").status_code == 404


def test_a_step_without_a_confidence_has_nothing_to_measure(viewer: Client) -> None:
    factories.step(factories.run(), "open-ticket", agent="")
    assert "Nothing to measure" in html(viewer, "/ui/insights/steps/open-ticket")


def test_a_branch_of_a_fan_out_is_shown_as_its_group(viewer: Client) -> None:
    answer(key(step="look"))
    answer(key(step="group/name"))
    assert viewer.get("/ui/insights/steps/look/0").headers["Location"] == "/ui/insights/steps/look"
    assert viewer.get("/ui/insights/steps/group/name").status_code == 200
    assert viewer.get("/ui/insights/steps/nope/0").status_code == 404


def test_the_run_page_leads_to_the_record_of_its_step(viewer: Client) -> None:
    run = answer().run
    assert f'href="{PAGE}">track record</a>' in html(viewer, f"/ui/runs/{run.id}")


def test_the_answer_stands_at_the_top(viewer: Client) -> None:
    answers("ciii", 0.95, by=factories.user())
    text = html(viewer, PAGE)
    assert "<b>25%</b> correct (4 labels: the 95% interval bears this out)" in text
    assert "raise the threshold" in text


def test_many_versions_open_on_demand_and_the_chosen_one_stands_above_the_charts(viewer: Client) -> None:
    for number in range(8):
        answer(key(prompt_hash=f"p{number}"), at=NOW - dt.timedelta(days=number))
    text = html(viewer, f"{PAGE}?bucket={bucket_id(key(prompt_hash='p7'))}")
    at_once, further = text.split("Further versions", maxsplit=1)
    assert [n for n in range(8) if f"prompt p{n}" in at_once] == [0, 1, 2, 3, 4, 5, 7]
    assert "prompt p6" in further.split("</details>", maxsplit=1)[0]
    answer(key(step="other"))
    assert "Further versions" not in html(viewer, "/ui/insights/steps/other")


def test_a_long_list_of_versions_is_read_page_by_page(viewer: Client) -> None:
    for number in range(60):
        answer(key(agent_version=f"v{number:02}"), at=NOW + dt.timedelta(minutes=number))

    def shown(query: str) -> set[str]:
        return set(re.findall(r">agent (v\d\d)<", html(viewer, f"{PAGE}{query}")))

    first, second, third = (shown(f"?page={page}") for page in (1, 2, 3))
    assert first == {f"v{number:02}" for number in range(35, 60)}
    # The record in the charts, the newest, stands above on every page.
    assert second == {"v59", *(f"v{number:02}" for number in range(10, 35))}
    assert third == {"v59", *(f"v{number:02}" for number in range(10))}
    text = html(viewer, f"{PAGE}?page=2")
    assert "the page lists 26 to 50 of 60, the newest first" in text
    assert ('href="?#further"' in text, 'href="?page=3#further"' in text) == (True, True)
    assert "It has no more versions." in html(viewer, f"{PAGE}?page=9")


def test_the_version_in_use_is_shown_and_any_other_can_be(viewer: Client) -> None:
    olga = factories.user()
    answers("cccc", 0.9, by=olga, bucket=key(prompt_hash="old"), at=NOW - dt.timedelta(days=9))
    answers("ii", 0.9, by=olga, bucket=key(prompt_hash="new"))
    assert "Too few labels to say" in html(viewer, PAGE)
    assert "As right as it says" in html(viewer, f"{PAGE}?bucket={bucket_id(key(prompt_hash='old'))}")


def test_a_bucket_of_another_step_is_not_found(viewer: Client) -> None:
    answer()
    answer(key(step="other"))
    assert viewer.get(f"{PAGE}?bucket={bucket_id(key(step='other'))}").status_code == 404


def test_chart_and_table_hold_the_same_numbers(viewer: Client) -> None:
    answers("cccp", 0.95, by=factories.user())
    text = html(viewer, PAGE)
    points = chart(text, "reliability-data")
    assert len(points) == 10
    assert [point["n"] for point in points] == [0] * 9 + [4]
    # 3.5 of 4
    assert (points[9]["said"], points[9]["right"], points[9]["kind"]) == (0.95, 0.875, "agrees")
    assert (points[0]["said"], points[0]["right"], points[0]["interval"]) == (None, None, None)
    assert f'<a href="{points[9]["url"]}" title="The runs behind it">4</a>' in text


def test_every_bin_leads_to_the_runs_behind_it(viewer: Client) -> None:
    olga = factories.user()
    high, low = answers("c", 0.95, by=olga)[0], answers("i", 0.35, by=olga)[0]
    points = chart(html(viewer, f"{PAGE}?width=0.25&stage=production"), "reliability-data")
    text = html(viewer, points[3]["url"])
    assert str(high.run_id) in text
    assert str(low.run_id) not in text


def test_labels_from_failed_checks_alone_are_warned_of(viewer: Client) -> None:
    answer(check=False)
    answer(check=False)
    answers("c", 0.95, by=factories.user())
    assert "2 of 3 labels come from failed checks, which can only say wrong" in html(viewer, PAGE)
    answers("c", 0.95, by=factories.user())
    assert "which can only say wrong" not in html(viewer, PAGE)


@pytest.mark.parametrize(
    ("orders", "told"),
    [
        (("random", "random"), "All 2 marks were on answers chosen at random: the accuracy is unbiased."),
        (("random", "useful"), "Of 2 marks, 1 were on answers chosen at random (1 random, 1 most useful first)"),
        (("", "useful"), "None of the 2 marks was on an answer chosen at random"),
    ],
)
def test_accuracy_says_how_its_answers_were_chosen(viewer: Client, orders: tuple[str, str], told: str) -> None:
    olga = factories.user()
    for order in orders:
        answers("c", 0.95, by=olga, offered_by=order)
    text = html(viewer, PAGE)
    assert told in text
    assert "2 of the 2 were made blind." in text


def test_only_the_marks_that_count_are_told_and_which_of_them_were_blind(viewer: Client) -> None:
    olga, pete = factories.user("olga"), factories.user("pete")
    step = answers("i", 0.95, by=olga, offered_by="useful")[0]
    for by in (olga, pete):
        mark_sample(sample_id=step.id, by=by, outcome="correct", now=NOW, was_blind=False, via="page")
    answers("c", 0.95, by=olga, offered_by="random")
    text = html(viewer, PAGE)
    assert "Of 3 marks, 1 were on answers chosen at random (2 picked by hand, 1 random)" in text
    assert "1 of the 3 were made blind." in text


def test_the_threshold_explorer_reads_without_a_script(viewer: Client) -> None:
    olga = factories.user()
    answers("cc", 0.95, by=olga)
    answers("i", 0.7, by=olga)
    text = html(viewer, PAGE)
    assert "At 75%, 1 of 3 answers (33%, 6 to 79%) would have gone to a person; 1 of the 1 wrong ones" in text
    told = {point["threshold"]: point["told"] for point in chart(text, "threshold-data")["points"]}
    assert told[0.7].startswith("At 70%, 0 of 3 answers")


def test_every_number_of_the_threshold_leads_to_the_runs_behind_it(viewer: Client) -> None:
    olga = factories.user()
    passed, right = answers("c", 0.95, by=olga)[0], answers("c", 0.7, by=olga)[0]
    wrong = answers("i", 0.7, by=olga, stage="testing")[0]
    row = html(viewer, PAGE).split('<span class="tag">now</span>')[1].split("</tr>")[0]
    behind = [html(viewer, address.replace("&amp;", "&")) for address in re.findall(r'<a href="([^"]+)"', row)]
    found = [{one for one in (passed, right, wrong) if str(one.run_id) in text} for text in behind]
    assert found == [{right, wrong}, {wrong}, {passed}]


def test_the_number_of_labels_leads_to_them_in_the_stage_that_is_shown(viewer: Client) -> None:
    olga = factories.user()
    here, there = (answers("c", 0.95, by=olga, stage=stage)[0] for stage in ("testing", "production"))
    cell = html(viewer, f"{PAGE}?stage=testing").split('data-label="Labels">')[1].split("</td>")[0]
    text = html(viewer, re.findall(r'<a href="([^"]+)"', cell)[0].replace("&amp;", "&"))
    assert (str(here.run_id) in text, str(there.run_id) in text) == (True, False)


def test_said_against_shown(viewer: Client) -> None:
    answer(confidence=0.95, shown=0.5)
    answer(confidence=0.95, shown=0.95)
    text = html(viewer, PAGE)
    assert "grounding in shadow" in text
    assert "<b>50%</b> of 2 answers in shadow mode would have been capped" in text
    assert [(one["said"], one["shown"], one["wide"]) for one in chart(text, "shown-data")["answers"]] == [
        (0.95, 0.5, True),
        (0.95, 0.95, False),
    ]


def test_without_grounding_there_is_no_comparison(viewer: Client) -> None:
    answer()
    assert "Said against shown" not in html(viewer, PAGE)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("width=0.3", "must divide 1 exactly"),
        ("width=0.001", "width must be at least 0.04"),
        ("width=x", "must divide 1 exactly"),
        ("width=1e-999999999", "must divide 1 exactly"),
        ("width=inf", "must divide 1 exactly"),
        ("stage=prod", "Allowed: all, testing, production"),
        ("bucket=x", "bucket must be a whole number"),
        ("n=1", "There is no parameter “n”"),
    ],
)
def test_a_typo_is_400(viewer: Client, query: str, told: str) -> None:
    answer()
    assert told in html(viewer, f"{PAGE}?{query}", status=400)


def test_a_step_whose_run_is_not_kept_here_is_shown_all_the_same(viewer: Client) -> None:
    from calibration import buckets

    buckets.record_sample(
        id=uuid.uuid4(), bucket_id=bucket_id(key()), group=uuid.uuid4(), stage="production", confidence=0.9,
        observed_at=NOW, check_failed=True,
    )  # fmt: skip
    assert "1 of 1 label comes from failed checks" in html(viewer, PAGE)


def test_the_number_of_queries_does_not_grow(viewer: Client, django_assert_num_queries: Any) -> None:
    olga = factories.user()
    for n in range(30):
        answers("ci", 0.95, by=olga, bucket=key(prompt_hash=str(n)), shown=0.5)
    # session, user, roles; when each bucket answered last, the buckets; of those listed the keys, tallies and when
    # each answered last; the newest answers, the newest step, the judged ones; labels for the thresholds; marks
    with django_assert_num_queries(13):
        viewer.get(PAGE)
