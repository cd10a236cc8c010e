"""The payments of one Saleor order, the amount still due, and a link with which a customer pays that.

Staff create the link for an order that is placed and not paid, for a customer on the telephone. Saleor begins the
transaction and calls the app by the usual webhook, so that the payment is like any other.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.i18n.currencies import read_amount_in
from app.i18n.messages import LazyMessage, Money
from app.rules.balance import ZERO, balance, check_amount
from app.rules.decisions.competing_attempts import amount_to_pay, attempt_of
from app.rules.refusal import RefusalCode, RefusalError
from app.services import Services
from app.store.aggregates import find_attempts
from app.store.installations import OpenInstallation
from app.store.payouts import PayoutRecord, payouts_for
from app.store.tables import MerchantAccount
from saleor_app_sdk.errors import SaleorError, SaleorRefusedError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.orders import InitializedTransaction, OrderToPay, fetch_order_to_pay, initialize_transaction

SALEOR_UNREACHABLE = "The order could not be loaded from Saleor: try again in a minute."
NO_ORDER = "This order was not found in Saleor."
NOT_PAYABLE = "This order cannot be paid: it is not placed, or cancelled."
ALL_PAID = "There is nothing left to pay on this order."
_NO_ANSWER = "Saleor did not answer in time. The link may still have been created: check the order again in a minute."
_NOT_KNOWN = "It is not yet known whether the payment page was opened: check the order again in a minute."
_LINK_PAID = LazyMessage("The link of this request was created before, and it has been paid.")
# Data that the storefront is told to pass; staff can only add it to the order.
_MISSING_ON_ORDER = {
    RefusalCode.MISSING_NAME: "The order has no first and last name, which the merchant account requires",
    RefusalCode.MISSING_EMAIL: "The order has no e-mail address, which the gateway needs",
    RefusalCode.MISSING_PHONE: "The order has no phone number, which the gateway needs",
}
_ADD_IT = "add it to the order, preferably to its billing address, and try again."


@dataclass(frozen=True, slots=True)
class OrderPayments:
    """An order's payments, oldest first, and the payouts related to them. ``gateway`` is Saleor's name of the app.

    ``order`` None: Saleor could not be reached (``unreachable``), or has no such order. Then only those payments are
    found that were begun on the order itself, and not on the checkout from which it was created.
    """

    order: OrderToPay | None
    aggregates: Sequence[PaymentAggregate]
    gateway: str = ""
    unreachable: bool = False
    payouts: Sequence[PayoutRecord] = ()

    @property
    def to_pay(self) -> Decimal:
        """The amount that can be requested now; zero for an order that is paid, cancelled or not known.

        It is what a shopper may pay (laws of money, 12): a refund leaves its amount to be paid again, unless staff have
        granted it. Saleor may not have received all reports of our own payments yet: of what it knows and what we know,
        the larger amount counts.
        """
        if self.order is None or not self.order.is_payable:
            return ZERO
        ours = {aggregate.payment.transaction_id: attempt_of(aggregate).covered for aggregate in self.aggregates}
        payable = amount_to_pay(self.order, set(ours))
        covered = (
            max(transaction.covered, ours[transaction.id])
            for transaction in self.order.transactions
            if transaction.id in ours
        )
        return max(ZERO, (payable or ZERO) - sum(covered, ZERO))

    def open_payment_over(
        self, amount: Decimal, now: datetime, language: str | None = None, *, account_id: str | None = None
    ) -> PaymentAggregate | None:
        """Return the newest payment with an open page for exactly that amount.

        In ``language`` and at the merchant account ``account_id``, unless these are None.
        """
        for aggregate in reversed(self.aggregates):
            payment = aggregate.payment
            is_meant = language in {None, payment.language} and account_id in {None, payment.account_id}
            if payment.amount == amount and is_meant and can_be_paid(aggregate, now):
                return aggregate
        return None


def can_be_paid(aggregate: PaymentAggregate, now: datetime) -> bool:
    """Return True while the payment's page can be used to pay, as far as is known."""
    payment = aggregate.payment
    in_time = payment.expires_at is None or now < payment.expires_at
    unpaid = balance(payment.flow, aggregate.operations).unpaid and not aggregate.create.contradicted
    return payment.checkout_url is not None and in_time and unpaid


async def payments_of_order(
    services: Services, client: SaleorClient, installation: OpenInstallation, order_id: str
) -> OrderPayments:
    """Return the data of a store's order in Saleor and the database.

    Another store's order is not found.
    """
    order, gateway, unreachable = None, "", False
    try:
        order, gateway = await fetch_order_to_pay(client, installation, order_id)
    except SaleorRefusedError:  # the given id cannot be that of an order
        pass
    except SaleorError:
        unreachable = True
    known = None if order is None else [transaction.id for transaction in order.transactions]
    async with services.database.transaction() as session:
        aggregates = await find_attempts(session, installation.id, source_id=order_id, transaction_ids=known)
        payouts = await payouts_for(session, [aggregate.payment.id for aggregate in aggregates])
    return OrderPayments(order, aggregates, gateway, unreachable, payouts)


def attempt_key(known: OrderPayments) -> str:
    """Return a key that distinguishes the next attempt to pay from all previous: a form sent twice names the same."""
    transactions = known.order.transactions if known.order is not None else ()
    return _digest(*sorted(transaction.id for transaction in transactions))


async def get_or_create_payment_link(
    services: Services,
    client: SaleorClient,
    installation: OpenInstallation,
    order_id: str,
    *,
    amount: str | None = None,
    attempt: str | None = None,
    language: str | None = None,
) -> PaymentAggregate:
    """Return a payment on whose page ``amount`` of the order, as people typed it, or all that is due can be paid.

    If such a page is open at the merchant account that takes the channel's money now, its payment is returned.
    ``language`` is the page's: None stands for the order's, and then an open page of any language will do. ``attempt``
    is the requester's result of ``attempt_key``: the same attempt for the same amount in the same language is one
    transaction in Saleor and one payment here, however often it is requested (laws of money, 4). Raises RefusalError
    and NotAnAmountError.
    """
    known = await payments_of_order(services, client, installation, order_id)
    to_pay = _link_amount(known, amount)
    account = await _account_of(services, installation, known)
    open_payment = known.open_payment_over(
        to_pay, services.now(), language, account_id=None if account is None else account.id
    )
    if open_payment is not None:
        return open_payment
    data = {"language": language} if language else {}
    key = f"link-{_digest(order_id, attempt or attempt_key(known), str(to_pay), *data.values())}"
    try:
        begun = await initialize_transaction(
            client, installation, order_id=order_id, amount=to_pay, gateway=known.gateway, key=key, data=data
        )
    except SaleorRefusedError as refused:
        message = f"Saleor did not start a payment: {refused.message}"
        raise RefusalError(RefusalCode.NOT_POSSIBLE, message) from refused
    except SaleorError as error:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _NO_ANSWER) from error
    return await _begun_payment(services, installation, begun)


async def _account_of(
    services: Services, installation: OpenInstallation, known: OrderPayments
) -> MerchantAccount | None:
    if known.order is None:
        return None
    channel = known.order.channel
    return await services.accounts.for_channel(installation.id, channel.slug, channel.id)


def _link_amount(known: OrderPayments, typed: str | None) -> Decimal:
    if known.order is None:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, SALEOR_UNREACHABLE if known.unreachable else NO_ORDER)
    if not known.order.is_payable:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, NOT_PAYABLE)
    if not known.to_pay:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, ALL_PAID)
    currency = known.order.channel.currency_code
    amount = check_amount(known.to_pay if typed is None else read_amount_in(currency, typed), currency)
    if amount > known.to_pay:
        message = f"{Money(known.to_pay, currency)} is left to pay for this order: request no more."
        raise RefusalError(RefusalCode.INVALID_AMOUNT, message, "amount")
    return amount


async def _begun_payment(
    services: Services, installation: OpenInstallation, begun: InitializedTransaction
) -> PaymentAggregate:
    async with services.database.transaction() as session:
        found = await find_attempts(session, installation.id, source_id="", transaction_ids=[begun.transaction_id])
    if not found:
        raise _webhook_refusal(begun)
    (aggregate,) = found
    if can_be_paid(aggregate, services.now()):
        return aggregate
    if aggregate.create.state is State.SUCCESS:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _LINK_PAID)
    outcome_known = aggregate.create.state.final or aggregate.create.state is State.INIT
    message = aggregate.create.message if outcome_known else None
    raise RefusalError(RefusalCode.NOT_POSSIBLE, message or _NOT_KNOWN)


def _webhook_refusal(begun: InitializedTransaction) -> RefusalError:
    """Return the reason that our own webhook refused the transaction, as text for staff."""
    data: Any = begun.data
    errors = data.get("errors") if isinstance(data, Mapping) else None
    error = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], Mapping) else {}
    code = str(error.get("code"))
    if code in _MISSING_ON_ORDER:
        return RefusalError(RefusalCode(code), f"{_MISSING_ON_ORDER[RefusalCode(code)]}: {_ADD_IT}")
    message = str(error.get("message") or begun.message or "The app did not answer Saleor.")
    return RefusalError(RefusalCode.NOT_POSSIBLE, message)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
