"""The hand-built statements store exactly what the ORM stores."""

from datetime import UTC, datetime

import pytest
from django.forms.models import model_to_dict

from calibration.statements import execute
from runs import events, rows
from runs.models import RunEvent, Signal, SignalKind, SignalState, Step, StepStatus
from tests.runs.engine.rows import NOW, a_run, a_step

pytestmark = pytest.mark.django_db

ODD = {"text": "“é” \\u0000 " + "x" * 100, "list": [1, 0.1, None, True], "deep": {"a": {"b": []}}}


def everything(row):
    stored = type(row).objects.get(pk=row.pk)
    return {field.attname: getattr(stored, field.attname) for field in type(row)._meta.concrete_fields}


def test_an_inserted_step_equals_one_that_the_orm_inserted():
    values = {
        "name": "look",
        "index": 3,
        "executor": "command",
        "created_at": NOW,
        "status": StepStatus.JUDGING,
        "parsed_output": ODD,
        "agent_trace": [ODD],
        "iterations": [ODD],
        "primary_confidence": 0.95,
        "deterministic_passed": False,
        "leased": True,
        "lease": 2**40,
        "wake_at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        "prompt": ODD["text"],
    }
    by_orm = Step.objects.create(run=a_run(), **values)
    by_hand = Step(run=a_run(), **values)
    rows.insert([by_hand])
    ids = {"id", "run_id"}
    assert {k: v for k, v in everything(by_hand).items() if k not in ids} == {
        k: v for k, v in everything(by_orm).items() if k not in ids
    }
    assert everything(by_hand)["id"] == by_hand.id


def test_a_null_is_null_in_sql():
    step = a_step(a_run())
    rows.insert([Step(run=a_run(), name="look", index=0, executor="command", created_at=NOW)])
    assert Step.objects.filter(parsed_output__isnull=True, primary_confidence__isnull=True).count() == 2
    execute([rows.change(Step, {"parsed_output": None}, {"id": step.id})])
    assert Step.objects.filter(parsed_output__isnull=True).count() == 2


def test_rows_arrive_in_order():
    run = a_run()
    rows.insert([events.event(run.id, "a.b", str(number), now=NOW, data=ODD) for number in range(5)])
    stored = list(RunEvent.objects.order_by("id"))
    assert [event.message for event in stored] == ["0", "1", "2", "3", "4"]
    assert stored[0].data == ODD


def test_signals_too():
    signal = Signal(step=a_step(a_run()), kind=SignalKind.CHECK, state=SignalState.DONE, passed=True, detail=ODD)
    rows.insert([signal])
    stored = Signal.objects.get()
    assert model_to_dict(stored) == model_to_dict(signal)


def test_an_update_changes_only_what_all_of_where_names():
    step, other = a_step(a_run(), lease=1), a_step(a_run(), lease=2)
    missed = []
    execute(
        [
            rows.change(Step, {"error": "seen", "status": StepStatus.FAILED}, {"id": step.id, "lease": 1}),
            rows.change(
                Step, {"error": "stale"}, {"id": step.id, "lease": 2}, otherwise=lambda: missed.append("stale")
            ),
        ]
    )
    assert missed == ["stale"]
    step.refresh_from_db()
    other.refresh_from_db()
    assert (step.error, step.status, other.error) == ("seen", "failed", "")


def test_nothing_to_insert_is_no_statement(django_assert_num_queries):
    with django_assert_num_queries(0):
        rows.insert([])


def test_one_row_is_read_as_the_orm_reads_it():
    run = a_run(context=ODD, payload=ODD, completed_at=NOW)
    by_hand = rows.one(type(run), {"id": run.id}, without=("payload",))
    assert by_hand is not None
    assert by_hand.get_deferred_fields() == {"payload"}
    by_orm = type(run).objects.get(id=run.id)
    assert model_to_dict(by_hand) == model_to_dict(by_orm)
    assert (by_hand.pk, by_hand.completed_at, by_hand._state.adding) == (run.id, NOW, False)


def test_no_row_is_none():
    assert rows.one(Step, {"id": Step().id}) is None


def test_more_rows_than_one_statement_takes_are_inserted_in_order():
    run = a_run()
    rows.insert([events.event(run.id, "a.b", str(number), now=NOW) for number in range(12_000)])
    stored = RunEvent.objects.order_by("id").values_list("message", flat=True)
    assert list(stored) == [str(number) for number in range(12_000)]
