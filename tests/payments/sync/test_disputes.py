"""A payer disputes a payment at the bank: staff are told, Saleor hears of it, and nobody refunds it as well."""

from decimal import Decimal
from typing import Any

import pytest

from app.db.aggregates import ById, PaymentAggregate, row_id_of
from app.db.tables import Kind, ProblemKind, State
from app.i18n.messages import LazyMessage
from app.payments.alerts.items import AlertKind
from app.payments.core.apply import raise_problem
from app.payments.core.problems import Cause, problem_words
from app.payments.staff.manual_resolution import Decision, mark_looked_at, settle
from app.payments.staff.status import standing
from app.payments.staff.timeline import timeline
from app.payments.sync.on_demand import ask_now
from tests.loopback import said
from tests.payments.alert_cases import whats
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.problems import kinds_of
from tests.payments.shop import Shop
from tests.payments.unattended import unattended


def dispute(shop: Shop, status: str, amount: str = "569.50", **more: Any) -> dict[str, Any]:
    """As a notification of a payment would tell it: the interface shows no record of a dispute."""
    return payment(shop.order_id, status, amount, method="dispute", payment_id="dispute-1") | more


async def mark(shop: Shop) -> tuple[str, ...] | None:
    return await mark_looked_at(shop.services, shop.installation.id, shop.order_id)


@pytest.mark.law(10)
async def test_the_bank_has_taken_the_money_back(paid: Shop) -> None:
    await paid.notify(dispute(paid, "success"))
    await paid.work()
    assert paid.amounts == amounts(charged="0.00")
    [event] = [each for each in paid.saleor.reports if each.type == "CHARGE_BACK"]
    assert (event.psp_reference, event.amount, event.available_actions) == ("dispute-1", Decimal("569.50"), ())
    aggregate = await paid.aggregate()
    assert problem_words(aggregate.payment) == (
        "The payer's bank has taken 569.50 UAH of this payment back after a dispute, and Saleor is told. Do not refund "
        "it too."
    )
    assert await whats(paid) == [(AlertKind.DISPUTE, 1)]
    assert standing(aggregate) == "paid, charged back"
    told = [each.words for each in timeline(aggregate, [])]
    assert "shows that the payer disputes 569.50 UAH" in told
    assert await mark(paid) != ()
    assert await whats(paid) == []


@pytest.mark.law(10)
async def test_one_that_is_open_is_shown_until_it_has_ended_and_cannot_be_refunded_meanwhile(paid: Shop) -> None:
    await paid.notify(dispute(paid, "pending", "100.00"))
    await paid.work()
    assert await whats(paid) == [(AlertKind.DISPUTE, 1)]
    assert paid.amounts == amounts(charged="569.50")
    assert unattended(await paid.aggregate()) == []
    assert await mark(paid) == ()
    answer = await paid.staff("REFUND", "500.00", "one")
    assert answer.result == "REFUND_FAILURE"
    assert answer.message == (
        "500.00 UAH cannot be refunded: 569.50 UAH was taken, 100.00 UAH is disputed by the payer, or was charged "
        "back. Refund at most 469.50 UAH."
    )
    paid.gateway.will(said(operation("refund", paid.order_id, "469.50", named="ours")))
    assert (await paid.staff("REFUND", "469.50", "two")).result == "REFUND_SUCCESS"  # it does not wait for the bank
    await paid.later(days=40)
    assert await whats(paid) == [(AlertKind.DISPUTE, 1)]
    assert standing(await paid.aggregate()) == "partly refunded, dispute under way"
    await paid.notify(dispute(paid, "success", "100.00"))
    await paid.work()
    assert paid.amounts == amounts(charged="0.00", refunded="469.50")


async def test_one_that_the_store_wins_takes_nothing(paid: Shop) -> None:
    polls = paid.gateway.polls
    await paid.notify(dispute(paid, "pending"))
    await paid.notify(dispute(paid, "failure"))
    await paid.later(days=3)
    assert paid.gateway.polls == polls  # what has ended nobody looks at
    assert await whats(paid) == []
    assert paid.amounts == amounts(charged="569.50")
    assert "The dispute over 569.50 UAH has ended in the store's favour: nothing was taken back." in {
        each.message for each in paid.saleor.reports
    }
    paid.gateway.will(said(operation("refund", paid.order_id, "569.50", named="ours")))
    assert (await paid.staff("REFUND", "569.50", "one")).result == "REFUND_SUCCESS"


async def test_a_look_up_that_shows_one_counts_as_well(paid: Shop) -> None:
    """Once a day an open one is looked at, and its end is found though no notification came."""
    record = dispute(paid, "pending", operation_id="dispute-op-1")
    paid.gateway.book[paid.order_id].append(record)
    assert await ask_now(paid.services, paid.order_id) is None
    assert await whats(paid) == [(AlertKind.DISPUTE, 1)]
    polls = paid.gateway.polls
    await paid.later(hours=23)
    assert paid.gateway.polls == polls
    await paid.later(days=2, hours=1)
    assert paid.gateway.polls == polls + 3
    record["status"] = "success"
    await paid.later(days=1, minutes=1)
    assert paid.amounts == amounts(charged="0.00")
    await paid.later(days=3)
    assert paid.gateway.polls == polls + 4


async def test_it_is_told_once_however_often_and_in_whatever_shape_it_is_said(paid: Shop) -> None:
    of_the_payment = paid.gateway.book[paid.order_id][0]["payment_id"]
    await paid.notify(dispute(paid, "pending", payment_id=of_the_payment))
    await paid.notify(dispute(paid, "success", payment_id=of_the_payment))
    await paid.notify(dispute(paid, "success", payment_id=of_the_payment, receipt_url="https://pay.example/r"))
    await paid.notify(dispute(paid, "success", payment_id=of_the_payment, operation_id="dispute-op-1"))
    await paid.work()
    disputes = [each for each in (await paid.aggregate()).operations if each.kind is Kind.DISPUTE]
    assert [(each.state, each.psp_reference) for each in disputes] == [(State.SUCCESS, f"{of_the_payment}-dispute")]
    assert [each.type.value for each in paid.saleor.reports].count("CHARGE_BACK") == 1
    assert paid.amounts == amounts(charged="0.00")


async def test_of_a_charge_of_a_part_of_a_reservation(reserved: Shop) -> None:
    reserved.gateway.will(said(operation("capture", reserved.order_id, "300.00", named="ours")))
    await reserved.staff("CHARGE", "300.00", "one")
    await reserved.notify(dispute(reserved, "success", "300.00"))
    await reserved.later(minutes=1)
    assert reserved.amounts == amounts(charged="0.00", canceled="269.50")


@pytest.mark.parametrize("wrong", [{"currency": "USD"}, {"pos_id": "another"}, {"amount": 0}])
async def test_what_does_not_agree_is_a_problem_and_takes_nothing(paid: Shop, wrong: dict[str, Any]) -> None:
    await paid.notify(dispute(paid, "success") | wrong)
    await paid.work()
    assert await whats(paid) == [(AlertKind.MISMATCH, 1)]
    assert paid.amounts == amounts(charged="569.50")


@pytest.mark.parametrize(("end", "charged"), [(State.SUCCESS, "0.00"), (State.FAILURE, "569.50")])
async def test_staff_can_say_how_it_ended(paid: Shop, end: State, charged: str) -> None:
    """The gateway may never tell."""
    await paid.notify(dispute(paid, "init"))
    await paid.work()
    await settle(paid.services, paid.order_id, None, Decision(end, "Ann", "a letter of the bank"))
    await paid.later(minutes=1)
    assert await whats(paid) == []
    assert paid.amounts == amounts(charged=charged)


async def test_many_problems_at_once_have_room(paid: Shop) -> None:
    """On PostgreSQL a column that is too short is an error, and the dispute would be retried for ever."""
    words = LazyMessage("Look at this.")

    def raise_all(aggregate: PaymentAggregate) -> None:
        for kind in ProblemKind:
            raise_problem(aggregate, words, paid.clock.now, cause=Cause(kind, "x" * 100, gateway_id="x" * 100))

    await paid.services.payments.update(ById(row_id_of((await paid.aggregate()).payment)), raise_all)
    assert kinds_of((await paid.aggregate()).payment) == "+".join(sorted(ProblemKind))
