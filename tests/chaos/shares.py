"""Stories of a marketplace: an account that splits, a portal that moves any receiver's money, the laws of shares."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Kind, State
from app.rules.split.allocation import total_of
from app.rules.split.rules import METADATA_KEY, read_rules
from app.rules.split.standing import is_split, standing_of
from gateway_client.sandbox.core import secondary, shares
from gateway_client.sandbox.core.codes import Status
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Operation, Payment, Share
from saleor_app_sdk.testing.views import NewCheckout, NewLine
from tests.chaos.harness import Harness
from tests.payments.split.people import MARKET as OURS
from tests.payments.split.people import NAMES, POTTER, SMITH, WEAVER

# Thirds, so that there is always something to round.
THIRDS = {POTTER: "33.33", SMITH: "33.33", WEAVER: "33.34"}
MARKET: dict[str, Any] = {
    "options": {
        "split_rules": read_rules({"mode": "percentages", "percentages": THIRDS, "names": NAMES}).model_dump(
            mode="json"
        )
    }
}

# The same money split by basket: each seller gets the price of their items, the market gets the shipping.
BY_LINES: dict[str, Any] = {
    "options": {
        "split_rules": read_rules({"mode": "metadata", "default": OURS, "names": NAMES}).model_dump(mode="json")
    }
}
BASKET = NewCheckout(
    lines=[
        NewLine(product_name=name, unit_price=Decimal(price), quantity=count, variant_metadata={METADATA_KEY: who})
        for name, price, count, who in (
            ("Jug", "199.50", 1, POTTER),
            ("Knife", "66.67", 3, SMITH),
            ("Towel", "99.99", 1, WEAVER),
        )
    ]
)


def portal_shares(book: GatewayState, payment: Payment, method: str, amount: Decimal) -> list[Share]:
    """Return the shares that the portal moves: of one receiver after the other, which the app must not assume."""
    if method == "void" or not payment.shares:
        return []
    having = (
        shares.refundable_amounts(book, payment)
        if method == "refund"
        else {s.sub_merchant_id: s.amount for s in payment.shares}
    )
    taken: list[Share] = []
    for who, most in sorted(having.items()):
        part = min(most, amount - total_of(share.amount for share in taken))
        if part > 0:
            taken.append(Share(sub_merchant_id=who, amount=part))
    return taken


def check_shares(
    harness: Harness, aggregate: PaymentAggregate, payments: Sequence[Payment], entries: Sequence[Operation]
) -> None:
    """Check that our operations at the gateway are split as recorded, no receiver is below zero, all money has one."""
    if not is_split(aggregate):
        assert not any(payment.shares for payment in payments)
        return
    book = harness.sandbox.state
    paid = [payment for payment in payments if payment.status is Status.SUCCESS]
    for payment in payments:
        assert _amounts_by_receiver(payment.shares) == aggregate.create.shares, "the shares of the payment"
    for payment in paid:
        left = shares.refundable_amounts(book, payment)
        assert all(amount >= 0 for amount in left.values()), f"somebody is below zero: {left}"
        given_back = secondary.refunded_amount(book, payment)
        rest = secondary.taken_amount(book, payment) - given_back
        pending = [
            active_operation.amount
            for active_operation in book.active_operations(payment, "capture")
            if active_operation.status is Status.PENDING
        ]
        assert sum(left.values(), Decimal()) == rest + sum(pending, Decimal()), "money is nobody's"
    for entry in entries:
        ours = next(
            (operation for operation in aggregate.operations if operation.operation_id == str(entry.operation_id)), None
        )
        # An operation of others can be taken for ours of the same amount (laws of money, 10): then its shares differ.
        if ours is not None and entry.operation_id in harness.gate.ours and entry.method != "void":
            assert _amounts_by_receiver(entry.shares) == ours.shares, f"{entry.method} of {entry.amount}"
    for operation in aggregate.operations:
        recorded = operation.shares
        assert not recorded or total_of(recorded.values()) == operation.amount
        assert (
            recorded
            or operation.kind not in {Kind.CAPTURE, Kind.REFUND}
            or _needs_no_shares(aggregate, operation.idempotency_key)
        )
    standing = standing_of(aggregate)
    assert all(amount > 0 for amount in standing.left.values()), f"nothing is left, and counted: {standing.left}"
    outside = any(entry.operation_id not in harness.gate.ours for entry in entries)
    if (
        not outside
        and all(entry.final for entry in entries)
        and all(operation.state.final for operation in aggregate.operations)
    ):
        truth = {
            str(who): amount
            for payment in paid
            for who, amount in shares.refundable_amounts(book, payment).items()
            if amount
        }
        taken = any(secondary.taken_amount(book, payment) for payment in paid)
        assert standing.left == (truth if taken else {}), "what is left here is not what is left there"


def _amounts_by_receiver(shares_: Sequence[Share]) -> dict[str, Decimal]:
    return {str(share.sub_merchant_id): share.amount for share in shares_}


def _needs_no_shares(aggregate: PaymentAggregate, key: str) -> bool:
    """Whether others did it, or it was refused before it was split."""
    operation = aggregate.operation_by_key(key)
    assert operation is not None
    return key.startswith("gateway:") or operation.state is State.FAILURE
