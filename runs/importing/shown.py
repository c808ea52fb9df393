"""What a file says, within a line that a person reads in a terminal."""


def shown(text: str, *, most: int = 60) -> str:
    """``text`` cut to ``most`` characters, with those that would steer a terminal as their escapes."""
    cut = text if len(text) <= most else f"{text[:most]}…"
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in cut)
