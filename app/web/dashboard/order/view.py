"""Builds the widget's view of an order and its payments. Pure; it contains no data of the shopper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import Kind
from app.i18n.messages import gettext_noop
from app.i18n.translation import LANGUAGES, language_name
from app.reports.order_payments import OrderPayments, attempt_key, can_be_paid
from app.reports.status import ShownAmount, Standing, shown_amount, standings
from app.rules.balance import balance
from app.rules.problems import problem_messages
from app.rules.requests.languages import base_language, page_language
from app.web.dashboard.payments.actions import offers

_UNREACHABLE = gettext_noop(
    "This order could not be loaded from Saleor. Payments made before it was placed may be missing here: all of them "
    "appear as soon as Saleor responds again."
)
_NO_ORDER = gettext_noop("This order was not found in Saleor.")
_NOT_PAYABLE = gettext_noop("This order has not been placed, or it was cancelled: you cannot request a payment for it.")
_PAID = gettext_noop("There is nothing left to pay on this order.")


@dataclass(frozen=True)
class PaymentRow:
    """One payment of the order.

    ``open``: it can be paid on its page now. ``closing`` is the key of the form that closes that page.
    ``too_much``: it requests more than is left to pay, because the order has changed or was paid in another way.
    ``settled``: none of its operations is pending.
    """

    payment: Payment
    amount: ShownAmount
    standings: tuple[Standing, ...]
    problems: Sequence[str]
    open: bool
    closing: str | None
    too_much: bool
    settled: bool


@dataclass(frozen=True)
class WidgetView:
    """The view, newest payment first. ``note`` states why no payment can be requested; then ``to_pay`` is zero.

    ``attempt`` distinguishes the next link from all earlier ones. ``languages`` are those to choose from for its page,
    with their names; ``link_language`` is the order's. ``unreachable``: Saleor did not answer, so rows may be missing.
    """

    rows: Sequence[PaymentRow]
    note: str | None
    to_pay: Decimal
    currency: str
    attempt: str
    link_language: str
    languages: Mapping[str, str]
    payouts: Sequence["PayoutRow"] = ()
    unreachable: bool = False


@dataclass(frozen=True)
class PayoutRow:
    """A payout that relates to one of these payments."""

    payment: Payment
    mask: str
    standings: tuple[Standing, ...]


def build_view(order_payments: OrderPayments, now: datetime) -> WidgetView:
    """Return the widget's view of an order."""
    order = order_payments.order
    language = base_language(order.language_code if order else None)
    return WidgetView(
        rows=[_row(aggregate, order_payments, now) for aggregate in reversed(order_payments.aggregates)],
        note=_note(order_payments),
        to_pay=order_payments.to_pay,
        currency=order.channel.currency_code if order else "",
        attempt=attempt_key(order_payments),
        link_language=language,
        languages={code: language_name(code) for code in (*LANGUAGES, language) if page_language(code)},
        payouts=[
            PayoutRow(payout.aggregate.payment, payout.payout.card_mask, standings(payout.aggregate))
            for payout in order_payments.payouts
        ],
        unreachable=order_payments.unreachable,
    )


def _row(aggregate: PaymentAggregate, order_payments: OrderPayments, now: datetime) -> PaymentRow:
    payment, payable = aggregate.payment, can_be_paid(aggregate, now)
    offered = offers(balance(payment.flow, aggregate.operations))
    return PaymentRow(
        payment=payment,
        amount=shown_amount(aggregate),
        standings=standings(aggregate),
        problems=problem_messages(payment),
        open=payable,
        closing=next((form.key for form in offered if form.kind is Kind.CANCEL), None),
        too_much=payable and order_payments.order is not None and payment.amount > order_payments.to_pay,
        settled=all(operation.state.final for operation in aggregate.operations),
    )


def _note(order_payments: OrderPayments) -> str | None:
    if order_payments.order is None:
        return _UNREACHABLE if order_payments.unreachable else _NO_ORDER
    if not order_payments.order.is_payable:
        return _NOT_PAYABLE
    return None if order_payments.to_pay else _PAID
