"""Constants that stand in the text of a statement rather than beside it."""

from django.db.models import Func, TextField


def literal(word: str) -> Func:
    """``word`` written into the statement, so that PostgreSQL sees that a row is in an index that has a condition.

    For the code's own words only, never for what anybody wrote.
    """
    assert not word or word.isidentifier()
    return Func(template=f"'{word}'", output_field=TextField())
