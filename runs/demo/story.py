"""What happens in the demo: the same cases, in the same order, every time. Pure.

Refunds are decided by an agent that is too sure of itself, until its prompt and its soul are edited; alerts are looked
into by one that doubts itself without need; tickets are too few to say anything of.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

DAYS = 30
EDITED_AFTER = timedelta(days=16)
# A day's cases, by the hour they come in.
DAY = ((1, "refund"), (4, "alert"), (7, "refund"), (10, "refund"), (12, "ticket"), (15, "alert"), (18, "refund"),
       (21, "alert"))  # fmt: skip
TOTAL = DAYS * len(DAY)
SERVICES = ("checkout", "payments", "search")
SUBJECTS = {
    "billing": ("I was charged twice", "Where is my invoice?"),
    "shipping": ("My parcel is late", "It went to my old address"),
    "accounts": ("I cannot sign in", "Please close my account"),
}
# The field of an answer that a marker looks at.
DECIDED = {"refund": "decision", "alert": "cause", "ticket": "team"}
MARKED_SHARE = {"refund": 0.85, "alert": 0.7, "ticket": 0.35}
SECOND_OPINIONS = 0.15
# How often somebody's mark is not what the case says.
SLIPS = 0.04


@dataclass(frozen=True)
class Opinion:
    """What ``marker`` (0 or 1) says, some time after the run; ``slips`` is when they are mistaken."""

    marker: int
    after: timedelta
    slips: bool


@dataclass(frozen=True)
class Case:
    """``pipeline`` is the name of its file; ``payload["data"]["right"]`` what a right answer decides."""

    number: int
    kind: str
    pipeline: str
    at: datetime
    payload: Mapping[str, Any]
    opinions: tuple[Opinion, ...]

    def outcome(self, answer: Mapping[str, Any], opinion: Opinion) -> str:
        """The mark that this opinion gives the answer."""
        data = self.payload["data"]
        right = answer.get(DECIDED[self.kind]) == data["right"]
        if right != opinion.slips:
            return "correct"
        # To give something where nothing was due is half as bad as the other way round.
        return "partial" if self.kind == "refund" and data["right"] == "decline" else "incorrect"


def cases(*, now: datetime) -> Iterator[Case]:
    """All of them, oldest first, over the DAYS before ``now``; nobody marks after it."""
    begin = now - timedelta(days=DAYS)
    for number in range(TOTAL):
        day, place = divmod(number, len(DAY))
        hour, kind = DAY[place]
        dice = random.Random(f"demo:{number}")  # noqa: S311 (a story, not a secret)
        at = begin + timedelta(days=day, hours=hour, seconds=dice.randint(0, 7000))
        data = {"case": number, **_DATA[kind](dice)}
        payload = {"summary": _summary(kind, data), "data": data}
        opinions = tuple(opinion for opinion in _opinions(kind, dice) if at + opinion.after < now)
        yield Case(number, kind, _pipeline(kind, at - begin), at, payload, opinions)


def _pipeline(kind: str, since_begin: timedelta) -> str:
    if kind == "refund":
        return "refunds-1" if since_begin < EDITED_AFTER else "refunds-2"
    return f"{kind}s"


def _refund(dice: random.Random) -> dict[str, Any]:
    days = dice.randint(3, 90)
    right = "full refund" if days <= 30 else "store credit" if days <= 60 else "decline"
    return {"order": dice.randint(80_000, 99_999), "days": days, "value": dice.randint(12, 240), "right": right}


def _alert(dice: random.Random) -> dict[str, Any]:
    return {"service": dice.choice(SERVICES), "right": dice.choice(("deploy", "traffic", "dependency"))}


def _ticket(dice: random.Random) -> dict[str, Any]:
    right = dice.choice(tuple(SUBJECTS))
    return {"ticket": dice.randint(1000, 9999), "subject": dice.choice(SUBJECTS[right]), "right": right}


_DATA = {"refund": _refund, "alert": _alert, "ticket": _ticket}


def _summary(kind: str, data: Mapping[str, Any]) -> str:
    if kind == "refund":
        return f"A refund is asked for order {data['order']}, {data['value']} EUR, delivered {data['days']} days ago"
    if kind == "alert":
        return f"Latency of {data['service']} is above its limit"
    return f"Ticket {data['ticket']}: {data['subject']}"


def _opinions(kind: str, dice: random.Random) -> Iterator[Opinion]:
    if dice.random() >= MARKED_SHARE[kind]:
        return
    first = dice.randint(0, 1)
    yield Opinion(first, timedelta(hours=dice.uniform(0.5, 8)), dice.random() < SLIPS)
    if dice.random() < SECOND_OPINIONS:
        yield Opinion(1 - first, timedelta(hours=dice.uniform(9, 20)), dice.random() < SLIPS)
