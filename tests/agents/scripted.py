"""An agent that does what its one argument says; a real program for tests of the engine.

``{"says": [...], "log": file, "sleep": seconds, "exit": code, "raw": text, "trace": [...]}``. Each call appends a
line to ``log``; ``says`` (answers, or numbers for the confidence alone) and ``exit`` lists are taken by call.
"""

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    spec, task = json.loads(sys.argv[1]), json.load(sys.stdin)
    number = note_call(Path(spec["log"]), task) if "log" in spec else 0
    for event in spec.get("trace", []):
        sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()
    time.sleep(spec.get("sleep", 0))
    code = by_call(spec.get("exit", 0), number)
    if code:
        sys.stderr.write(spec.get("stderr", "scripted to fail\n"))
        sys.exit(code)
    raw = by_call(spec.get("raw"), number)
    sys.stdout.write(raw if raw is not None else json.dumps(answer(by_call(spec.get("says", 0.9), number))))


def by_call(given: object, number: int) -> object:
    return given[min(number, len(given) - 1)] if isinstance(given, list) else given


def answer(said: object) -> dict[str, object]:
    plain = {"summary": "looked", "next_step_context": ""}
    return {**plain, **said} if isinstance(said, dict) else {**plain, "confidence": said}


def note_call(log: Path, task: dict[str, object]) -> int:
    """Append this call; its number, from 0."""
    number = len(log.read_text().splitlines()) if log.exists() else 0
    with log.open("a") as file:
        file.write(json.dumps({"prompt": task["prompt"], "key": task["idempotency_key"], "pid": os.getpid()}) + "\n")
    return number


if __name__ == "__main__":
    main()
