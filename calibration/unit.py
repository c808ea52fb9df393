"""The one test of "a number in [0, 1]", for everything that claims to be a confidence, score or share."""


def unit(field: str, value: object) -> float:
    """``value`` as a float in [0, 1].

    Raises ValueError naming ``field`` for anything else: NaN, infinities, booleans and text that
    looks like a number are refused, never converted. -0.0 becomes 0.0, so that equal numbers are
    written equally.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{field}: expected a number from 0 to 1, not {_shown(value)}")
    if not 0 <= value <= 1:  # NaN fails both comparisons; the range is checked before float() can overflow
        raise ValueError(f"{field}: expected a number from 0 to 1, not {_shown(value)}")
    return float(value) + 0.0


def optional_unit(field: str, value: object) -> float | None:
    """The same, where None ("there is no such number") is allowed."""
    return None if value is None else unit(field, value)


def _shown(value: object) -> str:
    if isinstance(value, int | float | str):
        text = repr(value)
        return text if len(text) <= 40 else f"{text[:40]}…"
    return type(value).__name__
