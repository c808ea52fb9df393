"""What the agents of the demo share: they play their part, seeded by the case they are given.

A case comes with its right answer, which no real agent would be told: it lets an agent be right as often as the story
says, and lets the demo's markers judge what it answered.
"""

import json
import random
import sys


def case_of(part):
    """(prompt, the case's data, dice that fall the same way for this part and case every time)."""
    prompt, data = json.load(sys.stdin)["prompt"], json.loads(sys.argv[1])
    return prompt, data, random.Random(f"{part}:{data['case']}")  # noqa: S311 (a story, not a secret)


def fails_now_and_then(dice, share=0.03):
    if dice.random() < share:
        sys.exit("the model's service did not answer (503)")


def use(name, result, **inputs):
    emit({"type": "tool_call", "name": name, "input": inputs})
    emit({"type": "tool_result", "name": name, "content": json.dumps(result), "is_error": False})


def ran_on(model, dice):
    emit({"type": "model", "model": model, "provider": "demo"})
    emit({"type": "usage", "input_tokens": dice.randint(900, 2600), "output_tokens": dice.randint(120, 480)})


def emit(value):
    print(json.dumps(value), flush=True)


def within(dice, low, high):
    """A confidence, as people write them: two digits."""
    return round(dice.uniform(low, high), 2)


def wrong(dice, right, choices):
    return dice.choice([choice for choice in choices if choice != right])
