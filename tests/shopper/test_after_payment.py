"""A shopper opens a payment's page again after the shop has charged, released or refunded: it says what is true now."""

from decimal import Decimal

import pytest

from app.web.shopper.page import return_page
from app.web.shopper.view import PaymentState, PaymentView
from app.web.shopper.view_builder import find_view
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation
from tests.payments.shop import TOTAL, Shop
from tests.payments.shop_fixtures import gateway, shop
from tests.shopper.views import payment

__all__ = ["gateway", "shop"]


async def carry_out(shop: Shop, action: str, method: str, amount: str) -> PaymentView:
    """Let staff request an action that the gateway carries out; return what the shopper sees then."""
    shop.gateway.will_answer(json_reply(operation(method, shop.order_id, amount)))
    await shop.request_action(action, amount, key=f"{method}-{amount}")
    view = await find_view(shop.services, shop.order_id)
    assert view is not None
    return view


@pytest.mark.parametrize("amount", ["200.00", TOTAL])
async def test_charged_authorization_is_shown_as_paid_with_the_charged_amount(shop: Shop, amount: str) -> None:
    await shop.complete_payment("AUTHORIZATION")
    view = await carry_out(shop, "CHARGE", "capture", amount)
    assert (view.state, view.amount) == (PaymentState.PAID, Decimal(amount))


async def test_voided_authorization_is_not_shown_as_on_hold(shop: Shop) -> None:
    await shop.complete_payment("AUTHORIZATION")
    view = await carry_out(shop, "CANCEL", "void", TOTAL)
    assert (view.state, view.amount) == (PaymentState.RELEASED, Decimal(TOTAL))


@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
async def test_payment_refunded_in_parts_is_shown_as_refunded_after_the_last(shop: Shop, flow: str) -> None:
    await shop.complete_payment(flow)
    if flow == "AUTHORIZATION":
        await carry_out(shop, "CHARGE", "capture", TOTAL)
    view = await carry_out(shop, "REFUND", "refund", "500.00")
    assert (view.state, view.amount) == (PaymentState.PAID, Decimal(TOTAL))
    view = await carry_out(shop, "REFUND", "refund", "69.50")
    assert (view.state, view.amount) == (PaymentState.REFUNDED, Decimal(TOTAL))


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("flow", "action", "method", "then", "state"),
    [
        ("AUTHORIZATION", "CANCEL", "void", "capture", PaymentState.UNKNOWN),
        ("AUTHORIZATION", "CANCEL", "void", None, PaymentState.UNKNOWN),
        ("CHARGE", "REFUND", "refund", None, PaymentState.PAID),
    ],
)
async def test_what_the_gateway_contradicts_is_not_shown_as_given_back(
    shop: Shop, flow: str, action: str, *, method: str, then: str | None, state: PaymentState
) -> None:
    """``then``: what the gateway reports beside it, although nothing was left; None: that it has failed."""
    await shop.complete_payment(flow)
    done = operation(method, shop.order_id, TOTAL, operation_id="ours")
    shop.gateway.will_answer(json_reply(done))
    await shop.request_action(action, TOTAL)
    other = {"status": "failure", "status_code": "4150"} if then is None else {"method": then, "operation_id": "theirs"}
    await shop.notify(done | other)
    await shop.work()
    view = await find_view(shop.services, shop.order_id)
    assert view is not None
    assert view.state is state


@pytest.mark.parametrize("state", [PaymentState.RELEASED, PaymentState.REFUNDED])
def test_page_of_returned_money_has_a_way_back_and_sends_nobody_there(state: PaymentState) -> None:
    """Who reads that page has come back to look, and the shop would take the address for one of a paid order."""
    view = payment(state)
    page = return_page(view, polls=0)
    assert (page.tone, page.onward, page.note) == ("good", None, None)
    assert [link.address for link in page.links] == [view.return_url]
    assert return_page(payment(state, return_url=None), polls=0).note == "You can close this page."
