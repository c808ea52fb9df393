"""``script/bench``: measure the engine on real servers, with an instant fake gateway."""

import argparse
import json

from tests.bench import engine

LOADS = ["plain", "signals", "shell", "slow"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    bench = commands.add_parser("engine", help="three-step runs through web, broker, worker and database")
    bench.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    bench.add_argument("--runs", type=int, default=500)
    bench.add_argument("--at-once", type=int, default=10)
    bench.add_argument("--workers", type=int, default=2, help="worker processes; two is what script/server starts")
    bench.add_argument("--only", choices=LOADS, help="one of the loads")
    bench.add_argument("--json", action="store_true", help="print one JSON object per measurement")
    arguments = parser.parse_args()
    databases = ["sqlite", "postgresql"] if arguments.database == "both" else [arguments.database]
    loads = [arguments.only] if arguments.only else LOADS
    for database in databases:
        with engine.Stack(database, workers=arguments.workers) as stack:
            for load in loads:
                result = stack.measure(load, runs=arguments.runs, at_once=arguments.at_once)
                print(json.dumps(result) if arguments.json else engine.describe(result), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
