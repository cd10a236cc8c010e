"""Which amounts of money can be asked of the gateway (laws of money, 14)."""

from decimal import Decimal

from app.db.columns import LARGEST
from app.payments.core.messages import LazyMessage
from app.payments.core.refusal import RefusalCode, RefusalError


def check_amount(amount: Decimal) -> None:
    """Refuse an amount that is not above zero, larger than any, or finer than two decimals. Raises RefusalError."""
    if amount <= 0:
        raise RefusalError(
            RefusalCode.INVALID_AMOUNT, LazyMessage("There is nothing left to pay: the amount is zero."), "amount"
        )
    if amount > LARGEST:
        raise RefusalError(
            RefusalCode.INVALID_AMOUNT,
            LazyMessage("The amount %(amount)s is larger than any that can be paid.", amount=str(amount)),
            "amount",
        )
    if amount != amount.quantize(Decimal("0.01")):
        raise RefusalError(
            RefusalCode.INVALID_AMOUNT,
            LazyMessage("The amount %(amount)s has more than two decimals; the gateway takes two.", amount=str(amount)),
            "amount",
        )
