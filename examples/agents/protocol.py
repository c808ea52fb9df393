"""How an example agent talks to VectorStep's ``command`` executor.

One JSON object comes in on standard input (``prompt`` is what the agent is asked). On standard output
go one JSON object per line for every tool call and its result, and then the answer, a JSON object too.
"""

import argparse
import json
import re
import sys
from datetime import timedelta
from pathlib import Path

from evidence import Evidence, parse_time

_TIME = r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?Z)"


def options(**extra):
    """The command line: --data FOLDER (the bundled one by default) and whole-number options of the agent's own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parent.parent / "data")
    for name, default in extra.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def read_prompt():
    return json.load(sys.stdin)["prompt"]


def read_task(prompt, data):
    """The evidence for the service and the time that the prompt names, as a person would write them."""
    service = re.search(r"^Service: *(\S+)", prompt, re.MULTILINE)
    window = re.search(rf"^Window: *{_TIME} to {_TIME}", prompt, re.MULTILINE)
    since = re.search(rf"^Alert since: *{_TIME}", prompt, re.MULTILINE)
    if service is None or (window is None and since is None):
        sys.exit("the task needs a line 'Service: NAME' and a line 'Window: TIME to TIME' or 'Alert since: TIME'")
    if window is not None:
        return Evidence(data, service[1], parse_time(window[1]), parse_time(window[2]))
    alert = parse_time(since[1])
    return Evidence(data, service[1], alert - timedelta(minutes=45), alert + timedelta(minutes=15))


def use(tool, **inputs):
    """Call a tool and report the call and what came back; a tool with nothing to read gives None."""
    name = tool.__name__
    emit({"type": "tool_call", "name": name, "input": inputs})
    try:
        result = tool(**inputs)
    except LookupError as error:
        emit({"type": "tool_result", "name": name, "content": str(error), "is_error": True})
        return None
    emit({"type": "tool_result", "name": name, "content": json.dumps(result), "is_error": False})
    return result


def emit(value):
    print(json.dumps(value), flush=True)


def answer(*, confidence, summary, next_step_context="", **more):
    """The agent's answer, the last thing it prints."""
    emit({"confidence": round(confidence, 2), "summary": summary, "next_step_context": next_step_context, **more})
