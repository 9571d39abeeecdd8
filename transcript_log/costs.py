"""What responses cost, from a price list that is part of the extra ``cost``.

The list is that of the package ``genai-prices``, as it was when that was released: nothing is
asked over the network. It is no bill: it knows no discounts.
"""

from __future__ import annotations

from decimal import Decimal

from .errors import TranscriptError
from .stats import Price, Spent

__all__ = ["NoPricesError", "listed_prices"]


class NoPricesError(TranscriptError, ImportError):
    """Prices were asked for, and the extra ``cost`` is not installed."""

    def __str__(self) -> str:
        return "there is no price list: install the extra, as in pip install 'transcript-log[cost]'"


def listed_prices() -> Price:
    """The list prices: a function that gives the US dollars of a response.

    It gives None, and never a guess, where the list knows no such model of the provider that
    the log names, and where the tokens were not told. A response that names no provider is
    looked up by its model alone.

    Raises:
        NoPricesError: The extra is not installed.
    """
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise NoPricesError from error

    def price(spent: Spent) -> Decimal | None:
        tokens, usage = spent.tokens, spent.usage
        if usage is None or tokens.untold or not spent.model:
            return None
        try:
            found = calc_price(
                # Its input is the whole input, and its buckets of a cache are parts of that.
                Usage(
                    input_tokens=tokens.all_input,
                    cache_read_tokens=tokens.cache_read,
                    cache_write_tokens=tokens.cache_write,
                    output_tokens=tokens.output,
                ),
                spent.model,
                provider_id=spent.provider,
                genai_request_timestamp=spent.time,
            )
        except (LookupError, ValueError):
            return None
        return found.total_price

    return price
