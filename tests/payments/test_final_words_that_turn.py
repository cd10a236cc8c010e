"""The gateway reports one end and later another (laws of money, 7): towards money it is booked, away from it it is not.

A shopper tries another card on the same page after a decline; a bank carries out what it had refused. As long as two
final words contradict each other, the payment is perhaps paid, for the shopper, for other attempts and for staff.
"""

from decimal import Decimal
from typing import Any

import pytest

from app.core.alerts import AlertKind
from app.core.vocabulary import Kind, State
from app.flows.on_demand import look_up_now
from app.flows.staff.look_ups import look_up_operation
from app.flows.staff.manual_resolution import Decision, acknowledge_problems, settle
from app.reports.status import Standing, standings
from app.rules.problems import problem_text
from app.web.shopper.view import PaymentState
from app.web.shopper.view_builder import find_view
from gateway_client.models import Method
from integration_base_tests.loopback import HangUp, json_reply
from tests.payments.alert_cases import subjects
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_competing_attempts import another, basket, opened
from tests.payments.shop import TOTAL, Shop

pytestmark = pytest.mark.law(7)

FULL = Decimal(TOTAL)
LATER_CARD = "payment-with-another-card"


@pytest.fixture
async def declined(shop: Shop) -> Shop:
    """A shop in which a card was declined on the payment page, and Saleor knows it."""
    await opened(shop, TOTAL, sourceObject=basket(TOTAL))
    await reports(shop, "failure")
    return shop


async def reports(shop: Shop, status: str, amount: object = TOTAL, **more: object) -> None:
    """The gateway notifies us of the payment."""
    await shop.notify(payment(shop.order_id, status, amount, **more))
    await shop.work()


async def reports_refund(shop: Shop, status: str, amount: object = "100.00", name: str = "refund-1") -> None:
    """The gateway notifies us of a refund."""
    await shop.notify(operation("refund", shop.order_id, amount, status, operation_id=name))
    await shop.work()


async def shown(shop: Shop) -> PaymentState:
    """Return what the shopper's page shows."""
    view = await find_view(shop.services, shop.order_id)
    assert view is not None
    return view.state


async def code_of_next_attempt(shop: Shop) -> str:
    """Return the code with which another attempt to pay the same is refused."""
    answer = await another(shop).begin(amount=TOTAL, sourceObject=basket(TOTAL))
    assert answer.result == "CHARGE_FAILURE"
    return str(answer.data["errors"][0]["code"])


async def review(shop: Shop) -> tuple[str, ...] | None:
    """Staff mark the payment's problems as reviewed."""
    reviewed = await acknowledge_problems(shop.services, shop.installation.id, shop.order_id)
    await shop.work()
    return reviewed


async def decide(shop: Shop, state: State, amount: str | None = None, kind: Kind = Kind.CREATE) -> None:
    """Staff have looked into the merchant portal."""
    decision = Decision(state, "olena", "seen in the portal", None if amount is None else Decimal(amount))
    await settle(shop.services, shop.order_id, (await shop.operation(kind)).id, decision)
    await shop.work()


class TestAFailureThatStaffHaveRepeated:
    """The answer was lost, and the gateway showed nothing for long: staff request the same again."""

    async def repeated(self, shop: Shop, action: str, again: str = "100.00") -> None:
        """Request the action, lose the answer, and request it once more."""
        kind = "capture" if action == "CHARGE" else "refund"
        shop.gateway.will_answer(HangUp(), json_reply(operation(kind, shop.order_id, again, operation_id="second")))
        await shop.request_action(action, "100.00", "one")
        await shop.pass_time(minutes=30)
        await shop.request_action(action, again, "two")
        shop.gateway.book[shop.order_id].append(operation(kind, shop.order_id, again, operation_id="second"))
        await shop.pass_time(minutes=5)
        assert problem_text((await shop.aggregate()).payment) is None
        await shop.notify(operation(kind, shop.order_id, "100.00", operation_id="first"))
        await shop.pass_time(minutes=5)

    @pytest.mark.parametrize(("action", "named"), [("CHARGE", "charge"), ("REFUND", "refund")])
    async def test_and_that_succeeds_after_all_is_put_to_them(self, shop: Shop, action: str, named: str) -> None:
        shop.account = await shop.services.accounts.change(shop.account.id, dialect="interface")
        await shop.complete_payment("AUTHORIZATION" if action == "CHARGE" else "CHARGE")
        await self.repeated(shop, action)
        moved = shop.amounts.charged if action == "CHARGE" else shop.amounts.refunded
        assert moved == Decimal("200.00")
        assert problem_text((await shop.aggregate()).payment) == (
            f"A {named} of 100.00 UAH had failed, and was made after all: if it was requested again, it was made twice."
        )
        assert await review(shop) != ()
        assert await subjects(shop) == []

    async def test_is_no_repetition_over_another_amount(self, shop: Shop) -> None:
        await shop.complete_payment()
        await self.repeated(shop, "REFUND", again="60.00")
        assert shop.amounts == amounts(charged="409.50", refunded="160.00")
        assert await subjects(shop) == []


class TestASuccessAfterAFailure:
    async def test_is_booked_and_told_under_the_same_reference(self, declined: Shop) -> None:
        await reports(declined, "success")
        assert declined.amounts == amounts(charged=TOTAL)
        assert declined.saleor.reported_types == ["CHARGE_FAILURE", "CHARGE_SUCCESS"]
        assert {report.psp_reference for report in declined.saleor.reports} == {declined.order_id}
        assert declined.transaction.actions == ["REFUND"]
        assert await subjects(declined) == []

    async def test_is_what_the_shopper_reads_and_is_not_paid_again(self, declined: Shop) -> None:
        await reports(declined, "success")
        assert (await declined.process_session()).result == "CHARGE_SUCCESS"
        assert await shown(declined) is PaymentState.PAID
        assert await code_of_next_attempt(declined) == "ALREADY_PAID"

    @pytest.mark.law(5)
    async def test_replaces_the_failure_of_which_saleor_was_not_told(self, shop: Shop) -> None:
        await opened(shop, TOTAL, sourceObject=basket(TOTAL))
        await shop.notify(payment(shop.order_id, "failure"))
        await shop.notify(payment(shop.order_id))
        await shop.work()
        assert shop.saleor.reported_types == ["CHARGE_SUCCESS"]

    async def test_of_a_reservation(self, shop: Shop) -> None:
        await opened(shop, TOTAL, flow="AUTHORIZATION", sourceObject=basket(TOTAL))
        await reports(shop, "failure", method="auth")
        await reports(shop, "success", method="auth")
        assert shop.amounts == amounts(authorized=TOTAL)

    async def test_may_be_another_payment_for_the_gateway(self, declined: Shop) -> None:
        """Its book shows both: that the first card was declined says nothing about the second, however late."""
        await reports(declined, "success", payment_id=LATER_CARD)
        assert (await declined.operation(Kind.CREATE)).operation_id == LATER_CARD
        assert await look_up_now(declined.services, declined.order_id) is None
        await reports(declined, "failure", fee=None)
        assert declined.amounts == amounts(charged=TOTAL)
        assert await subjects(declined) == []
        assert await shown(declined) is PaymentState.PAID

    async def test_that_staff_find_by_looking_up_the_operation_is_booked(self, declined: Shop) -> None:
        both = [payment(declined.order_id, "failure"), payment(declined.order_id, payment_id=LATER_CARD)]
        declined.gateway.will_answer_look_ups(json_reply(both))
        found = await look_up_operation(declined.services, declined.account, declined.order_id, Method.PURCHASE)
        await declined.work()
        assert (len(found.records), found.posted) == (2, (declined.order_id,))
        assert declined.amounts == amounts(charged=TOTAL)

    @pytest.mark.parametrize("order", [1, -1], ids=["declined last", "declined first"])
    async def test_is_all_that_counts_when_one_look_up_shows_both(self, shop: Shop, order: int) -> None:
        await opened(shop, TOTAL, sourceObject=basket(TOTAL))
        both = [payment(shop.order_id, payment_id=LATER_CARD), payment(shop.order_id, "failure")]
        shop.gateway.book[shop.order_id] = both[::order]
        assert await look_up_now(shop.services, shop.order_id) is None
        await shop.work()
        assert shop.saleor.reported_types == ["CHARGE_SUCCESS"]
        assert "CHARGE_FAILURE" not in {event.type for event in (await shop.aggregate()).events}
        assert await subjects(shop) == []

    async def test_of_a_refund(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "100.00", "failure", operation_id="refund-1"))
        )
        assert (await paid_shop.request_action("REFUND", "100.00")).result == "REFUND_FAILURE"
        await reports_refund(paid_shop, "success")
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert {report.psp_reference for report in paid_shop.saleor.reports} == {"refund-1"}
        assert await subjects(paid_shop) == []

    async def test_of_a_refund_whose_money_was_used_again_is_booked_and_shown_to_staff(self, paid_shop: Shop) -> None:
        await reports_refund(paid_shop, "failure", TOTAL)
        await reports_refund(paid_shop, "success", TOTAL, "refund-2")
        await reports_refund(paid_shop, "success", TOTAL)
        assert paid_shop.amounts == amounts(charged=str(-FULL), refunded=str(2 * FULL))
        assert "there was not enough left for it" in (problem_text((await paid_shop.aggregate()).payment) or "")


class TestAfterStaffHaveSettledIt:
    async def test_as_failed_it_is_booked_when_it_succeeds(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "100.00")
        await paid_shop.pass_time(minutes=1)
        await decide(paid_shop, State.FAILURE, kind=Kind.REFUND)
        await paid_shop.pass_time(minutes=15)
        await reports_refund(paid_shop, "success")
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
        refund = await paid_shop.operation(Kind.REFUND)
        assert (refund.state, refund.operation_id) == (State.SUCCESS, "refund-1")
        assert len((await paid_shop.aggregate()).operations) == 2

    async def test_as_succeeded_it_is_booked_once(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "100.00")
        await paid_shop.pass_time(minutes=1)
        await decide(paid_shop, State.SUCCESS, kind=Kind.REFUND)
        await reports_refund(paid_shop, "success")
        await reports_refund(paid_shop, "success", name="another")  # of the same amount, in the merchant portal
        await paid_shop.pass_time(minutes=15)
        assert paid_shop.amounts == amounts(charged="369.50", refunded="200.00")

    async def test_as_failed_the_shopper_pays_after_all(self, shop: Shop) -> None:
        await opened(shop, TOTAL, sourceObject=basket(TOTAL))
        await reports(shop, "pending")
        await decide(shop, State.FAILURE)
        await reports(shop, "success")
        assert shop.amounts == amounts(charged=TOTAL)


@pytest.fixture
async def doubtful(declined: Shop) -> Shop:
    """A declined payment of which the gateway then reports a success over another amount."""
    await reports(declined, "success", "500.00")
    assert declined.amounts == amounts()
    return declined


class TestPerhapsPaid:
    async def test_the_shopper_reads_that_it_is_being_checked(self, doubtful: Shop) -> None:
        assert await shown(doubtful) is PaymentState.UNKNOWN
        answer = await doubtful.process_session()
        assert answer.result == "CHARGE_ACTION_REQUIRED"
        assert answer.data["errors"][0]["code"] == "UNDER_REVIEW"

    @pytest.mark.law(12)
    async def test_it_is_not_paid_again(self, doubtful: Shop) -> None:
        assert await code_of_next_attempt(doubtful) == "PAYMENT_IN_PROGRESS"

    @pytest.mark.law(12)
    async def test_another_page_is_closed_and_if_it_is_paid_too_staff_are_told(self, declined: Shop) -> None:
        new = await opened(another(declined), TOTAL, sourceObject=basket(TOTAL))
        await declined.notify(payment(declined.order_id, amount="500.00"))
        declined.gateway.will_answer(json_reply([payment(new.order_id, "failure", status_code="6007")]))
        await declined.work()
        assert declined.gateway.calls == ["payment", "payment", "cancel"]
        await reports(new, "success")
        assert "Paid twice" in (problem_text((await declined.aggregate()).payment) or "")
        assert "Paid twice" in (problem_text((await new.aggregate()).payment) or "")

    @pytest.mark.law(13)
    async def test_looking_does_not_settle_it(self, doubtful: Shop) -> None:
        assert await review(doubtful) == ()
        assert await subjects(doubtful) == [(AlertKind.MISMATCH, 1)]
        assert await shown(doubtful) is PaymentState.UNKNOWN

    @pytest.mark.parametrize(
        ("state", "amount", "page"),
        [(State.SUCCESS, "500.00", PaymentState.PAID), (State.FAILURE, None, PaymentState.FAILED)],
    )
    async def test_until_staff_decide(
        self, doubtful: Shop, state: State, amount: str | None, page: PaymentState
    ) -> None:
        await decide(doubtful, state, amount)
        await reports(doubtful, "success", "500.00", receipt_url="https://pay.example/r")
        assert await shown(doubtful) is page
        assert doubtful.amounts == amounts(charged=amount or "0")
        assert await subjects(doubtful) == []

    async def test_until_the_gateway_agrees_with_the_request(self, doubtful: Shop) -> None:
        await reports(doubtful, "success")
        assert await shown(doubtful) is PaymentState.PAID
        assert doubtful.amounts == amounts(charged=TOTAL)
        assert await subjects(doubtful) == []

    async def test_a_refund_that_was_perhaps_made_is_not_made_again(self, paid_shop: Shop) -> None:
        await reports_refund(paid_shop, "failure", TOTAL)
        await reports_refund(paid_shop, "success", "500.00")
        assert (await paid_shop.request_action("REFUND", "1.00")).result == "REFUND_FAILURE"
        assert paid_shop.transaction.actions == []
        await decide(paid_shop, State.FAILURE, kind=Kind.REFUND)
        assert paid_shop.transaction.actions == ["REFUND"]


class TestATryAfterADecline:
    """The shopper tries another card on the page, and the bank decides (laws of money, 12)."""

    pytestmark = pytest.mark.law(12)

    @pytest.fixture
    async def tried(self, declined: Shop) -> Shop:
        """A shop in which another card than the declined one is at the bank."""
        declined.gateway.book[declined.order_id] = [payment(declined.order_id, "failure"), self.at_the_bank(declined)]
        await reports(declined, "pending", payment_id=LATER_CARD)
        return declined

    @staticmethod
    def at_the_bank(shop: Shop, **more: object) -> dict[str, object]:
        return payment(shop.order_id, "pending", payment_id=LATER_CARD, **more)

    async def test_is_perhaps_paid(self, tried: Shop) -> None:
        assert await shown(tried) is PaymentState.WAITING
        assert await code_of_next_attempt(tried) == "PAYMENT_IN_PROGRESS"
        answer = await tried.process_session()
        assert (answer.result, answer.data["errors"][0]["code"]) == ("CHARGE_ACTION_REQUIRED", "CREATION_UNKNOWN")
        assert (tried.amounts, tried.saleor.reported_types) == (amounts(), ["CHARGE_FAILURE"])

    async def test_is_what_staff_read(self, tried: Shop) -> None:
        assert standings(await tried.aggregate()) == (Standing.NOT_KNOWN,)
        await reports(tried, "failure", payment_id=LATER_CARD)
        assert standings(await tried.aggregate()) == (Standing.FAILED,)

    @pytest.mark.law(2)
    async def test_is_not_ended_by_a_look_up_that_cannot_be_read(self, tried: Shop) -> None:
        tried.gateway.book[tried.order_id][1] = {"payment_id": LATER_CARD}
        await tried.pass_time(hours=1)
        assert await shown(tried) is PaymentState.WAITING

    async def test_closes_a_page_that_is_open_meanwhile(self, declined: Shop) -> None:
        new = await opened(another(declined), TOTAL, sourceObject=basket(TOTAL))
        declined.gateway.book[declined.order_id] = [self.at_the_bank(declined)]
        declined.gateway.will_answer(json_reply([payment(new.order_id, "failure", status_code="6007")]))
        await reports(declined, "pending", payment_id=LATER_CARD)
        assert declined.gateway.calls.count("cancel") == 1
        assert await subjects(declined) == []

    async def test_that_is_made_is_paid(self, tried: Shop) -> None:
        await reports(tried, "success", payment_id=LATER_CARD)
        assert tried.amounts == amounts(charged=TOTAL)
        assert await shown(tried) is PaymentState.PAID
        assert await subjects(tried) == []

    async def test_that_is_declined_too_leaves_nothing_paid(self, tried: Shop) -> None:
        await reports(tried, "failure", payment_id=LATER_CARD)
        assert await shown(tried) is PaymentState.FAILED
        assert (await tried.process_session()).result == "CHARGE_FAILURE"
        await opened(another(tried), TOTAL, sourceObject=basket(TOTAL))

    @pytest.mark.law(13)
    async def test_is_looked_up_until_it_has_ended(self, tried: Shop) -> None:
        await tried.pass_time(hours=30)
        assert await shown(tried) is PaymentState.WAITING
        tried.gateway.book[tried.order_id].pop()
        await tried.pass_time(hours=1)
        assert await shown(tried) is PaymentState.FAILED
        looked_up = len(tried.gateway.calls)
        await tried.pass_time(hours=3)
        assert len(tried.gateway.calls) == looked_up

    @pytest.mark.law(7)
    async def test_that_is_told_late_is_over_at_the_next_look_up(self, tried: Shop) -> None:
        await reports(tried, "failure", payment_id=LATER_CARD)
        await reports(tried, "pending", payment_id=LATER_CARD, fee=None)
        tried.gateway.book[tried.order_id][-1]["status"] = "failure"
        await tried.pass_time(minutes=2)
        assert await shown(tried) is PaymentState.FAILED

    async def test_is_over_when_staff_have_decided(self, tried: Shop) -> None:
        await decide(tried, State.FAILURE)
        assert await shown(tried) is PaymentState.FAILED

    async def test_is_seen_by_a_look_up_and_followed(self, declined: Shop) -> None:
        declined.gateway.book[declined.order_id] = [payment(declined.order_id, "failure"), self.at_the_bank(declined)]
        assert await look_up_now(declined.services, declined.order_id) is None
        assert await shown(declined) is PaymentState.WAITING
        declined.gateway.book[declined.order_id][1]["status"] = "success"
        await declined.pass_time(minutes=5)
        assert declined.amounts == amounts(charged=TOTAL)

    @pytest.mark.parametrize("more", [{}, {"payment_id": LATER_CARD, "user_action_required": True}])
    async def test_is_none_of_the_same_card_or_while_the_shopper_must_act(
        self, declined: Shop, more: dict[str, object]
    ) -> None:
        await reports(declined, "pending", **more)
        assert await shown(declined) is PaymentState.FAILED
        await opened(another(declined), TOTAL, sourceObject=basket(TOTAL))


class TestAFailureAfterASuccess:
    async def test_moves_nothing_and_is_perhaps_paid_until_staff_have_looked(self, shop: Shop) -> None:
        await opened(shop, TOTAL, sourceObject=basket(TOTAL))
        await reports(shop, "success")
        await reports(shop, "failure")
        assert shop.amounts == amounts(charged=TOTAL)
        assert await subjects(shop) == [(AlertKind.MISMATCH, 1)]
        assert await shown(shop) is PaymentState.UNKNOWN
        assert await code_of_next_attempt(shop) == "ALREADY_PAID"
        assert shop.transaction.actions == []
        answer = await shop.request_action("REFUND", "1.00")
        assert answer.result == "REFUND_FAILURE"
        assert "contradict each other" in (answer.message or "")
        assert await review(shop) != ()
        assert await shown(shop) is PaymentState.PAID
        assert shop.transaction.actions == ["REFUND"]
        await reports(shop, "failure", receipt_url="https://pay.example/r")  # what staff have judged, once more
        assert await subjects(shop) == []
        assert await shown(shop) is PaymentState.PAID

    async def test_of_a_refund_leaves_it_refunded(self, paid_shop: Shop) -> None:
        await reports_refund(paid_shop, "success")
        await reports_refund(paid_shop, "failure")
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert await subjects(paid_shop) == [(AlertKind.MISMATCH, 1)]
        assert (await paid_shop.request_action("REFUND", "469.51")).result == "REFUND_FAILURE"


@pytest.mark.law(16)
class TestAReservationThatWasReleased:
    """The interface does not show what a release does to the payment's own record: it may say failure from then on."""

    def records(self, shop: Shop, amount: str = TOTAL) -> list[dict[str, Any]]:
        """Return what the gateway has of the order."""
        failed = payment(shop.order_id, "failure", method="auth", status_code="6007")
        return [failed, operation("void", shop.order_id, amount, operation_id="released")]

    async def check_released(self, shop: Shop) -> None:
        """Nothing is in doubt, and nobody has to look."""
        assert shop.amounts == amounts(canceled=TOTAL)
        aggregate = await shop.aggregate()
        assert (aggregate.create.state, aggregate.create.contradicted) == (State.SUCCESS, False)
        assert problem_text(aggregate.payment) is None
        assert await shown(shop) is PaymentState.RELEASED

    async def test_here_may_be_shown_as_failed(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.book[reserved_shop.order_id] = self.records(reserved_shop)
        reserved_shop.gateway.will_answer(json_reply(self.records(reserved_shop)[1]))
        assert (await reserved_shop.request_action("CANCEL", TOTAL)).result == "CANCEL_SUCCESS"
        await reserved_shop.pass_time(minutes=5)
        await self.check_released(reserved_shop)

    async def test_in_the_portal_may_be_shown_so_before_its_release(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.book[reserved_shop.order_id] = self.records(reserved_shop)
        await look_up_now(reserved_shop.services, reserved_shop.order_id)
        await reserved_shop.work()
        await self.check_released(reserved_shop)

    async def test_in_the_portal_is_in_doubt_until_its_release_is_notified(self, reserved_shop: Shop) -> None:
        failed, released = self.records(reserved_shop)
        await reserved_shop.notify(failed)
        await reserved_shop.work()
        assert await subjects(reserved_shop) == [(AlertKind.MISMATCH, 1)]
        await reserved_shop.notify(released)
        await reserved_shop.pass_time(minutes=1)
        await self.check_released(reserved_shop)

    async def test_is_in_doubt_where_a_part_of_it_was_charged(self, reserved_shop: Shop) -> None:
        await reserved_shop.services.accounts.change(reserved_shop.account.id, dialect="interface")
        charged = operation("capture", reserved_shop.order_id, "100.00", operation_id="charged")
        reserved_shop.gateway.book[reserved_shop.order_id] = [charged, *self.records(reserved_shop, "469.50")]
        await look_up_now(reserved_shop.services, reserved_shop.order_id)
        await reserved_shop.work()
        assert await subjects(reserved_shop) == [(AlertKind.MISMATCH, 1)]

    async def test_of_a_part_only_is_in_doubt(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.book[reserved_shop.order_id] = self.records(reserved_shop, "100.00")
        await look_up_now(reserved_shop.services, reserved_shop.order_id)
        assert (await reserved_shop.operation(Kind.CREATE)).contradicted


@pytest.mark.law(10)
async def test_a_refund_of_the_second_payment_is_not_taken_for_ours_that_is_in_flight(shop: Shop) -> None:
    await shop.complete_payment()
    shop.gateway.will_answer(HangUp())
    await shop.request_action("REFUND", TOTAL)
    await shop.notify(operation("refund", shop.order_id, TOTAL, operation_id="back", payment_id="second"))
    await shop.work()
    refund = await shop.operation(Kind.REFUND)
    assert (refund.operation_id, refund.state) == (None, State.UNKNOWN)


@pytest.mark.law(10)
async def test_a_refund_of_the_second_payment_of_an_order_leaves_the_first_alone(shop: Shop) -> None:
    """Staff are asked to refund one of two in the merchant portal: it may be the one that Saleor does not know."""
    await shop.complete_payment()
    await shop.notify(payment(shop.order_id, payment_id="second"))
    await shop.notify(operation("refund", shop.order_id, TOTAL, operation_id="back", payment_id="second"))
    await shop.pass_time(minutes=5)
    assert shop.amounts == amounts(charged=TOTAL)
    assert "something that the app does not know (second)" in (problem_text((await shop.aggregate()).payment) or "")


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("flow", "method", "advice"),
    [
        ("CHARGE", "purchase", "refund one of them there"),
        ("AUTHORIZATION", "auth", "cancel there the authorization that is not needed"),
    ],
)
async def test_staff_are_told_of_a_second_payment_what_to_do_with_a_charge_or_a_hold(
    shop: Shop, flow: str, method: str, advice: str
) -> None:
    await shop.complete_payment(flow=flow)
    await shop.notify(payment(shop.order_id, payment_id="second", method=method))
    await shop.work()
    told = problem_text((await shop.aggregate()).payment) or ""
    assert advice in told
    assert ("refund one of them" in told) is (flow == "CHARGE")
