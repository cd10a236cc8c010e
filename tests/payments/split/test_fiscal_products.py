"""What is said again of fiscal products with captures and refunds: never more of one than was paid for it."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.payment import PaymentAggregate
from app.core.request import RequestDetails
from app.core.vocabulary import Flow, Kind, State
from app.rules.split.fiscal_products import fiscal_details, goods_of
from app.rules.split.products import DELIVERY
from integration_base.amounts import CENT
from saleor_app_sdk.events import GrantedRefund
from saleor_app_sdk.source import Checkout
from tests.payments.aggregates import an_aggregate, an_operation
from tests.payments.baskets import checkout, fiscal, line, lines, taxed


def sold(paid: Checkout, amount: Decimal, flow: Flow = Flow.CHARGE) -> PaymentAggregate:
    told = [product.model_dump(mode="json", exclude_none=True) for product in fiscal(paid, amount)]
    aggregate = an_aggregate(flow, State.SUCCESS, amount=amount)
    aggregate.create.request = {"products": told, "f_receipt_delivery": "email"}
    return aggregate


def again(
    aggregate: PaymentAggregate, kind: Kind, amount: Decimal, granted: GrantedRefund | None = None
) -> dict[str, Decimal]:
    """Ask for an operation, record it, and return what it says of each product, by its id."""
    details = fiscal_details(aggregate, kind, amount, granted)
    recorded = an_operation(kind, State.SUCCESS, amount, request=details.write("order", "UAH"))
    aggregate.operations.append(recorded)
    said: dict[str, Decimal] = {}
    for products in goods_of(recorded.requested).values():
        for product in products:
            said[product.id] = said.get(product.id, Decimal()) + product.total
    assert sum(said.values()) == amount
    return said


@given(lines=lines, parts=st.lists(st.integers(1, 100), min_size=1, max_size=5), reserved=st.booleans())
def test_refunds_of_parts_sum_to_what_was_sold_of_each_product(
    lines: list[dict[str, Any]], parts: list[int], reserved: bool
) -> None:
    paid = checkout(*lines, shipping="70.00")
    assert paid.total is not None
    total = paid.total.gross.amount
    aggregate = sold(paid, total, Flow.AUTHORIZATION if reserved else Flow.CHARGE)
    taken = max((total * parts[0] / 100).quantize(CENT), CENT) if reserved else total
    worth = again(aggregate, Kind.CAPTURE, taken) if reserved else None
    left, given_back = taken, dict[str, Decimal]()
    for part in [*parts, 100]:
        amount = min(left, max((left * part / 100).quantize(CENT), CENT))
        if not amount:
            break
        for article, value in again(aggregate, Kind.REFUND, amount).items():
            given_back[article] = given_back.get(article, Decimal()) + value
        left -= amount
    assert given_back == (worth or {product: total_of(aggregate, product) for product in given_back})
    assert sum(given_back.values()) == taken


@given(lines=lines, parts=st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_captures_of_parts_sum_to_what_was_sold_of_each_product(lines: list[dict[str, Any]], parts: list[int]) -> None:
    """However many there are, and whatever is refunded between them: no receipt names more than was sold."""
    paid = checkout(*lines, shipping="70.00")
    assert paid.total is not None
    left = paid.total.gross.amount
    aggregate = sold(paid, left, Flow.AUTHORIZATION)
    taken, given_back = dict[str, Decimal](), dict[str, Decimal]()
    for part in [*parts, 100]:
        amount = min(left, max((left * part / 100).quantize(CENT), CENT))
        if not amount:
            break
        for said, kind in ((taken, Kind.CAPTURE), (given_back, Kind.REFUND)):
            for article, value in again(aggregate, kind, amount).items():
                said[article] = said.get(article, Decimal()) + value
            assert all(given_back[article] <= taken.get(article, 0) for article in given_back)
        left -= amount
    assert taken == given_back == {product: total_of(aggregate, product) for product in taken}


def total_of(aggregate: PaymentAggregate, article: str) -> Decimal:
    goods = goods_of(aggregate.create.requested).values()
    products = [product for alike in goods for product in alike if product.id == article]
    return sum((product.total for product in products), Decimal())


def test_a_full_capture_and_a_full_refund_say_what_the_payment_said() -> None:
    paid = checkout(line(1, "10.00", 3), line(2, "20.00"), shipping="70.00")
    aggregate = sold(paid, Decimal("100.00"), Flow.AUTHORIZATION)
    told = aggregate.create.requested.products
    assert fiscal_details(aggregate, Kind.CAPTURE, Decimal("100.00")) == RequestDetails(products=told)
    again(aggregate, Kind.CAPTURE, Decimal("100.00"))
    refund = fiscal_details(aggregate, Kind.REFUND, Decimal("100.00"))
    assert refund == RequestDetails(products=told, receipt_delivery="email")


def granted(*parts: tuple[int, int, int, str | None], shipping: bool = False) -> GrantedRefund:
    """Grant pieces of lines: the line's number, how many, of how many, worth what in all."""
    return GrantedRefund.model_validate(
        {
            "id": "granted",
            "shippingCostsIncluded": shipping,
            "lines": [
                {
                    "id": f"granted-{number}",
                    "quantity": quantity,
                    "orderLine": {
                        "id": f"order-line-{number}",
                        "quantity": of,
                        "productName": "Juice",
                        "productVariantId": f"variant-{number}",
                        "totalPrice": None if total is None else taxed(total),
                    },
                }
                for number, quantity, of, total in parts
            ],
        }
    )


def article(aggregate: PaymentAggregate, number: int) -> str:
    return [products[0].id for products in goods_of(aggregate.create.requested).values()][number - 1]


def test_a_granted_refund_names_its_lines() -> None:
    aggregate = sold(checkout(line(1, "120.00", 3), line(2, "80.00"), shipping="70.00"), Decimal("270.00"))
    details = fiscal_details(aggregate, Kind.REFUND, Decimal("80.00"), granted((1, 2, 3, "120.00")))
    (product,) = details.products
    assert (product["id"], product["qty"], product["amount"]) == (article(aggregate, 1), "2", "40.00")


def test_a_granted_refund_may_give_the_delivery_back() -> None:
    aggregate = sold(checkout(line(1, "120.00", 3), shipping="70.00"), Decimal("190.00"))
    said = again(aggregate, Kind.REFUND, Decimal("110.00"), granted((1, 1, 3, "120.00"), shipping=True))
    assert said == {article(aggregate, 1): Decimal("40.00"), DELIVERY: Decimal("70.00")}


def test_a_granted_refund_of_a_delivery_that_was_free_keeps_to_its_lines() -> None:
    """Staff may include the shipping costs of an order that had none: no product stands for them."""
    aggregate = sold(checkout(line(1, "120.00", 3)), Decimal("120.00"))
    said = again(aggregate, Kind.REFUND, Decimal("40.00"), granted((1, 1, 3, "120.00"), shipping=True))
    assert said == {article(aggregate, 1): Decimal("40.00")}


def test_a_granted_refund_of_a_line_with_a_gift_keeps_to_the_line() -> None:
    """What came with it for nothing is sent back too: it is on no receipt."""
    aggregate = sold(checkout(line(1, "120.00"), line(2, "80.00"), line(3, "0.00")), Decimal("200.00"))
    said = again(aggregate, Kind.REFUND, Decimal("120.00"), granted((1, 1, 1, "120.00"), (3, 1, 1, "0.00")))
    assert said == {article(aggregate, 1): Decimal("120.00")}


def test_a_granted_refund_of_another_total_keeps_to_its_lines() -> None:
    aggregate = sold(checkout(line(1, "120.00", 3), line(2, "80.00")), Decimal("200.00"))
    assert again(aggregate, Kind.REFUND, Decimal("50.00"), granted((1, 1, 3, "120.00"))) == {
        article(aggregate, 1): Decimal("50.00")
    }


def test_no_product_gives_back_more_than_was_paid_for_it() -> None:
    aggregate = sold(checkout(line(1, "120.00"), line(2, "80.00")), Decimal("200.00"))
    again(aggregate, Kind.REFUND, Decimal("100.00"), granted((1, 1, 1, "120.00")))
    said = again(aggregate, Kind.REFUND, Decimal("60.00"), granted((1, 1, 1, "120.00")))
    assert said == {article(aggregate, 1): Decimal("20.00"), article(aggregate, 2): Decimal("40.00")}


@pytest.mark.parametrize("line_", [(9, 1, 1, "50.00"), (1, 1, 1, None), (1, 1, 0, "50.00")])
def test_a_granted_line_that_was_not_sold_so_is_no_help(line_: tuple[int, int, int, str | None]) -> None:
    """Nor is one without a price or a quantity."""
    aggregate = sold(checkout(line(1, "100.00"), line(2, "100.00")), Decimal("200.00"))
    said = again(aggregate, Kind.REFUND, Decimal("50.00"), granted(line_))
    assert list(said.values()) == [Decimal("25.00"), Decimal("25.00")]


def test_a_refund_from_the_merchant_portal_counts_in_proportion() -> None:
    aggregate = sold(checkout(line(1, "100.00"), line(2, "100.00")), Decimal("200.00"))
    aggregate.operations.append(an_operation(Kind.REFUND, State.SUCCESS, Decimal("100.00")))
    assert list(again(aggregate, Kind.REFUND, Decimal("100.00")).values()) == [Decimal("50.00"), Decimal("50.00")]


def test_refund_of_a_later_charge_gives_nothing_back_of_what_the_first_payment_was_for() -> None:
    aggregate = sold(checkout(line(1, "120.00"), line(2, "80.00")), Decimal("200.00"))
    of_second = an_operation(Kind.REFUND, State.SUCCESS, Decimal("100.00"), charge_id="second")
    aggregate.operations.append(of_second)
    said = again(aggregate, Kind.REFUND, Decimal("120.00"), granted((1, 1, 1, "120.00")))
    assert said == {article(aggregate, 1): Decimal("120.00")}


def test_a_refund_that_failed_gave_nothing_back() -> None:
    aggregate = sold(checkout(line(1, "100.00")), Decimal("100.00"))
    again(aggregate, Kind.REFUND, Decimal("100.00"))
    aggregate.operations[-1].state = State.FAILURE
    assert list(again(aggregate, Kind.REFUND, Decimal("100.00")).values()) == [Decimal("100.00")]


@pytest.mark.parametrize("kind", [Kind.VOID, Kind.CANCEL])
def test_nothing_is_said_again_where_nothing_is_taken_or_given_back(kind: Kind) -> None:
    aggregate = sold(checkout(line(1, "100.00")), Decimal("100.00"))
    assert fiscal_details(aggregate, kind, Decimal("100.00")) == RequestDetails()


def test_a_payment_that_was_made_without_fiscal_products_is_refunded_without_them() -> None:
    plainly = [{"id": "SKU-1", "name": "Juice", "amount": "100.00", "qty": 1}]
    requests: list[dict[str, Any]] = [{}, {"products": plainly}]
    for request in requests:
        aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
        aggregate.create.request = request
        assert fiscal_details(aggregate, Kind.REFUND, Decimal("100.00")) == RequestDetails()
