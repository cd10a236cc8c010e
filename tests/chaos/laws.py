"""Checks after each step and at the end of a story (docs/laws-of-money.md)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import text
from sqlmodel import col, select

from app.core.alerts import AlertKind
from app.core.payment import PaymentAggregate, Problem
from app.core.vocabulary import EventState, Kind, Mode, State
from app.rules.balance import balance, status_of
from app.rules.problems import TOTAL_ROSE, Unowed, find_unowed_money, has_unended_problem, open_problems
from app.store.tables import Notification, SaleorEvent
from app.store.tables import Payment as OurPayment
from app.store.tables import Problem as StoredProblem
from gateway_client.sandbox.core.codes import CANCELLED, Status
from gateway_client.sandbox.core.records import Operation as Entry
from gateway_client.sandbox.core.records import Payment
from saleor_app_sdk.testing.records import Transaction
from saleor_app_sdk.testing.saleor_state import Delivery
from tests.chaos.books import check_books
from tests.chaos.double_payments import check_double_payments, has_ended
from tests.chaos.grants import check_granted_refunds
from tests.chaos.harness import Harness
from tests.chaos.shares import check_shares
from tests.db.rows import load_by_transaction

ZERO = Decimal(0)
_REFERENCES = text("SELECT id, psp_reference FROM operation WHERE psp_reference IS NOT NULL")
_SECONDARY = {Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.DISPUTE}


@dataclass
class Memory:
    """What is known of earlier steps. Only Saleor's own request changes the ``references`` of operations (law 9)."""

    references: dict[int, str] = field(default_factory=dict)
    compared: set[UUID] = field(default_factory=set)  # payments at the gateway that were compared with Saleor's total


async def check_after_step(harness: Harness, memory: Memory) -> None:
    """Check what must be true at every moment, as far as it is cheap to check."""
    if harness.gate.violations:
        raise harness.gate.violations[0]
    for transaction in harness.saleor.state.transactions.values():
        amounts = transaction.amounts
        assert min(amounts.charged, amounts.refunded, amounts.canceled) >= ZERO, amounts
        assert not transaction.unreadable, "an asynchronous answer named actions"
    _check_amounts_of_pages(harness, memory)
    async with harness.app.services.database.engine.connect() as connection:
        rows = (await connection.execute(_REFERENCES)).all()
    given = {
        event.psp_reference
        for transaction in harness.saleor.state.transactions.values()
        for event in transaction.events
        if event.type.outcome == "REQUEST"
    }
    for row_id, reference in rows:
        before = memory.references.get(row_id, reference)
        assert before == reference or reference in given, "a reference has changed that Saleor's request does not have"
        memory.references[row_id] = reference


def _check_amounts_of_pages(harness: Harness, memory: Memory) -> None:
    """Law 12: no page is opened for more than Saleor says is to be paid, whatever amount it requests."""
    for payment in harness.sandbox.state.payments.values():
        if payment.payment_id in memory.compared:
            continue
        memory.compared.add(payment.payment_id)
        totals = [
            _stated_total(json.loads(delivery.body)["sourceObject"])
            for delivery in harness.saleor.state.deliveries
            if delivery.event == "transaction_initialize_session"
            and any(attribute["value"] in delivery.body for attribute in payment.attributes)
        ]
        assert totals, "a page that nobody has requested"
        assert payment.amount <= max(totals), f"a page over {payment.amount}, and {totals} is to be paid"


def _stated_total(source: Mapping[str, Any]) -> Decimal:
    total = source["totalPrice"] if source["__typename"] == "Checkout" else source["total"]
    return Decimal(str(total["gross"]["amount"]))


async def check_end(harness: Harness) -> None:
    """Check that the three ledgers agree, and that nothing is waiting."""
    await check_after_step(harness, Memory())
    async with harness.app.services.database.transaction() as session:
        unread = (await session.exec(select(Notification).where(col(Notification.next_attempt_at).is_not(None)))).all()
        unsaid = (await session.exec(select(SaleorEvent).where(SaleorEvent.state == EventState.WAITING))).all()
        payments = (await session.exec(select(OurPayment))).all()
        double = (await session.exec(select(StoredProblem).where(StoredProblem.kind == AlertKind.PAID_TWICE))).all()
        aggregates = {
            payment.transaction_id: await load_by_transaction(session, payment.installation_id, payment.transaction_id)
            for payment in payments
        }
    assert not unread, f"a notification is not processed: {unread[0].outcome}"
    assert not unsaid, f"Saleor has not heard of {unsaid[0].type}: {unsaid[0].last_error}"
    check_granted_refunds(harness, aggregates)
    check_double_payments(
        harness, {name: aggregate for name, aggregate in aggregates.items() if aggregate is not None}, double
    )
    for transaction in harness.saleor.state.transactions.values():
        _check_ledgers(harness, transaction, aggregates.pop(transaction.id, None))
    assert not aggregates, "a payment of no transaction"


def _check_ledgers(harness: Harness, transaction: Transaction, aggregate: PaymentAggregate | None) -> None:
    _check_single_reference(harness, transaction)
    payments = gateway_payments(harness, transaction)
    if aggregate is None:
        assert not payments, "a payment at the gateway that we know nothing of"
        assert transaction.amounts.charged == transaction.amounts.authorized == ZERO
        return
    entries = [entry for payment in payments for entry in harness.sandbox.state.operations_of(payment)]
    paid = [payment for payment in payments if payment.status is Status.SUCCESS]
    assert len(paid) <= 1, "paid twice"
    reserved = sum((payment.amount for payment in paid if payment.method == "auth"), ZERO)
    captured, voided, refunded, disputed = (
        _done(entries, method) for method in ("capture", "void", "refund", "dispute")
    )
    released = reserved - captured if captured else ZERO
    charged = sum((payment.paid_amount for payment in paid if payment.method == "purchase"), ZERO) + captured
    ours = balance(aggregate.payment.flow, aggregate.operations)
    assert aggregate.payment.status is status_of(aggregate.payment.flow, aggregate.operations), "listed as it is not"
    assert (ours.authorized, ours.charged, ours.refunded) == (reserved, charged, refunded), "ours is not the gateway's"
    theirs = transaction.amounts
    # What is pending is taken from where it comes from (Saleor contract, A.7).
    held = theirs.authorized + theirs.cancel_pending + (theirs.charge_pending if reserved else ZERO)
    assert held == reserved - captured - released - voided, f"Saleor believes {theirs}"
    assert theirs.charged + theirs.refund_pending == charged - refunded - disputed, f"Saleor believes {theirs}"
    assert theirs.refunded == refunded, f"Saleor believes {theirs}"
    assert theirs.canceled == voided + released, f"Saleor believes {theirs}"
    open_there = [entry for entry in (*payments, *entries) if not entry.final]
    if not open_there:
        waiting = (theirs.authorize_pending, theirs.charge_pending, theirs.refund_pending, theirs.cancel_pending)
        assert waiting == (ZERO,) * 4, f"Saleor waits for ever: {theirs}"
        assert all(operation.state.final for operation in aggregate.operations), "an operation is open for ever"
        offered = sorted(action.value for action in ours.actions)
        assert transaction.actions == offered, f"staff are offered {transaction.actions} instead of {offered}"
        # A second paid attempt does not concern this payment alone (laws of money, 12).
        # Nobody completes the checkout of a story: see _check_missing_order.
        others = [problem for problem in open_problems(aggregate.payment) if not _is_of_missing_order(problem)]
        problems = [problem for problem in others if problem.kind is not AlertKind.PAID_TWICE]
        if len(harness.totals) > 1:  # money and total can part then: see _check_overpaid
            problems = [problem for problem in problems if problem.kind not in {AlertKind.NOT_OWED, AlertKind.NOT_PAID}]
        if transaction.order is not None and aggregate.payment.mode is Mode.DIRECT and not paid:
            # Saleor has counted a typed card that was pending, and the order was placed as if it were paid.
            problems = [problem for problem in problems if problem.kind is not AlertKind.NOT_PAID]
        if disputed:
            assert problems, "nobody is told of what the payer's bank has taken"
        elif not any(entry.method == "dispute" for entry in entries):  # a won dispute is reported too
            # A decline that is notified after the success of another card on the same page is for people to look at,
            # and so is money of an order that has ended.
            expected = any(payment.cards_tried > 1 for payment in payments) or has_ended(transaction)
            assert not problems or expected, problems
        _check_missing_order(transaction, aggregate, ours.held)
        _check_overpaid(harness, transaction, aggregate, paid)
    assert all(event.state is not EventState.REFUSED for event in aggregate.events)
    _check_operations(harness, aggregate, entries)
    _check_cancellations(aggregate, payments)
    check_shares(harness, aggregate, payments, entries)
    only_ours = all(entry.operation_id in harness.gate.ours for entry in entries)
    check_books(aggregate, payments, entries, only_ours=only_ours)


def _check_missing_order(transaction: Transaction, aggregate: PaymentAggregate, held: Decimal) -> None:
    """Law 13: staff are told of money for a checkout that nobody completes, and of no other."""
    known = find_unowed_money(aggregate.payment, Unowed.NOT_ORDERED)
    is_missing = transaction.order is None and held > ZERO
    if has_unended_problem(aggregate.payment, TOTAL_ROSE):  # then no order can be placed, and staff know that
        return
    assert (known is not None) == is_missing, f"{held} is held, and staff are told {known}"


def _check_overpaid(
    harness: Harness, transaction: Transaction, aggregate: PaymentAggregate, paid: Sequence[Payment]
) -> None:
    """Law 10: staff are told of money beyond what is owed, when it arrives after the total has fallen."""
    total = harness.totals[-1]
    others = (other for other in harness.saleor.state.transactions.values() if other is not transaction)
    is_alone = not any(other.amounts.authorized + other.amounts.charged for other in others)
    is_simple = all(operation.kind in {Kind.CREATE, Kind.CANCEL} for operation in aggregate.operations)
    if not paid or paid[0].payment_id in harness.paid_before or not (is_alone and is_simple):
        return
    if paid[0].amount > total and not has_ended(transaction):
        assert find_unowed_money(aggregate.payment, Unowed.OVERPAID), f"{paid[0].amount} is paid, and {total} is owed"


def _is_of_missing_order(problem: Problem) -> bool:
    return problem.kind is AlertKind.NOT_OWED and problem.key.startswith(Unowed.NOT_ORDERED)


def _check_single_reference(harness: Harness, transaction: Transaction) -> None:
    """Law 9: whatever Saleor requested for a session, and however often, it got the reference of one payment."""
    sessions = [
        delivery
        for delivery in harness.saleor.state.deliveries
        if delivery.event.endswith("_session") and has_binding_answer(delivery)
    ]
    ours = (session for session in sessions if json.loads(session.body)["transaction"]["id"] == transaction.id)
    reported = {reference_of(delivery.answer or "") for delivery in ours}
    assert len(reported) <= 1, f"Saleor was told several references: {reported}"


def _check_cancellations(aggregate: PaymentAggregate, payments: list[Payment]) -> None:
    """Check cancellations, which have no record of their own at the gateway: their outcome is that of the payment."""
    cancellations = [operation for operation in aggregate.operations if operation.kind is Kind.CANCEL]
    if len(payments) != 1:  # one of them was closed, and the shopper started over
        return
    succeeded = any(cancellation.state is State.SUCCESS for cancellation in cancellations)
    assert not (succeeded and payments[0].status is Status.SUCCESS), "cancelled, and paid"
    if len(cancellations) == 1 and payments[0].status_code == CANCELLED:
        assert succeeded, "a cancellation was done and is told as failed"


def _check_operations(harness: Harness, aggregate: PaymentAggregate, entries: list[Entry]) -> None:
    """Check that each operation there is one here and vice versa, and that none of ours is taken for another's."""
    named = [
        operation.operation_id
        for operation in aggregate.operations
        if operation.operation_id and operation.kind in _SECONDARY
    ]
    assert len(named) == len(set(named)), "two operations of one name"
    done = {str(entry.operation_id) for entry in entries if entry.status is Status.SUCCESS}
    ours = {
        operation.operation_id
        for operation in aggregate.operations
        if operation.kind in _SECONDARY and operation.state is State.SUCCESS
    }
    assert done == ours, "operations of the gateway and ours differ"
    secondary = [operation for operation in aggregate.operations if operation.kind in _SECONDARY]
    asked = [operation for operation in secondary if operation.asked_by_saleor or operation.asked_by is not None]
    strangers = [operation for operation in secondary if operation not in asked]
    outside = [entry for entry in entries if entry.operation_id not in harness.gate.ours]
    assert len(strangers) <= len(outside), "something of ours was taken for somebody else's"
    assert len(entries) - len(outside) <= len(asked), "more was done than asked"


def gateway_payments(harness: Harness, transaction: Transaction) -> list[Payment]:
    """Return the payments that the gateway has for a transaction, oldest first."""
    return [
        payment
        for payment in harness.sandbox.state.payments.values()
        if any(attribute["value"] == transaction.id for attribute in payment.attributes)
    ]


def next_gateway_change_at(harness: Harness) -> datetime | None:
    """Return when the gateway will next do something by itself; None if it will not."""
    book = harness.sandbox.state
    moments = [entry.settles_at for entry in book.open_entries()]
    for payment in book.payments.values():
        if payment.status is Status.INIT or payment.waits_for_payer:
            moments.append(payment.expires_at)
        elif payment.processed_at is not None and book.is_open_hold(payment):
            behaviour = book.behaviour(payment.pos_id)
            afters = (behaviour.automatic_capture_after, behaviour.automatic_void_after)
            moments += [payment.processed_at + after for after in afters if after is not None]
    return min((moment for moment in moments if moment is not None), default=None)


def has_binding_answer(webhook: Delivery) -> bool:
    """Whether a webhook of Saleor was answered in a way that later answers must repeat.

    A refused session is recorded nowhere, so each refusal has a reference of its own.
    """
    reference = reference_of(webhook.answer or "")
    return webhook.status == 200 and reference is not None and not reference.startswith("app-")


def reference_of(answer: str) -> str | None:
    """Return the ``pspReference`` of an answer."""
    try:
        reference: str | None = json.loads(answer).get("pspReference")
    except (ValueError, AttributeError):
        return None
    return reference


def _done(entries: list[Entry], method: str) -> Decimal:
    return sum((entry.amount for entry in entries if entry.method == method and entry.status is Status.SUCCESS), ZERO)
