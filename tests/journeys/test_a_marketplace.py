"""A marketplace on three processes: what each sub-merchant has at the gateway is what the app has written down."""

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

import pytest
from sqlmodel import col, select

from app.bootstrap import open_services
from app.core.vocabulary import Kind, State
from app.store.tables import Operation, SplitShare
from gateway_client.sandbox.scripting import FaultRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import GrantedLine, NewCheckout, NewLine, TransactionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import Stack
from tests.journeys.stories import (
    assert_books_agree,
    begin,
    charge_part,
    order_id_of,
    order_of,
    wait_for_event,
    wait_until_quiet,
)
from tests.payments.split.people import MARKET, POTTER, SMITH, WEAVER, rules

MUGS = NewLine(
    product_name="Mugs", variant_name="Blue", sku="M", unit_price=Decimal("33.33"), quantity=3,
    variant_metadata={"sub_merchant_id": POTTER},
)  # fmt: skip
LAMP = NewLine(
    product_name="Lamp", variant_name="", sku="L", unit_price=Decimal("200.00"),
    product_metadata={"sub_merchant_id": SMITH},
)  # fmt: skip
CLOTH = NewLine(
    product_name="Cloth", variant_name="", sku="C", unit_price=Decimal("100.01"),
    product_type_metadata={"sub_merchant_id": WEAVER},
)  # fmt: skip


@pytest.fixture
async def market(shop: Stack) -> Stack:
    """The town's shop, after its owner has let payments be split."""
    await shop.open_account(name="Market", options={"split_rules": rules().model_dump(mode="json")})
    return shop


@dataclass(frozen=True)
class Sale:
    """What was sold: the transaction, and the order placed."""

    transaction: TransactionView
    order_id: str


async def sold(market: Stack, *lines: NewLine, flow: Flow = Flow.CHARGE) -> Sale:
    """A shopper pays, and an order comes of it."""
    basket = await market.saleor.create_checkout(NewCheckout(lines=list(lines)))
    _, session = await begin(market, flow, checkout_id=basket.id)
    await market.gateway.pay(order_id_of(session))
    event = "CHARGE_SUCCESS" if flow is Flow.CHARGE else "AUTHORIZATION_SUCCESS"
    transaction = await wait_for_event(market, session.required_transaction.id, event)
    order = (await market.saleor.complete(basket.id)).order
    assert order is not None
    return Sale(transaction, order.id)


async def grant(market: Stack, sale: Sale, amount: str, *, pieces: tuple[str, int], shipping: bool = False) -> None:
    """Staff grant a refund of pieces of a line, and let it be paid out."""
    name, number = pieces
    order = await market.saleor.order(sale.order_id)
    line = next(line for line in order.lines if line.product_name == name)
    granted = await market.saleor.grant_refund(
        sale.order_id,
        Decimal(amount),
        lines=[GrantedLine(line_id=line.id, quantity=number)],
        transaction_id=sale.transaction.id,
        shipping_costs_included=shipping,
    )
    assert granted.granted_refund is not None, granted.errors
    await market.saleor.request_refund_for_granted_refund(granted.granted_refund.id)
    await market.saleor.wait_for_background()


async def refund(market: Stack, sale: Sale, amount: str) -> None:
    """Staff refund a sum."""
    await market.saleor.refund(sale.transaction.id, Decimal(amount))
    await market.saleor.wait_for_background()


async def at_the_gateway(market: Stack) -> dict[str, Decimal]:
    """Return what each sub-merchant has at the gateway; those that have nothing are left out."""
    found = await market.gateway.sub_merchants()
    return {str(who): sub_merchant.balance for who, sub_merchant in found.items() if sub_merchant.balance}


async def in_our_books(market: Stack) -> dict[str, Decimal]:
    """Return what each has by the shares that the app has written down."""
    query = (
        select(Operation, SplitShare)
        .join(SplitShare, col(SplitShare.operation_id) == col(Operation.id))
        .where(Operation.state == State.SUCCESS)
    )
    async with open_services(market.settings) as services, services.database.transaction() as session:
        rows = (await session.exec(query)).all()
    captured = any(operation.kind is Kind.CAPTURE for operation, _ in rows)
    sums: dict[str, Decimal] = {}
    for operation, share in rows:
        if captured and operation.kind is Kind.CREATE:  # a reservation moves nothing
            continue
        sign = -1 if operation.kind is Kind.REFUND else 1
        sums[share.sub_merchant_id] = sums.get(share.sub_merchant_id, Decimal()) + sign * share.amount
    return {who: amount for who, amount in sums.items() if amount}


async def everybody_has(market: Stack, sale: Sale, **amounts: str) -> None:
    """All books agree, and each sub-merchant has that much; ``us`` is the market itself."""
    await assert_books_agree(market, sale.transaction.id)
    who = {"us": MARKET, "potter": POTTER, "smith": SMITH, "weaver": WEAVER}
    expected = {who[name]: Decimal(amount) for name, amount in amounts.items()}
    assert await at_the_gateway(market) == expected
    assert await in_our_books(market) == expected


@pytest.mark.long
async def test_one_seller_and_shipping(market: Stack) -> None:
    sale = await sold(market, LAMP)
    await everybody_has(market, sale, us="70.00", smith="200.00")
    await refund(market, sale, "27.00")
    await everybody_has(market, sale, us="63.00", smith="180.00")
    await refund(market, sale, "243.00")
    await everybody_has(market, sale)


async def test_three_sellers_of_whom_one_takes_a_mug_back(market: Stack) -> None:
    """The variant names one seller, the product another, the product type the third."""
    sale = await sold(market, MUGS, LAMP, CLOTH)
    everybody = {"us": "70.00", "potter": "99.99", "smith": "200.00", "weaver": "100.01"}
    await everybody_has(market, sale, **everybody)
    await grant(market, sale, "33.33", pieces=("Mugs", 1))
    await everybody_has(market, sale, **everybody | {"potter": "66.66"})
    await grant(market, sale, "270.00", pieces=("Lamp", 1), shipping=True)
    await everybody_has(market, sale, potter="66.66", weaver="100.01")
    await refund(market, sale, "166.67")
    await everybody_has(market, sale)


@pytest.mark.long
async def test_a_part_of_a_reservation_is_charged_and_given_back_in_two_parts(market: Stack) -> None:
    sale = await sold(market, MUGS, LAMP, flow=Flow.AUTHORIZATION)
    assert await at_the_gateway(market) == {}
    await charge_part(market, sale.transaction.id, Decimal("184.99"))
    half = {"us": "35.00", "potter": "49.99", "smith": "100.00"}
    await everybody_has(market, sale, **half)
    await grant(market, sale, "60.00", pieces=("Mugs", 2))
    await everybody_has(market, sale, us="32.40", smith="92.59")
    await refund(market, sale, "124.99")
    await everybody_has(market, sale)


async def test_the_answer_to_a_refund_is_lost_while_another_one_waits(market: Stack) -> None:
    sale = await sold(market, MUGS, LAMP)
    await market.gateway.fault(
        FaultRule(http_method="POST", path="/api/v1/split/refund", moment="after", effect="drop")
    )
    await refund(market, sale, "36.99")
    await grant(market, sale, "99.99", pieces=("Mugs", 3))

    async def both_done() -> bool:
        return (await market.saleor.transaction(sale.transaction.id)).event_types().count("REFUND_SUCCESS") == 2

    await eventually(both_done)
    # Of the first one the potter gave 10.00, so of the mugs 89.99 were left; the others gave the rest.
    left = await at_the_gateway(market)
    assert POTTER not in left
    assert sum(left.values()) == Decimal("369.99") - Decimal("136.98")
    assert await in_our_books(market) == left
    await refund(market, sale, "233.01")
    await everybody_has(market, sale)


@pytest.mark.long
async def test_staff_refund_in_the_merchant_portal_and_then_here(market: Stack) -> None:
    """The app assumes whose money it was; what it then asks for still fits what everybody has."""
    sale = await sold(market, MUGS, LAMP)
    portal = {UUID(MARKET): Decimal("7.00"), UUID(POTTER): Decimal("10.00"), UUID(SMITH): Decimal("20.00")}
    await market.gateway.portal(order_of(sale.transaction), "refund", Decimal("37.00"), split=portal)
    await wait_for_event(market, sale.transaction.id, "REFUND_SUCCESS")
    await refund(market, sale, "100.00")
    transaction = await wait_until_quiet(market, sale.transaction.id)
    assert transaction.amounts.refunded == Decimal("137.00")
    await assert_books_agree(market, sale.transaction.id)
    assert sum((await at_the_gateway(market)).values()) == Decimal("232.99")


def many_lines(number: int) -> list[NewLine]:
    """Return lines with names as long as those of a real catalogue, of three sellers in turn."""
    return [
        NewLine(
            product_name=f"{index} {'Ж' * 100}",
            sku=f"SKU-{index}",
            unit_price=Decimal("1.00"),
            variant_metadata={"sub_merchant_id": (POTTER, SMITH, WEAVER)[index % 3]},
        )
        for index in range(number)
    ]


@pytest.mark.long
async def test_thousands_of_lines_that_can_be_paid_can_be_given_back(market: Stack) -> None:
    sale = await sold(market, *many_lines(1500))
    order = await market.saleor.order(sale.order_id)
    granted = await market.saleor.grant_refund(
        sale.order_id,
        Decimal("1500.00"),
        lines=[GrantedLine(line_id=line.id, quantity=1) for line in order.lines],
        transaction_id=sale.transaction.id,
    )
    assert granted.granted_refund is not None, granted.errors
    await market.saleor.request_refund_for_granted_refund(granted.granted_refund.id)
    await market.saleor.wait_for_background()
    await everybody_has(market, sale, us="70.00")


@pytest.mark.long
@pytest.mark.law(17)
async def test_what_could_not_be_given_back_is_not_paid_and_the_shopper_reads_why(market: Stack) -> None:
    basket = await market.saleor.create_checkout(NewCheckout(lines=many_lines(2500)))
    session = await market.saleor.initialize(basket.id)
    assert session.required_transaction.event_types() == ["CHARGE_REQUEST", "CHARGE_FAILURE"]
    assert [error["code"] for error in session.data["errors"]] == ["TOO_LONG"]
    assert await at_the_gateway(market) == {}
