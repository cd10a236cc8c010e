"""Aggregates and records on paper, without a database: for what is pure."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import Any

from app.core.ids import GatewayOperationId, OperationRowId, OrderId, PaymentRowId
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.rules.decision_context import DecisionContext
from app.rules.mapper import Expectation, Observation
from app.rules.schedule import Schedule
from app.store.tables import MerchantAccount

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
POS = "b28c8a4e-7c6f-4f6f-9c2c-1f6f0f1d3a11"
ORDER = "0364aa9a31eb44fbaeff4d712e77e549"
HUNDRED = Decimal("100.00")
_numbers = count(1)


def an_operation(kind: Kind, state: State, amount: Decimal = HUNDRED, **more: Any) -> Operation:
    """Return an operation of ours, as it stands in the database."""
    number = next(_numbers)
    members: dict[str, Any] = {
        "id": number,
        "kind": kind,
        "idempotency_key": f"key-{number}",
        "state": state,
        "amount": amount,
        "currency": "UAH",
        "created_at": NOON,
        "updated_at": NOON,
    }
    return Operation(**(members | more))


def an_aggregate(flow: Flow, state: State, *operations: Operation, amount: Decimal = HUNDRED) -> PaymentAggregate:
    """Return a payment over ``amount`` in that state, with what was done to it."""
    payment = Payment(
        id=PaymentRowId(1),
        installation_id=1,
        account_id="account",
        transaction_id="VHJhbnNhY3Rpb25JdGVtOjE=",
        order_id=OrderId(ORDER),
        flow=flow,
        amount=amount,
        currency="UAH",
        channel="uah",
        source_id="Q2hlY2tvdXQ6MQ==",
        created_at=NOON,
        updated_at=NOON,
    )
    payment.loaded_account = MerchantAccount(
        id="account",
        installation_id=1,
        name="Shop",
        pos_id=POS,
        base_url="https://gateway.example",
        scheme_word="CPAY",
        api_key_sealed="",
        api_secret_sealed="",
        endpoints_key_sealed="",
        currencies=["UAH"],
        storefront_origins=[],
        created_at=NOON,
        updated_at=NOON,
    )
    create = an_operation(Kind.CREATE, state, amount, psp_reference=ORDER)
    return PaymentAggregate(payment, [create, *operations], [])


def observation(
    kind: Kind, state: State, amount: Decimal = HUNDRED, gateway_id: str = "the-payment", **more: Any
) -> Observation:
    """Return what the gateway says, of the payment on paper unless told otherwise."""
    members: dict[str, Any] = {"currency": "UAH", "pos_id": POS, "order_id": ORDER, "message": f"{kind} {state}"}
    return Observation(
        kind=kind, state=state, amount=amount, gateway_id=GatewayOperationId(gateway_id), **(members | more)
    )


def known_operation(kind: Kind, state: State, flow: Flow = Flow.CHARGE, **more: Any) -> Expectation:
    """Return what is recorded of an operation over 100.00 UAH."""
    members: dict[str, Any] = {
        "inferred": False,
        "contradicted": False,
        "amount": HUNDRED,
        "requested_amount": HUNDRED,
        "currency": "UAH",
        "pos_id": POS,
        "order_id": ORDER,
    }
    return Expectation(flow=flow, kind=kind, state=state, **(members | more))


def decision_context(answering: OperationRowId | None = None, now: datetime = NOON) -> DecisionContext:
    """Return the context of a decision at noon."""
    return DecisionContext(now=now, schedule=Schedule(), answered_operation_id=answering)
