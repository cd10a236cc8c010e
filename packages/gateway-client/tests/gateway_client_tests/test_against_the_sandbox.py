"""The client and the sandbox were made from the same interface by different hands: here they have to agree.

Each reading of what the interface leaves open is played.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import (
    BadCredentialsError,
    DuplicateOrderError,
    OutcomeUnknownError,
    RefusedError,
    ReportNotReadyError,
)
from gateway_client.models import (
    Capture,
    Checkout,
    Method,
    OperationRecord,
    PaymentRecord,
    RecurringPlan,
    Refund,
    SplitItem,
    SplitRefund,
    Status,
    Void,
)
from gateway_client.models.reports import RegisterRequest, UnreadableLine
from gateway_client.notification import read_notification
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.settings import Behaviour, PointOfSale
from gateway_client_tests.conftest import RecordedSleeps
from gateway_client_tests.examples import CARD, OTHER_SHOP, SHOP, direct, hosted, payout
from gateway_client_tests.sandbox.harness import POS, Harness, open_harness
from integration_base_tests.clock import Clock

READINGS: dict[str, dict[str, Any]] = {
    "the interface": {},
    "as its plugins see it": {
        "hosted_answer": "json",
        "one_operation_answer": "array",
        "unknown_order": "empty",
        "refusal": "record",
        "credentials_http_status": 404,
        "duplicate_http_status": 409,
        "register_http_status": 404,
        "pad_webhook_data": False,
    },
}


@pytest.fixture(params=list(READINGS))
async def harness(request: pytest.FixtureRequest, clock: Clock) -> AsyncIterator[Harness]:
    pos = PointOfSale(behaviour=Behaviour(**READINGS[request.param]))
    async with open_harness(clock, points_of_sale=(pos,)) as harness:
        yield harness


@pytest.fixture
def keys(harness: Harness) -> dict[str, Any]:
    return {
        "pos_id": str(POS.pos_id),
        "api_key": POS.api_key,
        "api_secret": POS.api_secret.get_secret_value(),
        "endpoints_key": POS.endpoints_key.get_secret_value(),
        "base_url": harness.url,
    }


@pytest.fixture
def client(keys: dict[str, Any], http: httpx2.AsyncClient, naps: RecordedSleeps) -> GatewayClient:
    return GatewayClient(http, Credentials(**keys), sleep=naps)


async def test_a_hosted_purchase_from_the_page_to_the_refund(client: GatewayClient, harness: Harness) -> None:
    order = hosted(server_url=harness.merchant.server_url, result_url=harness.merchant.result_url)
    checkout = await client.create_hosted(order, timeout=30)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url is not None
    assert checkout.qr_url == checkout.checkout_url.removesuffix("form") + "qr"
    (unpaid,) = await client.get_order("order1", timeout=30)
    assert (unpaid.status, unpaid.amount, unpaid.pos_id) == (Status.INIT, Decimal(100), client.pos_id)
    with pytest.raises(DuplicateOrderError):
        await client.create_hosted(order, timeout=30)

    await harness.control.pay("order1")
    (paid,) = await client.get_operation("order1", Method.PURCHASE, timeout=30)
    assert isinstance(paid, PaymentRecord)
    assert (paid.status, paid.status_code) == (Status.SUCCESS, "1000")

    part = Refund(order_id="order1", order_currency="UAH", refund_amount=Decimal("0.30"))
    refund = await client.refund(part, timeout=30)
    assert (refund.method, refund.amount, refund.status) == (Method.REFUND, Decimal("0.30"), Status.SUCCESS)
    await client.refund(Refund(order_id="order1", order_currency="UAH", refund_amount=Decimal("99.70")), timeout=30)
    found = await client.get_order("order1", timeout=30)
    assert sum(record.amount for record in found if isinstance(record, OperationRecord)) == Decimal(100)

    await client.resend("order1", Method.PURCHASE, timeout=30)
    await harness.quiet()
    heard = [read_notification(form, ["old", POS.api_secret.get_secret_value()]).record for form in harness.shop.raw]
    assert {record.order_id for record in heard} == {"order1"}
    assert heard[-1].status is Status.SUCCESS


async def test_the_qr_page(client: GatewayClient) -> None:
    checkout = await client.create_hosted(hosted(method=Method.AUTH), qr=True, timeout=30)
    assert isinstance(checkout, Checkout)
    assert checkout.qr_url is not None
    assert checkout.checkout_url == checkout.qr_url.removesuffix("qr") + "form"


async def test_reserve_and_take_or_release(client: GatewayClient, harness: Harness) -> None:
    for order_id in ("taken", "released"):
        await client.create_hosted(hosted(order_id=order_id, method=Method.AUTH), timeout=30)
        await harness.control.pay(order_id)
    capture = Capture(order_id="taken", order_currency="UAH", charge_amount=Decimal("40.10"))
    assert (await client.capture(capture, timeout=30)).amount == Decimal("40.10")
    void = await client.void(Void(order_id="released", order_currency="UAH"), timeout=30)
    assert (void.status, void.status_code, void.processed_at is None) == (Status.SUCCESS, "1009", False)


async def test_what_the_gateway_will_not_do(client: GatewayClient, harness: Harness) -> None:
    await client.create_hosted(hosted(), timeout=30)
    await harness.control.pay("order1")
    try:
        outcome: object = (await client.void(Void(order_id="order1", order_currency="UAH"), timeout=30)).status
    except RefusedError as error:
        outcome = type(error)
    assert outcome in (Status.FAILURE, RefusedError)
    with pytest.raises(RefusedError):
        await client.balances.account(SHOP, timeout=30)


EFFECTS: tuple[Literal["drop", "truncate", "garbage", "status"], ...] = ("drop", "truncate", "garbage", "status")
MOMENTS: tuple[tuple[Literal["before", "after"], int], ...] = (("before", 0), ("after", 1))


async def test_after_an_unknown_outcome_the_look_up_tells(client: GatewayClient, harness: Harness) -> None:
    for effect in EFFECTS:
        for moment, done in MOMENTS:
            order_id = f"{effect}{moment}"
            await client.create_direct(direct(order_id=order_id, **CARD), timeout=30)
            await harness.control.fault(FaultRule(path="/api/v1/refund", moment=moment, effect=effect, status=503))
            with pytest.raises(OutcomeUnknownError):
                await client.refund(Refund(order_id=order_id, order_currency="UAH"), timeout=30)
            assert len(await client.get_operation(order_id, Method.REFUND, timeout=30)) == done, order_id


async def test_cancelling_an_unpaid_payment(client: GatewayClient) -> None:
    await client.create_hosted(hosted(), timeout=30)
    record = await client.cancel("order1", timeout=30)
    assert (record.status, record.status_code, record.user_action_required) == (Status.FAILURE, "6007", False)


async def test_nothing_is_known_of_an_order_that_never_was(client: GatewayClient) -> None:
    assert await client.get_order("never", timeout=30) == ()
    assert await client.get_operation("never", Method.VOID, timeout=30) == ()


async def test_the_keys(client: GatewayClient, http: httpx2.AsyncClient, keys: dict[str, Any]) -> None:
    assert not await client.check_credentials(timeout=30)
    assert await client.refuses_other_keys(timeout=30)
    elsewhere = GatewayClient(
        http, Credentials(**keys | {"base_url": f"{keys['base_url']}/wrong", "api_secret": "wrong"})
    )
    assert not await elsewhere.check_credentials(timeout=30)
    assert not await elsewhere.refuses_other_keys(timeout=30)
    for wrong in ({"api_secret": "wrong"}, {"endpoints_key": "wrong"}, {"pos_id": SHOP}, {"scheme_word": "OTHER"}):
        with pytest.raises(BadCredentialsError):
            await GatewayClient(http, Credentials(**keys | wrong)).check_credentials(timeout=30)


async def test_cards_tokens_and_payouts(client: GatewayClient) -> None:
    paid = await client.create_direct(direct(**CARD), timeout=30)
    assert paid.status is Status.SUCCESS
    assert paid.cc_token is not None
    again = await client.create_direct(direct(order_id="order2", cc_token=paid.cc_token), timeout=30)
    assert again.status is Status.SUCCESS
    sent = await client.pay_out(payout(cc_token=paid.cc_token.get_secret_value()), timeout=30)
    assert (sent.method, sent.status) == (Method.CREDIT, Status.SUCCESS)


async def test_shares_of_sub_merchants(client: GatewayClient) -> None:
    split = [
        SplitItem(sub_merchant_id=SHOP, amount=Decimal("66.67")),
        SplitItem(sub_merchant_id=OTHER_SHOP, amount=Decimal("33.33")),
    ]
    paid = await client.create_direct(direct(split=split, **CARD), timeout=30)
    assert paid.status is Status.SUCCESS
    back = SplitRefund(order_id="order1", currency="UAH", refund_amount=Decimal("33.33"), split=split[1:])
    assert (await client.split_refund(back, timeout=30)).status is Status.SUCCESS
    held = await client.create_direct(direct(order_id="held", method=Method.AUTH, split=split, **CARD), timeout=30)
    assert held.status is Status.SUCCESS
    take = Capture(order_id="held", order_currency="UAH", charge_amount=Decimal(100), split=split)
    assert (await client.capture(take, timeout=30)).status is Status.SUCCESS


async def test_lists_registers_and_balances(client: GatewayClient, clock: Clock, naps: RecordedSleeps) -> None:
    for number in range(3):
        await client.create_direct(direct(order_id=f"order{number}", **CARD), timeout=30)
    start, end = clock() - timedelta(hours=1), clock() + timedelta(hours=1)
    async with aclosing(client.reports.period(start, end, timeout=30)) as lines:
        found = [line async for line in lines if not isinstance(line, UnreadableLine)]
    assert sorted(line.order_id or "" for line in found) == ["order0", "order1", "order2"]
    assert {line.amount for line in found} == {Decimal(100)}

    request = RegisterRequest(start_date=start, end_date=end, statuses=(Status.SUCCESS,), methods=(Method.PURCHASE,))
    ticket = await client.reports.start(request, timeout=30)
    assert ticket.count == 3
    with pytest.raises(ReportNotReadyError):
        await anext(client.reports.fetch(ticket, patience=0, timeout=30))
    ticket = await client.reports.start(request, timeout=30)
    async with aclosing(client.reports.fetch(ticket, patience=60, timeout=30)) as rows:
        register = [row async for row in rows if not isinstance(row, UnreadableLine)]
    assert naps.taken == [1.0]
    assert sorted(row.order_id or "" for row in register) == ["order0", "order1", "order2"]
    assert all(row.card_mask and row.date_time for row in register)

    accounts = await client.balances.accounts(timeout=30)
    hryvnia = next(account for account in accounts if account.currency == "UAH")
    assert hryvnia.balances.available > 0
    assert await client.balances.account(hryvnia.id, timeout=30) == hryvnia


async def test_a_subscription(client: GatewayClient) -> None:
    plan = RecurringPlan(interval_unit="month", interval_count=1)
    first = await client.create_direct(direct(init_recurring=plan, **CARD), timeout=30)
    assert first.recurring is not None
    found = await client.subscriptions.transactions(
        first.recurring.id, method=Method.PURCHASE, status=Status.SUCCESS, timeout=30
    )
    assert [record.order_id for record in found] == ["order1"]
    ended = await client.subscriptions.cancel(first.recurring.id, timeout=30)
    assert ended.recurring_status == "canceled"
