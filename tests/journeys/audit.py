"""The audit: compares the records of the gateway, the app and Saleor when a story is over."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

from sqlmodel import select

from app.bootstrap import open_services
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import EventState, Kind, State
from app.rules.balance import balance
from app.rules.problems import problem_text
from app.store.aggregates import WITH_ACCOUNT, load_aggregates, read_payments
from app.store.tables import Notification
from gateway_client.dialect import DIALECTS
from gateway_client.sandbox.control.views import PaymentView
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import TransactionView
from tests.journeys.stack import Stack

ZERO = Decimal(0)


@dataclass(frozen=True)
class Recorded:
    """Everything that the app has recorded."""

    aggregates: Sequence[PaymentAggregate]
    notifications: Sequence[Notification]

    @property
    def operations(self) -> list[Operation]:
        """All operations of all payments."""
        return [operation for aggregate in self.aggregates for operation in aggregate.operations]

    @property
    def at_rest(self) -> bool:
        """True when the app has nothing left to do by itself: open payments wait for a shopper with a link."""
        open_ones = [operation for operation in self.operations if not operation.state.final]
        payable = {s.create.id for s in self.aggregates if s.payment.checkout_url or s.payment.qr_url}
        return (
            all(
                operation.kind is Kind.CREATE and operation.state is State.INIT and operation.id in payable
                for operation in open_ones
            )
            and all(
                event.state is not EventState.WAITING for aggregate in self.aggregates for event in aggregate.events
            )
            and all(notification.processed_at is not None for notification in self.notifications)
        )


async def load_recorded(stack: Stack) -> Recorded:
    """Read everything that the app has recorded."""
    async with open_services(stack.settings) as services, services.database.transaction() as session:
        payments = await read_payments(session, WITH_ACCOUNT)
        notifications = (await session.exec(select(Notification))).all()
        return Recorded(await load_aggregates(session, payments), notifications)


async def wait_until_settled(stack: Stack) -> Recorded:
    """Wait until no system has anything left to do, and return the app's records by then."""

    async def resting() -> Recorded | None:
        await stack.saleor.wait_for_background()
        await stack.gateway.wait_for_webhooks()
        recorded = await load_recorded(stack)
        return recorded if recorded.at_rest else None

    return await eventually(resting)


async def assert_three_books_agree(stack: Stack) -> None:
    """Compare the three, payment by payment: no money moved twice, none is lost, nothing was reported twice."""
    recorded = await wait_until_settled(stack)
    orders = {payment.order_id: payment for payment in await stack.gateway.payments()}
    for aggregate in recorded.aggregates:
        theirs = [orders.pop(name) for name in [aggregate.payment.order_id] if name in orders]
        saleor = await stack.saleor.transaction(aggregate.payment.transaction_id)
        _assert_agreement(aggregate, theirs, saleor)
        _assert_reported_once(aggregate, saleor)
    assert not orders, f"orders at the gateway that we know nothing of: {list(orders)}"
    await _assert_sent_once(stack)


def _assert_agreement(aggregate: PaymentAggregate, theirs: Sequence[PaymentView], saleor: TransactionView) -> None:
    ours = balance(aggregate.payment.flow, aggregate.operations)
    told = saleor.amounts
    paid = sum(
        (payment.amount for payment in theirs if payment.method == "purchase" and payment.status == "success"), ZERO
    )
    reserved = sum(
        (payment.amount for payment in theirs if payment.method == "auth" and payment.status == "success"), ZERO
    )
    captured, refunded, voided = (_done(theirs, method) for method in ("capture", "refund", "void"))
    assert sum(payment.status == "success" for payment in theirs) <= 1, "one payment was paid twice"
    assert paid + captured == ours.charged == told.charged + told.refunded
    assert refunded == ours.refunded == told.refunded
    assert reserved == ours.authorized
    assert told.authorized == (ZERO if captured or voided else reserved)
    assert told.charge_pending == told.refund_pending == told.cancel_pending == told.authorize_pending == ZERO
    assert problem_text(aggregate.payment) is None


def _done(payments: Sequence[PaymentView], method: str) -> Decimal:
    done = [operation for payment in payments for operation in payment.operations if operation.method == method]
    return sum((operation.amount for operation in done if operation.status == "success"), ZERO)


def _assert_reported_once(aggregate: PaymentAggregate, saleor: TransactionView) -> None:
    """Check that Saleor has one outcome of each operation, under the reference that it had from the start.

    Events that Saleor records by itself, when it got no answer, do not count.
    """
    outcomes = Counter(
        (event.type.value, event.psp_reference)
        for event in saleor.events
        if event.counts and event.type.value.endswith(("_SUCCESS", "_FAILURE"))
    )
    assert all(times == 1 for times in outcomes.values()), outcomes
    ours = {
        (event.type, event.psp_reference) for event in aggregate.events if event.type.endswith(("_SUCCESS", "_FAILURE"))
    }
    refused = {answer for answer in outcomes if answer not in ours}
    assert not refused, f"Saleor heard of {refused}, and we have not written it down"
    requested = {event.psp_reference for event in saleor.events if event.type.value.endswith("_REQUEST")}
    concluded = {event.psp_reference for event in saleor.events if event.type.value.endswith(("_SUCCESS", "_FAILURE"))}
    # What the app has answered in trouble, before it could look at the payment, counts nothing and names no operation.
    undecided = {event.psp_reference for event in saleor.events if event.type.value.endswith("_ACTION_REQUIRED")}
    concluded |= {reference for reference in undecided if reference is not None and reference.startswith("app-")}
    assert requested <= concluded, f"requests that never came to an end: {requested - concluded}"


async def _assert_sent_once(stack: Stack) -> None:
    """Check that nothing that moves money was requested from the gateway more often than it was done."""
    paths = {
        "capture": DIALECTS[stack.dialect].capture_path,
        "void": "/api/v1/void",
        "refund": "/api/v1/refund",
        "purchase": "/api/v1/payment",
    }
    calls = Counter(
        (call.path, call.order_id, call.amount)
        for call in await stack.gateway.calls()
        if call.path in paths.values() or call.path.endswith("/cancel")
    )
    for payment in await stack.gateway.payments():
        assert calls.pop((paths["purchase"], payment.order_id, payment.amount)) == 1
        for operation in payment.operations:
            amount = None if operation.method == "void" else operation.amount
            assert calls.pop((paths[operation.method], payment.order_id, amount)) == 1, operation
        closing = f"/api/v1/pos/{payment.pos_id}/order/{quote(payment.order_id)}/cancel"
        closed = sum(times for (path, _, _), times in calls.items() if path == closing)
        assert closed <= 1
        calls = Counter({call: times for call, times in calls.items() if call[0] != closing})
    assert not calls, f"calls that came to nothing: {calls}"
