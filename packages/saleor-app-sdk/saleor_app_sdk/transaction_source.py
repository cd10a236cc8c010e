"""What a transaction pays for, as Saleor states it with its answer to a report: an order, a checkout, or nothing.

Saleor reports none of this by itself to an app that may only handle payments (``ORDER_CANCELLED`` and the like need
MANAGE_ORDERS). All of it can be read with HANDLE_PAYMENTS.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, InvalidOperation
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from integration_base.amounts import CENT
from saleor_app_sdk.source import CoveringTransaction, Money, SaleorModel, TaxedMoney, Text, none_to_tuple

_CANCELED, _EXPIRED, _RETURNED = "CANCELED", "EXPIRED", "RETURNED"


class PlacedOrder(BaseModel):
    """The order that a checkout has become: its id and the number that people use."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    id: str = Field(min_length=1, max_length=100)
    number: str = Field(min_length=1, max_length=64)


class _Standing(SaleorModel):
    """The status of an order or checkout, and what is paid and authorized in comparison with what is owed.

    The balance leaves out what is authorized. Of an order Saleor states that in one sum, of a checkout for each of its
    ``transactions``: a gift card that is used as a payment is authorized until the order is placed.
    The balance of an order counts what staff have granted to refund as not owed, whether it is refunded or not; the
    total does not, and is stated only when Saleor is asked for the order.
    """

    status: Text = ""
    total_balance: Money | None = None
    total_authorized: Money | None = None
    total_charged: Money | None = None
    total: TaxedMoney | None = None
    transactions: Annotated[tuple[CoveringTransaction, ...], BeforeValidator(none_to_tuple)] = ()

    @property
    def excess(self) -> Decimal | None:
        """What is paid, pending or authorized beyond what is owed; None if it is not stated readably."""
        if self.total_balance is None:
            return None
        authorized = sum((transaction.authorized for transaction in self.transactions), Decimal(0))
        if self.total_authorized is not None:
            authorized += self.total_authorized.amount
        excess = self.total_balance.amount + authorized
        if excess > 0 and self.total is not None and self.total_charged is not None:
            # A refund that is granted and not made yet is no news to staff.
            excess = max(min(excess, self.total_charged.amount + authorized - self.total.gross.amount), Decimal(0))
        try:
            return excess.quantize(CENT, ROUND_DOWN)  # Saleor keeps three decimals of some amounts
        except InvalidOperation:
            return None


@dataclass(frozen=True, slots=True)
class TransactionSource:
    """The order of a transaction or else its checkout. ``status`` is the order's.

    ``excess``: by how much all payments, authorized, charged or pending, exceed what is owed; below zero as long as
    something is owed. None: not stated.
    """

    order: PlacedOrder | None = None
    checkout_id: str | None = None
    status: str = ""
    excess: Decimal | None = None

    @property
    def is_gone(self) -> bool:
        """True when the checkout does not exist any more and has not become an order."""
        return self.order is None and self.checkout_id is None

    @property
    def is_canceled(self) -> bool:
        """True when the order was cancelled."""
        return self.status == _CANCELED

    @property
    def is_expired(self) -> bool:
        """True when the order was not paid in time, and has expired."""
        return self.status == _EXPIRED

    @property
    def is_returned(self) -> bool:
        """True when the whole order was sent back."""
        return self.status == _RETURNED

    @property
    def is_open(self) -> bool:
        """True for a checkout, and for an order for which money is welcome."""
        return not (self.is_gone or self.is_canceled or self.is_expired or self.is_returned)

    @classmethod
    def read(cls, transaction: Any) -> Self | None:
        """Return the source of a transaction in an answer of Saleor; None if it is not stated, or not readably."""
        if not isinstance(transaction, Mapping):
            return None
        order, checkout = transaction.get("order"), transaction.get("checkout")
        try:
            if order is not None:
                standing = _Standing.model_validate(order)
                return cls(order=PlacedOrder.model_validate(order), status=standing.status, excess=standing.excess)
            if checkout is not None:
                return cls(checkout_id=str(checkout["id"]), excess=_Standing.model_validate(checkout).excess)
        except (ValidationError, KeyError, TypeError):
            return None
        return cls() if "checkout" in transaction else None
