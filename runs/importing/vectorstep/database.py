"""The tables of the file, read batch by batch; nothing in it is changed.

Older files lack newer columns: what is not there is null in every row.
"""

import sqlite3
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

Row = Mapping[str, Any]

NEEDED = {"pipeline_runs": {"id", "pipeline_name", "status"}, "pipeline_steps": {"id", "run_id", "step_name", "status"}}
_BATCH = 100


class NotVectorStep(ValueError):
    """The file is no database of a VectorStep, or cannot be read; the message says why."""


class Source:
    """One file. A context manager: closed at the end."""

    def __init__(self, path: Path) -> None:
        """Raises NotVectorStep, or OSError for a file that is not there."""
        if not stat.S_ISREG(path.stat().st_mode):
            raise NotVectorStep("it is no file")
        self._connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
        self._connection.row_factory = sqlite3.Row
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            self._tables = self._columns()
            self._refuse_others()
            self._index_steps()
        except (sqlite3.DatabaseError, NotVectorStep) as error:
            self._connection.close()
            raise NotVectorStep(str(error)) from error

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def count(self, table: str) -> int:
        if table not in self._tables:
            return 0
        return int(self._connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608 (a constant)

    def runs(self) -> Iterator[Sequence[Row]]:
        """All runs, in the order they were stored, in batches."""
        last = -(2**63)
        while rows := self._select(
            "pipeline_runs", f"WHERE rowid > ? ORDER BY rowid LIMIT {_BATCH}", [last], more="rowid AS row_number"
        ):
            yield rows
            last = rows[-1]["row_number"]

    def steps(self, runs: Sequence[Row]) -> Mapping[str, Sequence[Row]]:
        """The steps of these runs, by run, in order."""
        where = (
            f"JOIN temp.step_of ON step_of.step = pipeline_steps.rowid WHERE step_of.run IN ({_places(runs)}) "
            f"ORDER BY {'step_index,' if 'step_index' in self._tables['pipeline_steps'] else ''} pipeline_steps.rowid"
        )
        return _grouped(self._select("pipeline_steps", where, [run["id"] for run in runs]), "run_id")

    def feedback(self, table: str, column: str, ids: Sequence[str]) -> Mapping[str, Sequence[Row]]:
        """The rows of ``step_feedback`` or ``run_feedback`` about these steps or runs."""
        found: list[Row] = []
        for start in range(0, len(ids), _BATCH * 5):  # SQLite may be built for few values in one statement
            part = ids[start : start + _BATCH * 5]
            found += self._select(table, f"WHERE {column} IN ({_places(part)}) ORDER BY rowid", part)
        return _grouped(found, column)

    def every(self, table: str) -> Sequence[Row]:
        """All rows of a table of versions."""
        return self._select(table, "ORDER BY rowid", [])

    def seen(self, *columns: str) -> Sequence[Row]:
        """Which combinations of these columns of the steps there are, and from when to when."""
        if not {*columns, "executed_at"} <= self._tables["pipeline_steps"].keys():
            return []
        names = ", ".join(columns)
        sql = f"""
            SELECT {names}, MIN(executed_at) AS first, MAX(executed_at) AS last
            FROM pipeline_steps WHERE executed_at IS NOT NULL GROUP BY {names}
        """  # noqa: S608 (constants)
        return [dict(row) for row in self._connection.execute(sql)]

    def _select(self, table: str, rest: str, values: Sequence[Any], *, more: str = "") -> list[Row]:
        columns = self._tables.get(table)
        if columns is None:
            return []
        names = ", ".join([f'{table}."{name}"' for name in columns] + ([more] if more else []))
        rows = self._connection.execute(f"SELECT {names} FROM {table} {rest}", values)  # noqa: S608 (its own names)
        return [defaultdict(lambda: None, dict(row)) for row in rows]

    def _columns(self) -> dict[str, dict[str, None]]:
        names = (
            "pipeline_runs", "pipeline_steps", "step_feedback", "run_feedback", "step_prompt_versions",
            "agent_version_snapshots",
        )  # fmt: skip
        # Views apart: their rows have no number to go by, and what they compute may have no end.
        tables = {
            row["name"] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        found = {name: self._connection.execute(f"PRAGMA table_info({name})") for name in names if name in tables}
        return {name: dict.fromkeys(_quotable(row["name"]) for row in rows) for name, rows in found.items()}

    def _refuse_others(self) -> None:
        for table, columns in NEEDED.items():
            missing = columns - self._tables.get(table, {}).keys()
            if missing:
                what = f"the columns {', '.join(sorted(missing))} of {table}" if table in self._tables else table
                raise NotVectorStep(f"it has not {what}, which every VectorStep's database has")

    def _index_steps(self) -> None:
        """Which steps a run has, in the temporary database: the file may have no index for that."""
        self._connection.execute("CREATE TEMP TABLE step_of AS SELECT run_id AS run, rowid AS step FROM pipeline_steps")
        self._connection.execute("CREATE INDEX temp.step_of_run ON step_of (run)")


def _quotable(name: str) -> str:
    if '"' in name:
        raise NotVectorStep(f"it has a column called {name[:50]!r}")
    return name


def _places(values: Iterable[object]) -> str:
    return ", ".join("?" for _ in values)


def _grouped(rows: Iterable[Row], column: str) -> Mapping[str, Sequence[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[column]].append(row)
    return found
