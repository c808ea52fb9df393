"""What calls of language models cost, exactly: dollars as Decimal, sums as whole nanodollars. Pure.

A nanodollar is a billionth of a dollar. A step's cost is rounded to one once, and from then on all sums are of
whole numbers, which both databases add without loss. Unknown is None, never 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext

NANOS = 10**9  # in a dollar
_NANOS_PER_TOKEN = 1000  # of a price of one dollar for a million tokens
_BIGGEST = 2**63 - 1  # what the column holds


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens, read and written, of each model of ``provider`` that begins with ``model_prefix``.

    "" as ``provider``: agents that tell none.
    """

    provider: str
    model_prefix: str
    input_per_mtok: Decimal
    output_per_mtok: Decimal


@dataclass(frozen=True)
class Call:
    """One call of a model as it was reported; None is "not reported"."""

    provider: str
    model: str
    input_tokens: int | None
    output_tokens: int | None

    @property
    def is_told(self) -> bool:
        """Whether both counts are known."""
        return self.input_tokens is not None and self.output_tokens is not None

    @property
    def tokens(self) -> int:
        """Both counts together, as far as they are known."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)


def price_of(call: Call, prices: Iterable[Price]) -> Price | None:
    """The entry with the longest prefix of the call's model within its provider; None when there is none."""
    fitting = [one for one in prices if one.provider == call.provider and call.model.startswith(one.model_prefix)]
    return max(fitting, key=lambda one: len(one.model_prefix), default=None)


def cost_of(calls: Sequence[Call], prices: Sequence[Price]) -> int | None:
    """Nanodollars for all calls together, rounded once (half to even); 0 for none.

    None when a price or a count of one of them is not known, or the sum is beyond any counting.
    """
    total = Decimal(0)
    with localcontext(prec=50):
        for call in calls:
            price = price_of(call, prices)
            if price is None or call.input_tokens is None or call.output_tokens is None:
                return None
            total += call.input_tokens * price.input_per_mtok + call.output_tokens * price.output_per_mtok
        return _whole(total * _NANOS_PER_TOKEN)


def nanos_of(dollars: Decimal) -> int | None:
    """Dollars as nanodollars; None for what is no amount a column can hold: not finite, negative or too large."""
    if not dollars.is_finite() or dollars < 0:
        return None
    try:
        return _whole(dollars * NANOS)
    except InvalidOperation:  # too many digits for the whole part
        return None


def dollars(nanos: int) -> Decimal:
    """Nanodollars as dollars, exactly, without zeros that say nothing: 12.4, 0.000000001."""
    whole = Decimal(nanos).scaleb(-9)
    return whole.quantize(Decimal(1)) if whole == whole.to_integral_value() else whole.normalize()


def _whole(nanos: Decimal) -> int | None:
    rounded = int(nanos.to_integral_value(rounding=ROUND_HALF_EVEN))
    return rounded if rounded <= _BIGGEST else None
