"""The smallest unit of a currency, as Saleor counts: it rounds what is reported to it to that unit. Pure."""

from decimal import Decimal

from app.i18n.currencies import decimals_of, has_cents
from app.i18n.messages import LazyMessage
from integration_base.amounts import CENT, format_amount

_WHOLE = Decimal(1)


def smallest_unit(currency: str, *amounts: Decimal) -> Decimal:
    """Return the unit that amounts of a currency are multiples of: a cent, or one if the currency has no cents.

    If one of ``amounts`` has cents in spite of its currency, the unit is a cent. The gateway takes two decimals at
    most, so nothing is finer.
    """
    whole = not has_cents(currency) and all(amount == amount.to_integral_value() for amount in amounts)
    return _WHOLE if whole else CENT


def rounded_by_saleor(amount: Decimal, currency: str) -> Decimal:
    """Return what Saleor records of an amount that is reported to it (Saleor contract, A.7)."""
    return amount.quantize(Decimal(1).scaleb(-decimals_of(currency)))


def fraction_message(amount: Decimal, currency: str) -> LazyMessage | None:
    """Return why an amount is finer than its currency; None if it is not."""
    if not amount % smallest_unit(currency):
        return None
    return LazyMessage(
        "Amounts in %(currency)s have no decimals, so %(amount)s is not possible.",
        currency=currency,
        amount=format_amount(amount),
    )
