"""Staff settle by hand what the gateway's own record does not settle, with name and reason (laws of money, 7, 8)."""

from decimal import Decimal

import pytest

from app.core.alerts import AlertKind
from app.core.ids import OperationRowId
from app.core.payment import PaymentAggregate
from app.core.vocabulary import EventState, Kind, State
from app.flows.on_demand import look_up_now
from app.flows.staff.manual_resolution import Decision, settle
from app.rules.decisions.manual_resolution import ProblemsReviewed
from app.rules.problems import problem_text
from app.rules.refusal import RefusalError
from app.store.aggregates import ByOrder
from integration_base_tests.loopback import HangUp, json_reply
from saleor_app_sdk.errors import SaleorUnreachableError
from tests.payments.alert_cases import subjects
from tests.payments.changes import Change
from tests.payments.fake_gateway import operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop


async def by_hand(shop: Shop, state: State, amount: str | None = None, row_id: OperationRowId | None = None) -> None:
    """Olena has looked into the merchant portal."""
    decision = Decision(state, "olena", "seen in the portal", None if amount is None else Decimal(amount))
    await settle(shop.services, shop.order_id, row_id, decision)


@pytest.fixture
async def stuck(paid_shop: Shop) -> Shop:
    """A refund of 30.00 of which the gateway says that it was of 35.00; another one of 1.00 waits for its end."""
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "30.00", "pending", operation_id="refund-1"))
    )
    await paid_shop.request_action("REFUND", "30.00", "first")
    await paid_shop.request_action("REFUND", "1.00", "second")
    await paid_shop.notify(operation("refund", paid_shop.order_id, "35.00", operation_id="refund-1"))
    await paid_shop.pass_time(minutes=1)
    assert "35.00 UAH, but 30.00 UAH was requested" in (problem_text((await paid_shop.aggregate()).payment) or "")
    assert paid_shop.saleor.reported_types == ["INFO"]
    return paid_shop


async def test_what_was_found_out_is_told_and_what_waited_goes_on(stuck: Shop) -> None:
    stuck.gateway.will_answer(json_reply(operation("refund", stuck.order_id, "1.00", operation_id="refund-2")))
    await by_hand(stuck, State.SUCCESS)
    await stuck.work()
    assert stuck.amounts == amounts(charged="538.50", refunded="31.00")
    assert stuck.saleor.reports[1].message == "Settled by olena: seen in the portal"
    assert problem_text((await stuck.aggregate()).payment) is None
    decision = (await stuck.operation(Kind.REFUND)).decision
    assert decision is not None
    assert decision | {"at": None} == {
        "state": "success", "amount": "30.00", "by": "olena", "reason": "seen in the portal", "at": None,
    }  # fmt: skip


async def test_the_record_that_staff_have_judged_is_no_problem_again(stuck: Shop) -> None:
    stuck.gateway.will_answer(json_reply(operation("refund", stuck.order_id, "1.00", operation_id="refund-2")))
    await by_hand(stuck, State.SUCCESS)
    await stuck.work()
    assert await look_up_now(stuck.services, stuck.order_id) is None
    assert problem_text((await stuck.aggregate()).payment) is None


@pytest.mark.threat("dishonest-staff")
async def test_less_than_asked_can_have_been_refunded_and_never_more(stuck: Shop) -> None:
    with pytest.raises(RefusalError, match=r"30\.00 was requested, so it cannot be 35\.00"):
        await by_hand(stuck, State.SUCCESS, "35.00")
    for wrong in ("0.00", "-1.00", "1.001"):
        with pytest.raises(RefusalError, match="is not a valid amount"):
            await by_hand(stuck, State.SUCCESS, wrong)
    assert problem_text((await stuck.aggregate()).payment)
    stuck.gateway.will_answer(json_reply(operation("refund", stuck.order_id, "1.00", operation_id="refund-2")))
    await by_hand(stuck, State.SUCCESS, "20.00")
    await stuck.work()
    assert stuck.amounts.refunded == Decimal("21.00")


async def test_what_has_failed_can_be_asked_again(stuck: Shop) -> None:
    stuck.gateway.will_answer(json_reply(operation("refund", stuck.order_id, "1.00", operation_id="refund-2")))
    await by_hand(stuck, State.FAILURE)
    await stuck.work()
    assert stuck.amounts == amounts(charged="568.50", refunded="1.00")
    stuck.gateway.will_answer(json_reply(operation("refund", stuck.order_id, "568.50", operation_id="refund-3")))
    answer = await stuck.request_action("REFUND", "568.50", "third")
    assert answer.result == "REFUND_SUCCESS"


async def test_a_success_is_never_taken_back(paid_shop: Shop) -> None:
    create = await paid_shop.operation(Kind.CREATE)
    for state, amount in ((State.FAILURE, None), (State.SUCCESS, "1.00")):
        with pytest.raises(RefusalError, match="It has succeeded"):
            await by_hand(paid_shop, state, amount, create.id)
    await by_hand(paid_shop, State.SUCCESS, None, create.id)  # to say that it is right changes nothing
    await paid_shop.work()
    assert paid_shop.saleor.reported_types == []


class TestRefundThatCameBack:
    """A bank returns a refund days later: the card was replaced, the account is closed."""

    @pytest.fixture
    async def returned(self, paid_shop: Shop) -> Shop:
        """A refund of everything that the gateway now reports as failed."""
        refunded = operation("refund", paid_shop.order_id, TOTAL, operation_id="refund-1")
        paid_shop.gateway.will_answer(json_reply(refunded))
        await paid_shop.request_action("REFUND", TOTAL, "first")
        await paid_shop.pass_time(minutes=1)
        await paid_shop.notify(refunded | {"status": "failure"})
        await paid_shop.work()
        assert paid_shop.amounts == amounts(refunded=TOTAL)
        assert await subjects(paid_shop) == [(AlertKind.MISMATCH, 1)]
        return paid_shop

    async def test_is_taken_back_and_can_be_made_again(self, returned: Shop) -> None:
        await by_hand(returned, State.FAILURE)
        await returned.work()
        assert returned.amounts == amounts(charged=TOTAL)
        assert returned.saleor.reported_types[-2:] == ["REFUND_REVERSE", "REFUND_FAILURE"]
        assert returned.transaction.actions == ["REFUND"]
        assert await subjects(returned) == []
        returned.gateway.will_answer(json_reply(operation("refund", returned.order_id, TOTAL, operation_id="refund-2")))
        answer = await returned.request_action("REFUND", TOTAL, "second")
        assert answer.result == "REFUND_SUCCESS"
        await returned.pass_time(minutes=1)
        assert returned.amounts == amounts(refunded=TOTAL)

    async def test_is_taken_back_although_it_was_reviewed(self, returned: Shop) -> None:
        context = returned.services.decision_context()
        await returned.services.payments.record(ByOrder(returned.order_id), ProblemsReviewed(context))
        refund = await returned.operation(Kind.REFUND)
        assert not refund.contradicted
        await by_hand(returned, State.FAILURE, None, refund.id)
        await returned.work()
        assert returned.amounts == amounts(charged=TOTAL)

    async def test_counts_for_no_day_any_more(self, returned: Shop) -> None:
        assert (await returned.operation(Kind.REFUND)).booked_at is not None
        await by_hand(returned, State.FAILURE)
        assert (await returned.operation(Kind.REFUND)).booked_at is None

    async def test_is_carried_out_after_all(self, returned: Shop) -> None:
        """Saleor would drop a second success under the reference of the first."""
        await by_hand(returned, State.FAILURE)
        await returned.work()
        again = operation(
            "refund", returned.order_id, TOTAL, operation_id="refund-1", processed_at="2026-12-01T12:00:00"
        )
        await returned.notify(again)
        await returned.pass_time(minutes=1)
        assert returned.amounts == amounts(refunded=TOTAL)

    async def test_is_taken_back_although_saleor_has_not_heard_of_it_yet(self, paid_shop: Shop) -> None:
        refunded = operation("refund", paid_shop.order_id, "30.00", operation_id="refund-1")
        paid_shop.saleor.failures.extend([SaleorUnreachableError("down")] * 3)
        await paid_shop.notify(refunded)
        await paid_shop.notify(refunded | {"status": "failure"})
        await paid_shop.work()
        assert paid_shop.amounts == amounts(charged=TOTAL)
        await by_hand(paid_shop, State.FAILURE)
        await paid_shop.pass_time(hours=1)
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert EventState.WAITING not in {event.state for event in (await paid_shop.aggregate()).events}

    async def test_which_is_not_in_doubt_is_not_taken_back(self, paid_shop: Shop) -> None:
        paid_shop.record_refund("30.00", "refund-1")
        await look_up_now(paid_shop.services, paid_shop.order_id)
        refund = await paid_shop.operation(Kind.REFUND)
        with pytest.raises(RefusalError, match="It has succeeded"):
            await by_hand(paid_shop, State.FAILURE, None, refund.id)


class TestChargeThatTheBankTookBack:
    """A payment by bank transfer is reported as paid, and days later as failed: the money is gone."""

    @pytest.fixture
    async def reversed_charge(self, paid_shop: Shop) -> Shop:
        """The payment of everything, which the gateway now reports as failed."""
        await paid_shop.pass_time(minutes=1)
        await paid_shop.notify(payment(paid_shop.order_id, "failure"))
        await paid_shop.work()
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert await subjects(paid_shop) == [(AlertKind.MISMATCH, 1)]
        return paid_shop

    async def test_is_taken_back_in_saleor(self, reversed_charge: Shop) -> None:
        await by_hand(reversed_charge, State.FAILURE)
        await reversed_charge.work()
        assert reversed_charge.amounts == amounts()
        assert "CHARGE_BACK" in reversed_charge.saleor.reported_types
        assert reversed_charge.transaction.actions == []
        assert await subjects(reversed_charge) == []

    async def test_stays_so_whatever_the_gateway_repeats(self, reversed_charge: Shop) -> None:
        await by_hand(reversed_charge, State.FAILURE)
        await reversed_charge.notify(payment(reversed_charge.order_id, "failure") | {"status_description": "again"})
        await look_up_now(reversed_charge.services, reversed_charge.order_id)
        await reversed_charge.pass_time(hours=1)
        assert reversed_charge.amounts == amounts()
        assert not (await reversed_charge.operation(Kind.CREATE)).contradicted

    async def test_can_be_corrected_once_it_is_there_after_all(self, reversed_charge: Shop) -> None:
        await by_hand(reversed_charge, State.FAILURE)
        await reversed_charge.work()
        dispute = await reversed_charge.operation(Kind.DISPUTE)
        await by_hand(reversed_charge, State.FAILURE, None, dispute.id)
        await reversed_charge.work()
        assert reversed_charge.amounts == amounts(charged=TOTAL)
        assert reversed_charge.transaction.actions == ["REFUND"]

    async def test_is_taken_back_once_more_after_it_was_corrected(self, reversed_charge: Shop) -> None:
        create = await reversed_charge.operation(Kind.CREATE)
        await by_hand(reversed_charge, State.FAILURE)
        await by_hand(reversed_charge, State.FAILURE, None, (await reversed_charge.operation(Kind.DISPUTE)).id)
        await reversed_charge.work()
        assert reversed_charge.amounts == amounts(charged=TOTAL)
        await by_hand(reversed_charge, State.FAILURE, None, create.id)
        await reversed_charge.work()
        assert reversed_charge.amounts == amounts()

    async def test_takes_back_what_was_not_refunded(self, paid_shop: Shop) -> None:
        paid_shop.record_refund("30.00", "refund-1")
        await look_up_now(paid_shop.services, paid_shop.order_id)
        await paid_shop.notify(payment(paid_shop.order_id, "failure"))
        await paid_shop.work()
        await by_hand(paid_shop, State.FAILURE)
        await paid_shop.work()
        assert paid_shop.amounts == amounts(refunded="30.00")
        assert (await paid_shop.operation(Kind.DISPUTE)).amount == Decimal("539.50")

    async def test_of_which_nothing_is_left_cannot_be_taken_back(self, reversed_charge: Shop) -> None:
        create = await reversed_charge.operation(Kind.CREATE)
        await by_hand(reversed_charge, State.FAILURE)
        with pytest.raises(RefusalError, match="Nothing is left of it"):
            await by_hand(reversed_charge, State.FAILURE, None, create.id)

    async def test_is_known_by_the_dispute_that_the_gateway_reports_later(self, reversed_charge: Shop) -> None:
        await by_hand(reversed_charge, State.FAILURE)
        reported = payment(reversed_charge.order_id, method="dispute", payment_id="dispute-1")
        await reversed_charge.notify(reported)
        await reversed_charge.work()
        assert reversed_charge.amounts == amounts()
        operations = (await reversed_charge.aggregate()).operations
        assert [known.kind for known in operations] == [Kind.CREATE, Kind.DISPUTE]

    async def test_by_a_capture_is_taken_back(self, reserved_shop: Shop) -> None:
        captured = operation("capture", reserved_shop.order_id, TOTAL, operation_id="capture-1")
        reserved_shop.gateway.will_answer(json_reply(captured))
        await reserved_shop.request_action("CHARGE", TOTAL, "first")
        await reserved_shop.pass_time(minutes=1)
        await reserved_shop.notify(captured | {"status": "failure"})
        await reserved_shop.work()
        await by_hand(reserved_shop, State.FAILURE)
        await reserved_shop.work()
        assert reserved_shop.amounts == amounts()
        assert reserved_shop.transaction.actions == []

    async def test_that_was_only_reserved_is_none(self, reserved_shop: Shop) -> None:
        """Nothing was charged: staff release the authorization."""
        await reserved_shop.notify(payment(reserved_shop.order_id, "failure", method="auth"))
        await reserved_shop.work()
        create = await reserved_shop.operation(Kind.CREATE)
        assert create.contradicted
        with pytest.raises(RefusalError, match="It has succeeded"):
            await by_hand(reserved_shop, State.FAILURE, None, create.id)

    async def test_by_two_captures_is_taken_back_of_each(self, reserved_shop: Shop) -> None:
        reserved_shop.account = await reserved_shop.services.accounts.change(
            reserved_shop.account.id, dialect="interface"
        )
        for number, amount in ((1, "100.00"), (2, "200.00")):
            captured = operation("capture", reserved_shop.order_id, amount, operation_id=f"capture-{number}")
            await reserved_shop.notify(captured)
            await reserved_shop.work()
            await reserved_shop.notify(captured | {"status": "failure"})
            await reserved_shop.work()
        for number in (0, 1):
            await by_hand(reserved_shop, State.FAILURE, None, (await reserved_shop.operation(Kind.CAPTURE, number)).id)
        disputes = [known for known in (await reserved_shop.aggregate()).operations if known.kind is Kind.DISPUTE]
        assert [dispute.amount for dispute in disputes] == [Decimal("100.00"), Decimal("200.00")]


async def test_a_failure_turns_out_to_have_moved_money(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(refusal_reply("no", "B-1"))
    await paid_shop.request_action("REFUND", "569.50")
    refund = await paid_shop.operation(Kind.REFUND)
    assert refund.state is State.FAILURE
    await by_hand(paid_shop, State.SUCCESS, None, refund.id)
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.amounts == amounts(refunded=TOTAL)


async def test_but_not_when_its_money_is_gone_by_another_refund(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(
        refusal_reply("no", "B-1"),
        json_reply(operation("refund", paid_shop.order_id, "500.00", operation_id="refund-2")),
    )
    await paid_shop.request_action("REFUND", "569.50", "first")
    await paid_shop.request_action("REFUND", "500.00", "second")
    first = await paid_shop.operation(Kind.REFUND)
    with pytest.raises(RefusalError, match=r"69\.50 of this payment is left"):
        await by_hand(paid_shop, State.SUCCESS, None, first.id)
    await by_hand(paid_shop, State.SUCCESS, "69.50", first.id)
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.amounts.refunded == Decimal(TOTAL)


@pytest.mark.law(8)
@pytest.mark.parametrize(
    ("flow", "action", "kind", "name"),
    [("CHARGE", "REFUND", Kind.REFUND, "refund"), ("AUTHORIZATION", "CHARGE", Kind.CAPTURE, "charge")],
)
async def test_more_than_there_was_is_shown_to_staff_also_when_it_is_settled_by_hand(
    shop: Shop, flow: str, action: str, kind: Kind, name: str
) -> None:
    """Others have used the money while nobody knew how the operation had ended, and the gateway answers no look-up."""
    await shop.complete_payment(flow)
    shop.gateway.will_answer(HangUp())
    await shop.request_action(action, "400.00")
    await shop.notify(operation(kind.value, shop.order_id, "300.00"))
    await shop.work()
    shop.gateway.will_answer_look_ups(*[HangUp()] * 500)
    await by_hand(shop, State.SUCCESS, row_id=(await shop.operation(kind)).id)
    await shop.pass_time(days=2)
    said = problem_text((await shop.aggregate()).payment) or ""
    assert f"The {name} of 400.00 UAH was carried out, although there was not enough left for it" in said


@pytest.mark.law(8)
async def test_a_dispute_lost_by_hand_after_a_refund_shows_staff_that_the_payer_has_it_twice(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "400.00")))
    await paid_shop.request_action("REFUND", "400.00")
    await paid_shop.notify(payment(paid_shop.order_id, "pending", "569.50", method="dispute", operation_id="dispute-1"))
    await paid_shop.work()
    await by_hand(paid_shop, State.SUCCESS)
    await paid_shop.pass_time(days=1)
    said = problem_text((await paid_shop.aggregate()).payment) or ""
    assert "400.00 UAH was or is being refunded, and the bank took 569.50 UAH" in said


async def test_a_capture_by_hand_of_less_releases_the_rest(reserved_shop: Shop) -> None:
    reserved_shop.gateway.will_answer(HangUp())
    await reserved_shop.request_action("CHARGE", TOTAL)
    await by_hand(reserved_shop, State.SUCCESS, "500.00")
    await reserved_shop.pass_time(minutes=1)
    assert reserved_shop.amounts == amounts(charged="500.00", canceled="69.50")


async def test_a_page_that_is_open_is_not_settled_as_failed(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    with pytest.raises(RefusalError, match="The shopper can still pay"):
        await by_hand(shop, State.FAILURE)
    await by_hand(shop, State.SUCCESS, "100.00")  # the portal shows that less was paid
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged="100.00")


@pytest.mark.parametrize(
    ("method", "status", "moved"),
    [("capture", "success", True), ("capture", "failure", False), ("void", "success", False)],
)
async def test_a_payment_of_which_money_was_taken_is_not_settled_as_failed(
    shop: Shop, method: str, status: str, *, moved: bool
) -> None:
    """One that does not agree with what was asked, and of which something was done in the portal, can."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    await shop.notify(payment(shop.order_id, "pending", method="auth"))
    await shop.notify(payment(shop.order_id, method="auth", amount="5.69"))
    await shop.notify(operation(method, shop.order_id, "5.69", status, operation_id="portal-1"))
    await shop.work()
    create = await shop.operation(Kind.CREATE)
    assert create.state is State.PENDING
    if moved:
        with pytest.raises(RefusalError, match="Money of this payment was charged or refunded"):
            await by_hand(shop, State.FAILURE, row_id=create.id)
    else:
        await by_hand(shop, State.FAILURE, row_id=create.id)
    assert (await shop.operation(Kind.CREATE)).state is (State.PENDING if moved else State.FAILURE)


async def test_a_cancellation_ends_with_its_payment_and_not_by_hand(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page(), HangUp())
    await shop.begin()
    await shop.request_action("CANCEL")
    closing = await shop.operation(Kind.CANCEL)
    for state in (State.SUCCESS, State.FAILURE):
        with pytest.raises(RefusalError, match="A cancellation ends with its payment"):
            await by_hand(shop, state, None, closing.id)
    assert (await shop.operation(Kind.CANCEL)).state is State.UNKNOWN


async def test_nothing_is_settled_while_the_gateway_is_being_asked(stuck: Shop) -> None:
    second = await stuck.operation(Kind.REFUND, 1)
    with pytest.raises(RefusalError, match="has not been sent yet"):
        await by_hand(stuck, State.SUCCESS, None, second.id)
    with pytest.raises(RefusalError, match="no operation 99"):
        await by_hand(stuck, State.SUCCESS, None, OperationRowId(99))


async def test_what_the_process_died_over_is_settled_once_its_call_must_be_over(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(HangUp())
    await paid_shop.request_action("REFUND", "30.00")
    refund = await paid_shop.operation(Kind.REFUND)

    def begun(aggregate: PaymentAggregate) -> None:
        asked = aggregate.operation_by_id(refund.id)
        asked.state, asked.updated_at = State.INTENT, paid_shop.clock.now

    await paid_shop.services.payments.record(ByOrder(paid_shop.order_id), Change(begun))
    with pytest.raises(RefusalError, match="A request to the gateway is in progress"):
        await by_hand(paid_shop, State.SUCCESS, None, refund.id)
    paid_shop.clock.forward(seconds=16)
    await by_hand(paid_shop, State.SUCCESS, None, refund.id)
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.amounts == amounts(charged="539.50", refunded="30.00")


class TestAskingNow:
    async def test_what_others_did_is_found_without_waiting(self, paid_shop: Shop) -> None:
        """The payment is concluded, so the worker would not look at it again."""
        paid_shop.record_refund("30.00", "portal-1")
        assert await look_up_now(paid_shop.services, paid_shop.order_id) is None
        await paid_shop.work()
        assert paid_shop.amounts == amounts(charged="539.50", refunded="30.00")

    async def test_a_customer_says_she_paid(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        assert await look_up_now(shop.services, shop.order_id) is None
        await shop.work()
        assert shop.amounts == amounts(charged=TOTAL)

    async def test_a_gateway_that_does_not_answer(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer_look_ups(refusal_reply("wait", "L-1", 429))
        assert await look_up_now(paid_shop.services, paid_shop.order_id) is not None
        assert problem_text((await paid_shop.aggregate()).payment) is None
