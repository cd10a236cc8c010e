"""A shopper pays: what a storefront is told, over real HTTP."""

from decimal import Decimal
from typing import Any

import pytest

from integration_base_tests.loopback import Behaviour, ReceivedRequest, Silence, json_reply, text_reply
from saleor_app_sdk.testing import FakeSaleor, Flow, NewCheckout, NewLine, storefront
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.conftest import SHORT
from saleor_app_sdk_tests.testing.recordings import recording
from saleor_app_sdk_tests.testing.stub import Stub

MISC: dict[str, Any] = recording("scenarios/misc")
INITIALIZE = WebhookEvent.TRANSACTION_INITIALIZE_SESSION
PROCESS = WebhookEvent.TRANSACTION_PROCESS_SESSION
TOTAL = Decimal("569.50")


def says(result: str, reference: str, **more: Any) -> Behaviour:
    return json_reply({"result": result, "pspReference": reference, **more})


GATEWAY_ANSWERS: dict[str, Behaviour] = {
    "gw_500": json_reply({"data": {}}, status=500),
    "gw_400": json_reply({"data": {}}, status=400),
    "gw_nonjson": text_reply("oops"),
    "gw_no data key": json_reply({"foo": 1}),
    "gw_data null": json_reply({"data": None}),
    "gw_data string": json_reply({"data": "x"}),
    "gw_list": json_reply([1]),
    "gw_timeout": Silence(),
    "gw_error body": json_reply({"data": {"errors": [{"code": "NOT_CONFIGURED"}]}}),
}


@pytest.mark.parametrize("case", GATEWAY_ANSWERS)
async def test_gateway_config_reaches_the_storefront_as_in_saleor(
    case: str, saleor: FakeSaleor, installed: Stub
) -> None:
    installed.answer(WebhookEvent.PAYMENT_GATEWAY_INITIALIZE_SESSION, GATEWAY_ANSWERS[case])
    checkout = await saleor.create_checkout()

    await saleor.set_faults(**SHORT if GATEWAY_ANSWERS[case] == Silence() else {})
    config = await saleor.gateway_initialize(checkout.id)

    [real] = MISC[case]["data"]["paymentGatewayInitialize"]["gatewayConfigs"]
    assert config.data == real["data"]
    # The last line of the complaint is an address that names the version of pydantic.
    assert [(error.field, error.code, error.message.partition("    For")[0]) for error in config.errors] == [
        (error["field"], error["code"], error["message"].partition("    For")[0]) for error in real["errors"]
    ]


async def test_shopper_comes_back_and_the_order_is_placed(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, says("CHARGE_ACTION_REQUIRED", "p-1", data={"url": "https://pay.test"}))
    installed.answer(PROCESS, says("CHARGE_SUCCESS", "p-1", actions=["REFUND"]))
    checkout = await saleor.create_checkout()

    opened = await saleor.initialize(checkout.id, data={"returnUrl": "https://shop.test"}, customer_ip="203.0.113.7")
    assert opened.data == {"url": "https://pay.test"}
    refused = await saleor.complete(checkout.id)
    real = recording("scenarios/event_report")["complete-partial"]["data"]["checkoutComplete"]["errors"]
    assert [error.model_dump() for error in refused.errors] == real

    paid = await saleor.process(opened.required_transaction.id)
    assert paid.required_transaction.amounts.charged == TOTAL
    done = await saleor.complete(checkout.id)
    assert done.order is not None
    assert (done.order.charge_status, done.order.total_charged) == ("FULL", TOTAL)
    after = await saleor.transaction(opened.required_transaction.id)
    assert (after.checkout_id, after.order_id, after.actions) == (None, done.order.id, ["REFUND"])
    [asked] = installed.asked_for(INITIALIZE.value)
    assert (asked.json["customerIpAddress"], asked.json["data"]) == ("203.0.113.7", {"returnUrl": "https://shop.test"})


async def test_pending_payment_makes_an_order_that_nobody_has_paid_yet(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, says("CHARGE_REQUEST", "p-1"))
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)
    assert (await saleor.checkout(checkout.id)).charge_status == "FULL"

    done = await saleor.complete(checkout.id)

    real = MISC["pending_complete_then_failure"]["complete"]["data"]["checkoutComplete"]["order"]
    assert done.order is not None
    assert (done.order.status, done.order.charge_status, done.order.authorize_status) == (
        real["status"],
        real["chargeStatus"],
        real["authorizeStatus"],
    )
    with pytest.raises(LookupError):
        await saleor.checkout(checkout.id)


async def test_same_idempotency_key_asks_the_app_again(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, says("CHARGE_ACTION_REQUIRED", "p-1"), says("CHARGE_ACTION_REQUIRED", "p-2"))
    checkout, other = await saleor.create_checkout(), await saleor.create_checkout()

    first = await saleor.initialize(checkout.id, idempotency_key="key")
    again = await saleor.initialize(checkout.id, idempotency_key="key")
    other_amount = await saleor.initialize(checkout.id, idempotency_key="key", amount=Decimal(10))
    other_checkout = await saleor.initialize(other.id, idempotency_key="key")

    assert again.required_transaction.id == first.required_transaction.id
    assert again.required_transaction.psp_reference == "p-2"
    real = [kind["type"] for kind in reversed(MISC["idem_same"]["tx"]["events"])]
    assert again.required_transaction.event_types() == real
    keys = [asked.json["idempotencyKey"] for asked in installed.asked_for(INITIALIZE.value)]
    assert keys == ["key", "key"]
    for refused, case in ((other_amount, "idem_other_amount"), (other_checkout, "idem_other_checkout")):
        errors = MISC[case]["data"]["transactionInitialize"]["errors"]
        assert [error.model_dump() for error in refused.errors] == errors


async def test_paid_checkout_is_still_asked_about_with_nothing_to_pay(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, says("CHARGE_SUCCESS", "p-1"), says("CHARGE_ACTION_REQUIRED", "p-2"))
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)

    session = await saleor.initialize(checkout.id)

    assert session.event is not None
    assert session.event.amount == 0
    assert installed.asked_for(INITIALIZE.value)[1].json["action"]["amount"] == 0.0


async def test_default_amount_ignores_the_gift_cards_that_the_total_respects(
    saleor: FakeSaleor, installed: Stub
) -> None:
    """So a shopper who pays the default amount has paid too much."""
    installed.answer(INITIALIZE, says("CHARGE_SUCCESS", "p-1"))
    checkout = await saleor.create_checkout(NewCheckout(gift_cards=Decimal(200)))
    assert checkout.total == Decimal("369.50")

    session = await saleor.initialize(checkout.id)

    [asked] = installed.asked_for(INITIALIZE.value)
    assert (asked.json["action"]["amount"], session.required_transaction.amounts.charged) == (569.5, TOTAL)
    assert asked.json["sourceObject"]["total"]["gross"]["amount"] == 369.5
    assert (await saleor.checkout(checkout.id)).charge_status == "OVERCHARGED"
    done = await saleor.complete(checkout.id)
    assert done.order is not None
    assert (done.order.total, done.order.charge_status) == (Decimal("369.50"), "OVERCHARGED")


async def test_default_amount_of_an_order_respects_gift_cards(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, says("CHARGE_SUCCESS", "p-1"))
    order = await saleor.create_order(NewCheckout(gift_cards=Decimal(200)))
    session = await saleor.initialize(order.id)
    assert session.required_transaction.amounts.charged == Decimal("369.50")


async def test_gift_cards_above_the_total_leave_nothing_to_pay(saleor: FakeSaleor, installed: Stub) -> None:
    checkout = await saleor.create_checkout(NewCheckout(gift_cards=Decimal(600)))
    assert checkout.total == 0
    assert (await saleor.complete(checkout.id)).order is not None


async def test_default_amount_subtracts_what_is_captured_or_still_authorized_whichever_is_more(
    saleor: FakeSaleor, installed: Stub
) -> None:
    installed.answer(INITIALIZE, says("AUTHORIZATION_SUCCESS", "p-1", actions=["CHARGE"]))
    installed.answer(WebhookEvent.TRANSACTION_CHARGE_REQUESTED, says("CHARGE_SUCCESS", "c-1"))
    checkout = await saleor.create_checkout()
    held = (await saleor.initialize(checkout.id, action=Flow.AUTHORIZATION)).required_transaction
    await saleor.charge(held.id, Decimal(300))
    await saleor.wait_for_background()
    amounts = (await saleor.transaction(held.id)).amounts
    assert (amounts.charged, amounts.authorized) == (Decimal(300), Decimal("269.50"))

    await saleor.initialize(checkout.id)

    assert installed.asked_for(INITIALIZE.value)[1].json["action"]["amount"] == 269.5


async def test_saleors_own_failures_end_nothing_and_the_apps_do(saleor: FakeSaleor, installed: Stub) -> None:
    """The recording ``process_failure``: two failed deliveries, then the app declines."""
    installed.answer(INITIALIZE, says("CHARGE_ACTION_REQUIRED", "init"))
    installed.answer(
        PROCESS,
        says("CHARGE_ACTION_REQUIRED", "new"),
        json_reply({}, status=500),
        text_reply("oops"),
        says("CHARGE_FAILURE", "fin", message="declined"),
    )
    checkout = await saleor.create_checkout()
    opened = await saleor.initialize(checkout.id)
    for _ in range(4):
        await saleor.process(opened.required_transaction.id)
    ended = await saleor.process(opened.required_transaction.id)

    real = MISC["process_failure_tx"]["events"]
    assert [(event.type, event.message) for event in ended.required_transaction.events] == [
        (event["type"], event["message"]) for event in real
    ]
    assert [event.psp_reference for event in ended.required_transaction.events] == [
        "fin",
        "new",
        "new",
        "new",
        "init",
        "fin",
    ]
    assert ended.event is not None
    assert (ended.event.type, ended.data) == ("CHARGE_FAILURE", None)
    assert len(installed.asked_for(PROCESS.value)) == 4


async def test_slow_app_is_a_failure_that_the_app_knows_nothing_of(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, Silence())
    checkout = await saleor.create_checkout()

    await saleor.set_faults(**SHORT)
    session = await saleor.initialize(checkout.id)

    told = recording("scenarios/retries_and_timeouts")["init_timeout"]["mutation"]["data"]["transactionInitialize"]
    assert session.event is not None
    assert (session.event.type, session.event.message) == (
        told["transactionEvent"]["type"],
        told["transactionEvent"]["message"],
    )


async def test_answer_that_is_a_list_brings_saleor_down(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, json_reply([1]))
    checkout = await saleor.create_checkout()

    session = await saleor.initialize(checkout.id)

    assert (session.internal_error, session.transaction) == ("AttributeError", None)


async def test_webhook_may_be_delivered_twice(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(INITIALIZE, says("CHARGE_SUCCESS", "p-1"))
    await saleor.set_faults(webhooks_twice=True)
    checkout = await saleor.create_checkout()

    session = await saleor.initialize(checkout.id)

    first, second = installed.asked_for(INITIALIZE.value)
    assert first.body == second.body
    assert session.required_transaction.event_types() == ["CHARGE_REQUEST", "CHARGE_SUCCESS"]


async def test_basket_of_ones_own(saleor: FakeSaleor, installed: Stub) -> None:
    def look(asked: ReceivedRequest) -> Behaviour:
        assert asked.json["sourceObject"]["billingAddress"]["phone"] == "+380670000000"
        return says("AUTHORIZATION_SUCCESS", "a-1")

    installed.answer(INITIALIZE, look)
    lines = [NewLine(unit_price=Decimal("10.05"), quantity=3), NewLine(product_name="Cup", unit_price=Decimal(1))]
    checkout = await saleor.create_checkout(
        NewCheckout(lines=lines, shipping_price=Decimal(0), address={"phone": "+380670000000"})
    )

    session = await saleor.initialize(checkout.id, action=Flow.AUTHORIZATION)

    assert checkout.total == Decimal("31.15")
    assert session.required_transaction.amounts.authorized == Decimal("31.15")
    assert (await saleor.checkout(checkout.id)).authorize_status == "FULL"


async def test_transactions_of_a_checkout_are_limited(
    saleor: FakeSaleor, installed: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert storefront.TRANSACTIONS_LIMIT == 100
    monkeypatch.setattr(storefront, "TRANSACTIONS_LIMIT", 1)
    installed.answer(INITIALIZE, says("CHARGE_ACTION_REQUIRED", "p-1"))
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)

    refused = await saleor.initialize(checkout.id)

    assert [error.code for error in refused.errors] == ["INVALID"]
    assert len(await saleor.transactions()) == 1
