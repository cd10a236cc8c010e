"""A gateway may write the digits of a UUID in capitals, here or there: it names the same payment or operation (9)."""

import pytest

from app.core.vocabulary import Kind, State
from app.flows.on_demand import look_up_now
from app.rules.problems import problem_text
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

pytestmark = pytest.mark.law(9, 10)

PAID, BACK = "36c59597-f4c4-456e-8f6e-91af30f1df96", "b28c8a4e-7c6f-4f6f-9c2c-1f6f0f1d3abc"


@pytest.fixture
async def paid(shop: Shop) -> Shop:
    """A shop whose shopper has paid, at a gateway that names payments by UUIDs."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, payment_id=PAID))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)
    return shop


async def refund(shop: Shop, answered: str, payment_id: str) -> None:
    """Staff refund 100.00."""
    record = operation("refund", shop.order_id, "100.00", operation_id=answered, payment_id=payment_id)
    shop.gateway.will_answer(json_reply(record))
    assert (await shop.request_action("REFUND", "100.00")).result == "REFUND_SUCCESS"


@pytest.mark.parametrize(("answered", "notified"), [(BACK, BACK.upper()), (BACK.upper(), BACK)])
@pytest.mark.parametrize("payment_id", [PAID, PAID.upper()])
async def test_a_refund_that_is_notified_in_other_letters_is_one(
    paid: Shop, answered: str, notified: str, payment_id: str
) -> None:
    await refund(paid, answered, payment_id)
    again = operation("refund", paid.order_id, "100.00", operation_id=notified, payment_id=payment_id)
    await paid.notify(again)
    await paid.pass_time(minutes=5)
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")
    assert paid.saleor.reported_types.count("REFUND_SUCCESS") == 1
    aggregate = await paid.aggregate()
    assert [known.operation_id for known in aggregate.operations if known.kind is Kind.REFUND] == [answered]
    assert problem_text(aggregate.payment) is None


async def test_a_refund_by_others_of_a_payment_in_other_letters_is_booked(paid: Shop) -> None:
    record = operation("refund", paid.order_id, "100.00", operation_id=BACK, payment_id=PAID.upper())
    await paid.notify(record)
    await paid.pass_time(minutes=5)
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")
    assert problem_text((await paid.aggregate()).payment) is None


async def test_a_payment_that_is_looked_up_in_other_letters_is_no_second_one(paid: Shop) -> None:
    paid.gateway.book[paid.order_id] = [payment(paid.order_id, payment_id=PAID.upper())]
    assert await look_up_now(paid.services, paid.order_id) is None
    aggregate = await paid.aggregate()
    assert problem_text(aggregate.payment) is None
    assert (aggregate.create.operation_id, aggregate.create.state) == (PAID, State.SUCCESS)


async def test_ids_that_are_no_uuids_differ_by_their_letters(paid: Shop) -> None:
    for named in ("aB3", "Ab3"):
        await paid.notify(operation("refund", paid.order_id, "100.00", operation_id=named, payment_id=PAID))
    await paid.pass_time(minutes=5)
    assert paid.amounts == amounts(charged="369.50", refunded="200.00")
