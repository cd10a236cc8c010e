"""What is paid for: the products always sum to the amount, or they are not told."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.rules.refusal import RefusalCode, RefusalError
from app.rules.split.products import DELIVERY, items_of, piece_prices, products_of
from app.store.tables import ProductsForm
from integration_base.amounts import CENT
from integration_base.exact_json import dumps, loads
from saleor_app_sdk.source import Checkout, Order
from tests.payments.baskets import checkout, fiscal, line, lines, money, plain, taxed
from tests.payments.requests.test_payment import an_account, planned
from tests.payments.shop import source_object


@given(lines=lines, shipping=st.decimals(0, 200, places=2), cards=st.decimals(0, 9999, places=2), pays=money)
def test_products_sum_to_the_amount_or_are_not_told(
    lines: list[dict[str, Any]], shipping: Decimal, cards: Decimal, pays: Decimal
) -> None:
    full = checkout(*lines, shipping=shipping).total
    assert full is not None
    total = full.gross.amount - cards
    assume(total > 0)
    paid = checkout(*lines, shipping=shipping, total=total)

    told = plain(paid, total)
    assert told is not None
    assert sum(product.amount for product in told) == total
    assert sum(product.total for product in fiscal(paid, total)) == total

    part = plain(paid, pays)
    assert part is None or sum(product.amount for product in part) == pays
    if part is None:
        with pytest.raises(RefusalError) as refused:
            fiscal(paid, pays)
        assert refused.value.code is RefusalCode.PRODUCTS_DO_NOT_SUM


@given(total=money, quantity=st.integers(0, 50))
def test_pieces_cost_whole_cents_that_sum_to_the_line(total: Decimal, quantity: int) -> None:
    parts = piece_prices(total, quantity)
    assert sum(number * price for number, price in parts) == total
    assert all(price > 0 and price == price.quantize(CENT) for _, price in parts)
    assert sum(number for number, _ in parts) <= max(quantity, 1)
    assert len({price for _, price in parts}) <= 2
    assert max(price for _, price in parts) - min(price for _, price in parts) <= CENT


def test_the_plain_form_has_the_totals_of_lines() -> None:
    told = plain(checkout(line(1, "30.00", 3), shipping="70.00"), Decimal("100.00"))
    assert [product.to_wire() for product in told or ()] == [
        {"id": "SKU-1", "name": "Juice", "amount": Decimal("30.00"), "qty": 3, "currency": "UAH"},
        {"id": "delivery", "name": "Delivery", "amount": Decimal("70.00"), "qty": 1, "currency": "UAH"},
    ]


def test_the_fiscal_form_has_the_prices_of_pieces() -> None:
    told = fiscal(
        checkout(line(1, "120.00", 3, tax="20.00"), shipping="70.00"), Decimal("190.00"), receipt_delivery="sms"
    )
    juice, delivery = (product.to_wire() for product in told)
    assert juice["taxes"] == {"type": "vat", "prc": Decimal(20)}
    assert (juice["amount"], juice["qty"], juice["unit"]) == (Decimal("40.00"), Decimal(3), "pc")
    assert juice["fiscalReceiptDelivery"] == "sms"
    assert (delivery["id"], delivery["name"], delivery["taxes"]["type"]) == (DELIVERY, "Доставка", "non-vat")


def test_a_line_that_does_not_divide_has_two_prices() -> None:
    told = fiscal(checkout(line(1, "10.00", 3)), Decimal("10.00"))
    assert [(product.qty, product.amount) for product in told] == [
        (Decimal(2), Decimal("3.33")),
        (Decimal(1), Decimal("3.34")),
    ]
    assert len({product.id for product in told}) == 1


def test_a_gift_card_makes_everything_cheaper_in_proportion() -> None:
    paid = checkout(line(1, "300.00"), line(2, "100.00"), total="200.00")
    assert [product.amount for product in plain(paid, Decimal("200.00")) or ()] == [Decimal("150.00"), Decimal("50.00")]


@pytest.mark.parametrize(
    ("prices", "total", "told"),
    [
        (("10.00", "10.00"), "20.01", ["10.01", "10.00"]),
        (("10.00", "10.00"), "19.99", ["10.00", "9.99"]),
        (("10.00", "10.00", "0.00"), "20.01", ["10.01", "10.00"]),
        (("3.00", "30.00", "300.00"), "333.02", ["3.00", "30.00", "300.02"]),
    ],
)
def test_what_saleor_rounds_apart_is_spread_over_the_lines(
    prices: Sequence[str], total: str, told: Sequence[str]
) -> None:
    """A tax app says 10.004 of each of two lines: Saleor shows 10.00 twice, and 20.01 as the total to pay."""
    paid = checkout(*(line(number, price) for number, price in enumerate(prices, 1)), total=total)
    assert sorted(product.amount for product in plain(paid, Decimal(total)) or ()) == sorted(map(Decimal, told))
    assert sum(product.total for product in fiscal(paid, Decimal(total))) == Decimal(total)


def test_more_than_rounding_is_no_list_of_what_is_paid() -> None:
    paid = checkout(line(1, "10.00"), line(2, "10.00"), total="20.02")
    assert plain(paid, Decimal("20.02")) is None
    with pytest.raises(RefusalError, match=r"no lines of this order sum to 20\.02 UAH"):
        fiscal(paid, Decimal("20.02"))


def test_a_gift_is_no_product() -> None:
    paid = checkout(line(1, "30.00"), line(2, "0.00"))
    assert [product.id for product in plain(paid, Decimal("30.00")) or ()] == ["SKU-1"]


def test_a_part_of_the_total_is_told_plainly_without_products_and_not_taken_fiscally() -> None:
    paid = checkout(line(1, "300.00"))
    assert plain(paid, Decimal("100.00")) is None
    with pytest.raises(RefusalError, match=r"no lines of this order sum to 100\.00 UAH: pay its whole total at once"):
        fiscal(paid, Decimal("100.00"))


@pytest.mark.parametrize("totals", [("10.005", "20.00"), ("20.00", "10.005"), ("10.005", "10.005")])
def test_lines_of_less_than_a_cent_are_no_list_of_what_is_paid(totals: tuple[str, str]) -> None:
    """The gateway takes whole cents: rounded, they would sum to something else."""
    lines = [line(number, total) for number, total in enumerate(totals, 1)]
    assert items_of(checkout(*lines), sum(map(Decimal, totals), Decimal(0))) is None


@pytest.mark.parametrize(
    ("total", "tax", "quantity", "percent"),
    [
        ("0.05", "0.01", 1, 20), ("100.00", "16.67", 1, 20), ("100.00", "6.54", 1, 7), ("100.00", "12.28", 1, 14),
        ("100.00", "0.00", 1, 0), ("0.05", "0.00", 1, 0), ("99.99", "16.68", 3, 20), ("123.00", "23.00", 1, 23),
    ],
)  # fmt: skip
def test_the_rate_that_a_checkout_does_not_tell_is_found(total: str, tax: str, quantity: int, percent: int) -> None:
    items = items_of(checkout(line(1, total, quantity, tax=tax)), Decimal(total))
    assert [item.percent for item in items or ()] == [percent]


def test_the_rate_that_an_order_tells_is_taken() -> None:
    sold = line(1, "100.00", tax="3.00") | {"taxRate": Decimal("0.07")}
    items = items_of(checkout(sold), Decimal("100.00"))
    assert [item.percent for item in items or ()] == [7]


def test_an_article_is_the_same_in_a_checkout_and_in_its_order() -> None:
    in_order = {"id": "order-line-1", "quantity": 1, "productName": "Juice", "productVariantId": "variant-1"}
    order = Order.model_validate(
        source_object(
            __typename="Order", number="21", lines=[in_order | {"totalPrice": taxed("30.00")}], total=taxed("30.00")
        )
    )
    (before,), (after,) = (fiscal(purchase, Decimal("30.00")) for purchase in (checkout(line(1, "30.00")), order))
    assert before.id == after.id


@pytest.mark.parametrize("form", [ProductsForm.PLAIN, ProductsForm.FISCAL])
def test_products_in_yen_have_no_cents(form: ProductsForm) -> None:
    """A discount on the whole order is spread over its lines, and pieces that cost the same are priced."""
    lines = [line(number, 100, 3) for number in range(3)]
    members = source_object(lines=lines, shippingPrice=taxed(0), totalPrice=taxed(200))
    yen = Checkout.model_validate(loads(dumps(members).replace("UAH", "JPY")))
    told = products_of(an_account(products=form), yen, Decimal(200), "JPY", "en", receipt_delivery=None) or ()
    assert sum(product.total for product in told) == 200
    assert all(product.amount % 1 == 0 for product in told)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Juice\n of  \tapples\r\n", "Juice of apples"),
        ("Juice\x07\u2028\u0085", "Juice"),
        ("Сік «Яблуко» 👩\u200d🌾", None),
    ],
)
def test_a_product_has_its_name_in_one_line(name: str, shown: str | None) -> None:
    """Imports leave line feeds in names; a cash register prints one line, or refuses the receipt."""
    sold = checkout(line(1, "30.00", name=name))
    told = [*(plain(sold, Decimal("30.00")) or ()), *fiscal(sold, Decimal("30.00"))]
    assert [product.name for product in told] == [shown or name] * 2


@pytest.mark.parametrize("name", ["\n\t", "\u200b", "\x1b\u2060"], ids=repr)
def test_a_name_of_which_nothing_is_seen_does_not_refuse_a_payment(name: str) -> None:
    (told,) = plain(checkout(line(1, "30.00", name=name)), Decimal("30.00")) or []
    assert told.name == told.id == "SKU-1"


def test_a_store_keeping_unit_is_one_line_too() -> None:
    sold = line(1, "30.00")
    sold["variant"] |= {"sku": " SKU\t1\n"}
    (told,) = plain(checkout(sold), Decimal("30.00")) or []
    assert told.id == "SKU 1"


def test_products_are_told_only_where_the_store_chose_so() -> None:
    members = {"lines": [line(1, "569.50")], "totalPrice": taxed("569.50"), "shippingPrice": taxed(0)}
    assert planned(sourceObject=source_object(**members)).request.products is None
    told = planned(an_account(products=ProductsForm.PLAIN), sourceObject=source_object(**members)).request.products
    assert [product.total for product in told or ()] == [Decimal("569.50")]


def test_lines_without_a_variant_are_articles_of_their_own() -> None:
    """Their variants were deleted after the order."""
    gone = [line(1, "30.00") | {"variant": None}, line(2, "40.00") | {"variant": None}]
    first, second = fiscal(checkout(*gone), Decimal("70.00"))
    assert first.id != second.id
