"""Builds the shopper's view of a payment from its stored data."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit

import structlog

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Flow, Kind, Mode, State
from app.i18n.messages import LazyMessage
from app.i18n.translation import translation_for
from app.reports.order_payments import can_be_paid
from app.rules.balance import balance
from app.rules.refusal import english_shopper_message
from app.rules.status_messages import english_status_message
from app.services import Services
from app.store.aggregates import account_of, find_by_order, find_other_attempts
from app.store.vault import VaultError
from app.web.shopper.view import OtherAttempt, PaymentState, PaymentView, ShopView
from gateway_client.statuses import Status, explain

log = structlog.get_logger(__name__)

MAX_ATTEMPTS = 5
_TRANSACTION = "transactionId"
_ACTS_ON_IT = {Kind.CAPTURE, Kind.VOID, Kind.REFUND}
_UNPAID_CODES = {"6007", "4147", "4148", "4149"}  # cancelled, or the time to pay ran out (gateway facts, 4)


async def find_view(services: Services, order_id: str) -> PaymentView | None:
    """Return the shopper's view of an order; None for an unknown order and for a payout, which has no shopper."""
    async with services.database.transaction() as session:
        aggregate = await find_by_order(session, order_id)
        if aggregate is None or aggregate.payment.flow is Flow.PAYOUT:
            return None
        others = (
            await find_other_attempts(session, aggregate.payment, MAX_ATTEMPTS) if aggregate.payment.source_id else []
        )
    return build_view(aggregate, _return_url(services, aggregate), services.now(), others)


def _return_url(services: Services, aggregate: PaymentAggregate) -> str | None:
    try:
        return services.personal.open_return_url(aggregate.payment)
    except VaultError:  # the shopper still sees the payment's state
        log.warning("return_address.not_opened", payment=aggregate.payment.order_id)
        return None


def build_view(
    aggregate: PaymentAggregate, return_url: str | None, now: datetime, others: Sequence[PaymentAggregate] = ()
) -> PaymentView:
    """Return the shopper's view of a payment and of the other attempts to pay the same. Pure.

    ``return_url`` is the storefront's address to which the shopper returns.
    """
    payment, create, account = aggregate.payment, aggregate.create, account_of(aggregate.payment)
    standing = balance(payment.flow, aggregate.operations)
    payable = can_be_paid(aggregate, now)
    is_over = payment.expires_at is not None and now >= payment.expires_at
    is_unpaid = create.state is State.INIT and not payable
    return PaymentView(
        order_id=payment.order_id,
        state=_payment_state(aggregate),
        language=payment.language,
        amount=standing.charged or standing.authorized or payment.amount,
        currency=payment.currency,
        return_url=_add_transaction_id(return_url, payment.transaction_id),
        message=_reason(create, payment.language) if create.has_surely_failed else None,
        checkout_url=payment.checkout_url if payable else None,
        expires_at=payment.expires_at,
        description=create.requested.description,
        overdue=is_unpaid and is_over,
        being_closed=is_unpaid and not is_over,
        order_number=payment.order_number,
        shop=ShopView(account.shop_name, account.shop_logo, account.shop_color, account.test_project),
        attempts=tuple(attempt for attempt in map(_other_attempt, others) if attempt is not None),
    )


def _other_attempt(other: PaymentAggregate) -> OtherAttempt | None:
    """Return the shopper's view of another attempt; None if there is nothing to show, or no longer."""
    payment, create, now = other.payment, other.create, balance(other.payment.flow, other.operations)
    state, amount = _payment_state(other), payment.amount
    if state in {PaymentState.RELEASED, PaymentState.REFUNDED}:
        return None
    if state is PaymentState.PAID or now.charged:
        state, amount = PaymentState.PAID, now.held - now.reserved
    elif state is PaymentState.AUTHORISED:
        amount = now.capturable or now.capturing
    elif state.is_open:
        # A page that waits for the shopper has not been paid, and one whose link was lost cannot be.
        at_the_bank = create.state is State.PENDING or create.contradicted or create.newer_try is not None
        if not at_the_bank and (create.state is State.INIT or payment.mode is not Mode.DIRECT):
            return None
        state = PaymentState.WAITING
    if amount <= 0:
        return None
    message = _reason(create, payment.language) if state is PaymentState.FAILED else None
    return OtherAttempt(state, amount, payment.currency, payment.created_at, message)


def _reason(operation: Operation, language: str) -> str | None:
    """Return why an operation failed, for shoppers.

    It was recorded in the payment's ``language``. If it is the message of a code, the page can show it in any.
    """
    recorded, code = operation.shopper_message, operation.status_code
    for english in (english_status_message(explain(Status.FAILURE, code)), english_shopper_message(code)):
        if recorded and recorded == translation_for(language).gettext(english):
            return LazyMessage(english)
    return recorded


def _payment_state(aggregate: PaymentAggregate) -> PaymentState:
    create = aggregate.create
    if create.contradicted:
        return PaymentState.UNKNOWN
    match create.state:
        case State.SUCCESS:
            return _state_of_success(aggregate)
        case State.FAILURE if create.newer_try is not None:
            return PaymentState.WAITING
        case State.FAILURE:
            return PaymentState.EXPIRED if create.status_code in _UNPAID_CODES else PaymentState.FAILED
        case State.INIT | State.PENDING:
            return PaymentState.WAITING
        case _:
            return PaymentState.UNKNOWN


def _state_of_success(aggregate: PaymentAggregate) -> PaymentState:
    """Return what has become of a payment that has succeeded: the shop may have acted since.

    Nothing is called given back as long as the gateway contradicts itself about it (laws of money, 7).
    """
    now = balance(aggregate.payment.flow, aggregate.operations)
    in_doubt = any(operation.contradicted for operation in aggregate.operations if operation.kind in _ACTS_ON_IT)
    if now.charged:
        return PaymentState.REFUNDED if now.refunded >= now.charged and not in_doubt else PaymentState.PAID
    if now.reserved:
        return PaymentState.AUTHORISED
    return PaymentState.UNKNOWN if in_doubt else PaymentState.RELEASED


def _add_transaction_id(url: str | None, transaction_id: str) -> str | None:
    """Return ``url`` with this ``transactionId``, so that the storefront can call transactionProcess.

    A storefront that tries again from its return page may pass that page's own address, with the earlier attempt's.
    """
    if url is None:
        return None
    parts = urlsplit(url)
    others = [part for part in parts.query.split("&") if part and unquote_plus(part.partition("=")[0]) != _TRANSACTION]
    query = "&".join([*others, urlencode({_TRANSACTION: transaction_id})])
    return urlunsplit(parts._replace(query=query))
