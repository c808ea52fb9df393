"""Words and tones for statuses, times, shares and sizes. Plain values in, text out."""

import datetime as dt

from runs.pricing import NANOS
from runs.pricing import dollars as exact

TONES = {
    "queued": "quiet",
    "pending": "quiet",
    "running": "live",
    "judging": "live",
    "completed": "good",
    "stopped": "quiet",
    "escalated": "warn",
    "aborted": "bad",
    "failed": "bad",
    "cancelled": "quiet",
    "skipped": "quiet",
    "planned": "quiet",
    "open": "warn",
    "approved": "good",
    "rejected": "bad",
    "revised": "live",
    "timed_out": "bad",
    "withdrawn": "quiet",
}
OUTCOME_TONES = {"correct": "good", "partial": "warn", "incorrect": "bad"}
WORDS = {
    "pending": "Waiting",
    "judging": "Gathering signals",
    "planned": "Not reached",
    "open": "Waiting",
    "withdrawn": "No longer needed",
}

RUN_MEANING = {
    "queued": "Stored, and waiting for a worker.",
    "running": "A worker is on it.",
    "completed": "Every step was done and cleared its gate.",
    "stopped": "An agent answered that there is nothing more to do, so the run ended cleanly.",
    "escalated": "A step did not clear its gate, so the run waits for a person to decide.",
    "aborted": "A gate decided to end the run here. That is a decision, not a failure.",
    "failed": "A step could not be carried out. Nothing after it was started.",
    "cancelled": "Someone cancelled it. Waiting work was never started and running agents were stopped.",
}
ELSEWHERE = "It was escalated where it ran, and came in with a history: nobody is asked about it here."
STEP_MEANING = {
    "pending": "Waiting for a worker.",
    "running": "The agent is working.",
    "judging": "The agent has answered; the signals are being gathered.",
    "stopped": "The agent answered that there is nothing more to do, so the run ended here.",
    "escalated": "Not trusted enough to go on without a person.",
    "aborted": "Not trusted enough, and this step aborts the run rather than ask a person.",
    "skipped": "Its condition did not hold, so it was left out.",
    "failed": "It could not be carried out.",
}

# What a step waits for that holds no worker meanwhile.
STEP_WAITS_FOR = {
    "pipeline": "Waiting for the run of another pipeline to end.",
    "human": "Waiting for a person's answer.",
}


def tone(status: str) -> str:
    return TONES.get(status, "quiet")


def word(status: str) -> str:
    return WORDS.get(status, status.replace("_", " ").capitalize())


def percent(value: float | None) -> str:
    """Rounded half up; "<1%" and ">99%" rather than a 0 or 100 that is not quite one."""
    if value is None:
        return ""
    if 0 < value < 0.005:
        return "<1%"
    if 0.995 <= value < 1:
        return ">99%"
    return f"{int(value * 100 + 0.5)}%"


def ago(moment: dt.datetime, now: dt.datetime) -> str:
    """ "5 min ago", "in 5 min"; a date for what is a week or more away."""
    seconds = round((now - moment).total_seconds())
    apart = abs(seconds)
    if apart < 5:
        return "just now"
    for unit, size, most in (("s", 1, 60), ("min", 60, 3600), ("h", 3600, 86400), ("d", 86400, 7 * 86400)):
        if apart < most:
            text = f"{apart // size} {unit}"
            return f"{text} ago" if seconds > 0 else f"in {text}"
    day = f"{moment.day} {moment:%b}"
    return f"{day}, {moment:%H:%M}" if moment.year == now.year else f"{day} {moment.year}"


def duration(seconds: float | None) -> str:
    """ "340 ms", "4.2 s", "41 s", "2 min 5 s", "3 h 10 min"."""
    if seconds is None:
        return ""
    seconds = max(0.0, seconds)
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d {hours % 24} h"


def dollars(nanos: int) -> str:
    """Billionths of a dollar as "12.40 $"; below a cent two digits that say something, "0.0042 $"."""
    if not nanos:
        return "0 $"
    amount = exact(nanos)
    places = 2 if abs(nanos) >= NANOS // 100 else min(9, 1 - amount.adjusted())
    return f"{round(amount, places):,f} $"


def cost(nanos: int, unpriced: int) -> str:
    """A sum that says of how many steps it knows nothing: "12.40 $, 3 unpriced"."""
    if not unpriced:
        return dollars(nanos)
    return f"{dollars(nanos)}, {unpriced:,} unpriced" if nanos else f"{unpriced:,} unpriced"


def characters(count: int) -> str:
    if count == 1:
        return "1 character"
    if count < 1_000_000:
        return f"{count:,} characters"
    return f"{count / 1_000_000:.1f} million characters"
