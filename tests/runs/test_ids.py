import uuid
from datetime import UTC, datetime, timedelta

from runs.ids import first_at, new_id


def test_an_id_holds_its_time_and_is_a_version_7_uuid() -> None:
    before = datetime.now(UTC)
    made = new_id()
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert first_at(before) <= made < first_at(datetime.now(UTC) + timedelta(milliseconds=1))


def test_the_first_id_of_a_moment() -> None:
    # 2026-03-01T00:00:00Z is 1772323200000 milliseconds after 1970: 0x019ca6b1dc00
    assert str(first_at(datetime(2026, 3, 1, tzinfo=UTC))) == "019ca6b1-dc00-0000-0000-000000000000"


def test_a_time_before_all_ids_is_no_error() -> None:
    assert first_at(datetime(1, 1, 1, tzinfo=UTC)) == uuid.UUID(int=0)
