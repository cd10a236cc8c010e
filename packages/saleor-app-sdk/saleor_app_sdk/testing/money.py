"""Money: Decimal internally, and serialized exactly as Saleor does it."""

from decimal import Decimal

ZERO = Decimal(0)

# Decimal places by ISO 4217 code, for currencies that a store in the region may use; all others have two.
_DECIMALS = {"JPY": 0, "KRW": 0, "HUF": 2, "KWD": 3, "BHD": 3, "TND": 3}

# Saleor stores every amount with three decimals, whatever the currency.
_STORED = Decimal("0.001")


def quantize_stored_amount(amount: Decimal) -> Decimal:
    """Return the amount as Saleor stores it from a response: three decimals, half to even (Saleor contract, A.4)."""
    return amount.quantize(_STORED)


def quantize_price(amount: Decimal, currency: str) -> Decimal:
    """Return the amount in the currency's precision: 1.005 UAH is 1.00 (Saleor contract, A.7)."""
    return amount.quantize(Decimal(1).scaleb(-_DECIMALS.get(currency, 2)))


def json_amount(amount: Decimal, currency: str) -> float:
    """Return the number that Saleor writes into JSON. It is a float there, and this Saleor must behave the same."""
    return float(quantize_price(amount, currency))
