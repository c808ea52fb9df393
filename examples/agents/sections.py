"""Reading the material that VectorStep hands to a judge: TASK, ANSWER and TRACE, each between marked lines.

The marker is drawn anew for every call, so it is taken from the instructions, which come first, and a text
inside a section that imitates such a line with another marker is just text.
"""

import json
import re
import sys
from itertools import zip_longest
from typing import NamedTuple

_EVENT = re.compile(r"^\[\d+\] (tool_call|tool_result(?: \(error\))?|tool_denied|text) ?([^:\n]*): ", re.MULTILINE)


class Event(NamedTuple):
    kind: str
    tool: str
    text: str


class Material(NamedTuple):
    task: str
    answer: dict
    events: list

    @property
    def results(self):
        """What the tools returned; errors are no evidence."""
        return [event for event in self.events if event.kind == "tool_result"]


def read_material(prompt):
    marker = re.search(r"<<<NAME ([0-9a-f]+)>>>", prompt)
    if marker is None:
        sys.exit("this agent is a judge: it expects the sections that a verifier or grounding call brings")
    sections = {name: _section(prompt, name, marker[1]) for name in ("TASK", "ANSWER", "TRACE")}
    return Material(sections["TASK"], json.loads(sections["ANSWER"]), list(_events(sections["TRACE"])))


def _section(prompt, name, marker):
    start, end = f"\n<<<{name} {marker}>>>\n", f"\n<<<END {name} {marker}>>>"
    return prompt.split(start, 1)[1].split(end, 1)[0]


def _events(trace):
    """The numbered events. Only an event begins at the start of a line; its further lines are indented."""
    starts = list(_EVENT.finditer(trace))
    for match, following in zip_longest(starts, starts[1:]):
        text = trace[match.end() : following.start() if following else len(trace)].rstrip("\n")
        yield Event(match[1], match[2], text)
