"""Staff ask at our own door, and Saleor hears of it (laws of money, 1, 3, 4, 10)."""

from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import select

from app.db.aggregates import ByOrder
from app.db.tables import Flow, Kind, Operation, State
from app.payments.core.balance import balance
from app.payments.core.refusal import RefusalError
from app.payments.operations.actions import requested
from app.payments.split.choice import choose
from app.payments.staff.actions import StaffRequest, ask_for, possible
from app.payments.staff.timeline import timeline
from app.saleor.answers import AvailableAction
from tests.commands.conftest import one_database
from tests.loopback import Heard, said
from tests.payments.fake_gateway import BROKEN, operation, payment, refused
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, action_event, at_once
from tests.payments.split.market import SHARES, becomes_a_market, bought, recorded
from tests.payments.split.people import POTTER, SMITH

OLENA = "VXNlcjox"


def staff_request(kind: Kind, amount: str | None = None, key: str = "form-1", **more: Any) -> StaffRequest:
    return StaffRequest(kind, by=OLENA, key=key, amount=None if amount is None else Decimal(amount), **more)


async def ask(shop: Shop, kind: Kind, amount: str | None = None, key: str = "form-1", **more: Any) -> Operation:
    return (await ask_for(shop.services, shop.order_id, staff_request(kind, amount, key, **more)))[1]


async def test_a_refund_is_told_to_saleor_with_the_word_that_staff_asked(paid: Shop) -> None:
    paid.gateway.will(said(operation("refund", paid.order_id, "100.00", named="refund-1")))
    done = await ask(paid, Kind.REFUND, "100.00")
    assert (done.state, done.asked_by, done.asked_by_saleor) == (State.SUCCESS, OLENA, False)
    await paid.work()
    assert paid.saleor.told == ["REFUND_SUCCESS"]
    [success] = paid.saleor.reports
    assert success.message is not None
    assert success.message.startswith("Asked by staff in the app: ")
    assert success.psp_reference == "refund-1"
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")
    assert paid.transaction.actions == ["REFUND"]


async def test_a_part_of_a_reservation_is_charged_and_the_rest_released(reserved: Shop) -> None:
    reserved.gateway.will(said(operation("capture", reserved.order_id, "300.00")))
    await ask(reserved, Kind.CAPTURE, "300.00")
    await reserved.work()
    assert reserved.saleor.told == ["CHARGE_SUCCESS", "CANCEL_SUCCESS"]
    assert reserved.amounts == amounts(charged="300.00", canceled="269.50")
    assert reserved.transaction.actions == ["REFUND"]


async def test_a_reservation_is_released(reserved: Shop) -> None:
    reserved.gateway.will(said(operation("void", reserved.order_id, TOTAL)))
    await ask(reserved, Kind.VOID)
    await reserved.work()
    assert reserved.saleor.told == ["CANCEL_SUCCESS"]
    assert reserved.amounts == amounts(canceled=TOTAL)
    assert reserved.transaction.actions == []


class TestTheReason:
    """Why somebody asks: the gateway keeps it (gateway interface, 3 to 6), and the timeline shows it."""

    @pytest.mark.parametrize("kind", [Kind.CAPTURE, Kind.VOID])
    async def test_of_what_becomes_of_a_reservation(self, reserved: Shop, kind: Kind) -> None:
        amount = TOTAL if kind is Kind.CAPTURE else None
        reserved.gateway.will(said(operation(kind.value, reserved.order_id, TOTAL)))
        done = await ask(reserved, kind, amount, reason=" Немає на складі ")
        assert reserved.gateway.heard[-1].json["comment"] == done.request["comment"] == "Немає на складі"
        assert any("“Немає на складі”" in each.words for each in timeline(await reserved.aggregate(), ()))

    async def test_of_a_refund(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        await ask(paid, Kind.REFUND, "100.00", reason="too small " * 300)
        told = paid.gateway.heard[-1].json["comment"]
        assert len(told) <= 2048
        assert told.startswith("too small too small")

    async def test_of_a_granted_refund_is_saleors(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        granted = {"id": "T3JkZXJHcmFudGVkUmVmdW5kOjE=", "reason": "broken on arrival"}
        await paid.staff("REFUND", "100.00", grantedRefund=granted, booked=False)
        assert paid.gateway.heard[-1].json["comment"] == "broken on arrival"

    async def test_of_a_plain_refund_is_saleors(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        await paid.staff("REFUND", "100.00", reason="returned unopened", booked=False)
        assert paid.gateway.heard[-1].json["comment"] == "returned unopened"
        assert any("“returned unopened”" in each.words for each in timeline(await paid.aggregate(), ()))

    @pytest.mark.law(4)
    async def test_of_two_refunds_asked_at_the_same_moment_each_keeps_its_own(self, paid: Shop) -> None:
        event = action_event(paid.transaction.id, "REFUND", "50.00", "one", reason="a scratch")
        request = event.transaction.events[0]
        second = request.model_copy(update={"id": "RXZlbnQ6Mg==", "idempotency_key": "two", "message": "a dent"})
        both = event.transaction.model_copy(update={"events": (request, second)})
        told = event.model_copy(update={"transaction": both})
        for name in ("refund-1", "refund-2"):
            paid.gateway.will(said(operation("refund", paid.order_id, "50.00", named=name)))
            await requested(paid.services, told, paid.installation, digest=name)
        refunds = [each for each in (await paid.aggregate()).operations if each.kind is Kind.REFUND]
        assert {each.idempotency_key: each.request["comment"] for each in refunds} == {
            "one": "a scratch",
            "two": "a dent",
        }

    async def test_without_one_nothing_is_said(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        done = await ask(paid, Kind.REFUND, "100.00", reason="  ")
        assert "comment" not in paid.gateway.heard[-1].json
        assert "comment" not in done.request

    async def test_a_card_number_in_it_goes_nowhere(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        done = await ask(paid, Kind.REFUND, "100.00", reason="back to 4242 4242 4242 4242, please")
        assert done.state is State.SUCCESS
        assert "4242" not in str(done.request) + str(paid.gateway.heard[-1].json)


class TestAnUnpaidPage:
    async def test_is_closed(self, shop: Shop) -> None:
        shop.gateway.will(shop.gateway.page(), said([payment(shop.order_id, "failure", status_code="6007")]))
        await shop.begin()
        await shop.later(seconds=25)
        await ask(shop, Kind.CANCEL)
        assert shop.gateway.calls == ["payment", "cancel"]
        await shop.later(minutes=1)
        assert shop.saleor.told == ["INFO", "CHARGE_FAILURE", "CANCEL_SUCCESS"]
        assert "Staff cancelled the payment in the app" in (shop.saleor.reports[1].message or "")
        assert shop.amounts == amounts()
        assert shop.transaction.actions == []

    async def test_stays_open_when_the_gateway_refuses(self, shop: Shop) -> None:
        shop.gateway.will(shop.gateway.page(), refused("Not now", "P-400"))
        await shop.begin()
        await shop.work()
        assert (await ask(shop, Kind.CANCEL)).state is State.FAILURE
        await shop.work()
        assert shop.saleor.told[-1] == "CANCEL_FAILURE"
        assert shop.transaction.actions == ["CANCEL"]  # what the note took away is offered again

    async def test_is_not_released_as_a_reservation_when_the_shopper_was_quicker(self, shop: Shop) -> None:
        await shop.paid("AUTHORIZATION")
        with pytest.raises(RefusalError, match=r"The shopper has paid meanwhile: 569\.50 UAH is reserved"):
            await ask(shop, Kind.CANCEL)
        assert shop.gateway.heard == []

    async def test_has_no_reservation_to_release(self, shop: Shop) -> None:
        shop.gateway.will(shop.gateway.page())
        await shop.begin()
        with pytest.raises(RefusalError, match="cancel the payment instead"):
            await ask(shop, Kind.VOID)
        assert shop.gateway.calls == ["payment"]


@pytest.mark.law(4)
class TestTheSameWish:
    async def test_twice_is_one_operation(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        first, second = await ask(paid, Kind.REFUND, "100.00"), await ask(paid, Kind.REFUND, "100.00")
        assert first.id == second.id
        assert paid.gateway.calls == ["refund"]

    async def test_twice_at_once_is_one_operation(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        answers = await at_once(*(ask(paid, Kind.REFUND, "100.00") for _ in range(4)))
        assert len({each.id for each in answers}) == 1
        assert paid.gateway.calls == ["refund"]
        await paid.later(minutes=1)
        assert paid.amounts == amounts(charged="469.50", refunded="100.00")

    @pytest.mark.parametrize(
        "other", [staff_request(Kind.REFUND, "100.01"), staff_request(Kind.REFUND, "100.00", taken_from={})]
    )
    async def test_filled_in_otherwise_is_refused(self, paid: Shop, other: StaffRequest) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        await ask(paid, Kind.REFUND, "100.00")
        if other.amount == 100:
            assert (await ask_for(paid.services, paid.order_id, other))[1].state is State.SUCCESS
        else:
            with pytest.raises(RefusalError, match="asked for something else"):
                await ask_for(paid.services, paid.order_id, other)
        assert paid.gateway.calls == ["refund"]

    async def test_for_another_kind_of_action_is_refused(self, reserved: Shop) -> None:
        """The same form, sent once for a charge and once for a release."""
        reserved.gateway.will(said(operation("capture", reserved.order_id, TOTAL)))
        await ask(reserved, Kind.CAPTURE, TOTAL)
        with pytest.raises(RefusalError, match="asked for something else"):
            await ask(reserved, Kind.REFUND, TOTAL)
        assert reserved.gateway.calls == ["capture"]

    async def test_that_was_refused_can_be_asked_again(self, paid: Shop) -> None:
        """Nobody has booked the refusal: it was read, and what was wrong is corrected in the same form."""
        before = len((await paid.aggregate()).operations)
        with pytest.raises(RefusalError, match="Refund at most"):
            await ask(paid, Kind.REFUND, "569.51")
        assert len((await paid.aggregate()).operations) == before
        paid.gateway.will(said(operation("refund", paid.order_id, TOTAL)))
        assert (await ask(paid, Kind.REFUND, TOTAL)).state is State.SUCCESS
        await paid.work()
        assert paid.saleor.told == ["REFUND_SUCCESS"]


@pytest.mark.law(1)
async def test_when_the_call_arrives_the_intent_is_in_the_database(paid: Shop) -> None:
    seen: list[tuple[Kind, State, Decimal, str | None]] = []

    async def look_into_the_database(_: Heard) -> None:
        async with paid.services.database.transaction() as session:
            row = (await session.exec(select(Operation).where(Operation.idempotency_key == "staff:form-1"))).one()
        seen.append((row.kind, row.state, row.amount, row.asked_by))

    paid.gateway.on_arrival = look_into_the_database
    paid.gateway.will(said(operation("refund", paid.order_id, "10.00")))
    await ask(paid, Kind.REFUND, "10.00")
    assert seen == [(Kind.REFUND, State.INTENT, Decimal("10.00"), OLENA)]


class TestWithSaleor:
    @pytest.mark.law(3, 10)
    async def test_one_waits_for_the_other_and_each_counts_once(self, paid: Shop) -> None:
        """A refund that was reported is not the one that Saleor has asked for, whatever their amounts."""
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00", "pending", named="refund-1")))
        assert (await paid.staff("REFUND", "100.00")).result is None
        ours = await ask(paid, Kind.REFUND, "100.00")
        assert ours.state is State.WAITING
        assert paid.gateway.calls == ["refund"]
        await paid.work()
        assert paid.saleor.reports[-1].available_actions == (AvailableAction.REFUND,)
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00", named="refund-2")))
        await paid.notify(operation("refund", paid.order_id, "100.00", named="refund-1"))
        await paid.later(minutes=1)
        assert paid.gateway.calls == ["refund", "refund"]
        assert paid.saleor.told.count("REFUND_SUCCESS") == 2
        assert paid.amounts == amounts(charged="369.50", refunded="200.00")

    async def test_saleor_waits_for_ours(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00", "pending", named="refund-1")))
        await ask(paid, Kind.REFUND, "100.00")
        assert (await paid.staff("REFUND", "469.51", "too much")).result == "REFUND_FAILURE"
        assert (await paid.staff("REFUND", "469.50", "the rest")).result is None
        paid.gateway.will(said(operation("refund", paid.order_id, "469.50", named="refund-2")))
        await paid.notify(operation("refund", paid.order_id, "100.00", named="refund-1"))
        await paid.later(minutes=1)
        assert paid.amounts == amounts(refunded=TOTAL)

    @pytest.mark.law(10)
    async def test_what_is_being_done_is_not_offered_there(self, reserved: Shop) -> None:
        reserved.gateway.will(said(operation("capture", reserved.order_id, TOTAL, "pending", named="capture-1")))
        await ask(reserved, Kind.CAPTURE, TOTAL)
        await reserved.work()
        assert reserved.transaction.actions == []
        await reserved.notify(operation("capture", reserved.order_id, TOTAL, "failure", named="capture-1"))
        await reserved.work()
        assert reserved.saleor.told == ["INFO", "CHARGE_FAILURE"]
        assert reserved.amounts == amounts(authorized=TOTAL)
        assert reserved.transaction.actions == ["CANCEL", "CHARGE"]


@pytest.mark.law(2)
async def test_an_outcome_that_is_not_known_is_found_and_told_once(paid: Shop) -> None:
    paid.gateway.will(BROKEN)
    assert (await ask(paid, Kind.REFUND, "100.00")).state is State.UNKNOWN
    paid.refunded("100.00", "refund-1")
    await paid.later(minutes=20)
    assert paid.gateway.calls == ["refund"]
    assert paid.saleor.told == ["INFO", "REFUND_SUCCESS"]
    assert paid.saleor.reports[0].message == "Staff asked in the app to refund 100.00 UAH"
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")


class TestAMarketplace:
    async def test_the_refund_is_taken_from_whom_the_form_says(self, shop: Shop) -> None:
        await becomes_a_market(shop)
        await shop.paid(sourceObject=bought())
        shop.gateway.will(said(operation("refund", shop.order_id, "50.50")))
        await ask(shop, Kind.REFUND, taken_from={POTTER: Decimal(40), SMITH: Decimal("10.50")})
        assert await recorded(shop, Kind.REFUND) == {POTTER: Decimal("40.00"), SMITH: Decimal("10.50")}
        assert shop.gateway.heard[-1].json["refund_amount"] == Decimal("50.50")

    async def test_the_same_form_again_is_the_same_refund_and_another_choice_is_another(self, shop: Shop) -> None:
        await becomes_a_market(shop)
        await shop.paid(sourceObject=bought())
        shop.gateway.will(said(operation("refund", shop.order_id, "50.50")))
        taken = {POTTER: Decimal(40), SMITH: Decimal("10.50")}
        first, second = [await ask(shop, Kind.REFUND, taken_from=taken) for _ in range(2)]
        assert first.id == second.id
        with pytest.raises(RefusalError, match="asked for something else"):
            await ask(shop, Kind.REFUND, taken_from={POTTER: Decimal("50.50")})
        assert shop.gateway.calls == ["refund"]

    async def test_a_choice_that_was_made_before_serves_one_refund_however_often_its_form_is_sent(
        self, shop: Shop
    ) -> None:
        """The form says nothing of the choice, which the refund has used up."""
        await becomes_a_market(shop)
        await shop.paid(sourceObject=bought())
        await shop.services.payments.update(
            ByOrder(shop.order_id), lambda payment: choose(payment, {POTTER: Decimal("50.50")}, shop.clock.now)
        )
        shop.gateway.will(said(operation("refund", shop.order_id, "50.50")))
        first, second = await ask(shop, Kind.REFUND, "50.50"), await ask(shop, Kind.REFUND, "50.50")
        assert first.id == second.id
        assert await recorded(shop, Kind.REFUND) == {POTTER: Decimal("50.50")}
        assert shop.gateway.calls == ["refund"]

    async def test_else_from_everybody(self, shop: Shop) -> None:
        await becomes_a_market(shop)
        await shop.paid(sourceObject=bought())
        shop.gateway.will(said(operation("refund", shop.order_id, TOTAL)))
        await ask(shop, Kind.REFUND, TOTAL)
        assert await recorded(shop, Kind.REFUND) == SHARES

    @one_database
    @pytest.mark.parametrize(
        ("amount", "taken_from", "words"),
        [
            ("50.00", {POTTER: "40.00"}, "say the same sum"),
            (None, {POTTER: "300.01"}, "300.00 UAH is left"),
            (None, {"nobody": "1.00"}, "not a sub-merchant"),
            (None, {POTTER: "1.001"}, "two decimals"),
            (None, {}, "Say how much"),
        ],
    )
    async def test_what_cannot_be_is_refused(
        self, shop: Shop, amount: str | None, taken_from: dict[str, str], words: str
    ) -> None:
        await becomes_a_market(shop)
        await shop.paid(sourceObject=bought())
        parts = {who: Decimal(part) for who, part in taken_from.items()}
        with pytest.raises(RefusalError, match=words):
            await ask(shop, Kind.REFUND, amount, taken_from=parts)
        assert shop.gateway.heard == []
        assert (await ask_and_see(shop)) == {Kind.REFUND: Decimal(TOTAL)}


async def ask_and_see(shop: Shop) -> dict[Kind, Decimal]:
    """Return what is possible, and how much of it."""
    aggregate = await shop.aggregate()
    now = balance(aggregate.payment.flow, aggregate.operations)
    return {kind: step.amount for kind, step in possible(now).items()}


@pytest.mark.law(14)
@one_database
@pytest.mark.parametrize("amount", ["0", "-1.00", "1.001", None])
async def test_what_is_no_amount_of_money_is_refused(paid: Shop, amount: str | None) -> None:
    with pytest.raises(RefusalError):
        await ask(paid, Kind.REFUND, amount)
    assert paid.gateway.heard == []


@one_database
async def test_a_payment_of_another_store_is_not_found(paid: Shop) -> None:
    with pytest.raises(RefusalError, match="no such payment"):
        await ask_for(paid.services, paid.order_id, staff_request(Kind.REFUND, "1.00"), installation_id=4711)
    assert paid.gateway.heard == []


@one_database
async def test_exactly_what_saleor_is_told_is_possible(shop: Shop) -> None:
    shop.gateway.will(shop.gateway.page())
    await shop.begin(flow=Flow.AUTHORIZATION.value)
    assert await ask_and_see(shop) == {Kind.CANCEL: Decimal("0.00")}
    await shop.notify(payment(shop.order_id, method="auth"))
    await shop.work()
    assert await ask_and_see(shop) == {Kind.CAPTURE: Decimal(TOTAL), Kind.VOID: Decimal(TOTAL)}
    shop.gateway.will(said(operation("capture", shop.order_id, "300.00")))
    await ask(shop, Kind.CAPTURE, "300.00")
    assert await ask_and_see(shop) == {Kind.REFUND: Decimal("300.00")}
