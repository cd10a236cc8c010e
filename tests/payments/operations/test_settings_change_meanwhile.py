"""Saleor repeats a webhook after the store's settings have changed: the same question gets the same answer (law 4)."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from integration_base_tests.loopback import json_reply
from saleor_app_sdk.responses import SessionResponse
from tests.payments.fake_gateway import operation
from tests.payments.shop import CUSTOMER, Shop

pytestmark = pytest.mark.law(4)

RETURN_URL = {"returnUrl": "https://shop.example.com/thanks"}
Change = Callable[[Shop], Awaitable[object]]


async def unmap_the_channel(shop: Shop) -> None:
    await shop.services.accounts.unmap_channel(shop.installation.id, "uah")


def changing(**options: Any) -> Change:
    return lambda shop: shop.services.accounts.change(shop.account.id, **options)


CHANGES = [
    pytest.param(unmap_the_channel, id="channel not mapped"),
    pytest.param(changing(currencies=["EUR"]), id="currency not accepted"),
    pytest.param(changing(storefront_origins=["https://elsewhere.example.com"]), id="storefront elsewhere"),
]


def page_of(answer: SessionResponse) -> tuple[str | None, object, object]:
    return answer.result, answer.psp_reference, answer.data.get("checkoutUrl")


@pytest.mark.fault("webhook-repeated")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_page_that_was_opened_stays_the_answer(shop: Shop, change: Change) -> None:
    said = {"data": {"customer": CUSTOMER, **RETURN_URL}}
    shop.gateway.will_answer(shop.gateway.page())
    first = await shop.begin(**said)
    assert first.data["checkoutUrl"]

    await change(shop)

    assert page_of(await shop.begin(**said)) == page_of(first)
    assert page_of(await shop.process_session(**said)) == page_of(first)
    assert shop.gateway.calls == ["payment"]


@pytest.mark.fault("webhook-repeated")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_payment_that_was_made_stays_paid(shop: Shop, change: Change) -> None:
    said: dict[str, Any] = {"data": {"customer": CUSTOMER, **RETURN_URL}}
    await shop.complete_payment(**said)
    await change(shop)
    for answer in (await shop.begin(**said), await shop.process_session(**said)):
        assert answer.result == "CHARGE_SUCCESS"
    assert shop.gateway.calls == []


@pytest.mark.fault("webhook-repeated")
async def test_what_was_refused_before_anything_was_recorded_is_judged_anew(shop: Shop) -> None:
    """Nothing is known of it, so nothing has to stay as it was."""
    await shop.services.accounts.change(shop.account.id, currencies=["EUR"])
    assert (await shop.begin()).result == "CHARGE_FAILURE"
    await shop.services.accounts.change(shop.account.id, currencies=["UAH"])
    shop.gateway.will_answer(shop.gateway.page())
    assert (await shop.begin()).data["checkoutUrl"]


@pytest.mark.fault("webhook-repeated")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_refund_that_was_made_stays_made(paid_shop: Shop, change: Change) -> None:
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
    first = await paid_shop.request_action("REFUND", "100.00")
    await change(paid_shop)
    again = await paid_shop.request_action("REFUND", "100.00", booked=False)
    assert (
        (again.result, again.psp_reference)
        == (first.result, first.psp_reference)
        == ("REFUND_SUCCESS", again.psp_reference)
    )
    assert paid_shop.gateway.calls == ["refund"]
