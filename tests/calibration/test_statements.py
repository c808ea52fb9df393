"""Statements that are ready run together, in order, or not at all."""

from contextlib import nullcontext

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from calibration.models import Bucket
from calibration.statements import Statement, execute

pytestmark = pytest.mark.django_db

COLUMNS = "step, agent, model, provider, prompt_hash, agent_version"
INSERT = f"INSERT INTO calibration_bucket ({COLUMNS}) VALUES (%s, 'a', '', '', '', '')"
RENAME = "UPDATE calibration_bucket SET step = %s WHERE step = %s"


class Refused(Exception):
    pass


def refuse() -> None:
    raise Refused


def steps() -> list[str]:
    return sorted(Bucket.objects.values_list("step", flat=True))


def test_each_sees_what_the_one_before_it_wrote():
    execute([Statement(INSERT, ["first"]), Statement(RENAME, ["second", "first"]), Statement(INSERT, ["first"])])
    assert steps() == ["first", "second"]


def test_one_that_meets_no_row_says_so_and_one_that_does_keeps_quiet():
    said = []
    execute(
        [
            Statement(INSERT, ["first"], otherwise=lambda: said.append("insert")),
            Statement(RENAME, ["x", "nobody"], otherwise=lambda: said.append("nobody")),
            Statement(RENAME, ["x", "nobody"]),
            Statement(RENAME, ["second", "first"], otherwise=lambda: said.append("first")),
            Statement("SELECT 1 FROM calibration_bucket WHERE step = %s", ["second"]),
        ]
    )
    assert said == ["nobody"]


def test_a_refusal_undoes_what_came_before_and_after_it():
    with pytest.raises(Refused), transaction.atomic():
        execute(
            [Statement(INSERT, ["before"]), Statement(RENAME, ["x", "nobody"], refuse), Statement(INSERT, ["after"])]
        )
    assert steps() == []


def test_the_first_cause_is_told_not_the_error_that_follows_from_it():
    """Who lost a lease meets no row, and then finds the rows it would insert inserted by another."""
    execute([Statement(INSERT, ["taken"])])
    for logged in (False, True):
        with (
            CaptureQueriesContext(connection) if logged else nullcontext(),
            pytest.raises(Refused),
            transaction.atomic(),
        ):
            execute(
                [Statement(RENAME, ["x", "nobody"], refuse), Statement(INSERT, ["taken"]), Statement(INSERT, ["z"])]
            )
    with pytest.raises(IntegrityError), transaction.atomic():
        execute([Statement(INSERT, ["taken"]), Statement(RENAME, ["x", "nobody"], refuse)])
    assert steps() == ["taken"]


def test_the_databases_refusal_is_djangos_error_and_the_connection_stays_usable():
    for position in range(3):
        statements = [Statement(INSERT, ["one"]), Statement(INSERT, ["two"])]
        statements.insert(position, Statement(INSERT, ["one"]))
        with pytest.raises(IntegrityError, match=r"(?i)unique"), transaction.atomic():
            execute(statements)
        assert steps() == []
    execute([Statement(INSERT, ["one"])])
    assert steps() == ["one"]


def test_text_is_bound_not_read_as_sql():
    text = "%s ? ' \" ; -- 100%"
    execute([Statement(INSERT, [text])])
    assert steps() == [text]


def test_they_are_counted_where_queries_are(django_assert_num_queries):
    with django_assert_num_queries(2) as caught:
        execute([Statement(INSERT, ["first"]), Statement(RENAME, ["second", "first"])])
    assert "INSERT INTO calibration_bucket" in caught.captured_queries[0]["sql"]
    assert connection.queries_logged is False


def test_nothing_to_run_is_nothing():
    execute([])
    assert steps() == []
