"""A long history, written straight into the tables: what many months of runs and marks leave behind.

Four steps a run, fifty pipelines, six hundred buckets (two hundred steps with three prompts one after the
other); a third of the steps marked, every twentieth with a failed check, the newest twentieth judged. The
same numbers every time.
"""

import datetime as dt
import random
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import connection, models

from calibration import tallies
from calibration.binning import to_ppm
from calibration.buckets import BucketKey, bucket_id
from calibration.models import Mark, Sample
from runs.marking.chance import place
from runs.models import PipelineVersion, QueueItem, Run, Step
from runs.trust.vector import GroundingInput, evaluate

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
PIPELINES, STEPS, PROMPTS, AGENTS, TEAMS = 50, 4, 3, 40, 12
MARKED, FAILED = 0.3, 0.05
JUDGED_FROM = 0.95  # the newest steps have a grounding score
BATCH = 5_000
OUTCOMES = {"correct": 1.0, "partial": 0.5, "incorrect": 0.0}


def fill(*, steps: int) -> None:
    """Write ``steps`` steps with all that belongs to them into an empty, migrated database."""
    marker = User.objects.create_user("marker", password="secret")
    marker.groups.add(Group.objects.get(name="marker"))
    runs, chance = _runs(steps // STEPS), random.Random(7)
    while batch := list(islice(runs, BATCH)):
        done = [_one(run, index, marker, chance) for run in batch for index in range(STEPS)]
        _load(Run, (run.row for run in batch))
        _load(Step, (one["step"] for one in done))
        _load(Sample, (one["sample"] for one in done))
        _load(Mark, (one["mark"] for one in done if "mark" in one))
        _load(QueueItem, (one["item"] for one in done if "item" in one))
    tallies.rebuild()
    if connection.vendor == "postgresql":
        # As autovacuum does on its own, in its time.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def _id(moment: dt.datetime, number: int) -> uuid.UUID:
    """As ``runs.ids`` makes them: in the order of time."""
    value = int(moment.timestamp() * 1000) << 80 | number << 8
    return uuid.UUID(int=value & ~(0xF << 76) | (0x7 << 76) & ~(0x3 << 62) | (0x2 << 62))


@dataclass(frozen=True)
class _Run:
    number: int
    prompt: int  # which of the three its steps have
    judged: bool  # whether its steps have a grounding score, and so a report
    row: dict[str, Any]


def _runs(many: int) -> Iterator[_Run]:
    versions = [_version(f"pipeline-{number:02}", number) for number in range(PIPELINES)]
    for number in range(many):
        at = NOW - dt.timedelta(days=180) * (1 - number / many)
        version = versions[number % PIPELINES]
        row = {
            "id": _id(at, number * STEPS),
            "pipeline_name": version.name,
            "version_id": version.digest,
            "stage": "testing" if number % 7 == 0 else "production",
            "team": f"team-{number // PIPELINES % TEAMS}",
            "source": "generic",
            "context": {"summary": "bench"},
            "summary": "bench",
            "status": "completed",
            "triggered_at": at,
            "started_at": at,
            "completed_at": at + dt.timedelta(minutes=1),
        }
        yield _Run(number, number * PROMPTS // many, number > many * JUDGED_FROM, row)


def _version(name: str, number: int) -> PipelineVersion:
    config = {"name": name, "steps": []}
    return PipelineVersion.objects.create(digest=f"{number:064x}", name=name, config=config, created_at=NOW)


def _one(run: _Run, index: int, marker: User, chance: random.Random) -> dict[str, dict[str, Any]]:
    """The rows of one step."""
    number = run.number % PIPELINES * STEPS + index
    key = BucketKey(f"step-{number}", f"command:agent-{number % AGENTS}", "model-1", "local", f"prompt-{run.prompt}")
    at = run.row["triggered_at"] + dt.timedelta(seconds=10 * index)
    # The second step of each pipeline is a fan-out's branch, in its group's bucket.
    name = f"{key.step}/{run.number // PIPELINES % 3}" if index == 1 else key.step
    confidence = round(1 - chance.random() ** 2 * 0.9, 2)
    check_failed = chance.random() < FAILED
    outcome = chance.choices(list(OUTCOMES), [6, 1, 3])[0] if chance.random() < MARKED else ""
    answer = _Answer(run, index, name, key, at, confidence, check_failed, outcome)
    one = {"step": _step(answer), "sample": _sample(answer)}
    if outcome:
        said = {"by_id": marker.pk, "sample_id": answer.id, "outcome": outcome, "made_at": NOW, "via": "queue"}
        return {**one, "mark": {**said, "was_blind": True, "offered_by": "oldest"}}
    return {**one, "item": _item(answer, one["sample"])}


@dataclass(frozen=True)
class _Answer:
    run: _Run
    index: int
    name: str
    key: BucketKey
    at: dt.datetime
    confidence: float
    check_failed: bool
    outcome: str

    @property
    def id(self) -> uuid.UUID:
        return _id(self.at, self.run.number * STEPS + self.index)


def _step(of: _Answer) -> dict[str, Any]:
    return {
        **(_judged(of.confidence) if of.run.judged else {}),
        "id": of.id,
        "run_id": of.run.row["id"],
        "name": of.name,
        "index": of.index,
        "status": "completed",
        "executor": "command",
        "agent": of.key.agent,
        "model": of.key.model,
        "provider": of.key.provider,
        "prompt_hash": of.key.prompt_hash,
        "prompt": "What is wrong with the checkout?",
        "raw_output": '{"confidence": 0.9, "summary": "A deploy broke it."}',
        "parsed_output": {"confidence": of.confidence, "summary": "A deploy broke it."},
        "effective_confidence": of.confidence,
        "created_at": of.at,
        "completed_at": of.at,
    }


@cache
def _judged(confidence: float) -> dict[str, Any]:
    shown = round(confidence * 0.8, 2)
    grounding = GroundingInput(score=shown, supported=4, total=5)
    report = evaluate(
        self_report=confidence, grounding=grounding, confidence_threshold=0.75, on_low_confidence="escalate"
    ).to_json()
    return {
        "primary_confidence": confidence,
        "grounding_score": shown,
        "combined_trust": report["combined_trust"],
        "confidence_threshold": 0.75,
        "trust_report": report,
    }


def _sample(of: _Answer) -> dict[str, Any]:
    return {
        "id": of.id,
        "bucket_id": bucket_id(of.key),
        "group": of.run.row["id"],
        "stage": of.run.row["stage"],
        "confidence": of.confidence,
        "confidence_ppm": to_ppm(of.confidence),
        "observed_at": of.at,
        "check_failed": of.check_failed,
        "label": OUTCOMES[of.outcome] if of.outcome else 0.0 if of.check_failed else None,
        "label_source": "step_mark" if of.outcome else "failed_check" if of.check_failed else "",
    }


def _item(of: _Answer, sample: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "step_id": of.id,
        "run_id": of.run.row["id"],
        "pipeline": of.run.row["pipeline_name"],
        "name": of.name,
        "group": of.name.partition("/")[0],
        "agent": of.key.agent,
        "team": of.run.row["team"],
        "stage": of.run.row["stage"],
        "label_source": sample["label_source"],
        "bucket_id": sample["bucket_id"],
        "confidence_ppm": sample["confidence_ppm"],
        "finished_at": of.at,
        "shuffle": place(of.id),
    }


def _load(model: type[models.Model], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows given by the names of their columns' attributes; the other columns have their defaults."""
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    plain = model()
    defaults = [field.get_db_prep_save(getattr(plain, field.attname), connection) for field in fields]
    names = ", ".join(connection.ops.quote_name(field.column) for field in fields)
    table = connection.ops.quote_name(model._meta.db_table)

    def row(values: Mapping[str, Any]) -> list[Any]:
        return [
            _adapted(field, values[field.attname]) if field.attname in values else default
            for field, default in zip(fields, defaults, strict=True)
        ]

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for values in rows:
                copy.write_row(row(values))
        return
    sql = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(fields))})"
    connection.ensure_connection()
    raw = connection.connection
    raw.execute("BEGIN")
    raw.executemany(sql, map(row, rows))
    raw.execute("COMMIT")


def _adapted(field: models.Field, value: Any) -> Any:
    # Plain values are bound as they are; asking Django about each would take most of the time.
    return value if isinstance(value, str | int | float) else field.get_db_prep_save(value, connection)
