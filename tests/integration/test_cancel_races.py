"""A person cancels in the very moment in which a step ends."""

import threading
from collections.abc import Sequence

from django.db import connection

from calibration.statements import Statement
from runs.engine import drive, transactions
from runs.engine.closing import cancel
from runs.engine.work import Work
from runs.models import RunStatus
from tests.pipelines import step
from tests.runs.engine.rows import NOW


def test_a_cancel_while_the_next_step_is_being_written_ends_that_step_too(pipelines, monkeypatch):
    """On PostgreSQL the next step's row cannot be seen by others before its transaction ends."""
    pipelines.write("three", step("first"), step("second"), step("third"))
    run = pipelines.accept("three")
    cancelling: list[threading.Thread] = []
    execute = transactions.execute

    def slow_execute(statements: Sequence[Statement]) -> None:
        execute(statements)
        begins_second = any('INTO "runs_step"' in one.sql and "second" in one.values for one in statements)
        if begins_second and not cancelling:
            cancelling.append(threading.Thread(target=cancel_it))
            cancelling[0].start()
            cancelling[0].join(timeout=0.5)  # as far as it gets before this transaction ends

    def cancel_it() -> None:
        cancel(run_id=run.id, by="ada", now=NOW)
        connection.close()

    monkeypatch.setattr(transactions, "execute", slow_execute)
    drive.perform(Work("run", run.id))
    cancelling[0].join(timeout=30)
    run.refresh_from_db()
    assert run.status == RunStatus.CANCELLED
    assert {row.name: row.status for row in run.steps.all()} == {"first": "completed", "second": "aborted"}
