"""Decides on a refund, and is surer than it should be until its prompt tells it to check the date first."""

from acting import case_of, emit, fails_now_and_then, ran_on, use, within, wrong

DECISIONS = ("full refund", "store credit", "decline")
REASONS = {
    "full refund": "it was returned within 30 days",
    "store credit": "it was returned between 31 and 60 days after delivery",
    "decline": "more than 60 days have passed",
}


def main():
    prompt, data, dice = case_of("refund")
    careful = "before you decide" in prompt
    ran_on("small-2", dice)
    use("orders.get", {"order": data["order"], "value": data["value"], "days": data["days"]}, order=data["order"])
    fails_now_and_then(dice)
    sure = dice.random() < 0.75
    right = dice.random() < (0.96 if careful else 0.58 if sure else 0.8)
    decision = data["right"] if right else wrong(dice, data["right"], DECISIONS)
    overpays = not right and dice.random() < 0.2
    amount = 0 if decision == "decline" else data["value"] + (20 if overpays else 0)
    emit(
        {
            "confidence": within(dice, 0.9, 0.98) if sure else within(dice, 0.72, 0.89),
            "summary": f"{decision.capitalize()} of {amount} EUR: {REASONS[decision]}.",
            "next_step_context": f"{decision}, {amount} EUR",
            "decision": decision,
            "amount": amount,
            "reasoning": {"findings": [f"The order is worth {data['value']} EUR.", f"It is day {data['days']}."]},
        }
    )


if __name__ == "__main__":
    main()
