"""Saleor asks, and is answered; whether it has read the answer decides what it is told, and under which reference.

Laws of money, 5 and 9; Saleor contract, A.10.
"""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from app.flows.actions import answer_action_request
from app.flows.staff.manual_resolution import Decision, settle
from app.rules.problems import problem_text
from app.store.aggregates import ByTransaction
from integration_base_tests.loopback import HangUp, ReceivedRequest, json_reply
from saleor_app_sdk.errors import SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.events import TransactionRefundRequested
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.responses import ActionResponse, AvailableAction
from saleor_app_sdk.testing.records import Event, GrantedRefund
from saleor_app_sdk.testing.rules.recording import NOT_DELIVERED, record_failure
from saleor_app_sdk.testing.vocabulary import GrantedRefundStatus
from saleor_app_sdk.webhook_definition import build_action_failure
from tests.payments.fake_gateway import operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, session_event

SUCCESS, FAILURE, PENDING = GrantedRefundStatus.SUCCESS, GrantedRefundStatus.FAILURE, GrantedRefundStatus.PENDING


def says(shop: Shop, request: Event) -> TransactionRefundRequested:
    """Return the webhook of a refund, as Saleor builds it now."""
    told = {
        name: value
        for name, value in session_event(shop.transaction.id).items()
        if name in {"issuedAt", "version", "recipient"}
    }
    return TransactionRefundRequested.model_validate(told | shop.saleor.webhook_members(shop.transaction, request))


async def answered(shop: Shop, event: TransactionRefundRequested, digest: str = "") -> ActionResponse:
    return await answer_action_request(shop.services, event, shop.installation, digest=digest)


async def pay_out(shop: Shop, granted: GrantedRefund, *, booked: bool = True) -> tuple[Event, ActionResponse]:
    """Staff ask for a granted refund. ``booked`` False: the answer does not reach Saleor."""
    request = shop.saleor.open_granted_refund(granted)
    answer = await answered(shop, says(shop, request), digest=f"body of {request.idempotency_key}")
    if booked:
        shop.saleor.book_action(shop.transaction, request, "REFUND", answer)
    return request, answer


def lose(shop: Shop, request: Event) -> str:
    """A proxy answers 502. Saleor repeats its webhook with an empty body, and reads what is answered to that."""
    answer = build_action_failure(TransactionRefundRequested, "Saleor sent an empty request.")
    shop.saleor.book_action(shop.transaction, request, "REFUND", answer)
    return answer.psp_reference


def dropped(shop: Shop, request: Event) -> None:
    """The connection breaks: Saleor does not repeat its webhook, and notes a failure that has no reference."""
    shop.saleor.book_action(shop.transaction, request, "REFUND", None)


async def book_app_requests(shop: Shop) -> list[ActionResponse]:
    """Play the webhooks of what the app itself has asked Saleor to ask for."""
    answers = []
    while shop.saleor.requested:
        request = shop.saleor.requested.pop(0)
        answer = await answered(shop, says(shop, request), digest=f"body of {request.idempotency_key}")
        shop.saleor.book_action(shop.transaction, request, "REFUND", answer)
        answers.append(answer)
    return answers


def refunds(shop: Shop, amount: str = "100.00", named: str = "refund-1", status: str = "success") -> None:
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, amount, status, operation_id=named)))


@pytest.mark.law(5)
class TestTheAnswerGoesFirst:
    async def test_a_notification_that_comes_before_the_answer_is_told_after_it(self, paid_shop: Shop) -> None:
        """Told before, it would be booked and not tied: the grant would be pending for ever."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        record = operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1")

        async def notify_first(_: ReceivedRequest) -> None:
            paid_shop.gateway.on_request = None
            await paid_shop.notify(record)
            await paid_shop.work()
            assert paid_shop.saleor.reports == []

        paid_shop.gateway.on_request = notify_first
        paid_shop.gateway.will_answer(json_reply(record))
        request = paid_shop.saleor.open_granted_refund(granted)
        answer = await answered(paid_shop, says(paid_shop, request))
        await paid_shop.pass_time(milliseconds=900)
        assert paid_shop.saleor.reports == []
        paid_shop.saleor.book_action(paid_shop.transaction, request, "REFUND", answer)
        await paid_shop.pass_time(seconds=5)
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    @pytest.mark.fault("saleor-slow")
    async def test_saleor_takes_its_time_to_read(self, paid_shop: Shop) -> None:
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        request, answer = await pay_out(paid_shop, granted, booked=False)
        await paid_shop.pass_time(seconds=20)
        assert paid_shop.saleor.reports == []
        paid_shop.saleor.book_action(paid_shop.transaction, request, "REFUND", answer)
        await paid_shop.pass_time(seconds=40)
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    async def test_saleor_is_looked_at_once_for_each_action(self, paid_shop: Shop) -> None:
        refunds(paid_shop, "100.00", "refund-1")
        await paid_shop.request_action("REFUND", "100.00", "first")
        await paid_shop.pass_time(minutes=5)
        assert [name for name, _ in paid_shop.saleor.executed_documents] == ["transaction_history"]

    async def test_what_others_have_done_is_told_after_one_look_and_without_waiting(self, paid_shop: Shop) -> None:
        """Saleor may have heard of it before a backup of ours was put back; nothing else asks it first."""
        assert paid_shop.saleor.executed_documents == []
        await paid_shop.notify(operation("refund", paid_shop.order_id, "69.50", operation_id="portal-1"))
        await paid_shop.work()
        assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]
        assert [name for name, _ in paid_shop.saleor.executed_documents] == ["transaction_history"]

    async def test_saleor_cannot_be_looked_at_for_a_while(self, paid_shop: Shop) -> None:
        paid_shop.saleor.document_failures.extend([SaleorUnreachableError("down")] * 4)
        refunds(paid_shop)
        await paid_shop.request_action("REFUND", "100.00")
        await paid_shop.pass_time(minutes=2)
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]

    async def test_a_saleor_that_refuses_to_be_looked_at_is_told_all_the_same(self, paid_shop: Shop) -> None:
        paid_shop.saleor.document_failures.append(SaleorRefusedError("GRAPHQL_ERROR", None, "no"))
        refunds(paid_shop)
        await paid_shop.request_action("REFUND", "100.00")
        await paid_shop.pass_time(seconds=2)
        assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]

    async def test_the_release_of_the_rest_is_told_as_soon_as_the_answer_is_read(self, reserved_shop: Shop) -> None:
        """Until then Saleor shows the rest as authorized, and offers to charge it."""
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, "300.00", operation_id="capture-1"))
        )
        await reserved_shop.request_action("CHARGE", "300.00")
        await reserved_shop.pass_time(seconds=2)
        assert reserved_shop.amounts == amounts(charged="300.00", canceled="269.50")
        assert reserved_shop.transaction.actions == ["REFUND"]

    async def test_what_saleor_still_offers_while_an_outcome_is_open_is_withdrawn(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, TOTAL, "pending", operation_id="capture-1"))
        )
        await reserved_shop.request_action("CHARGE", TOTAL)
        assert reserved_shop.transaction.actions == ["CANCEL", "CHARGE"]
        await reserved_shop.pass_time(seconds=2)
        assert reserved_shop.transaction.actions == []
        await reserved_shop.notify(operation("capture", reserved_shop.order_id, TOTAL, operation_id="capture-1"))
        await reserved_shop.work()
        assert reserved_shop.transaction.actions == ["REFUND"]
        assert reserved_shop.amounts == amounts(charged=TOTAL)

    async def test_so_is_what_is_left_when_a_further_refund_has_to_wait(self, paid_shop: Shop) -> None:
        refunds(paid_shop, status="pending")
        await paid_shop.request_action("REFUND", "100.00", "first")
        await paid_shop.pass_time(seconds=2)
        assert paid_shop.transaction.actions == ["REFUND"]
        assert (await paid_shop.request_action("REFUND", "469.50", "second")).result is None
        await paid_shop.pass_time(seconds=2)
        assert paid_shop.transaction.actions == []


@pytest.mark.law(9)
class TestALostAnswer:
    @pytest.mark.parametrize("grant", [True, False])
    async def test_it_is_told_under_the_reference_that_saleors_request_has(
        self, paid_shop: Shop, *, grant: bool
    ) -> None:
        """The last word is Saleor's (law 9): the failure that it read is overruled by a success under the same one."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100)) if grant else None
        refunds(paid_shop)
        if granted is None:
            request = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(100), "key-1")
            await answered(paid_shop, says(paid_shop, request))
        else:
            request, _ = await pay_out(paid_shop, granted, booked=False)
        await paid_shop.pass_time(seconds=8)
        assert paid_shop.saleor.reports == []  # Saleor is still repeating its webhook
        theirs = lose(paid_shop, request)
        await paid_shop.pass_time(minutes=1)
        assert [(report.type.value, report.psp_reference) for report in paid_shop.saleor.reports] == [
            ("REFUND_SUCCESS", theirs)
        ]
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert (await paid_shop.operation(Kind.REFUND)).psp_reference == theirs
        assert granted is None or granted.status is SUCCESS

    async def test_a_capture_and_its_release(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, "300.00", operation_id="capture-1"))
        )
        await reserved_shop.request_action("CHARGE", "300.00", booked=False)
        [request] = [event for event in reserved_shop.transaction.events if event.type == "CHARGE_REQUEST"]
        answer = ActionResponse.failure(
            AvailableAction.CHARGE, psp_reference="empty-body", message="Saleor sent an empty request."
        )
        reserved_shop.saleor.book_action(reserved_shop.transaction, request, "CHARGE", answer)
        await reserved_shop.pass_time(minutes=1)
        told = [(report.type.value, report.psp_reference) for report in reserved_shop.saleor.reports]
        assert told == [("CHARGE_SUCCESS", "empty-body"), ("CANCEL_SUCCESS", "empty-body-released")]
        await reserved_shop.notify(operation("capture", reserved_shop.order_id, "300.00", operation_id="capture-1"))
        await reserved_shop.pass_time(minutes=1)
        assert reserved_shop.amounts == amounts(charged="300.00", canceled="269.50")

    async def test_a_failure_that_saleor_has_noted_already_is_no_problem(self, paid_shop: Shop) -> None:
        """Over another amount than ours Saleor would refuse it."""
        paid_shop.gateway.will_answer(json_reply({"message": "Invalid operation", "args": {"code": "4150"}}, 400))
        request = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(100), "key-1")
        await answered(paid_shop, says(paid_shop, request))
        theirs = lose(paid_shop, request)
        [noted] = [event for event in paid_shop.transaction.events if event.type == "REFUND_FAILURE"]
        noted.amount = Decimal(1)
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.saleor.reports == []
        assert (await paid_shop.operation(Kind.REFUND)).psp_reference == theirs
        assert problem_text((await paid_shop.aggregate()).payment) is None

    @pytest.mark.fault("network-cut")
    async def test_a_broken_connection_is_told_under_our_own_reference(self, paid_shop: Shop) -> None:
        refunds(paid_shop)
        request = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(100), "key-1")
        answer = await answered(paid_shop, says(paid_shop, request))
        dropped(paid_shop, request)
        await paid_shop.pass_time(seconds=10)
        assert [(report.type.value, report.psp_reference) for report in paid_shop.saleor.reports] == [
            ("REFUND_SUCCESS", answer.psp_reference)
        ]
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")

    async def test_a_saleor_that_never_gives_up_is_told_in_the_end(self, paid_shop: Shop) -> None:
        refunds(paid_shop)
        request = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(100), "key-1")
        await answered(paid_shop, says(paid_shop, request))
        await paid_shop.pass_time(minutes=9)
        assert paid_shop.saleor.reports == []
        assert len(paid_shop.saleor.executed_documents) < 20  # it is asked ever more seldom
        await paid_shop.pass_time(minutes=3)
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(4, 9)
class TestAGrantIsPaidOutOnce:
    async def test_staff_ask_again_after_an_answer_that_broke_off(self, paid_shop: Shop) -> None:
        """Whatever key it comes with: no money moves, and it is answered from the record under a fresh reference."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        request, first = await pay_out(paid_shop, granted, booked=False)
        dropped(paid_shop, request)
        assert granted.status is FAILURE
        _, again = await pay_out(paid_shop, granted)
        assert (again.result, again.amount) == ("REFUND_SUCCESS", Decimal(100))
        assert again.psp_reference != first.psp_reference
        await paid_shop.pass_time(minutes=20)
        assert paid_shop.gateway.calls == ["refund"]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        assert {report.psp_reference for report in paid_shop.saleor.reports} == {again.psp_reference}

    @pytest.mark.parametrize("edited", ["150.00", "50.00"])
    async def test_of_a_grant_that_was_edited_after_its_answer_was_lost_staff_are_told(
        self, paid_shop: Shop, edited: str
    ) -> None:
        """Saleor lets staff edit a grant that it takes for failed; no more is refunded, and nobody is left to guess."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        request, _ = await pay_out(paid_shop, granted, booked=False)
        dropped(paid_shop, request)
        paid_shop.saleor.edit_granted_refund(granted, Decimal(edited))
        _, again = await pay_out(paid_shop, granted)
        assert (again.result, again.amount) == ("REFUND_SUCCESS", Decimal(100))
        await paid_shop.pass_time(minutes=20)
        assert paid_shop.gateway.calls == ["refund"]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        told = problem_text((await paid_shop.aggregate()).payment) or ""
        assert "100.00 UAH" in told
        assert f"{edited} UAH" in told
        assert "INFO" in paid_shop.saleor.reported_types

    @pytest.mark.parametrize(("granted", "rest"), [("600.00", "30.50"), ("569.50", None)])
    async def test_of_a_grant_of_which_saleor_requests_a_part_staff_are_told(
        self, paid_shop: Shop, granted: str, rest: str | None
    ) -> None:
        """For a grant without a payment Saleor requests what one payment has left, and takes that for all of it."""
        sum_granted = {"amount": Decimal(granted), "currency": "UAH"}
        member = {"id": "T3JkZXJHcmFudGVkUmVmdW5kOjc=", "amount": sum_granted, "lines": []}
        refunds(paid_shop, amount="569.50")
        answer = await paid_shop.request_action("REFUND", "569.50", "grant", grantedRefund=member)
        assert (answer.result, answer.amount) == ("REFUND_SUCCESS", Decimal("569.50"))
        await paid_shop.pass_time(minutes=20)
        told = problem_text((await paid_shop.aggregate()).payment) or ""
        if rest is None:
            assert told == ""
            return
        assert f"Refund the other {rest} UAH from another payment of the order" in told.replace("\u00a0", " ")
        assert f"a granted refund of {granted} UAH" in told.replace("\u00a0", " ")

    async def test_of_a_part_of_a_grant_that_is_not_refunded_nobody_is_told(self, paid_shop: Shop) -> None:
        sum_granted = {"amount": Decimal(700), "currency": "UAH"}
        member = {"id": "T3JkZXJHcmFudGVkUmVmdW5kOjc=", "amount": sum_granted, "lines": []}
        answer = await paid_shop.request_action("REFUND", "600.00", "grant", grantedRefund=member)
        assert answer.result == "REFUND_FAILURE"
        assert not (await paid_shop.aggregate()).payment.has_problems

    async def test_of_a_grant_over_nothing_is_not_everything(self, paid_shop: Shop) -> None:
        """Staff grant a refund of a gift, which is over 0.00: Saleor requests all that was charged instead."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(0))
        request, answer = await pay_out(paid_shop, granted)
        assert (request.amount, answer.result) == (Decimal(TOTAL), "REFUND_FAILURE")
        assert "granted refund is over 0.00" in str(answer.message).replace("\u00a0", " ")
        assert (paid_shop.gateway.calls, paid_shop.amounts) == ([], amounts(charged=TOTAL))
        refunds(paid_shop, amount="40.00")
        paid_shop.saleor.edit_granted_refund(granted, Decimal(40))
        _, again = await pay_out(paid_shop, granted)
        assert (again.result, again.amount) == ("REFUND_SUCCESS", Decimal(40))

    @pytest.mark.parametrize("status", ["success", "failure"])
    async def test_of_a_grant_that_was_moved_to_another_payment_meanwhile_is_paid_once(
        self, shop: Shop, status: str
    ) -> None:
        """Saleor lets staff choose another payment of the order for a grant that it takes for failed."""
        await shop.complete_payment(amount="300.00")
        first, order_id = shop.transaction, shop.order_id
        granted = shop.saleor.grant_refund(first, Decimal(100))
        refunds(shop, status=status)
        request, _ = await pay_out(shop, granted, booked=False)
        dropped(shop, request)
        shop.transaction = shop.saleor.new_transaction()
        await shop.complete_payment(amount="269.50")
        shop.saleor.edit_granted_refund(granted, Decimal(100), shop.transaction)
        refunds(shop, named="refund-2")
        _, moved = await pay_out(shop, granted)
        if status == "success":
            assert (moved.result, shop.gateway.calls) == ("REFUND_FAILURE", [])
            assert f"for the payment {order_id} before" in (moved.message or "")
            elsewhere = ByTransaction(shop.installation.id + 1, shop.transaction.id)  # a Saleor counts its own refunds
            assert await shop.services.payments.order_of_other_refund(elsewhere, granted.id) is None
        else:  # that one has surely failed: this is the first that is paid
            assert (moved.result, shop.gateway.calls) == ("REFUND_SUCCESS", ["refund"])

    async def test_a_grant_that_another_payment_has_refused_can_be_asked_for_there_again(self, shop: Shop) -> None:
        """Refused while nobody knew what had become of the first request; then it has failed."""
        await shop.complete_payment(amount="300.00")
        granted = shop.saleor.grant_refund(shop.transaction, Decimal(100))
        shop.gateway.will_answer(HangUp())
        request, _ = await pay_out(shop, granted, booked=False)
        dropped(shop, request)
        shop.transaction = shop.saleor.new_transaction()
        await shop.complete_payment(amount="269.50")
        shop.saleor.edit_granted_refund(granted, Decimal(100), shop.transaction)
        _, refused = await pay_out(shop, granted)
        assert (refused.result, shop.gateway.calls) == ("REFUND_FAILURE", [])
        await shop.pass_time(minutes=40)
        refunds(shop, named="refund-2")
        _, again = await pay_out(shop, granted)
        assert (again.result, again.amount, shop.gateway.calls) == ("REFUND_SUCCESS", Decimal(100), ["refund"])

    async def test_of_a_grant_that_two_payments_are_asked_for_at_one_moment_is_never_paid_twice(
        self, shop: Shop
    ) -> None:
        """Saleor took the first request for failed as its connection broke, while our database was not yet there."""
        await shop.complete_payment(amount="300.00")
        granted = shop.saleor.grant_refund(shop.transaction, Decimal(100))
        request = shop.saleor.open_granted_refund(granted)
        first = says(shop, request)
        dropped(shop, request)
        shop.transaction = shop.saleor.new_transaction()
        await shop.complete_payment(amount="269.50")
        shop.saleor.edit_granted_refund(granted, Decimal(100), shop.transaction)
        second = says(shop, shop.saleor.open_granted_refund(granted))
        refunds(shop)
        answers = await asyncio.gather(answered(shop, first, "first"), answered(shop, second, "second"))
        await shop.pass_time(minutes=30)
        refused = [answer.message or "" for answer in answers if answer.result == "REFUND_FAILURE"]
        assert all("before, and is or may be refunded there" in message for message in refused)
        assert shop.gateway.calls.count("refund") == 2 - len(refused) <= 1

    async def test_it_is_healed_before_staff_have_to(self, paid_shop: Shop) -> None:
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        request, _ = await pay_out(paid_shop, granted, booked=False)
        dropped(paid_shop, request)
        await paid_shop.pass_time(seconds=2)
        assert paid_shop.saleor.reports == []
        assert granted.status is PENDING  # asked for anew, by the app
        asked = ["transaction_history", "request_granted_refund"]
        assert [name for name, _ in paid_shop.saleor.executed_documents] == asked  # and now the webhook is awaited
        [answer] = await book_app_requests(paid_shop)
        assert answer.result == "REFUND_SUCCESS"
        await paid_shop.pass_time(minutes=20)
        assert paid_shop.gateway.calls == ["refund"]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        assert paid_shop.saleor.requested == []

    async def test_a_saleor_that_never_ties_it_is_told_all_the_same(self, paid_shop: Shop) -> None:
        """After three tries: the money has gone back, and Saleor's amounts must say so."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        request, _ = await pay_out(paid_shop, granted, booked=False)
        dropped(paid_shop, request)
        for _ in range(40):
            await paid_shop.pass_time(minutes=1)
            while paid_shop.saleor.requested:
                dropped(paid_shop, paid_shop.saleor.requested.pop(0))
        assert len([name for name, _ in paid_shop.saleor.executed_documents if name == "request_granted_refund"]) == 3
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert paid_shop.gateway.calls == ["refund"]

    async def test_while_the_refund_is_open_it_is_pending(self, paid_shop: Shop) -> None:
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop, status="pending")
        request, _ = await pay_out(paid_shop, granted, booked=False)
        dropped(paid_shop, request)
        _, again = await pay_out(paid_shop, granted)
        assert again.result is None
        await paid_shop.notify(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund"]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        assert {report.psp_reference for report in paid_shop.saleor.reports} == {again.psp_reference}

    async def test_what_was_told_is_taken_back_and_told_anew(self, paid_shop: Shop) -> None:
        """Saleor has booked it under a reference that its grant does not know: then under the one that it knows."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        request, first = await pay_out(paid_shop, granted, booked=False)
        await paid_shop.pass_time(minutes=15)  # it never reads, and is told in the end
        record_failure(paid_shop.transaction, request, NOT_DELIVERED, paid_shop.saleor.event_clock)
        granted.status = FAILURE
        _, again = await pay_out(paid_shop, granted)
        assert again.dump() == {"pspReference": again.psp_reference}
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund"]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        told = [(report.type.value, report.psp_reference) for report in paid_shop.saleor.reports]
        assert told == [
            ("REFUND_SUCCESS", first.psp_reference),
            ("REFUND_REVERSE", first.psp_reference),
            ("REFUND_SUCCESS", again.psp_reference),
        ]

    async def test_which_came_back_is_paid_out_again(self, paid_shop: Shop) -> None:
        """The gateway reports days later that the refund has failed, and staff have checked that."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        await pay_out(paid_shop, granted)
        await paid_shop.pass_time(minutes=1)
        await paid_shop.notify(operation("refund", paid_shop.order_id, "100.00", "failure", operation_id="refund-1"))
        await paid_shop.work()
        decision = Decision(State.FAILURE, "olena", "the card was replaced")
        await settle(paid_shop.services, paid_shop.order_id, None, decision)
        await paid_shop.work()
        assert (granted.status, paid_shop.amounts) == (GrantedRefundStatus.NONE, amounts(charged=TOTAL))
        refunds(paid_shop, named="refund-2")
        await pay_out(paid_shop, granted)
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund", "refund"]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    async def test_saleor_asks_again_while_the_worker_looks_whether_it_has_read(
        self, paid_shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing was told yet, so nothing is taken back."""
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        refunds(paid_shop)
        request, _ = await pay_out(paid_shop, granted, booked=False)
        dropped(paid_shop, request)
        execute, answers = paid_shop.saleor.execute, list[ActionResponse]()

        async def meanwhile(installed: Installation, document: str, said: Mapping[str, Any]) -> dict[str, Any]:
            if document == "transaction_history" and not answers:
                answers.append((await pay_out(paid_shop, granted))[1])
            return await execute(installed, document, said)

        monkeypatch.setattr(paid_shop.saleor, "execute", meanwhile)
        await paid_shop.pass_time(minutes=20)
        told = [(report.type.value, report.psp_reference) for report in paid_shop.saleor.reports]
        assert told == [("REFUND_SUCCESS", answers[0].psp_reference)]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    async def test_one_that_failed_may_be_tried_again(self, paid_shop: Shop) -> None:
        granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
        paid_shop.gateway.will_answer(json_reply({"message": "Invalid operation", "args": {"code": "4150"}}, 400))
        _, first = await pay_out(paid_shop, granted)
        assert first.result == "REFUND_FAILURE"
        await paid_shop.pass_time(minutes=1)
        refunds(paid_shop)
        _, again = await pay_out(paid_shop, granted)
        assert again.result == "REFUND_SUCCESS"
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund", "refund"]
        assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    async def test_two_grants_of_one_amount_are_two_refunds(self, paid_shop: Shop) -> None:
        one, other = (paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100)) for _ in range(2))
        refunds(paid_shop, named="refund-1")
        await pay_out(paid_shop, one)
        refunds(paid_shop, named="refund-2")
        await pay_out(paid_shop, other)
        await paid_shop.pass_time(minutes=1)
        assert (one.status, other.status) == (SUCCESS, SUCCESS)
        assert paid_shop.amounts == amounts(charged="369.50", refunded="200.00")


@pytest.mark.law(4)
class TestTwoAtTheSameMoment:
    async def test_of_other_amounts(self, paid_shop: Shop) -> None:
        """Each webhook lists both requests: it is about the one of its own amount."""
        large = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(150), "large")
        paid_shop.clock.forward(milliseconds=10)
        small = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(75), "small")
        told = [(grant, says(paid_shop, grant)) for grant in (large, small)]
        refunds(paid_shop, "150.00", "refund-1")
        refunds(paid_shop, "75.00", "refund-2")
        for request, event in told:
            paid_shop.saleor.book_action(
                paid_shop.transaction, request, "REFUND", await answered(paid_shop, event, f"body of {request.amount}")
            )
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund", "refund"]
        assert paid_shop.amounts == amounts(charged="344.50", refunded="225.00")

    @pytest.mark.parametrize("grants", [True, False])
    async def test_of_the_same_amount(self, paid_shop: Shop, *, grants: bool) -> None:
        """Which is which nobody can say, and nobody has to: each is taken once."""
        if grants:
            granted = [paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100)) for _ in range(2)]
            requests = [paid_shop.saleor.open_granted_refund(grant) for grant in granted]
        else:
            granted, requests = (
                [],
                [
                    paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(100), f"key-{n}")
                    for n in (1, 2)
                ],
            )
        told = [(request, says(paid_shop, request)) for request in requests]
        refunds(paid_shop, named="refund-1")
        refunds(paid_shop, named="refund-2")
        for number, (request, event) in enumerate(told):
            answer = await answered(paid_shop, event, f"body {number}")
            again = await answered(
                paid_shop, event, f"body {number}"
            )  # played back: the same question, the same answer
            assert answer.dump() == again.dump()
            paid_shop.saleor.book_action(paid_shop.transaction, request, "REFUND", answer)
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund", "refund"]
        assert paid_shop.amounts == amounts(charged="369.50", refunded="200.00")
        assert [grant.status for grant in granted] == [SUCCESS] * len(granted)
        states = [
            operation.state for operation in (await paid_shop.aggregate()).operations if operation.kind is Kind.REFUND
        ]
        assert states == [State.SUCCESS, State.SUCCESS]

    async def test_that_the_connection_of_one_broke_says_nothing_of_the_other(self, paid_shop: Shop) -> None:
        """Saleor notes a failure that names neither of them, but an amount."""
        refunds(paid_shop, "100.00", "refund-1")
        first = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(100), "first")
        answer = await answered(paid_shop, says(paid_shop, first), "body 1")
        refunds(paid_shop, "50.00", "refund-2")
        second = paid_shop.saleor.open_request(paid_shop.transaction, "REFUND", Decimal(50), "second")
        await answered(paid_shop, says(paid_shop, second), "body 2")
        dropped(paid_shop, second)
        await paid_shop.pass_time(seconds=8)
        assert Decimal("100.00") not in {
            report.amount for report in paid_shop.saleor.reports
        }  # Saleor is still reading that
        paid_shop.saleor.book_action(paid_shop.transaction, first, "REFUND", answer)
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.amounts == amounts(charged="419.50", refunded="150.00")

    async def test_a_known_request_over_another_amount_is_refused_in_words(self, paid_shop: Shop) -> None:
        refunds(paid_shop)
        await paid_shop.request_action("REFUND", "100.00")
        answer = await paid_shop.request_action("REFUND", "50.00", booked=False)
        assert answer.result == "REFUND_FAILURE"
        assert "with different details" in (answer.message or "")
        assert paid_shop.gateway.calls == ["refund"]

    async def test_a_known_request_for_another_action_is_refused_in_words(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(json_reply(operation("capture", reserved_shop.order_id, "100.00")))
        await reserved_shop.request_action("CHARGE", "100.00")
        answer = await reserved_shop.request_action("REFUND", "100.00", booked=False)
        assert answer.result == "REFUND_FAILURE"
        assert "with different details" in (answer.message or "")
        assert reserved_shop.gateway.calls == ["capture"]

    async def test_a_cancelation_is_the_same_whatever_amount_it_names(self, reserved_shop: Shop) -> None:
        """It means all that is reserved, and Saleor may have forgotten how much that was."""
        reserved_shop.gateway.will_answer(json_reply(operation("void", reserved_shop.order_id, TOTAL)))
        first = await reserved_shop.request_action("CANCEL", TOTAL)
        again = await reserved_shop.request_action("CANCEL", 0, booked=False)
        assert (again.result, again.psp_reference) == ("CANCEL_SUCCESS", first.psp_reference)
        assert reserved_shop.gateway.calls == ["void"]


@pytest.mark.fault("network-cut")
@pytest.mark.law(9)
async def test_a_crash_in_the_middle_of_an_answer(paid_shop: Shop) -> None:
    """The process dies with the call on its way: the connection to Saleor breaks, and the look-up finds the refund."""
    granted = paid_shop.saleor.grant_refund(paid_shop.transaction, Decimal(100))
    paid_shop.gateway.will_answer(HangUp())
    request = paid_shop.saleor.open_granted_refund(granted)
    await answered(paid_shop, says(paid_shop, request))
    dropped(paid_shop, request)
    paid_shop.record_refund("100.00", "refund-1")
    for _ in range(6):
        await paid_shop.pass_time(seconds=10)
        await book_app_requests(paid_shop)
    await paid_shop.pass_time(minutes=2)
    assert paid_shop.gateway.calls == ["refund"]
    assert (granted.status, paid_shop.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
