"""Money: Decimal inside, and out of the door exactly as Saleor lets it out."""

from decimal import Decimal

ZERO = Decimal(0)

# ISO 4217 currencies whose smallest unit is not a hundredth, of those that a store near here may use.
_DECIMALS = {"JPY": 0, "KRW": 0, "HUF": 2, "KWD": 3, "BHD": 3, "TND": 3}

# Saleor stores every amount with three decimals, whatever the currency.
_STORED = Decimal("0.001")


def stored(amount: Decimal) -> Decimal:
    """Return the amount as an answer's amount is stored: three decimals, half to even (Saleor contract, A.4)."""
    return amount.quantize(_STORED)


def in_currency(amount: Decimal, currency: str) -> Decimal:
    """Return the amount in the currency's own precision: 1.005 UAH is 1.00 (Saleor contract, A.7)."""
    return amount.quantize(Decimal(1).scaleb(-_DECIMALS.get(currency, 2)))


def on_the_wire(amount: Decimal, currency: str) -> float:
    """Return the number that Saleor writes into JSON. It is a float there, and being like Saleor is our trade."""
    return float(in_currency(amount, currency))
