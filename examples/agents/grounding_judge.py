"""A grounding judge: is every number and named fact of an answer in what the agent's tools returned?

It takes the answer's findings and summary sentence by sentence. A sentence is a claim if it states a fact
(a number, a time, a version, an error class, a quotation, or a word like "deploy") that the task did not give. It
is supported if every such fact stands in a tool result, or counts what stands there.
"""

import json
import re
from collections import Counter

from protocol import answer, read_prompt
from sections import read_material

WORDS = ("deploy", "latency", "pool", "acquirer", "upstream", "shard", "outage", "runbook")
SAME_WORD = {"latency": "p95"}  # how the tools call it
DATE = re.compile(r"\d{4}-\d\d-\d\dT")
FACT = re.compile(
    r'"[^"]+"'  # a quotation
    r"|\d{1,2}:\d\d(?::\d\d)?"  # a time of day
    r"|\d+\.\d+\.\d+"  # a version
    r"|\d+(?:\.\d+)?"  # a number
    r"|\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b"  # an error class
    rf"|\b(?:{'|'.join(WORDS)})\b"
)


def main():
    material = read_material(read_prompt())
    evidence = [(event.tool, event.text, known_in(event.text)) for event in material.results]
    given = set(FACT.findall(material.task))
    claims, seen = [], set()
    for sentence in sentences(material.answer):
        facts = [fact for fact in dict.fromkeys(FACT.findall(sentence)) if fact not in given]
        if not facts or seen.issuperset(facts):
            continue
        seen.update(facts)
        claims.append(judge(sentence, facts, evidence))
    supported = sum(claim["supported"] for claim in claims)
    answer(
        confidence=supported / len(claims) if claims else 0,
        summary=f"{supported} of {len(claims)} claims stand in what the tools returned.",
        reasoning={"claims": claims},
    )


def sentences(given):
    """The findings first: they say what the summary repeats."""
    texts = [*given.get("reasoning", {}).get("findings", []), given["summary"]]
    return [part for text in texts for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", text) if part]


def judge(sentence, facts, evidence):
    missing = [fact for fact in facts if not any(fact in known for _, _, known in evidence)]
    if missing:
        return {"claim": sentence, "supported": False, "evidence": f"no tool result mentions {', '.join(missing)}"}
    tool, text, _ = max(evidence, key=lambda item: sum(fact in item[2] for fact in facts))
    counted = [fact for fact in facts if fact.isdigit() and fact in counts(text)]
    shown = tally(text) if counted else around(text, facts)
    return {"claim": sentence, "supported": True, "evidence": f"{tool} returned {shown}"}


def known_in(text):
    """The facts that a result states, and the counts that follow from it."""
    plain = DATE.sub("", text.replace('"', " "))
    known = set(FACT.findall(plain))
    known |= {time[:5] for time in known if time.count(":") == 2}
    known |= {word for word in WORDS if SAME_WORD.get(word, word) in plain}
    return Known(text, known | counts(text))


class Known(set):
    """The facts of a result; a quotation is one if the result holds its words."""

    def __init__(self, text, facts):
        super().__init__(facts)
        self.text = text

    def __contains__(self, fact):
        return fact.strip('"') in self.text if fact.startswith('"') else super().__contains__(fact)


def counts(text):
    """The numbers that follow from a result that lists lines: how many, and how many name each error class."""
    lines, classes = listed(text)
    return {str(n) for n in (len(lines), *classes.values())} if lines else set()


def tally(text):
    lines, classes = listed(text)
    return f"{len(lines)} lines: " + ", ".join(f"{n} with {name}" for name, n in classes.most_common())


def listed(text):
    """(lines, how many of them name each error class) of a result; nothing where it lists none."""
    try:
        result = json.loads(text)
    except ValueError:
        return [], Counter()
    lines = result.get("lines", []) if isinstance(result, dict) else []
    return lines, Counter(name for line in lines for name in FACT.findall(line) if name[0].isupper())


def around(text, facts):
    """The part of a result where the first fact stands."""
    at = max(0, text.find(facts[0].strip('"')) - 30)
    part = text[at : at + 110]
    return ("…" if at else "") + part + ("…" if at + 110 < len(text) else "")


if __name__ == "__main__":
    main()
