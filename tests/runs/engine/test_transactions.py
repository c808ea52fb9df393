import pytest
from django.db import OperationalError, transaction

from runs.engine import transactions
from runs.models import Team
from tests.runs.engine.rows import NOW

pytestmark = pytest.mark.django_db(transaction=True)


class Flaky:
    """Writes a row, and is refused by the database the first ``failures`` times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        Team.objects.create(name="payments", created_at=NOW)
        if self.calls <= self.failures:
            raise OperationalError("deadlock detected")
        return "written"


@pytest.mark.parametrize("failures", range(transactions.TRIES))
def test_a_refused_write_is_made_again_from_the_start(failures: int) -> None:
    body = Flaky(failures)
    assert transactions.write(body) == "written"
    assert body.calls == failures + 1
    assert Team.objects.count() == 1


def test_it_gives_up_in_the_end_and_leaves_nothing() -> None:
    body = Flaky(99)
    with pytest.raises(OperationalError, match="deadlock"):
        transactions.write(body)
    assert body.calls == transactions.TRIES
    assert not Team.objects.exists()


def test_inside_another_transaction_only_its_owner_can_repeat_it() -> None:
    body = Flaky(1)
    with pytest.raises(OperationalError), transaction.atomic():
        transactions.write(body)
    assert body.calls == 1
