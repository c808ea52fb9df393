"""Looks for the cause of an alert; doubts itself although it is nearly always right, and says more than it read."""

from acting import case_of, emit, fails_now_and_then, ran_on, use, within, wrong

CAUSES = ("deploy", "traffic", "dependency")


def main():
    _, data, dice = case_of("alert")
    ran_on("large-1", dice)
    p95, errors = dice.randint(620, 1900), dice.randint(40, 900)
    use("metrics.query", {"service": data["service"], "p95_ms": p95, "errors": errors}, service=data["service"])
    fails_now_and_then(dice)
    cause = data["right"] if dice.random() < 0.97 else wrong(dice, data["right"], CAUSES)
    hearsay = dice.random() < 0.4
    findings = [f"p95 latency rose to {p95} ms.", f"There were {errors} errors."]
    if hearsay:
        findings += [f"Version 4.{dice.randint(10, 40)}.0 went out before it.", f"It hit {dice.randint(3, 9)}1 hosts."]
    elif dice.random() < 0.5:
        findings.append(f"The queue held {dice.randint(2, 9)}37 messages.")
    emit(
        {
            "confidence": within(dice, 0.53, 0.69),
            "summary": f"The cause is {'a' if cause != 'traffic' else 'more'} {cause}.",
            "next_step_context": cause,
            "cause": cause,
            "uncertainties": [] if hearsay else ["Only one service was looked at."],
            "reasoning": {"findings": findings},
        }
    )


if __name__ == "__main__":
    main()
