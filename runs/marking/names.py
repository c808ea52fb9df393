"""The names that the queue can be filtered by."""

from dataclasses import dataclass

from django.db import connection, models

from calibration.models import Bucket
from runs.models import Run


@dataclass(frozen=True)
class Known:
    """Every name there has ever been, so that an address stays good when its last step is marked."""

    pipelines: list[str]
    steps: list[str]
    agents: list[str]
    teams: list[str]


def known() -> Known:
    """Four queries, whose cost grows with the names and not with the history."""
    steps = {name.partition("/")[0] for name in distinct(Bucket, "step")}
    return Known(
        pipelines=distinct(Run, "pipeline_name"),
        steps=sorted(steps),
        agents=sorted(Bucket.objects.order_by().values_list("agent", flat=True).distinct()),
        teams=[team for team in distinct(Run, "team") if team],
    )


def distinct(model: type[models.Model], column: str) -> list[str]:
    """The different texts in a column that leads an index, each found by one step into that index."""
    table = connection.ops.quote_name(model._meta.db_table)
    name = connection.ops.quote_name(column)
    sql = f"""
        WITH RECURSIVE found(name) AS (
            SELECT MIN({name}) FROM {table}
            UNION ALL
            SELECT (SELECT MIN({name}) FROM {table} WHERE {name} > found.name) FROM found WHERE found.name IS NOT NULL
        )
        SELECT name FROM found WHERE name IS NOT NULL
    """  # noqa: S608 (names of our own tables and columns)
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [row[0] for row in cursor.fetchall()]
