"""Hosted payments, from the link to the end (gateway interface, 1b, 7, 8, Events)."""

import base64
from decimal import Decimal

import pytest

from app.sandbox.control import SandboxRefusedError
from tests.sandbox.scene import CHALLENGE, NO_MONEY, POS, SLOW, Scene, read


async def test_a_shopper_pays_and_the_shop_hears_of_it(scene: Scene) -> None:
    created = await scene.merchant.pay_hosted("mugs", "249.90", payload="cart-7", customer_id="ann")
    assert created.status_code == 303
    assert created.content == b""
    assert created.headers["location"] == (await scene.control.payment("mugs")).checkout_url
    assert await scene.merchant.records("mugs") == [("purchase", "init", None)]

    await scene.control.pay("mugs")
    await scene.quiet()

    assert scene.shop.told() == [("purchase", "pending", "2119"), ("purchase", "success", "1000")]
    told = scene.shop.heard[-1]
    assert told["amount"] == Decimal("249.90")
    assert b"249.90" in base64.urlsafe_b64decode(_data_of(scene))
    assert told["pos_id"] == str(POS.pos_id)
    assert told["cc_mask"] == "424242******4242"
    assert told["payload"] == "cart-7"
    assert told["customer_id"] == "ann"
    assert told["created_at"] == "2026-11-21T12:00:00.000"
    assert told["fee"] == {"amount": Decimal("3.75"), "currency": "UAH"}
    (record,) = read(await scene.merchant.look("mugs"))
    assert (record["status"], record["status_code"]) == ("success", "1000")
    assert record["cc_token"] == told["cc_token"]
    assert record["user_action_required"] is False


def _data_of(scene: Scene) -> str:
    return scene.sandbox.deliveries[-1].data


async def test_every_scripted_end(scene: Scene) -> None:
    for order_id in ("declined", "left", "expired", "challenged", "failed3ds", "slow"):
        await scene.merchant.pay_hosted(order_id)

    await scene.control.decline("declined", "4010")
    await scene.control.abandon("left")
    await scene.control.expire("expired")
    assert (await scene.control.pay("challenged", card=CHALLENGE)).waits_for_payer
    await scene.control.challenge("challenged")
    await scene.control.pay("failed3ds", card=CHALLENGE, challenge="fail")
    await scene.control.pay("slow", card=SLOW)

    assert await scene.merchant.records("declined") == [("purchase", "failure", "4010")]
    assert await scene.merchant.records("left") == [("purchase", "init", None)]
    assert await scene.merchant.records("expired") == [("purchase", "failure", "4149")]
    assert await scene.merchant.records("challenged") == [("purchase", "success", "1000")]
    assert await scene.merchant.records("failed3ds") == [("purchase", "failure", "4147")]
    assert await scene.merchant.records("slow") == [("purchase", "pending", "2119")]
    await scene.control.settle("slow", "4009")
    assert await scene.merchant.records("slow") == [("purchase", "failure", "4009")]


async def test_a_limit_says_when_to_try_again(scene: Scene) -> None:
    await scene.merchant.pay_hosted("limited")
    await scene.control.decline("limited", "4012")
    (record,) = read(await scene.merchant.look("limited"))
    assert record["limit_info"] == {"retry_after": "2026-11-22T00:00:00.000", "description": "amount_per_day"}
    assert record["cc_token"] is None


async def test_only_an_unpaid_hosted_payment_is_cancelled(scene: Scene) -> None:
    await scene.merchant.pay_hosted("unpaid")
    (record,) = read(await scene.merchant.cancel("unpaid"))
    assert (record["status"], record["status_code"]) == ("failure", "6007")
    assert record["user_action_required"] is False
    assert record["user_action_url"] is None
    refused = read(await scene.merchant.cancel("unpaid"), 400)
    assert refused["args"]["status_code"] == "4150"

    await scene.merchant.pay_direct("direct")
    assert read(await scene.merchant.cancel("direct"), 400)["args"]["status_code"] == "4150"
    assert read(await scene.merchant.cancel("nothing"), 404)["args"]["code"] == "P-404"


async def test_a_cancelled_payment_cannot_be_paid_any_more(scene: Scene) -> None:
    await scene.merchant.pay_hosted("unpaid")
    await scene.merchant.cancel("unpaid")
    with pytest.raises(SandboxRefusedError):
        await scene.control.pay("unpaid")


async def test_a_payment_is_attempted_once(scene: Scene) -> None:
    await scene.merchant.pay_hosted("slow")
    await scene.control.pay("slow", card=SLOW)
    with pytest.raises(SandboxRefusedError, match="attempted before") as refused:
        await scene.control.pay("slow")
    assert refused.value.http_status == 400
    assert await scene.merchant.records("slow") == [("purchase", "pending", "2119")]


async def test_an_order_id_is_burnt_by_any_attempt(scene: Scene) -> None:
    await scene.merchant.pay_hosted("first")
    await scene.control.decline("first")
    await scene.merchant.pay_hosted("refused", amount="0.00")
    for order_id in ("first", "refused"):
        again = read(await scene.merchant.pay_hosted(order_id), 400)
        assert again["args"]["code"] == "P-409"


async def test_a_qr_link_instead_of_a_redirect(scene: Scene) -> None:
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
    link = read(await scene.merchant.post("/api/v1/payment?qr=true", body))
    assert link == {"qr_link": (await scene.control.payment("qr")).qr_url}
    assert link["qr_link"].endswith("/qr")


async def test_a_gateway_that_answers_json(scene: Scene) -> None:
    await scene.control.options(hosted_answer="json")
    answer = read(await scene.merchant.pay_hosted("json"))
    assert answer == {"redirect_url": (await scene.control.payment("json")).checkout_url}


async def test_the_payer_may_change_the_amount_of_some_methods(scene: Scene) -> None:
    await scene.merchant.pay_hosted("changed", "100.00")
    await scene.control.pay("changed", processed_amount=Decimal("90.00"))
    await scene.quiet()
    told = scene.shop.heard[-1]
    assert (told["amount"], told["processed_amount"]) == (Decimal("100.00"), Decimal("90.00"))
    assert told["processed_currency"] == "UAH"
    assert told["payway"] == "bank_pay"
    refused = read(await scene.merchant.operate("refund", "changed", refund_amount=Decimal("90.01")), 400)
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
async def test_the_cents_choose_the_end(scene: Scene, amount: str, end: tuple[str, str, str]) -> None:
    await scene.merchant.pay_hosted("cents", amount)
    await scene.control.pay("cents")
    assert await scene.merchant.records("cents") == [end]


async def test_a_telling_card_wins_over_the_cents_and_a_script_over_both(scene: Scene) -> None:
    await scene.merchant.pay_hosted("card", "10.19")
    await scene.control.pay("card", card=NO_MONEY)
    assert await scene.merchant.records("card") == [("purchase", "failure", "4009")]

    await scene.merchant.pay_hosted("script", "10.19")
    await scene.control.outcome("5001", order_id="script")
    await scene.control.pay("script", card=NO_MONEY)
    assert await scene.merchant.records("script") == [("purchase", "failure", "5001")]


async def test_cents_mean_nothing_when_the_endings_are_off(scene: Scene) -> None:
    await scene.control.options(amount_endings=False)
    await scene.merchant.pay_hosted("plain", "10.09")
    await scene.control.pay("plain")
    assert await scene.merchant.records("plain") == [("purchase", "success", "1000")]
