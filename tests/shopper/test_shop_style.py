"""A shop's colour on the pages of shoppers."""

import re

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.shopper.shop_style import render_stylesheet
from app.web.shopper.view import PaymentState, ShopView
from tests.shopper.conftest import Payments
from tests.shopper.views import CHECKOUT, PAID, payment

ROSE = ShopView("Rosa & Sons <b>", "https://cdn.shop.example/logo.svg", "#c2185b")


@given(st.from_regex(r"#[0-9a-f]{6}", fullmatch=True))
def test_whatever_the_colour_everybody_can_read_the_button(color: str) -> None:
    text = re.search(r"--on-button: (#[0-9a-f]{6});", render_stylesheet(color))
    assert text is not None

    def luminance(each: str) -> float:
        shades = [int(each[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shades)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted([luminance(color), luminance(text[1])])
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


async def test_a_page_is_the_shops(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING, shop=ROSE, checkout_url=CHECKOUT, order_number="1042"))
    page = await visitor.get(f"/pay/{PAID.order_id}")
    assert '<img class="logo" src="https://cdn.shop.example/logo.svg" alt="Rosa &amp; Sons &lt;b&gt;"' in page.text
    assert "img-src 'self' https:" in page.headers["content-security-policy"]
    assert "<dt>Order number</dt>" in page.text
    [address] = re.findall(r'<link rel="stylesheet" href="\.\./(pay/color/[^"]*)">', page.text)
    style = await visitor.get(f"/{address}")
    assert style.headers["content-type"].startswith("text/css")
    assert "immutable" in style.headers["cache-control"]
    assert "--button: #c2185b;" in style.text
    assert (await visitor.get(f"/pay/return/{PAID.order_id}")).text.count("../../pay/color/c2185b.css") == 1


async def test_a_shop_without_a_logo_is_named_and_one_without_a_name_is_not(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(payment(PaymentState.PAID, shop=ShopView("Rosa")))
    page = (await visitor.get(f"/pay/return/{PAID.order_id}")).text
    assert '<p class="shop">Rosa</p>' in page
    assert " · Rosa</title>" in page
    assert "color" not in page
    payments.add(payment(PaymentState.PAID))
    page = (await visitor.get(f"/pay/return/{PAID.order_id}")).text
    assert 'class="shop"' not in page
    assert 'class="logo"' not in page


async def test_pay_page_says_whom_one_pays(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    for shop in (ROSE, ShopView(ROSE.name)):
        payments.add(payment(PaymentState.WAITING, shop=shop, checkout_url=CHECKOUT))
        page = (await visitor.get(f"/pay/{PAID.order_id}")).text
        assert '<dt>You pay to</dt><dd class="shop-name">Rosa &amp; Sons &lt;b&gt;</dd>' in page
        assert 'class="shop"' not in page  # once is enough
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))
    assert "You pay to" not in (await visitor.get(f"/pay/{PAID.order_id}")).text


async def test_a_shopper_is_told_that_no_real_money_moves(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    words = "Test project: no real money moves"
    payments.add(payment(PaymentState.PAID))
    assert words not in (await visitor.get(f"/pay/return/{PAID.order_id}")).text
    payments.add(payment(PaymentState.PAID, shop=ShopView(is_test=True)))
    assert words in (await visitor.get(f"/pay/return/{PAID.order_id}")).text


@pytest.mark.threat("xss-shopper")
@pytest.mark.parametrize("color", ["c2185", "C2185B", "c2185b0", "c2185g", "..%2f", "c2185b%20"])
async def test_what_is_no_colour_has_no_style(visitor: httpx2.AsyncClient, color: str) -> None:
    answer = await visitor.get(f"/pay/color/{color}.css")
    assert answer.status_code == 404
    assert "--button" not in answer.text


async def test_who_has_not_paid_is_led_to_pay_soon_but_not_at_once(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))
    here = f"/pay/return/{PAID.order_id}"
    for looks, offered in ((0, False), (2, False), (3, True), (15, True)):
        assert (CHECKOUT in (await visitor.get(f"{here}?n={looks}")).text) is offered, looks
    payments.add(payment(PaymentState.UNKNOWN, checkout_url=CHECKOUT))
    assert CHECKOUT not in (await visitor.get(f"{here}?n=15")).text


async def test_a_description_that_only_repeats_a_number_is_left_out(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    for description, shown in (("Two roses", True), (f"Payment {PAID.order_id}", False), ("Order 1042", False)):
        view = payment(PaymentState.WAITING, description=description, checkout_url=CHECKOUT, order_number="1042")
        payments.add(view)
        assert (description in (await visitor.get(f"/pay/{PAID.order_id}")).text) is shown, description
