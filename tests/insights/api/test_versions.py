"""GET /steps/{name}/versions, GET /agents and GET /agents/{name}/versions."""

import pytest

from runs.models import Role
from tests import factories
from tests.insights.versions import AGENT, STEP, agent, answers, key, prompt
from tests.runs.intake_factories import bearer

pytestmark = pytest.mark.django_db
PROMPTS, AGENTS = f"/steps/{STEP}/versions", f"/agents/{AGENT}/versions"


def get(client, path, status=200):
    answer = client.get(path, headers=bearer(Role.VIEWER))
    assert answer.status_code == status, answer.content
    return answer.json()


def edited():
    prompt("aaa", "Look at the last 10 minutes.", days_ago=9)
    prompt("bbb", "Look at the last 30 minutes.", days_ago=2)
    answers(key(prompt_hash="aaa"), right=15, wrong=15, unmarked=1)
    answers(key(prompt_hash="bbb"), right=27, wrong=3)


def test_versions_come_newest_first_with_what_was_measured(client):
    edited()
    body = get(client, PROMPTS)
    assert (body["step_name"], body["total"]) == (STEP, 2)
    new, old = body["versions"]
    assert (new["prompt_hash"], new["answer_count"], new["labelled_count"], new["accuracy"]) == ("bbb", 30, 30, 0.9)
    assert (old["prompt_hash"], old["answer_count"], old["labelled_count"], old["accuracy"]) == ("aaa", 31, 30, 0.5)
    # Wilson for 15 of 30, by hand: centre .5, half width 1.95996 * sqrt(.25/30 + 1.95996²/3600) / (1 + 1.95996²/30)
    assert old["interval"] == pytest.approx([0.3315, 0.6685], abs=1e-4)
    assert old["template"] == {"text": "Look at the last 10 minutes.", "chars": 28}
    assert old["first_seen"] == "2026-07-01T12:00:00Z"
    (bucket,) = old["calibration"]
    assert (bucket["agent"], bucket["total_n"], len(bucket["bins"])) == (AGENT, 30, 10)


def test_stage_width_and_n_min_are_those_of_calibration(client):
    edited()
    answers(key(prompt_hash="bbb"), right=0, wrong=2, stage="testing")
    new, _ = get(client, f"{PROMPTS}?bin_width=0.25&n_min=30&stage=production")["versions"]
    assert (new["labelled_count"], new["answer_count"], new["accuracy"]) == (30, 32, 0.9)
    (bucket,) = new["calibration"]
    assert ([one["hi"] for one in bucket["bins"]], bucket["total_n"]) == ([0.25, 0.5, 0.75, 1.0], 30)
    assert [one["validated"] for one in bucket["bins"]] == [False, False, False, True]
    (testing,) = get(client, f"{PROMPTS}?n_min=3&stage=testing&limit=1")["versions"][0]["calibration"]
    assert (testing["total_n"], any(one["validated"] for one in testing["bins"])) == (2, False)


@pytest.mark.parametrize("path", [PROMPTS, AGENTS])
@pytest.mark.parametrize("query", ["bin_width=0.3", "bin_width=x", "n_min=0", "stage=both"])
def test_what_calibration_refuses_is_refused_here(client, path, query):
    agent("v1", days_ago=3)
    edited()
    assert query.partition("=")[0] in str(get(client, f"{path}?{query}", 400))


def test_enough_labels_to_compare_are_as_many_as_are_asked_for(client):
    edited()
    assert get(client, f"{PROMPTS}?n_min=31")["comparison"]["verdict"] == "too few"


def test_the_newest_is_compared_with_the_one_before(client):
    edited()
    found = get(client, PROMPTS)["comparison"]
    assert (found["version"], found["against"], found["verdict"]) == ("bbb", "aaa", "helped")
    assert found["difference"] == pytest.approx(0.4)
    assert found["before"] == {"n": 30, "accuracy": 0.5}
    assert found["caveats"] == []
    (change,) = found["changes"]
    assert (change["text"], change["removed"], change["added"], change["left_out"]) == ("template", 1, 1, 0)
    (block,) = change["blocks"]
    assert block["kind"] == "changed"
    assert [piece["text"] for piece in block["right"][0]["pieces"] if piece["marked"]] == ["30"]


def test_any_two_can_be_compared(client):
    edited()
    found = get(client, f"{PROMPTS}?version=aaa&against=bbb")["comparison"]
    assert (found["version"], found["against"], found["verdict"]) == ("aaa", "bbb", "hurt")


def test_runs_without_a_hash_are_one_entry_of_nulls(client):
    answers(key(), right=1)
    body = get(client, PROMPTS)
    (version,) = body["versions"]
    assert (version["prompt_hash"], version["template"], version["labelled_count"]) == (None, None, 1)
    assert body["comparison"] is None
    prompt("aaa", "text", days_ago=0)
    found = get(client, f"{PROMPTS}?version=&against=aaa")["comparison"]
    assert (found["version"], found["against"], found["changes"]) == (None, "aaa", [])


def test_a_page_of_a_long_history(client):
    for number in range(5):
        prompt(f"h{number}", f"text {number}", days_ago=number)
    body = get(client, f"{PROMPTS}?limit=2&offset=1")
    assert [version["prompt_hash"] for version in body["versions"]] == ["h1", "h2"]
    assert body["total"] == 5
    assert body["comparison"]["version"] == "h0"


def test_a_long_template_is_cut_with_its_true_length(client):
    prompt("aaa", "x" * 100_001, days_ago=1)
    (version,) = get(client, PROMPTS)["versions"]
    assert (len(version["template"]["text"]), version["template"]["chars"]) == (100_000, 100_001)


def test_an_agents_versions_with_soul_configuration_note_and_steps(client):
    agent("v1", days_ago=9, soul="You are careful.", config="temperature: 0.2")
    agent("v2", days_ago=5, soul="You are curious.", config="temperature: 0.2")
    agent("v3", days_ago=1, note="The backend told no definition.")
    answers(key(agent_version="v2", step="close/eu"), right=1)
    body = get(client, f"{AGENTS}?version=v2")
    assert body["agent"] == AGENT
    three, two, _ = body["versions"]
    assert (three["agent_version"], three["soul"], three["note"]) == ("v3", None, "The backend told no definition.")
    assert (two["steps"], two["soul"], two["labelled_count"]) == (
        ["close/eu"],
        {"text": "You are curious.", "chars": 16},
        1,
    )
    assert [(one["text"], one["removed"]) for one in body["comparison"]["changes"]] == [("soul", 1), ("config", 0)]


def test_a_step_with_a_slash_has_its_versions(client):
    prompt("aaa", "text", days_ago=1, step="close/eu")
    assert get(client, "/steps/close/eu/versions")["step_name"] == "close/eu"


def test_agents_are_listed_the_one_that_ran_last_first(client):
    agent("v1", days_ago=3)
    answers(key(), right=1, wrong=1)
    agent("v1", days_ago=9, name="command:old")
    body = get(client, "/agents")
    assert (body["total"], [one["name"] for one in body["agents"]]) == (2, [AGENT, "command:old"])
    first, second = body["agents"]
    assert (first["agent_version"], first["versions"], first["steps"]) == ("v1", 1, [STEP])
    assert (first["labelled_count"], first["accuracy"]) == (2, 0.5)
    assert (second["labelled_count"], second["accuracy"], second["interval"]) == (0, None, None)
    assert [one["name"] for one in get(client, "/agents?limit=1&offset=1")["agents"]] == ["command:old"]


def test_a_step_that_ran_unmeasured_has_no_versions(client):
    factories.step(factories.run(), "notify", prompt_hash="")
    body = get(client, "/steps/notify/versions")
    assert (body["versions"], body["total"], body["comparison"]) == ([], 0, None)


@pytest.mark.parametrize(
    "path",
    ["/steps/nothing/versions", "/steps/a%00b/versions", "/agents/nothing/versions", "/agents/a%00b/versions",
     f"{PROMPTS}?version=zzz", f"{PROMPTS}?against=zzz", f"{PROMPTS}?version=a%00"],
)  # fmt: skip
def test_what_never_ran_is_404(client, path):
    prompt("aaa", "text", days_ago=1)
    assert get(client, path, status=404)["error"]


@pytest.mark.parametrize(
    "path", [f"{PROMPTS}?vresion=a", f"{PROMPTS}?limit=51", f"{PROMPTS}?offset=-1", "/agents?limit=0", "/agents?q=x"]
)
def test_a_typo_is_400(client, path):
    prompt("aaa", "text", days_ago=1)
    assert get(client, path, status=400)["error"]


@pytest.mark.parametrize("path", ["/agents", PROMPTS, AGENTS])
def test_reading_needs_a_viewer(client, path):
    assert client.get(path).status_code == 401
    assert client.get(path, headers=bearer(Role.INTAKE)).status_code == 403


def test_the_queries_do_not_grow_with_the_history(client, django_assert_max_num_queries):
    for number in range(15):
        prompt(f"h{number}", f"text {number}", days_ago=number)
        agent(f"v{number}", days_ago=number, soul="x")
        answers(key(prompt_hash=f"h{number}", agent_version=f"v{number}"), right=1)
    headers = bearer(Role.VIEWER)
    for path in (PROMPTS, AGENTS):
        client.get(path, headers=headers)
        # the token and its use; buckets, sums, use, registry; texts of the list and of the two compared
        with django_assert_max_num_queries(9):
            client.get(path, headers=headers)
