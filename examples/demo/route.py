"""Sends a support ticket to a team, and is right about as often as it says."""

from acting import case_of, emit, fails_now_and_then, ran_on, use, within, wrong

TEAMS = ("billing", "shipping", "accounts")


def main():
    _, data, dice = case_of("route")
    ran_on("small-2", dice)
    use("tickets.read", {"ticket": data["ticket"], "subject": data["subject"]}, ticket=data["ticket"])
    fails_now_and_then(dice)
    confidence = within(dice, 0.5, 0.99)
    team = data["right"] if dice.random() < confidence else wrong(dice, data["right"], TEAMS)
    nothing_to_do = dice.random() < 0.08
    emit(
        {
            "confidence": confidence,
            "summary": "It answers itself; nothing to route." if nothing_to_do else f"This is for {team}.",
            "next_step_context": team,
            "team": team,
            "proceed": not nothing_to_do,
            "proceed_reason": "the customer has found the answer" if nothing_to_do else "",
        }
    )


if __name__ == "__main__":
    main()
