"""Percentages a person can trust: without decimals unless the difference matters. Pure."""

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal

MOST_DECIMALS = 12
SMALL = Decimal("1e-6")  # per cent; below it, digits are written as 1e-298


class Percents:
    """Writes the numbers of one report so that different numbers never look the same.

    74.96 % beside a threshold of 75 % is written 74.96%, and what is not quite everything is never
    written 100%, nor a little 0%.
    """

    def __init__(self, values: Iterable[float | None]) -> None:
        self._values = {_exact(value) for value in values if value is not None} | {Decimal(0), Decimal(100)}

    def __call__(self, value: float) -> str:
        return f"{self.number(value)}%"

    def number(self, value: float) -> str:
        """The same without its sign, for ranges: "44 to 77%"."""
        exact = _exact(value)
        others = self._values - {exact}
        for decimals in range(MOST_DECIMALS + 1):
            rounded = _round(exact, decimals)
            if all(_round(other, decimals) != rounded for other in others):
                return _plain(rounded)
        return _plain(exact) if exact > SMALL else str(exact.normalize()).lower()


def edge(value: float) -> str:
    """The edge of a bin, exactly: 30, 12.5."""
    return _plain(_exact(value))


def _exact(value: float) -> Decimal:
    return Decimal(repr(float(value))) * 100


def _round(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
