"""A payer disputes a payment at the bank: staff are told, Saleor hears of it, and nobody refunds it as well."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from app.core.alerts import AlertKind
from app.core.payment import PaymentAggregate, row_id_of
from app.core.vocabulary import Kind, State
from app.flows.on_demand import look_up_now
from app.flows.staff.manual_resolution import Decision, acknowledge_problems, settle
from app.reports.status import standing
from app.reports.timeline import timeline
from app.rules.decision_context import raise_problem
from app.rules.problems import Cause, problem_messages, problem_text
from app.store.aggregates import ById
from integration_base_tests.loopback import HangUp, json_reply
from tests.payments.alert_cases import subjects
from tests.payments.changes import Change
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.problems import issue_saying, kinds_of
from tests.payments.shop import Shop
from tests.payments.unattended import unattended_operations


def dispute(shop: Shop, status: str, amount: str = "569.50", **more: Any) -> dict[str, Any]:
    """As a notification of a payment would tell it: the interface shows no record of a dispute."""
    return payment(shop.order_id, status, amount, method="dispute", payment_id="dispute-1") | more


async def mark(shop: Shop) -> tuple[str, ...] | None:
    return await acknowledge_problems(shop.services, shop.installation.id, shop.order_id)


@pytest.mark.law(10)
async def test_the_bank_has_taken_the_money_back(paid_shop: Shop) -> None:
    await paid_shop.notify(dispute(paid_shop, "success"))
    await paid_shop.work()
    assert paid_shop.amounts == amounts(charged="0.00")
    [event] = [report for report in paid_shop.saleor.reports if report.type == "CHARGE_BACK"]
    assert (event.psp_reference, event.amount, event.available_actions) == ("dispute-1", Decimal("569.50"), ())
    aggregate = await paid_shop.aggregate()
    assert problem_text(aggregate.payment) == (
        "After a dispute, the payer's bank took back 569.50 UAH of this payment. Do not refund it too."
    )
    assert await subjects(paid_shop) == [(AlertKind.DISPUTE, 1)]
    assert standing(aggregate) == "paid, charged back"
    told = [entry.words for entry in timeline(aggregate, [])]
    assert "shows that the payer disputes 569.50 UAH" in told
    assert await mark(paid_shop) != ()
    assert await subjects(paid_shop) == []


@pytest.mark.law(10)
@pytest.mark.parametrize("known", ["", "pending", "failure"])
@pytest.mark.parametrize("first", ["success", "pending"])
async def test_what_the_bank_took_back_is_told_after_the_charge_that_is_known_later(
    shop: Shop, known: str, first: str
) -> None:
    """The charge's notification is late or lost, perhaps that of another card on the page; the gateway shows it."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    if known:
        await shop.notify(payment(shop.order_id, known))
    await shop.notify(dispute(shop, first))
    await shop.notify(dispute(shop, "success", created_at="2026-11-21T12:00:01.000"))
    await shop.work()
    assert shop.amounts.charged == 0
    assert "more back than was charged" not in (problem_text((await shop.aggregate()).payment) or "")
    shop.gateway.book[shop.order_id] = [payment(shop.order_id), dispute(shop, "success")]
    await shop.pass_time(minutes=2)
    told = [report.type for report in shop.saleor.reports if report.type in {"CHARGE_SUCCESS", "CHARGE_BACK"}]
    assert (told, shop.amounts) == (["CHARGE_SUCCESS", "CHARGE_BACK"], amounts(charged="0.00"))
    assert problem_text((await shop.aggregate()).payment) == (
        "After a dispute, the payer's bank took back 569.50 UAH of this payment. Do not refund it too."
    )


@pytest.mark.law(10)
async def test_what_the_bank_took_back_of_nothing_that_the_gateway_shows_is_told_all_the_same(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, "failure"))
    await shop.notify(dispute(shop, "success"))
    await shop.pass_time(minutes=2)
    assert [report.amount for report in shop.saleor.reports if report.type == "CHARGE_BACK"] == [Decimal("569.50")]
    assert "0.00 UAH was or is being refunded" in (problem_text((await shop.aggregate()).payment) or "")


@pytest.mark.law(10)
async def test_one_that_is_open_is_shown_until_it_has_ended_and_cannot_be_refunded_meanwhile(paid_shop: Shop) -> None:
    paid_shop.saleor.order(paid_shop.transaction)
    await paid_shop.notify(dispute(paid_shop, "pending", "100.00"))
    await paid_shop.work()
    assert await subjects(paid_shop) == [(AlertKind.DISPUTE, 1)]
    assert paid_shop.amounts == amounts(charged="569.50")
    assert unattended_operations(await paid_shop.aggregate()) == []
    assert await mark(paid_shop) == ()
    answer = await paid_shop.request_action("REFUND", "500.00", "one")
    assert answer.result == "REFUND_FAILURE"
    assert answer.message == (
        "500.00 UAH cannot be refunded: 569.50 UAH was charged, 100.00 UAH is disputed by the payer or was "
        "charged back. Refund at most 469.50 UAH."
    )
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "469.50", operation_id="ours")))
    assert (
        await paid_shop.request_action("REFUND", "469.50", "two")
    ).result == "REFUND_SUCCESS"  # it does not wait for the bank
    await paid_shop.pass_time(days=40)
    assert await subjects(paid_shop) == [(AlertKind.DISPUTE, 1)]
    assert standing(await paid_shop.aggregate()) == "partially refunded, dispute under way"
    await paid_shop.notify(dispute(paid_shop, "success", "100.00"))
    await paid_shop.work()
    assert paid_shop.amounts == amounts(charged="0.00", refunded="469.50")


async def test_one_that_the_store_wins_takes_nothing(paid_shop: Shop) -> None:
    paid_shop.saleor.order(paid_shop.transaction)
    polls = paid_shop.gateway.polls
    await paid_shop.notify(dispute(paid_shop, "pending"))
    await paid_shop.notify(dispute(paid_shop, "failure"))
    await paid_shop.pass_time(days=3)
    assert paid_shop.gateway.polls == polls  # what has ended nobody looks at
    assert await subjects(paid_shop) == []
    assert paid_shop.amounts == amounts(charged="569.50")
    assert "The dispute over 569.50 UAH has ended in the store's favour: nothing was taken back." in {
        report.message for report in paid_shop.saleor.reports
    }
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "569.50", operation_id="ours")))
    assert (await paid_shop.request_action("REFUND", "569.50", "one")).result == "REFUND_SUCCESS"


async def test_a_look_up_that_shows_one_counts_as_well(paid_shop: Shop) -> None:
    """Once a day an open one is looked at, and its end is found though no notification came."""
    paid_shop.saleor.order(paid_shop.transaction)
    record = dispute(paid_shop, "pending", operation_id="dispute-op-1")
    paid_shop.gateway.book[paid_shop.order_id].append(record)
    assert await look_up_now(paid_shop.services, paid_shop.order_id) is None
    assert await subjects(paid_shop) == [(AlertKind.DISPUTE, 1)]
    polls = paid_shop.gateway.polls
    await paid_shop.pass_time(hours=23)
    assert paid_shop.gateway.polls == polls
    await paid_shop.pass_time(days=2, hours=1)
    assert paid_shop.gateway.polls == polls + 3
    record["status"] = "success"
    await paid_shop.pass_time(days=1, minutes=1)
    assert paid_shop.amounts == amounts(charged="0.00")
    await paid_shop.pass_time(days=3)
    assert paid_shop.gateway.polls == polls + 4


async def test_it_is_told_once_however_often_and_in_whatever_shape_it_is_said(paid_shop: Shop) -> None:
    of_the_payment = paid_shop.gateway.book[paid_shop.order_id][0]["payment_id"]
    await paid_shop.notify(dispute(paid_shop, "pending", payment_id=of_the_payment))
    await paid_shop.notify(dispute(paid_shop, "success", payment_id=of_the_payment))
    await paid_shop.notify(
        dispute(paid_shop, "success", payment_id=of_the_payment, receipt_url="https://pay.example/r")
    )
    await paid_shop.notify(dispute(paid_shop, "success", payment_id=of_the_payment, operation_id="dispute-op-1"))
    await paid_shop.work()
    disputes = [operation for operation in (await paid_shop.aggregate()).operations if operation.kind is Kind.DISPUTE]
    assert [(dispute.state, dispute.psp_reference) for dispute in disputes] == [
        (State.SUCCESS, f"{of_the_payment}-dispute")
    ]
    assert [report.type.value for report in paid_shop.saleor.reports].count("CHARGE_BACK") == 1
    assert paid_shop.amounts == amounts(charged="0.00")


async def test_of_a_charge_of_a_part_of_a_reservation(reserved_shop: Shop) -> None:
    reserved_shop.gateway.will_answer(
        json_reply(operation("capture", reserved_shop.order_id, "300.00", operation_id="ours"))
    )
    await reserved_shop.request_action("CHARGE", "300.00", "one")
    await reserved_shop.notify(dispute(reserved_shop, "success", "300.00"))
    await reserved_shop.pass_time(minutes=1)
    assert reserved_shop.amounts == amounts(charged="0.00", canceled="269.50")


@pytest.mark.parametrize("wrong", [{"currency": "USD"}, {"pos_id": "another"}, {"amount": 0}])
async def test_what_does_not_agree_is_a_problem_and_takes_nothing(paid_shop: Shop, wrong: dict[str, Any]) -> None:
    await paid_shop.notify(dispute(paid_shop, "success") | wrong)
    await paid_shop.work()
    assert await subjects(paid_shop) == [(AlertKind.MISMATCH, 1)]
    assert paid_shop.amounts == amounts(charged="569.50")


@pytest.mark.parametrize(("end", "charged"), [(State.SUCCESS, "0.00"), (State.FAILURE, "569.50")])
async def test_staff_can_say_how_it_ended(paid_shop: Shop, end: State, charged: str) -> None:
    """The gateway may never tell."""
    await paid_shop.notify(dispute(paid_shop, "init"))
    await paid_shop.work()
    await settle(paid_shop.services, paid_shop.order_id, None, Decision(end, "Ann", "a letter of the bank"))
    await paid_shop.pass_time(minutes=1)
    assert await subjects(paid_shop) == []
    assert paid_shop.amounts == amounts(charged=charged)


async def hear(shop: Shop, *words: str | tuple[str, str]) -> None:
    """Let the gateway say how the dispute stands, one word after another: a status, or a status and an amount."""
    for word in words:
        status, amount = (word, "569.50") if isinstance(word, str) else word
        await shop.notify(dispute(shop, status, amount, receipt_url=f"https://pay.example/{uuid4()}"))  # never the same
        await shop.work()
    await shop.pass_time(minutes=1)


def turns_told(shop: Shop) -> list[tuple[str, str, Decimal]]:
    return [
        (report.type.value, report.psp_reference, report.amount or Decimal(0))
        for report in shop.saleor.reports
        if report.type in {"CHARGE_BACK", "CHARGE_SUCCESS"} and report.psp_reference.startswith("dispute-1")
    ]


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("words", "told", "charged"),
    [
        (["success", "failure"], [("CHARGE_BACK", "", 569.5), ("CHARGE_SUCCESS", "-turn-1", 569.5)], "569.50"),
        (["failure", "success"], [("CHARGE_BACK", "", 569.5)], "0.00"),
        (
            ["pending", "success", "failure", "success", "failure"],
            [
                ("CHARGE_BACK", "", 569.5),
                ("CHARGE_SUCCESS", "-turn-1", 569.5),
                ("CHARGE_BACK", "-turn-2", 569.5),
                ("CHARGE_SUCCESS", "-turn-3", 569.5),
            ],
            "569.50",
        ),
        (["pending", ("success", "100.00")], [("CHARGE_BACK", "", 100)], "469.50"),
        (
            [("success", "100.00"), ("success", "300.00"), ("success", "200.00")],
            [("CHARGE_BACK", "", 100), ("CHARGE_BACK", "-turn-1", 200), ("CHARGE_SUCCESS", "-turn-2", 100)],
            "369.50",
        ),
        # An older word says nothing new: what is final is not open again.
        (["success", "pending", "init"], [("CHARGE_BACK", "", 569.5)], "0.00"),
        (["success", "success"], [("CHARGE_BACK", "", 569.5)], "0.00"),
    ],
)
async def test_each_turn_is_told_and_the_newest_word_counts(
    paid_shop: Shop, words: list[str | tuple[str, str]], told: list[tuple[str, str, float]], charged: str
) -> None:
    await hear(paid_shop, *words)

    assert turns_told(paid_shop) == [
        (kind, f"dispute-1{turn}", Decimal(str(amount)).quantize(Decimal("0.01"))) for kind, turn, amount in told
    ]
    assert paid_shop.amounts == amounts(charged=charged)
    left = Decimal(charged)
    refused = await paid_shop.request_action("REFUND", str(left + Decimal("0.01")), "too much")
    assert refused.result == "REFUND_FAILURE"
    if left:
        done = json_reply(operation("refund", paid_shop.order_id, charged, operation_id="ours"))
        paid_shop.gateway.will_answer(done)
        assert (await paid_shop.request_action("REFUND", charged, "all")).result == "REFUND_SUCCESS"


@pytest.mark.law(7)
async def test_what_staff_read_follows_the_turns(paid_shop: Shop) -> None:
    async def read() -> list[str]:
        return [str(message) for message in problem_messages((await paid_shop.aggregate()).payment)]

    await hear(paid_shop, "pending")
    assert ["is disputing 569.50 UAH" in text for text in await read()] == [True]
    await hear(paid_shop, "success")
    assert ["took back 569.50 UAH" in text for text in await read()] == [True]
    await hear(paid_shop, ("success", "300.00"))
    assert ["took back 300.00 UAH" in text for text in await read()] == [True]
    await hear(paid_shop, "failure")
    assert await read() == []
    assert "The dispute over 300.00 UAH has turned in the store's favour: the bank has given back what it took." in {
        report.message for report in paid_shop.saleor.reports
    }


@pytest.mark.law(7)
async def test_saleor_offers_no_refund_of_what_is_disputed(paid_shop: Shop) -> None:
    await hear(paid_shop, "pending")
    assert paid_shop.transaction.actions == []
    await hear(paid_shop, "failure")
    assert paid_shop.transaction.actions == ["REFUND"]
    await hear(paid_shop, "success")
    assert paid_shop.transaction.actions == []


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("words", "found", "charged"),
    [
        (["success"], Decision(State.FAILURE, "Ann", "a letter of the bank"), "569.50"),
        (["failure"], Decision(State.SUCCESS, "Ann", "a letter of the bank"), "0.00"),
        (["success"], Decision(State.SUCCESS, "Ann", "a letter of the bank", Decimal("100.00")), "469.50"),
        ([("success", "100.00")], Decision(State.SUCCESS, "Ann", "a letter", Decimal("569.50")), "0.00"),
        (["success", "failure"], Decision(State.SUCCESS, "Ann", "a letter of the bank"), "0.00"),
    ],
)
async def test_staff_can_correct_a_dispute_that_has_ended(
    paid_shop: Shop, words: list[str | tuple[str, str]], found: Decision, charged: str
) -> None:
    await hear(paid_shop, *words)
    [row_id] = [
        operation.id for operation in (await paid_shop.aggregate()).operations if operation.kind is Kind.DISPUTE
    ]
    await settle(paid_shop.services, paid_shop.order_id, row_id, found)
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.amounts == amounts(charged=charged)
    # The bank's next word counts again.
    await hear(paid_shop, "init", "failure")
    assert paid_shop.amounts == amounts(charged="569.50")


@pytest.mark.law(7)
async def test_money_that_is_refunded_and_taken_by_the_bank_is_put_to_people(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "400.00", operation_id="ours")))
    await paid_shop.request_action("REFUND", "400.00", "one")
    await hear(paid_shop, "success")
    assert "400.00 UAH was or is being refunded, and the bank took 569.50 UAH" in (
        problem_text((await paid_shop.aggregate()).payment) or ""
    )
    assert {kind for kind, _ in await subjects(paid_shop)} == {AlertKind.DISPUTE, AlertKind.MISMATCH}


async def test_many_problems_at_once_have_room(paid_shop: Shop) -> None:
    """On PostgreSQL a column that is too short is an error, and the dispute would be retried for ever."""
    issue = issue_saying("Look at this.")

    def raise_all(aggregate: PaymentAggregate) -> None:
        for kind in AlertKind:
            raise_problem(aggregate, issue, paid_shop.clock.now, cause=Cause(kind, "x" * 100, gateway_id="x" * 100))

    await paid_shop.services.payments.record(ById(row_id_of((await paid_shop.aggregate()).payment)), Change(raise_all))
    assert kinds_of((await paid_shop.aggregate()).payment) == "+".join(sorted(AlertKind))


def paid_back_twice(refunded: str, disputed: str = "569.50") -> str:
    return (
        f"The payer gets more back than was charged: {refunded} UAH was or is being refunded, and the bank took "
        f"{disputed} UAH. Show the bank the refund, in the merchant portal."
    )


async def told_of_money_back(shop: Shop) -> list[str]:
    """What staff are told of the payment beside the lost dispute."""
    _, *more = (problem_text((await shop.aggregate()).payment) or "").splitlines()
    return more


@pytest.mark.law(7, 10)
class TestRefundUnderWayWhenTheBankTakesTheMoney:
    """Staff requested a refund in the same minute; how it ends decides whether the payer has it twice."""

    @pytest.fixture
    async def disputed(self, paid_shop: Shop) -> Shop:
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "100.00")
        await paid_shop.notify(dispute(paid_shop, "success"))
        await paid_shop.work()
        assert await told_of_money_back(paid_shop) == [paid_back_twice("100.00")]
        return paid_shop

    @pytest.mark.parametrize("status", ["failure", None], ids=["fails", "was never made"])
    async def test_that_fails_is_no_money_that_the_payer_has_twice(self, disputed: Shop, status: str | None) -> None:
        if status is not None:
            disputed.record_refund("100.00", "refund", status)
        await disputed.pass_time(hours=1)
        assert (await disputed.operation(Kind.REFUND)).state is State.FAILURE
        assert disputed.amounts == amounts(charged="0.00")
        assert await told_of_money_back(disputed) == []

    async def test_that_succeeds_is_told_once(self, disputed: Shop) -> None:
        disputed.record_refund("100.00", "refund")
        await disputed.pass_time(hours=1)
        assert disputed.amounts == amounts(charged="-100.00", refunded="100.00")
        assert await told_of_money_back(disputed) == [paid_back_twice("100.00")]

    async def test_one_more_in_the_portal_is_news_over_the_sum_that_is_true_now(self, disputed: Shop) -> None:
        disputed.record_refund("100.00", "refund")
        await disputed.pass_time(hours=1)
        assert await mark(disputed) != ()
        await disputed.notify(operation("refund", disputed.order_id, "50.00", operation_id="portal"))
        await disputed.pass_time(hours=1)
        assert problem_text((await disputed.aggregate()).payment) == paid_back_twice("150.00")
