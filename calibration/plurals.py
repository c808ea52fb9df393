"""How many of something, in words: the one place that knows when a noun ends in s. Pure."""


def plural(count: int, noun: str, several: str = "") -> str:
    """ "1 run", "1,200 runs", "0 runs"; ``several`` is the noun for any number but one, where an s does not make it."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"
