"""Ids sort in the order in which they were made."""

from runs.ids import new_id


def test_ids_of_one_millisecond_keep_their_order():
    made = [new_id() for _ in range(2000)]
    assert made == sorted(made)
    assert len(set(made)) == 2000
    assert {(one.version, one.variant) for one in made} == {(7, "specified in RFC 4122")}
