"""The names that the queue can be filtered by."""

from dataclasses import dataclass

from django.db import connection, models

from calibration.models import Bucket
from runs.models import QueueItem, Run


@dataclass(frozen=True)
class Known:
    """Every name there has ever been, so that an address stays good when its last step is marked."""

    pipelines: list[str]
    steps: list[str]
    agents: list[str]
    teams: list[str]


def known() -> Known:
    """One query, whose cost grows with the names and not with the history."""
    agent, buckets = connection.ops.quote_name("agent"), connection.ops.quote_name(Bucket._meta.db_table)
    sql = f"""
        WITH RECURSIVE {_walk("pipelines", Run, "pipeline_name")}, {_walk("steps", Bucket, "step")},
          {_walk("teams", Run, "team")}
        SELECT 'pipelines', name FROM pipelines WHERE name IS NOT NULL
        UNION ALL SELECT 'steps', name FROM steps WHERE name IS NOT NULL
        UNION ALL SELECT 'teams', name FROM teams WHERE name <> ''
        UNION ALL SELECT 'agents', {agent} FROM (SELECT DISTINCT {agent} FROM {buckets}) AS agents
    """  # noqa: S608 (names of our own tables and columns)
    found: dict[str, set[str]] = {"pipelines": set(), "steps": set(), "agents": set(), "teams": set()}
    with connection.cursor() as cursor:
        cursor.execute(sql)
        for kind, name in cursor.fetchall():
            found[kind].add(name.partition("/")[0] if kind == "steps" else name)
    return Known(**{kind: sorted(names) for kind, names in found.items()})


def count_pipelines() -> int:
    """In how many pipelines something waits. One query, whose cost grows with the pipelines alone."""
    with connection.cursor() as cursor:
        cursor.execute(f"WITH RECURSIVE {_walk('found', QueueItem, 'pipeline')} SELECT COUNT(name) FROM found")  # noqa: S608
        return int(cursor.fetchone()[0])


def _walk(alias: str, model: type[models.Model], column: str) -> str:
    """A recursive table of the different texts in a column that leads an index, each one step into that index.

    Its last row is NULL.
    """
    table, name = connection.ops.quote_name(model._meta.db_table), connection.ops.quote_name(column)
    return f"""{alias}(name) AS (
            SELECT MIN({name}) FROM {table}
            UNION ALL
            SELECT (SELECT MIN({name}) FROM {table} WHERE {name} > {alias}.name)
            FROM {alias} WHERE {alias}.name IS NOT NULL
        )"""  # noqa: S608 (names of our own tables and columns)
