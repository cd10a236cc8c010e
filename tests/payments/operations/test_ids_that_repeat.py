"""A gateway that gives several operations of a payment one id: what cannot be told apart is put to staff."""

from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from app.flows.notifications import receive
from app.flows.staff.look_ups import look_up_operation
from app.flows.staff.manual_resolution import settle
from app.rules.decisions.manual_resolution import Decision
from app.rules.problems import problem_text
from gateway_client.models import Method
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import BROKEN, operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop, signed_notification

pytestmark = pytest.mark.law(2, 16)

ID = "6f1c1c7e-8f0b-4b0e-9d5f-0c6f4f1f7a01"


def refund_record(shop: Shop, amount: str, minute: int, status: str = "success") -> dict[str, Any]:
    at = f"2026-11-21T12:{minute:02}:00.000"
    return operation("refund", shop.order_id, amount, status, operation_id=ID, created_at=at)


async def refund_once(shop: Shop) -> None:
    first = refund_record(shop, "100.00", 0)
    shop.gateway.book.setdefault(shop.order_id, []).append(first)
    shop.gateway.will_answer(json_reply(first))
    assert (await shop.request_action("REFUND", "100.00", "first")).result == "REFUND_SUCCESS"
    await shop.pass_time(minutes=30)


@pytest.mark.parametrize("amount", ["100.00", "50.00"])
@pytest.mark.parametrize("answer", ["heard", "lost"])
async def test_the_second_refund_is_never_told_as_failed(paid_shop: Shop, amount: str, answer: str) -> None:
    """Told that nothing was given back, staff would refund it once more."""
    await refund_once(paid_shop)
    second = refund_record(paid_shop, amount, 30)
    paid_shop.gateway.book[paid_shop.order_id].append(second)
    paid_shop.gateway.will_answer(json_reply(second) if answer == "heard" else BROKEN)
    await paid_shop.request_action("REFUND", amount, "second")
    await paid_shop.pass_time(days=2)
    assert (await paid_shop.operation(Kind.REFUND, 1)).state is State.UNKNOWN
    assert "REFUND_FAILURE" not in paid_shop.saleor.reported_types
    told = problem_text((await paid_shop.aggregate()).payment) or ""
    assert "operations of this order that the app cannot read" in told
    assert "has been unknown" in told


@pytest.mark.parametrize(
    ("found", "refunded"), [(State.SUCCESS, "200.00"), (State.FAILURE, "100.00")], ids=["made", "taken for a repeat"]
)
async def test_what_was_answered_with_the_id_of_another_is_for_staff_to_settle(
    paid_shop: Shop, found: State, refunded: str
) -> None:
    """The gateway's list shows the id once: the second refund was made, or its request was taken for a repeat."""
    await refund_once(paid_shop)
    paid_shop.gateway.will_answer(json_reply(refund_record(paid_shop, "100.00", 30)))
    await paid_shop.request_action("REFUND", "100.00", "second")
    await paid_shop.pass_time(days=2)
    second = await paid_shop.operation(Kind.REFUND, 1)
    assert second.state is State.UNKNOWN
    assert "REFUND_FAILURE" not in paid_shop.saleor.reported_types
    assert "has been unknown" in (problem_text((await paid_shop.aggregate()).payment) or "")

    await settle(paid_shop.services, paid_shop.order_id, second.id, Decision(found, "Ann", "the portal"))
    await paid_shop.pass_time(days=2)
    assert paid_shop.amounts.refunded == Decimal(refunded)
    assert paid_shop.transaction.actions == ["REFUND"]


@pytest.mark.parametrize("amount", ["100.00", "50.00"])
@pytest.mark.parametrize("told", ["by the answer", "by a notification", "by a look-up"])
async def test_the_second_refund_is_declined_and_the_first_stays_made(paid_shop: Shop, amount: str, told: str) -> None:
    """The failure is the second one's: nobody has to compare the first with the merchant portal."""
    await refund_once(paid_shop)
    declined = refund_record(paid_shop, amount, 30, "failure")
    paid_shop.gateway.will_answer(json_reply(declined) if told == "by the answer" else BROKEN)
    answer = await paid_shop.request_action("REFUND", amount, "second")
    if told == "by a notification":
        await receive(paid_shop.services, paid_shop.account.id, signed_notification(declined))
        await paid_shop.work()
    paid_shop.gateway.book[paid_shop.order_id].append(declined)
    await paid_shop.pass_time(minutes=20)
    first, second = [await paid_shop.operation(Kind.REFUND, number) for number in (0, 1)]
    assert (first.state, first.contradicted) == (State.SUCCESS, False)
    assert (second.state, second.status_code, second.psp_reference) == (State.FAILURE, "4150", answer.psp_reference)
    assert answer.psp_reference != first.psp_reference
    assert problem_text((await paid_shop.aggregate()).payment) is None
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
    assert paid_shop.transaction.actions == ["REFUND"]


@pytest.mark.law(7)
async def test_a_refund_that_failed_after_all_is_for_staff_although_another_is_open(paid_shop: Shop) -> None:
    await refund_once(paid_shop)
    paid_shop.gateway.will_answer(BROKEN)
    await paid_shop.request_action("REFUND", "100.00", "second")
    reversed_ = refund_record(paid_shop, "100.00", 0, "failure")
    await receive(paid_shop.services, paid_shop.account.id, signed_notification(reversed_))
    await paid_shop.work()
    assert (await paid_shop.operation(Kind.REFUND, 0)).contradicted
    assert not (await paid_shop.operation(Kind.REFUND, 1)).state.final


async def test_refunds_by_others_with_one_id_are_shown_to_staff(paid_shop: Shop) -> None:
    await refund_once(paid_shop)
    paid_shop.gateway.book[paid_shop.order_id].append(refund_record(paid_shop, "100.00", 30))
    other = operation("refund", paid_shop.order_id, "10.00")
    paid_shop.gateway.book[paid_shop.order_id].append(other)
    paid_shop.gateway.will_answer(json_reply(other))
    await paid_shop.request_action("REFUND", "10.00", "second")
    await paid_shop.pass_time(minutes=30)
    assert paid_shop.amounts.refunded == Decimal("110.00")
    assert "that the app cannot read" in (problem_text((await paid_shop.aggregate()).payment) or "")

    # A look-up of one record shows nothing of the others.
    paid_shop.gateway.will_answer_look_ups(json_reply([other]))
    found = await look_up_operation(paid_shop.services, paid_shop.account, paid_shop.order_id, Method.REFUND)
    assert found.posted == (paid_shop.order_id,)
    assert "that the app cannot read" in (problem_text((await paid_shop.aggregate()).payment) or "")


async def test_a_refund_that_is_listed_in_each_of_its_states_is_one(paid_shop: Shop) -> None:
    await refund_once(paid_shop)
    listed = paid_shop.gateway.book[paid_shop.order_id]
    listed.extend([listed[-1], listed[-1] | {"status": "pending", "status_code": None}])
    other = operation("refund", paid_shop.order_id, "10.00")
    listed.append(other)
    paid_shop.gateway.will_answer(json_reply(other))
    await paid_shop.request_action("REFUND", "10.00", "second")
    await paid_shop.pass_time(minutes=30)
    assert paid_shop.amounts == amounts(charged="459.50", refunded="110.00")
    assert problem_text((await paid_shop.aggregate()).payment) is None
