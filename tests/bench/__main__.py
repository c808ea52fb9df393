"""``script/bench``: measure the engine on real servers with an instant fake gateway, and pages on a long history."""

import argparse
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.bench import engine, records
from tests.bench.on_history import AREAS

LOADS = ["plain", "signals", "shell", "slow"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser("engine", help="three-step runs through web, broker, worker and database")
    bench.set_defaults(measure=_engine, describe=engine.describe)
    bench.add_argument("--runs", type=int, default=500)
    bench.add_argument("--at-once", type=int, default=10)
    bench.add_argument("--workers", type=int, default=2, help="worker processes; two is what script/server starts")
    bench.add_argument("--only", choices=LOADS, help="one of the loads")
    past = commands.add_parser("history", help="what pages, marks and the gate cost on a long history")
    past.set_defaults(measure=_history, describe=records.describe)
    past.add_argument("--steps", type=int, default=1_000_000)
    past.add_argument("--only", choices=AREAS, help="one of the areas")
    for command in (bench, past):
        command.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
        command.add_argument("--json", action="store_true", help="print one JSON object per measurement")
    arguments = parser.parse_args()
    for database in ["sqlite", "postgresql"] if arguments.database == "both" else [arguments.database]:
        for result in arguments.measure(database, arguments):
            print(json.dumps(result) if arguments.json else arguments.describe(result), flush=True)  # noqa: T201


def _engine(database: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with engine.Stack(database, workers=arguments.workers) as stack:
        for load in [arguments.only] if arguments.only else LOADS:
            yield stack.measure(load, runs=arguments.runs, at_once=arguments.at_once)


def _history(database: str, arguments: argparse.Namespace) -> Iterable[dict[str, Any]]:
    areas = [arguments.only] if arguments.only else AREAS
    return records.measure(database, steps=arguments.steps, areas=areas)


if __name__ == "__main__":
    main()
