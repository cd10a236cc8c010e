"""The gateway is asked from a payment's page: what it has is shown, and what it says of this payment is posted."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest

from app.store.tables import MerchantAccount
from gateway_client.sandbox.core.records import RecurringPlan
from gateway_client.sandbox.core.subscriptions import create_subscription
from gateway_client.sandbox.scripting import FaultRule
from tests.commands.books import operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names, other_store
from tests.dashboard.gateway.conftest import SandboxGateway
from tests.dashboard.gateway.test_balances import text

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
async def order_id(staff_client: StaffClient, account: MerchantAccount, at_hand: SandboxGateway) -> str:
    """A payment that we know; 30.00 of it were refunded in the merchant portal, and nobody told us."""
    told = at_hand.add_payment(names(1)["order_id"], NOON, "100.00")
    create = operation(operation_id=str(told.payment_id), psp_reference="p")
    row = await store_payment(staff_client.services, account, [create], **names(1))
    await at_hand.control.portal(row.order_id, "refund", Decimal("30.00"), silent=True)
    return row.order_id


async def ask(staff_client: StaffClient, order_id: str, **said: str) -> str:
    return text(await staff_client.do(f"/payments/{order_id}/ask", **said))


PARTLY = "partially refunded"


async def test_an_order_and_its_operations(staff_client: StaffClient, order_id: str, at_hand: SandboxGateway) -> None:
    before = text(await staff_client.see(f"/payments/{order_id}"))
    assert "Ask the gateway" in before
    assert PARTLY not in before
    page = await ask(staff_client, order_id, what="order", method="refund")
    assert "Records at the gateway" in page
    assert "success [1004] 30.00 UAH" in page
    assert PARTLY in page
    page = await ask(staff_client, order_id, what="order", method="")
    assert "success [1000] 100.00 UAH" in page
    assert "The gateway has no records." in await ask(staff_client, order_id, what="order", method="void")


@one_database
async def test_a_subscription(staff_client: StaffClient, order_id: str, at_hand: SandboxGateway) -> None:
    state = at_hand.sandbox.state
    first = next(iter(state.payments.values()))
    create_subscription(state, first, RecurringPlan(interval_unit="month", interval_count=1), NOON)
    said = {"what": "subscription", "subscription": str(first.recurring_id), "method": "purchase", "status": "success"}
    assert "success [1000] 100.00 UAH" in await ask(staff_client, order_id, **said)
    assert "success [1004] 30.00 UAH" in await ask(staff_client, order_id, **said | {"method": "refund"})


@one_database
async def test_a_period_is_posted_and_bounded(
    staff_client: StaffClient, order_id: str, at_hand: SandboxGateway
) -> None:
    now = datetime.now(UTC)  # the sandbox's clock
    since, until = now - timedelta(days=10), now + timedelta(days=1)
    day = {"what": "period", "from": f"{since:%Y-%m-%d}+02:00", "to": f"{until:%Y-%m-%d}+02:00"}
    page = await ask(staff_client, order_id, **day)
    assert order_id in page
    assert PARTLY in page
    for number in range(205):
        at_hand.add_payment(f"other-{number}", datetime.now(UTC))
    page = await ask(staff_client, order_id, **day)
    assert "There are more records than are shown here." in page
    assert page.count("other-") <= 200


@one_database
async def test_notifications_of_one_kind(staff_client: StaffClient, order_id: str, at_hand: SandboxGateway) -> None:
    path = f"/payments/{order_id}/notify-again"
    assert "was asked to send its notifications again" in text(await staff_client.do(path, method="refund"))
    paid = next(iter(at_hand.sandbox.state.payments.values()))
    page = text(await staff_client.do(path, method="purchase", transaction_id=str(paid.transaction_id)))
    assert "was asked to send its notifications again" in page
    page = text(await staff_client.do(path, method="purchase", transaction_id=str(uuid4())))
    assert "has no record of this" in page
    answer = await staff_client.do(path, method="\0", transaction_id="\0" * 300)
    assert (answer.status_code, sorted(answer.json()["detail"]["fields"])) == (422, ["method", "transaction_id"])


@one_database
async def test_what_cannot_be_asked(staff_client: StaffClient, order_id: str, at_hand: SandboxGateway) -> None:
    for said, field in (
        ({"what": "\0"}, "what"),
        ({"what": "order", "method": "\0"}, "method"),
        ({"what": "subscription", "method": "auth", "status": "success"}, "method"),
        ({"what": "subscription", "method": "refund", "status": "x" * 5000}, "status"),
        ({"what": "period", "from": "\0", "to": "2026-11-21"}, "from"),
        ({"what": "period", "from": "2026-11-21", "to": "2026-11-20"}, "to"),
        ({"what": "period", "from": "2026-10-01", "to": "2026-11-20"}, "to"),
    ):
        answer = await staff_client.do(f"/payments/{order_id}/ask", **said)
        assert (answer.status_code, list(answer.json()["detail"]["fields"])) == (422, [field]), said
    for name in ("", "\0", "..", "x" * 5000):
        said = {"what": "subscription", "subscription": name, "method": "refund", "status": "success"}
        answer = await staff_client.do(f"/payments/{order_id}/ask", **said)
        assert (answer.status_code, answer.json()["detail"]["code"]) == (422, "INVALID_DATA"), name
    await at_hand.control.fault(FaultRule(path="/api/v1/pos/*", effect="status", status=503))
    answer = await staff_client.do(f"/payments/{order_id}/ask", what="order", method="refund")
    assert (answer.status_code, answer.json()["detail"]["code"]) == (502, "GATEWAY")


@one_database
async def test_another_stores_payment_is_not_found(
    staff_client: StaffClient, order_id: str, at_hand: SandboxGateway
) -> None:
    calls = await at_hand.asked("/api/")
    staff_client.shop.account = await other_store(staff_client.shop)
    theirs = (await staff_client.payment(2)).order_id
    for name in (theirs, "nobody", "%00", "a" * 5000):
        for part in ("ask", "notify-again"):
            answer = await staff_client.do(f"/payments/{name}/{part}", what="order", method="")
            assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "UNKNOWN_PAYMENT"), name
    assert await at_hand.asked("/api/") == calls
