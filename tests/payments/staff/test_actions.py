"""Staff ask at our own door, and Saleor hears of it (laws of money, 1, 3, 4, 10)."""

from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import select

from app.core import payment as core
from app.core.vocabulary import Flow, Kind, State
from app.flows.actions import answer_action_request
from app.flows.staff.actions import StaffRequest, possible_actions, request_action
from app.reports.timeline import timeline
from app.rules.balance import balance
from app.rules.refusal import RefusalError
from app.rules.split.choice import choose_next_refund_split
from app.store.aggregates import ByOrder
from app.store.tables import Operation
from integration_base_tests.loopback import ReceivedRequest, json_reply
from saleor_app_sdk.responses import AvailableAction
from tests.commands.conftest import one_database
from tests.payments.changes import Change
from tests.payments.fake_gateway import BROKEN, operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, action_event, run_concurrently
from tests.payments.split.market import SHARES, enable_splitting, recorded, split_checkout
from tests.payments.split.people import POTTER, SMITH

OLENA = "VXNlcjox"


def staff_request(kind: Kind, amount: str | None = None, key: str = "form-1", **more: Any) -> StaffRequest:
    return StaffRequest(kind, by=OLENA, key=key, amount=None if amount is None else Decimal(amount), **more)


async def ask(shop: Shop, kind: Kind, amount: str | None = None, key: str = "form-1", **more: Any) -> core.Operation:
    return (await request_action(shop.services, shop.order_id, staff_request(kind, amount, key, **more)))[1]


async def test_a_refund_is_told_to_saleor_with_the_word_that_staff_asked(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
    )
    done = await ask(paid_shop, Kind.REFUND, "100.00")
    assert (done.state, done.asked_by, done.asked_by_saleor) == (State.SUCCESS, OLENA, False)
    await paid_shop.work()
    assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]
    [success] = paid_shop.saleor.reports
    assert success.message is not None
    assert success.message.startswith("Requested by staff in the app: ")
    assert success.psp_reference == "refund-1"
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
    assert paid_shop.transaction.actions == ["REFUND"]


async def test_a_part_of_a_reservation_is_charged_and_the_rest_released(reserved_shop: Shop) -> None:
    reserved_shop.gateway.will_answer(json_reply(operation("capture", reserved_shop.order_id, "300.00")))
    await ask(reserved_shop, Kind.CAPTURE, "300.00")
    await reserved_shop.work()
    assert reserved_shop.saleor.reported_types == ["CHARGE_SUCCESS", "CANCEL_SUCCESS"]
    assert reserved_shop.amounts == amounts(charged="300.00", canceled="269.50")
    assert reserved_shop.transaction.actions == ["REFUND"]


async def test_a_reservation_is_released(reserved_shop: Shop) -> None:
    reserved_shop.gateway.will_answer(json_reply(operation("void", reserved_shop.order_id, TOTAL)))
    await ask(reserved_shop, Kind.VOID)
    await reserved_shop.work()
    assert reserved_shop.saleor.reported_types == ["CANCEL_SUCCESS"]
    assert reserved_shop.amounts == amounts(canceled=TOTAL)
    assert reserved_shop.transaction.actions == []


class TestTheReason:
    """Why somebody asks: the gateway keeps it (gateway interface, 3 to 6), and the timeline shows it."""

    @pytest.mark.parametrize("kind", [Kind.CAPTURE, Kind.VOID])
    async def test_of_what_becomes_of_a_reservation(self, reserved_shop: Shop, kind: Kind) -> None:
        amount = TOTAL if kind is Kind.CAPTURE else None
        reserved_shop.gateway.will_answer(json_reply(operation(kind.value, reserved_shop.order_id, TOTAL)))
        done = await ask(reserved_shop, kind, amount, reason=" Немає на складі ")
        assert reserved_shop.gateway.requests[-1].json["comment"] == done.request["comment"] == "Немає на складі"
        assert any("“Немає на складі”" in entry.words for entry in timeline(await reserved_shop.aggregate(), ()))

    async def test_of_a_refund(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        await ask(paid_shop, Kind.REFUND, "100.00", reason="too small " * 300)
        told = paid_shop.gateway.requests[-1].json["comment"]
        assert len(told) <= 2048
        assert told.startswith("too small too small")

    async def test_of_a_granted_refund_is_saleors(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        granted = {"id": "T3JkZXJHcmFudGVkUmVmdW5kOjE=", "reason": "broken on arrival"}
        await paid_shop.request_action("REFUND", "100.00", grantedRefund=granted, booked=False)
        assert paid_shop.gateway.requests[-1].json["comment"] == "broken on arrival"

    async def test_of_a_plain_refund_is_saleors(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        await paid_shop.request_action("REFUND", "100.00", reason="returned unopened", booked=False)
        assert paid_shop.gateway.requests[-1].json["comment"] == "returned unopened"
        assert any("“returned unopened”" in entry.words for entry in timeline(await paid_shop.aggregate(), ()))

    @pytest.mark.parametrize(
        ("model", "text", "comment"),
        [
            ("Damaged", "", "Damaged"),
            ("Damaged", "the lid", "Damaged: the lid"),
            (None, "the lid", "the lid"),
            ("Damaged", None, "Damaged"),
        ],
    )
    @pytest.mark.parametrize("granted", [False, True], ids=["plain", "granted"])
    async def test_may_be_chosen_from_those_of_the_store(
        self, paid_shop: Shop, model: str | None, text: str | None, comment: str, *, granted: bool
    ) -> None:
        """A store can have a list of reasons, as models: its Saleor asks staff to choose one, and text is optional."""
        chosen = None if model is None else {"title": model}
        event = action_event(paid_shop.transaction.id, "REFUND", "100.00", "one")
        request = event.transaction.events[0].model_dump() | {"message": "" if granted else text}
        grant = {"id": "T3JkZXJHcmFudGVkUmVmdW5kOjE=", "reason": text, "reasonReference": chosen}
        said = {"id": paid_shop.transaction.id, "events": [request | ({} if granted else {"reasonReference": chosen})]}
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        await paid_shop.request_action("REFUND", "100.00", transaction=said, grantedRefund=grant if granted else None)
        assert paid_shop.gateway.requests[-1].json["comment"] == comment

    @pytest.mark.law(4)
    async def test_of_two_refunds_asked_at_the_same_moment_each_keeps_its_own(self, paid_shop: Shop) -> None:
        event = action_event(paid_shop.transaction.id, "REFUND", "50.00", "one", reason="a scratch")
        request = event.transaction.events[0]
        second = request.model_copy(update={"id": "RXZlbnQ6Mg==", "idempotency_key": "two", "message": "a dent"})
        both = event.transaction.model_copy(update={"events": (request, second)})
        told = event.model_copy(update={"transaction": both})
        for name in ("refund-1", "refund-2"):
            paid_shop.gateway.will_answer(
                json_reply(operation("refund", paid_shop.order_id, "50.00", operation_id=name))
            )
            await answer_action_request(paid_shop.services, told, paid_shop.installation, digest=name)
        refunds = [operation for operation in (await paid_shop.aggregate()).operations if operation.kind is Kind.REFUND]
        assert {refund.idempotency_key: refund.request["comment"] for refund in refunds} == {
            "one": "a scratch",
            "two": "a dent",
        }

    async def test_without_one_nothing_is_said(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        done = await ask(paid_shop, Kind.REFUND, "100.00", reason="  ")
        assert "comment" not in paid_shop.gateway.requests[-1].json
        assert "comment" not in done.request

    async def test_a_card_number_in_it_goes_nowhere(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        done = await ask(paid_shop, Kind.REFUND, "100.00", reason="back to 4242 4242 4242 4242, please")
        assert done.state is State.SUCCESS
        assert "4242 4242" not in str(done.request) + str(paid_shop.gateway.requests[-1].json)


class TestAnUnpaidPage:
    async def test_is_closed(self, shop: Shop) -> None:
        shop.gateway.will_answer(
            shop.gateway.page(), json_reply([payment(shop.order_id, "failure", status_code="6007")])
        )
        await shop.begin()
        await shop.pass_time(seconds=25)
        await ask(shop, Kind.CANCEL)
        assert shop.gateway.calls == ["payment", "cancel"]
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["INFO", "CHARGE_FAILURE", "CANCEL_SUCCESS"]
        assert "Staff cancelled the payment in the app" in (shop.saleor.reports[1].message or "")
        assert shop.amounts == amounts()
        assert shop.transaction.actions == []

    async def test_stays_open_when_the_gateway_refuses(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page(), refusal_reply("Not now", "P-400"))
        await shop.begin()
        await shop.work()
        assert (await ask(shop, Kind.CANCEL)).state is State.FAILURE
        await shop.work()
        assert shop.saleor.reported_types[-1] == "CANCEL_FAILURE"
        assert shop.transaction.actions == ["CANCEL"]  # what the note took away is offered again

    async def test_is_not_released_as_a_reservation_when_the_shopper_was_quicker(self, shop: Shop) -> None:
        await shop.complete_payment("AUTHORIZATION")
        with pytest.raises(RefusalError, match=r"The shopper has paid in the meantime: 569\.50 UAH is authorized"):
            await ask(shop, Kind.CANCEL)
        assert shop.gateway.requests == []

    async def test_has_no_reservation_to_release(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        with pytest.raises(RefusalError, match="cancel the payment instead"):
            await ask(shop, Kind.VOID)
        assert shop.gateway.calls == ["payment"]


@pytest.mark.law(4)
class TestTheSameWish:
    async def test_twice_is_one_operation(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        first, second = await ask(paid_shop, Kind.REFUND, "100.00"), await ask(paid_shop, Kind.REFUND, "100.00")
        assert first.id == second.id
        assert paid_shop.gateway.calls == ["refund"]

    async def test_twice_at_once_is_one_operation(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        answers = await run_concurrently(*(ask(paid_shop, Kind.REFUND, "100.00") for _ in range(4)))
        assert len({answer.id for answer in answers}) == 1
        assert paid_shop.gateway.calls == ["refund"]
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")

    @pytest.mark.parametrize(
        "other", [staff_request(Kind.REFUND, "100.01"), staff_request(Kind.REFUND, "100.00", taken_from={})]
    )
    async def test_filled_in_otherwise_is_refused(self, paid_shop: Shop, other: StaffRequest) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        await ask(paid_shop, Kind.REFUND, "100.00")
        if other.amount == 100:
            assert (await request_action(paid_shop.services, paid_shop.order_id, other))[1].state is State.SUCCESS
        else:
            with pytest.raises(RefusalError, match="with different details"):
                await request_action(paid_shop.services, paid_shop.order_id, other)
        assert paid_shop.gateway.calls == ["refund"]

    async def test_for_another_kind_of_action_is_refused(self, reserved_shop: Shop) -> None:
        """The same form, sent once for a charge and once for a release."""
        reserved_shop.gateway.will_answer(json_reply(operation("capture", reserved_shop.order_id, TOTAL)))
        await ask(reserved_shop, Kind.CAPTURE, TOTAL)
        with pytest.raises(RefusalError, match="with different details"):
            await ask(reserved_shop, Kind.REFUND, TOTAL)
        assert reserved_shop.gateway.calls == ["capture"]

    async def test_that_was_refused_can_be_asked_again(self, paid_shop: Shop) -> None:
        """Nobody has booked the refusal: it was read, and what was wrong is corrected in the same form."""
        before = len((await paid_shop.aggregate()).operations)
        with pytest.raises(RefusalError, match="Refund at most"):
            await ask(paid_shop, Kind.REFUND, "569.51")
        assert len((await paid_shop.aggregate()).operations) == before
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, TOTAL)))
        assert (await ask(paid_shop, Kind.REFUND, TOTAL)).state is State.SUCCESS
        await paid_shop.work()
        assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]


@pytest.mark.law(1)
async def test_when_the_call_arrives_the_intent_is_in_the_database(paid_shop: Shop) -> None:
    seen: list[tuple[Kind, State, Decimal, str | None]] = []

    async def look_into_the_database(_: ReceivedRequest) -> None:
        async with paid_shop.services.database.transaction() as session:
            row = (await session.exec(select(Operation).where(Operation.idempotency_key == "staff:form-1"))).one()
        seen.append((row.kind, row.state, row.amount, row.asked_by))

    paid_shop.gateway.on_request = look_into_the_database
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "10.00")))
    await ask(paid_shop, Kind.REFUND, "10.00")
    assert seen == [(Kind.REFUND, State.INTENT, Decimal("10.00"), OLENA)]


class TestWithSaleor:
    @pytest.mark.law(3, 10)
    async def test_one_waits_for_the_other_and_each_counts_once(self, paid_shop: Shop) -> None:
        """A refund that was reported is not the one that Saleor has asked for, whatever their amounts."""
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "100.00", "pending", operation_id="refund-1"))
        )
        assert (await paid_shop.request_action("REFUND", "100.00")).result is None
        ours = await ask(paid_shop, Kind.REFUND, "100.00")
        assert ours.state is State.WAITING
        assert paid_shop.gateway.calls == ["refund"]
        await paid_shop.work()
        assert paid_shop.saleor.reports[-1].available_actions == (AvailableAction.REFUND,)
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-2"))
        )
        await paid_shop.notify(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund", "refund"]
        assert paid_shop.saleor.reported_types.count("REFUND_SUCCESS") == 2
        assert paid_shop.amounts == amounts(charged="369.50", refunded="200.00")

    async def test_saleor_waits_for_ours(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "100.00", "pending", operation_id="refund-1"))
        )
        await ask(paid_shop, Kind.REFUND, "100.00")
        assert (await paid_shop.request_action("REFUND", "469.51", "too much")).result == "REFUND_FAILURE"
        assert (await paid_shop.request_action("REFUND", "469.50", "the rest")).result is None
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "469.50", operation_id="refund-2"))
        )
        await paid_shop.notify(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.amounts == amounts(refunded=TOTAL)

    @pytest.mark.law(10)
    async def test_what_is_being_done_is_not_offered_there(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, TOTAL, "pending", operation_id="capture-1"))
        )
        await ask(reserved_shop, Kind.CAPTURE, TOTAL)
        await reserved_shop.work()
        assert reserved_shop.transaction.actions == []
        await reserved_shop.notify(
            operation("capture", reserved_shop.order_id, TOTAL, "failure", operation_id="capture-1")
        )
        await reserved_shop.work()
        assert reserved_shop.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]
        assert reserved_shop.amounts == amounts(authorized=TOTAL)
        assert reserved_shop.transaction.actions == ["CANCEL", "CHARGE"]


@pytest.mark.law(2)
async def test_an_outcome_that_is_not_known_is_found_and_told_once(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(BROKEN)
    assert (await ask(paid_shop, Kind.REFUND, "100.00")).state is State.UNKNOWN
    paid_shop.record_refund("100.00", "refund-1")
    await paid_shop.pass_time(minutes=20)
    assert paid_shop.gateway.calls == ["refund"]
    assert paid_shop.saleor.reported_types == ["INFO", "REFUND_SUCCESS"]
    assert paid_shop.saleor.reports[0].message == "Staff requested in the app to refund 100.00 UAH"
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


class TestAMarketplace:
    async def test_the_refund_is_taken_from_whom_the_form_says(self, shop: Shop) -> None:
        await enable_splitting(shop)
        await shop.complete_payment(sourceObject=split_checkout())
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "50.50")))
        await ask(shop, Kind.REFUND, taken_from={POTTER: Decimal(40), SMITH: Decimal("10.50")})
        assert await recorded(shop, Kind.REFUND) == {POTTER: Decimal("40.00"), SMITH: Decimal("10.50")}
        assert shop.gateway.requests[-1].json["refund_amount"] == Decimal("50.50")

    async def test_the_same_form_again_is_the_same_refund_and_another_choice_is_another(self, shop: Shop) -> None:
        await enable_splitting(shop)
        await shop.complete_payment(sourceObject=split_checkout())
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "50.50")))
        taken = {POTTER: Decimal(40), SMITH: Decimal("10.50")}
        first, second = [await ask(shop, Kind.REFUND, taken_from=taken) for _ in range(2)]
        assert first.id == second.id
        with pytest.raises(RefusalError, match="with different details"):
            await ask(shop, Kind.REFUND, taken_from={POTTER: Decimal("50.50")})
        assert shop.gateway.calls == ["refund"]

    async def test_a_choice_that_was_made_before_serves_one_refund_however_often_its_form_is_sent(
        self, shop: Shop
    ) -> None:
        """The form says nothing of the choice, which the refund has used up."""
        await enable_splitting(shop)
        await shop.complete_payment(sourceObject=split_checkout())
        await shop.services.payments.record(
            ByOrder(shop.order_id),
            Change(lambda payment: choose_next_refund_split(payment, {POTTER: Decimal("50.50")}, shop.clock.now)),
        )
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "50.50")))
        first, second = await ask(shop, Kind.REFUND, "50.50"), await ask(shop, Kind.REFUND, "50.50")
        assert first.id == second.id
        assert await recorded(shop, Kind.REFUND) == {POTTER: Decimal("50.50")}
        assert shop.gateway.calls == ["refund"]

    async def test_else_from_everybody(self, shop: Shop) -> None:
        await enable_splitting(shop)
        await shop.complete_payment(sourceObject=split_checkout())
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, TOTAL)))
        await ask(shop, Kind.REFUND, TOTAL)
        assert await recorded(shop, Kind.REFUND) == SHARES

    @one_database
    @pytest.mark.parametrize(
        ("amount", "taken_from", "words"),
        [
            ("50.00", {POTTER: "40.00"}, "enter the same sum"),
            (None, {POTTER: "300.01"}, "300.00 UAH is left"),
            (None, {"nobody": "1.00"}, "not a sub-merchant"),
            (None, {POTTER: "1.001"}, "two decimal places"),
            (None, {}, "Enter how much"),
        ],
    )
    async def test_what_cannot_be_is_refused(
        self, shop: Shop, amount: str | None, taken_from: dict[str, str], words: str
    ) -> None:
        await enable_splitting(shop)
        await shop.complete_payment(sourceObject=split_checkout())
        parts = {who: Decimal(part) for who, part in taken_from.items()}
        with pytest.raises(RefusalError, match=words):
            await ask(shop, Kind.REFUND, amount, taken_from=parts)
        assert shop.gateway.requests == []
        assert (await ask_and_see(shop)) == {Kind.REFUND: Decimal(TOTAL)}


async def ask_and_see(shop: Shop) -> dict[Kind, Decimal]:
    """Return what is possible, and how much of it."""
    aggregate = await shop.aggregate()
    now = balance(aggregate.payment.flow, aggregate.operations)
    return {kind: step.amount for kind, step in possible_actions(now).items()}


@pytest.mark.law(14)
@one_database
@pytest.mark.parametrize("amount", ["0", "-1.00", "1.001", None])
async def test_what_is_no_amount_of_money_is_refused(paid_shop: Shop, amount: str | None) -> None:
    with pytest.raises(RefusalError):
        await ask(paid_shop, Kind.REFUND, amount)
    assert paid_shop.gateway.requests == []


@one_database
async def test_a_payment_of_another_store_is_not_found(paid_shop: Shop) -> None:
    with pytest.raises(RefusalError, match="no such payment"):
        await request_action(
            paid_shop.services, paid_shop.order_id, staff_request(Kind.REFUND, "1.00"), installation_id=4711
        )
    assert paid_shop.gateway.requests == []


@one_database
async def test_exactly_what_saleor_is_told_is_possible(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow=Flow.AUTHORIZATION.value)
    assert await ask_and_see(shop) == {Kind.CANCEL: Decimal("0.00")}
    await shop.notify(payment(shop.order_id, method="auth"))
    await shop.work()
    assert await ask_and_see(shop) == {Kind.CAPTURE: Decimal(TOTAL), Kind.VOID: Decimal(TOTAL)}
    shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, "300.00")))
    await ask(shop, Kind.CAPTURE, "300.00")
    assert await ask_and_see(shop) == {Kind.REFUND: Decimal("300.00")}
