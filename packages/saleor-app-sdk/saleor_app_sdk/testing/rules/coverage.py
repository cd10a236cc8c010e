"""Charge and authorize status of checkouts and orders (Saleor contract, A.4)."""

from collections.abc import Iterable
from decimal import Decimal

from saleor_app_sdk.testing.money import ZERO
from saleor_app_sdk.testing.records import Amounts, Checkout, Order, Transaction
from saleor_app_sdk.testing.vocabulary import AuthorizeStatus, ChargeStatus


def _sum(transactions: Iterable[Transaction], *fields: str) -> Decimal:
    return sum((getattr(transaction.amounts, name) for transaction in transactions for name in fields), ZERO)


def default_amount(source: Checkout | Order) -> Decimal:
    """Return the default amount of a new transaction: the total less what is covered, never below zero.

    It ignores the gift cards of a checkout, though its total price respects them, and the granted refunds of an order.
    """
    basket = source.basket
    total = basket.total if isinstance(source, Order) else basket.total_before_gift_cards
    return max(total - sum((_reduction(transaction.amounts) for transaction in source.transactions), ZERO), ZERO)


def _reduction(amounts: Amounts) -> Decimal:
    return max(amounts.authorized, amounts.charged) + amounts.authorize_pending + amounts.charge_pending


def charge_status(source: Checkout | Order) -> ChargeStatus:
    """Return the charge status. A checkout counts pending charges, an order does not."""
    fields = ("charged", "charge_pending") if isinstance(source, Checkout) else ("charged",)
    charged, total = _sum(source.transactions, *fields), _total_due(source)
    if charged > total:
        return ChargeStatus.OVERCHARGED
    if charged == total:
        return ChargeStatus.FULL
    return ChargeStatus.PARTIAL if charged > ZERO else ChargeStatus.NONE


def authorize_status(source: Checkout | Order) -> AuthorizeStatus:
    """Return the authorize status. A checkout counts pending amounts, an order does not."""
    fields = ["authorized", "charged"]
    if isinstance(source, Checkout):
        fields += ["authorize_pending", "charge_pending"]
    covered, total = _sum(source.transactions, *fields), _total_due(source)
    if covered >= total:
        return AuthorizeStatus.FULL
    return AuthorizeStatus.PARTIAL if covered > ZERO else AuthorizeStatus.NONE


def _total_due(source: Checkout | Order) -> Decimal:
    """Return the total to be paid; for an order, less every granted refund, paid out or not."""
    if isinstance(source, Checkout):
        return source.basket.total
    return source.basket.total - sum((granted.amount for granted in source.granted_refunds), ZERO)


def total_balance(source: Checkout | Order) -> Decimal:
    """Return what is charged or being charged, less the total to be paid: below zero as long as something is owed."""
    return _sum(source.transactions, "charged", "charge_pending") - _total_due(source)


def total_charged(order: Order) -> Decimal:
    """Return what is charged over all transactions of an order."""
    return _sum(order.transactions, "charged")


def total_authorized(order: Order) -> Decimal:
    """Return what is authorized over all transactions of an order."""
    return _sum(order.transactions, "authorized")
