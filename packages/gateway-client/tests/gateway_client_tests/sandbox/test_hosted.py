"""Hosted payments, from the link to the end (gateway interface, 1b, 7, 8, Events)."""

import base64
from decimal import Decimal

import pytest

from gateway_client.sandbox.control import SandboxRefusedError
from gateway_client_tests.sandbox.harness import CHALLENGE, NO_MONEY, POS, SLOW, Harness, read_json


async def test_a_shopper_pays_and_the_shop_hears_of_it(harness: Harness) -> None:
    created = await harness.merchant.pay_hosted("mugs", "249.90", payload="cart-7", customer_id="ann")
    assert created.status_code == 303
    assert created.content == b""
    assert created.headers["location"] == (await harness.control.payment("mugs")).checkout_url
    assert await harness.merchant.records("mugs") == [("purchase", "init", None)]

    await harness.control.pay("mugs")
    await harness.quiet()

    assert harness.shop.received() == [("purchase", "pending", "2119"), ("purchase", "success", "1000")]
    told = harness.shop.webhooks[-1]
    assert told["amount"] == Decimal("249.90")
    assert b"249.90" in base64.urlsafe_b64decode(_data_of(harness))
    assert told["pos_id"] == str(POS.pos_id)
    assert told["cc_mask"] == "424242******4242"
    assert told["payload"] == "cart-7"
    assert told["customer_id"] == "ann"
    assert told["created_at"] == "2026-11-21T12:00:00.000"
    assert told["fee"] == {"amount": Decimal("3.75"), "currency": "UAH"}
    (record,) = read_json(await harness.merchant.look("mugs"))
    assert (record["status"], record["status_code"]) == ("success", "1000")
    assert record["cc_token"] == told["cc_token"]
    assert record["user_action_required"] is False


def _data_of(harness: Harness) -> str:
    return harness.sandbox.deliveries[-1].data


async def test_every_scripted_end(harness: Harness) -> None:
    for order_id in ("declined", "left", "expired", "challenged", "failed3ds", "slow"):
        await harness.merchant.pay_hosted(order_id)

    await harness.control.decline("declined", "4010")
    await harness.control.abandon("left")
    await harness.control.expire("expired")
    assert (await harness.control.pay("challenged", card=CHALLENGE)).waits_for_payer
    await harness.control.challenge("challenged")
    await harness.control.pay("failed3ds", card=CHALLENGE, challenge="fail")
    await harness.control.pay("slow", card=SLOW)

    assert await harness.merchant.records("declined") == [("purchase", "failure", "4010")]
    assert await harness.merchant.records("left") == [("purchase", "init", None)]
    assert await harness.merchant.records("expired") == [("purchase", "failure", "4149")]
    assert await harness.merchant.records("challenged") == [("purchase", "success", "1000")]
    assert await harness.merchant.records("failed3ds") == [("purchase", "failure", "4147")]
    assert await harness.merchant.records("slow") == [("purchase", "pending", "2119")]
    await harness.control.settle("slow", "4009")
    assert await harness.merchant.records("slow") == [("purchase", "failure", "4009")]


async def test_a_limit_says_when_to_try_again(harness: Harness) -> None:
    await harness.merchant.pay_hosted("limited")
    await harness.control.decline("limited", "4012")
    (record,) = read_json(await harness.merchant.look("limited"))
    assert record["limit_info"] == {"retry_after": "2026-11-22T00:00:00.000", "description": "amount_per_day"}
    assert record["cc_token"] is None


async def test_only_an_unpaid_hosted_payment_is_cancelled(harness: Harness) -> None:
    await harness.merchant.pay_hosted("unpaid")
    (record,) = read_json(await harness.merchant.cancel("unpaid"))
    assert (record["status"], record["status_code"]) == ("failure", "6007")
    assert record["user_action_required"] is False
    assert record["user_action_url"] is None
    refused = read_json(await harness.merchant.cancel("unpaid"), 400)
    assert refused["args"]["status_code"] == "4150"

    await harness.merchant.pay_direct("direct")
    assert read_json(await harness.merchant.cancel("direct"), 400)["args"]["status_code"] == "4150"
    assert read_json(await harness.merchant.cancel("nothing"), 404)["args"]["code"] == "P-404"


async def test_a_cancelled_payment_cannot_be_paid_any_more(harness: Harness) -> None:
    await harness.merchant.pay_hosted("unpaid")
    await harness.merchant.cancel("unpaid")
    with pytest.raises(SandboxRefusedError):
        await harness.control.pay("unpaid")


async def test_a_payment_is_attempted_once(harness: Harness) -> None:
    await harness.merchant.pay_hosted("slow")
    await harness.control.pay("slow", card=SLOW)
    with pytest.raises(SandboxRefusedError, match="attempted before") as refused:
        await harness.control.pay("slow")
    assert refused.value.http_status == 400
    assert await harness.merchant.records("slow") == [("purchase", "pending", "2119")]


async def test_an_order_id_is_burnt_by_any_attempt(harness: Harness) -> None:
    await harness.merchant.pay_hosted("first")
    await harness.control.decline("first")
    await harness.merchant.pay_hosted("refused", amount="0.00")
    for order_id in ("first", "refused"):
        again = read_json(await harness.merchant.pay_hosted(order_id), 400)
        assert again["args"]["code"] == "P-409"


async def test_a_qr_link_instead_of_a_redirect(harness: Harness) -> None:
    body = {
        "mode": "hosted",
        "method": "auth",
        "amount": Decimal("12.00"),
        "currency": "UAH",
        "description": "Mug",
        "order_id": "qr",
        "order_3ds_bypass": "always",
        "customer_email": "ann@example.com",
        "customer_phone": "1",
    }
    link = read_json(await harness.merchant.post("/api/v1/payment?qr=true", body))
    assert link == {"qr_link": (await harness.control.payment("qr")).qr_url}
    assert link["qr_link"].endswith("/qr")


async def test_a_gateway_that_answers_json(harness: Harness) -> None:
    await harness.control.options(hosted_answer="json")
    answer = read_json(await harness.merchant.pay_hosted("json"))
    assert answer == {"redirect_url": (await harness.control.payment("json")).checkout_url}


async def test_the_payer_may_change_the_amount_of_some_methods(harness: Harness) -> None:
    await harness.merchant.pay_hosted("changed", "100.00")
    await harness.control.pay("changed", processed_amount=Decimal("90.00"))
    await harness.quiet()
    told = harness.shop.webhooks[-1]
    assert (told["amount"], told["processed_amount"]) == (Decimal("100.00"), Decimal("90.00"))
    assert told["processed_currency"] == "UAH"
    assert told["payway"] == "bank_pay"
    refused = read_json(await harness.merchant.operate("refund", "changed", refund_amount=Decimal("90.01")), 400)
    assert refused["args"]["status_code"] == "4139"


@pytest.mark.parametrize(
    ("amount", "end"),
    [
        ("10.09", ("purchase", "failure", "4009")),
        ("10.19", ("purchase", "pending", "2119")),
        ("10.22", ("purchase", "pending", "2122")),
        ("10.47", ("purchase", "failure", "4147")),
        ("10.99", ("purchase", "success", "1000")),
    ],
)
async def test_the_cents_choose_the_end(harness: Harness, amount: str, end: tuple[str, str, str]) -> None:
    await harness.merchant.pay_hosted("cents", amount)
    await harness.control.pay("cents")
    assert await harness.merchant.records("cents") == [end]


async def test_a_telling_card_wins_over_the_cents_and_a_script_over_both(harness: Harness) -> None:
    await harness.merchant.pay_hosted("card", "10.19")
    await harness.control.pay("card", card=NO_MONEY)
    assert await harness.merchant.records("card") == [("purchase", "failure", "4009")]

    await harness.merchant.pay_hosted("script", "10.19")
    await harness.control.outcome("5001", order_id="script")
    await harness.control.pay("script", card=NO_MONEY)
    assert await harness.merchant.records("script") == [("purchase", "failure", "5001")]


async def test_cents_mean_nothing_when_the_endings_are_off(harness: Harness) -> None:
    await harness.control.options(amount_endings=False)
    await harness.merchant.pay_hosted("plain", "10.09")
    await harness.control.pay("plain")
    assert await harness.merchant.records("plain") == [("purchase", "success", "1000")]


async def test_a_page_that_takes_another_card_after_a_decline(harness: Harness) -> None:
    """Not shown in the interface, and what hosted pages do: the merchant is told a failure, then a success."""
    await harness.control.options(cards_per_page=2)
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs", card=NO_MONEY)
    await harness.control.pay("mugs")
    await harness.quiet()
    statuses = [status for _, status, _ in harness.shop.received()]
    assert [status for status in statuses if status != "pending"] == ["failure", "success"]
    assert await harness.merchant.records("mugs") == [("purchase", "success", "1000")]
    with pytest.raises(SandboxRefusedError):
        await harness.control.pay("mugs")


async def test_no_other_card_is_taken_once_the_page_has_expired(harness: Harness) -> None:
    await harness.control.options(cards_per_page=2)
    for order_id in ("declined", "expired"):
        await harness.merchant.pay_hosted(order_id)
    await harness.control.pay("declined", card=NO_MONEY)
    harness.clock.forward(hours=2)
    for order_id in ("declined", "expired"):
        with pytest.raises(SandboxRefusedError):
            await harness.control.pay(order_id)
