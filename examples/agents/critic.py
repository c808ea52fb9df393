"""A critic: reads an answer beside the trace and puts the questions a careful colleague would.

Each question that applies is answered yes or no. V is (yes + 1) / (asked + 2): even a faultless answer is
not certain, and one that leaves nothing to ask is even odds.
"""

import json
import re

from protocol import answer, read_prompt
from sections import read_material


def main():
    material = read_material(read_prompt())
    asked = [verdict for question in QUESTIONS if (verdict := question(material)) is not None]
    problems = [problem for fine, problem in asked if not fine]
    yes = len(asked) - len(problems)
    answer(
        confidence=(yes + 1) / (len(asked) + 2),
        summary=f"{yes} of {len(asked)} questions are answered well" + (f"; {problems[0]}" if problems else "."),
        reasoning={"problems": problems},
    )


def suspect_was_looked_up(material):
    suspect = material.answer.get("suspect")
    if material.answer.get("cause") in (None, "none", "unknown") or not suspect:
        return None
    name = suspect.split()[-1]
    return any(name in event.text for event in material.results), f"no tool returned anything about {suspect}"


def cause_has_a_suspect(material):
    if material.answer.get("cause") in (None, "none", "unknown"):
        return None
    return bool(material.answer.get("suspect")), "a cause is named, but not what exactly is to blame"


def whole_window_was_read(material):
    window = re.search(r"^Window: \S+T(\d\d:\d\d)\S* to \S+T(\d\d:\d\d)", material.task, re.MULTILINE)
    if window is None or "errors" not in material.answer:
        return None
    ends = {(result.get("from"), result.get("to")) for result in map(_json, material.results)}
    return (window[1], window[2]) in ends, f"no tool read the whole window from {window[1]} to {window[2]}"


def count_was_returned(material):
    errors = material.answer.get("errors")
    if errors is None:
        return None
    counted = any(re.search(rf"\b{errors}\b", event.text) for event in material.results)
    return counted, f"no tool counted {errors} errors"


def no_rival(material):
    """A second class of errors half as frequent as the first, that the answer does not speak of."""
    counts = [result["by_class"] for result in map(_json, material.results) if result.get("by_class")]
    if not counts or "error_class" not in material.answer:
        return None
    first, *others = sorted(counts[0].items(), key=lambda item: -item[1])
    rivals = [name for name, n in others if 2 * n > first[1]]
    return not rivals, f"{', '.join(rivals)} is half as frequent as {first[0]} and is not explained"


def action_is_in_the_runbook(material):
    action = material.answer.get("action")
    if not action:
        return None
    return any(f'"{action}"' in event.text for event in material.results), f"the runbook was not seen to say {action!r}"


def target_is_another_version(material):
    target = material.answer.get("target")
    if not target:
        return None
    fine = target != material.answer.get("suspect") and any(f'"{target}"' in event.text for event in material.results)
    return fine, f"{target} was not found to be the version before"


def cause_is_the_one_given(material):
    given = re.search(r"^Suspect: *(.+)$", material.task, re.MULTILINE)
    if given is None:
        return None
    suspect = given[1].strip()
    return material.answer.get("suspect") == suspect, f"the task suspects {suspect}, the answer does not"


def doubt_is_stated(material):
    return bool(material.answer.get("uncertainties")), "the answer states no doubt at all"


def every_tool_worked(material):
    failed = sorted({event.tool for event in material.events if "error" in event.kind or event.kind == "tool_denied"})
    return not failed, f"{', '.join(failed)} failed and the answer does not say so"


QUESTIONS = (
    suspect_was_looked_up,
    cause_has_a_suspect,
    whole_window_was_read,
    count_was_returned,
    no_rival,
    action_is_in_the_runbook,
    target_is_another_version,
    cause_is_the_one_given,
    doubt_is_stated,
    every_tool_worked,
)


def _json(event):
    """A result as an object; an empty one where it is something else."""
    try:
        value = json.loads(event.text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


if __name__ == "__main__":
    main()
