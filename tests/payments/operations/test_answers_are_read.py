"""Saleor asks, and is answered; whether it has read the answer decides what it is told, and under which reference.

Laws of money, 5 and 9; Saleor contract, A.10.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from app.db.tables import Kind, State
from app.payments.core.problems import problem_words
from app.payments.operations.actions import requested
from app.saleor.answers import ActionAnswer, AvailableAction
from app.saleor.errors import SaleorRefusedError, SaleorUnreachableError
from app.saleor.events import TransactionRefundRequested
from app.saleor.installation import Installed
from app.saleor.testing.records import Event, GrantedRefund
from app.saleor.testing.rules.recording import NOT_DELIVERED, write_failure
from app.saleor.testing.vocabulary import GrantedRefundStatus
from app.saleor.webhook_definition import failure_of_action
from tests.loopback import HangUp, Heard, said
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
    return TransactionRefundRequested.model_validate(told | shop.saleor.says(shop.transaction, request))


async def answered(shop: Shop, event: TransactionRefundRequested, digest: str = "") -> ActionAnswer:
    return await requested(shop.services, event, shop.installation, digest=digest)


async def pay_out(shop: Shop, granted: GrantedRefund, *, booked: bool = True) -> tuple[Event, ActionAnswer]:
    """Staff ask for a granted refund. ``booked`` False: the answer does not reach Saleor."""
    request = shop.saleor.open_granted(granted)
    answer = await answered(shop, says(shop, request), digest=f"body of {request.idempotency_key}")
    if booked:
        shop.saleor.book_action(shop.transaction, request, "REFUND", answer)
    return request, answer


def lose(shop: Shop, request: Event) -> str:
    """A proxy answers 502. Saleor repeats its webhook with an empty body, and reads what is answered to that."""
    answer = failure_of_action(TransactionRefundRequested, "Saleor sent an empty request.")
    shop.saleor.book_action(shop.transaction, request, "REFUND", answer)
    return answer.psp_reference


def dropped(shop: Shop, request: Event) -> None:
    """The connection breaks: Saleor does not repeat its webhook, and notes a failure that has no reference."""
    shop.saleor.book_action(shop.transaction, request, "REFUND", None)


async def book_app_requests(shop: Shop) -> list[ActionAnswer]:
    """Play the webhooks of what the app itself has asked Saleor to ask for."""
    answers = []
    while shop.saleor.requested:
        request = shop.saleor.requested.pop(0)
        answer = await answered(shop, says(shop, request), digest=f"body of {request.idempotency_key}")
        shop.saleor.book_action(shop.transaction, request, "REFUND", answer)
        answers.append(answer)
    return answers


def refunds(shop: Shop, amount: str = "100.00", named: str = "refund-1", status: str = "success") -> None:
    shop.gateway.will(said(operation("refund", shop.order_id, amount, status, named=named)))


@pytest.mark.law(5)
class TestTheAnswerGoesFirst:
    async def test_a_notification_that_comes_before_the_answer_is_told_after_it(self, paid: Shop) -> None:
        """Told before, it would be booked and not tied: the grant would be pending for ever."""
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        record = operation("refund", paid.order_id, "100.00", named="refund-1")

        async def notify_first(_: Heard) -> None:
            paid.gateway.on_arrival = None
            await paid.notify(record)
            await paid.work()
            assert paid.saleor.reports == []

        paid.gateway.on_arrival = notify_first
        paid.gateway.will(said(record))
        request = paid.saleor.open_granted(granted)
        answer = await answered(paid, says(paid, request))
        await paid.later(milliseconds=900)
        assert paid.saleor.reports == []
        paid.saleor.book_action(paid.transaction, request, "REFUND", answer)
        await paid.later(seconds=5)
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    @pytest.mark.fault("saleor-slow")
    async def test_saleor_takes_its_time_to_read(self, paid: Shop) -> None:
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        refunds(paid)
        request, answer = await pay_out(paid, granted, booked=False)
        await paid.later(seconds=20)
        assert paid.saleor.reports == []
        paid.saleor.book_action(paid.transaction, request, "REFUND", answer)
        await paid.later(seconds=40)
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    async def test_saleor_is_looked_at_once_for_each_action(self, paid: Shop) -> None:
        refunds(paid, "100.00", "refund-1")
        await paid.staff("REFUND", "100.00", "first")
        await paid.later(minutes=5)
        assert [name for name, _ in paid.saleor.queried] == ["transaction_history"]

    async def test_what_others_have_done_is_told_after_one_look_and_without_waiting(self, paid: Shop) -> None:
        """Saleor may have heard of it before a backup of ours was put back; nothing else asks it first."""
        assert paid.saleor.queried == []
        await paid.notify(operation("refund", paid.order_id, "69.50", named="portal-1"))
        await paid.work()
        assert paid.saleor.told == ["REFUND_SUCCESS"]
        assert [name for name, _ in paid.saleor.queried] == ["transaction_history"]

    async def test_saleor_cannot_be_looked_at_for_a_while(self, paid: Shop) -> None:
        paid.saleor.deaf.extend([SaleorUnreachableError("down")] * 4)
        refunds(paid)
        await paid.staff("REFUND", "100.00")
        await paid.later(minutes=2)
        assert paid.amounts == amounts(charged="469.50", refunded="100.00")
        assert paid.saleor.told == ["REFUND_SUCCESS"]

    async def test_a_saleor_that_refuses_to_be_looked_at_is_told_all_the_same(self, paid: Shop) -> None:
        paid.saleor.deaf.append(SaleorRefusedError("GRAPHQL_ERROR", None, "no"))
        refunds(paid)
        await paid.staff("REFUND", "100.00")
        await paid.later(seconds=2)
        assert paid.saleor.told == ["REFUND_SUCCESS"]

    async def test_the_release_of_the_rest_is_told_as_soon_as_the_answer_is_read(self, reserved: Shop) -> None:
        """Until then Saleor shows the rest as authorized, and offers to charge it."""
        reserved.gateway.will(said(operation("capture", reserved.order_id, "300.00", named="capture-1")))
        await reserved.staff("CHARGE", "300.00")
        await reserved.later(seconds=2)
        assert reserved.amounts == amounts(charged="300.00", canceled="269.50")
        assert reserved.transaction.actions == ["REFUND"]

    async def test_what_saleor_still_offers_while_an_outcome_is_open_is_withdrawn(self, reserved: Shop) -> None:
        reserved.gateway.will(said(operation("capture", reserved.order_id, TOTAL, "pending", named="capture-1")))
        await reserved.staff("CHARGE", TOTAL)
        assert reserved.transaction.actions == ["CANCEL", "CHARGE"]
        await reserved.later(seconds=2)
        assert reserved.transaction.actions == []
        await reserved.notify(operation("capture", reserved.order_id, TOTAL, named="capture-1"))
        await reserved.work()
        assert reserved.transaction.actions == ["REFUND"]
        assert reserved.amounts == amounts(charged=TOTAL)

    async def test_so_is_what_is_left_when_a_further_refund_has_to_wait(self, paid: Shop) -> None:
        refunds(paid, status="pending")
        await paid.staff("REFUND", "100.00", "first")
        await paid.later(seconds=2)
        assert paid.transaction.actions == ["REFUND"]
        assert (await paid.staff("REFUND", "469.50", "second")).result is None
        await paid.later(seconds=2)
        assert paid.transaction.actions == []


@pytest.mark.law(9)
class TestALostAnswer:
    @pytest.mark.parametrize("grant", [True, False])
    async def test_it_is_told_under_the_reference_that_saleors_request_has(self, paid: Shop, *, grant: bool) -> None:
        """The last word is Saleor's (law 9): the failure that it read is overruled by a success under the same one."""
        granted = paid.saleor.grant(paid.transaction, Decimal(100)) if grant else None
        refunds(paid)
        if granted is None:
            request = paid.saleor.open(paid.transaction, "REFUND", Decimal(100), "key-1")
            await answered(paid, says(paid, request))
        else:
            request, _ = await pay_out(paid, granted, booked=False)
        await paid.later(seconds=8)
        assert paid.saleor.reports == []  # Saleor is still repeating its webhook
        theirs = lose(paid, request)
        await paid.later(minutes=1)
        assert [(each.type.value, each.psp_reference) for each in paid.saleor.reports] == [("REFUND_SUCCESS", theirs)]
        assert paid.amounts == amounts(charged="469.50", refunded="100.00")
        assert (await paid.operation(Kind.REFUND)).psp_reference == theirs
        assert granted is None or granted.status is SUCCESS

    async def test_a_capture_and_its_release(self, reserved: Shop) -> None:
        reserved.gateway.will(said(operation("capture", reserved.order_id, "300.00", named="capture-1")))
        await reserved.staff("CHARGE", "300.00", booked=False)
        [request] = [each for each in reserved.transaction.events if each.type == "CHARGE_REQUEST"]
        answer = ActionAnswer.failure(
            AvailableAction.CHARGE, psp_reference="empty-body", message="Saleor sent an empty request."
        )
        reserved.saleor.book_action(reserved.transaction, request, "CHARGE", answer)
        await reserved.later(minutes=1)
        told = [(each.type.value, each.psp_reference) for each in reserved.saleor.reports]
        assert told == [("CHARGE_SUCCESS", "empty-body"), ("CANCEL_SUCCESS", "empty-body-released")]
        await reserved.notify(operation("capture", reserved.order_id, "300.00", named="capture-1"))
        await reserved.later(minutes=1)
        assert reserved.amounts == amounts(charged="300.00", canceled="269.50")

    async def test_a_failure_that_saleor_has_noted_already_is_no_problem(self, paid: Shop) -> None:
        """Over another amount than ours Saleor would refuse it."""
        paid.gateway.will(said({"message": "Invalid operation", "args": {"code": "4150"}}, 400))
        request = paid.saleor.open(paid.transaction, "REFUND", Decimal(100), "key-1")
        await answered(paid, says(paid, request))
        theirs = lose(paid, request)
        [noted] = [each for each in paid.transaction.events if each.type == "REFUND_FAILURE"]
        noted.amount = Decimal(1)
        await paid.later(minutes=1)
        assert paid.saleor.reports == []
        assert (await paid.operation(Kind.REFUND)).psp_reference == theirs
        assert problem_words((await paid.aggregate()).payment) is None

    @pytest.mark.fault("network-cut")
    async def test_a_broken_connection_is_told_under_our_own_reference(self, paid: Shop) -> None:
        refunds(paid)
        request = paid.saleor.open(paid.transaction, "REFUND", Decimal(100), "key-1")
        answer = await answered(paid, says(paid, request))
        dropped(paid, request)
        await paid.later(seconds=10)
        assert [(each.type.value, each.psp_reference) for each in paid.saleor.reports] == [
            ("REFUND_SUCCESS", answer.psp_reference)
        ]
        assert paid.amounts == amounts(charged="469.50", refunded="100.00")

    async def test_a_saleor_that_never_gives_up_is_told_in_the_end(self, paid: Shop) -> None:
        refunds(paid)
        request = paid.saleor.open(paid.transaction, "REFUND", Decimal(100), "key-1")
        await answered(paid, says(paid, request))
        await paid.later(minutes=9)
        assert paid.saleor.reports == []
        assert len(paid.saleor.queried) < 20  # it is asked ever more seldom
        await paid.later(minutes=3)
        assert paid.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(4, 9)
class TestAGrantIsPaidOutOnce:
    async def test_staff_ask_again_after_an_answer_that_broke_off(self, paid: Shop) -> None:
        """Whatever key it comes with: no money moves, and it is answered from the record under a fresh reference."""
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        refunds(paid)
        request, first = await pay_out(paid, granted, booked=False)
        dropped(paid, request)
        assert granted.status is FAILURE
        _, again = await pay_out(paid, granted)
        assert (again.result, again.amount) == ("REFUND_SUCCESS", Decimal(100))
        assert again.psp_reference != first.psp_reference
        await paid.later(minutes=20)
        assert paid.gateway.calls == ["refund"]
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        assert {each.psp_reference for each in paid.saleor.reports} == {again.psp_reference}

    async def test_it_is_healed_before_staff_have_to(self, paid: Shop) -> None:
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        refunds(paid)
        request, _ = await pay_out(paid, granted, booked=False)
        dropped(paid, request)
        await paid.later(seconds=2)
        assert paid.saleor.reports == []
        assert granted.status is PENDING  # asked for anew, by the app
        asked = ["transaction_history", "request_granted_refund"]
        assert [name for name, _ in paid.saleor.queried] == asked  # and now the webhook is awaited
        [answer] = await book_app_requests(paid)
        assert answer.result == "REFUND_SUCCESS"
        await paid.later(minutes=20)
        assert paid.gateway.calls == ["refund"]
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        assert paid.saleor.requested == []

    async def test_a_saleor_that_never_ties_it_is_told_all_the_same(self, paid: Shop) -> None:
        """After three tries: the money has gone back, and Saleor's amounts must say so."""
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        refunds(paid)
        request, _ = await pay_out(paid, granted, booked=False)
        dropped(paid, request)
        for _ in range(40):
            await paid.later(minutes=1)
            while paid.saleor.requested:
                dropped(paid, paid.saleor.requested.pop(0))
        assert len([name for name, _ in paid.saleor.queried if name == "request_granted_refund"]) == 3
        assert paid.amounts == amounts(charged="469.50", refunded="100.00")
        assert paid.gateway.calls == ["refund"]

    async def test_while_the_refund_is_open_it_is_pending(self, paid: Shop) -> None:
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        refunds(paid, status="pending")
        request, _ = await pay_out(paid, granted, booked=False)
        dropped(paid, request)
        _, again = await pay_out(paid, granted)
        assert again.result is None
        await paid.notify(operation("refund", paid.order_id, "100.00", named="refund-1"))
        await paid.later(minutes=1)
        assert paid.gateway.calls == ["refund"]
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        assert {each.psp_reference for each in paid.saleor.reports} == {again.psp_reference}

    async def test_what_was_told_is_taken_back_and_told_anew(self, paid: Shop) -> None:
        """Saleor has booked it under a reference that its grant does not know: then under the one that it knows."""
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        refunds(paid)
        request, first = await pay_out(paid, granted, booked=False)
        await paid.later(minutes=15)  # it never reads, and is told in the end
        write_failure(paid.transaction, request, NOT_DELIVERED, paid.saleor.event_clock)
        granted.status = FAILURE
        _, again = await pay_out(paid, granted)
        assert again.dump() == {"pspReference": again.psp_reference}
        await paid.later(minutes=1)
        assert paid.gateway.calls == ["refund"]
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
        told = [(each.type.value, each.psp_reference) for each in paid.saleor.reports]
        assert told == [
            ("REFUND_SUCCESS", first.psp_reference),
            ("REFUND_REVERSE", first.psp_reference),
            ("REFUND_SUCCESS", again.psp_reference),
        ]

    async def test_saleor_asks_again_while_the_worker_looks_whether_it_has_read(
        self, paid: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing was told yet, so nothing is taken back."""
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        refunds(paid)
        request, _ = await pay_out(paid, granted, booked=False)
        dropped(paid, request)
        ask, answers = paid.saleor.ask, list[ActionAnswer]()

        async def meanwhile(installed: Installed, document: str, said: Mapping[str, Any]) -> dict[str, Any]:
            if document == "transaction_history" and not answers:
                answers.append((await pay_out(paid, granted))[1])
            return await ask(installed, document, said)

        monkeypatch.setattr(paid.saleor, "ask", meanwhile)
        await paid.later(minutes=20)
        told = [(each.type.value, each.psp_reference) for each in paid.saleor.reports]
        assert told == [("REFUND_SUCCESS", answers[0].psp_reference)]
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    async def test_one_that_failed_may_be_tried_again(self, paid: Shop) -> None:
        granted = paid.saleor.grant(paid.transaction, Decimal(100))
        paid.gateway.will(said({"message": "Invalid operation", "args": {"code": "4150"}}, 400))
        _, first = await pay_out(paid, granted)
        assert first.result == "REFUND_FAILURE"
        await paid.later(minutes=1)
        refunds(paid)
        _, again = await pay_out(paid, granted)
        assert again.result == "REFUND_SUCCESS"
        await paid.later(minutes=1)
        assert paid.gateway.calls == ["refund", "refund"]
        assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))

    async def test_two_grants_of_one_amount_are_two_refunds(self, paid: Shop) -> None:
        one, other = (paid.saleor.grant(paid.transaction, Decimal(100)) for _ in range(2))
        refunds(paid, named="refund-1")
        await pay_out(paid, one)
        refunds(paid, named="refund-2")
        await pay_out(paid, other)
        await paid.later(minutes=1)
        assert (one.status, other.status) == (SUCCESS, SUCCESS)
        assert paid.amounts == amounts(charged="369.50", refunded="200.00")


@pytest.mark.law(4)
class TestTwoAtTheSameMoment:
    async def test_of_other_amounts(self, paid: Shop) -> None:
        """Each webhook lists both requests: it is about the one of its own amount."""
        large = paid.saleor.open(paid.transaction, "REFUND", Decimal(150), "large")
        paid.clock.forward(milliseconds=10)
        small = paid.saleor.open(paid.transaction, "REFUND", Decimal(75), "small")
        told = [(each, says(paid, each)) for each in (large, small)]
        refunds(paid, "150.00", "refund-1")
        refunds(paid, "75.00", "refund-2")
        for request, event in told:
            paid.saleor.book_action(
                paid.transaction, request, "REFUND", await answered(paid, event, f"body of {request.amount}")
            )
        await paid.later(minutes=1)
        assert paid.gateway.calls == ["refund", "refund"]
        assert paid.amounts == amounts(charged="344.50", refunded="225.00")

    @pytest.mark.parametrize("grants", [True, False])
    async def test_of_the_same_amount(self, paid: Shop, *, grants: bool) -> None:
        """Which is which nobody can say, and nobody has to: each is taken once."""
        if grants:
            granted = [paid.saleor.grant(paid.transaction, Decimal(100)) for _ in range(2)]
            requests = [paid.saleor.open_granted(each) for each in granted]
        else:
            granted, requests = (
                [],
                [paid.saleor.open(paid.transaction, "REFUND", Decimal(100), f"key-{n}") for n in (1, 2)],
            )
        told = [(each, says(paid, each)) for each in requests]
        refunds(paid, named="refund-1")
        refunds(paid, named="refund-2")
        for number, (request, event) in enumerate(told):
            answer = await answered(paid, event, f"body {number}")
            again = await answered(paid, event, f"body {number}")  # played back: the same question, the same answer
            assert answer.dump() == again.dump()
            paid.saleor.book_action(paid.transaction, request, "REFUND", answer)
        await paid.later(minutes=1)
        assert paid.gateway.calls == ["refund", "refund"]
        assert paid.amounts == amounts(charged="369.50", refunded="200.00")
        assert [each.status for each in granted] == [SUCCESS] * len(granted)
        states = [each.state for each in (await paid.aggregate()).operations if each.kind is Kind.REFUND]
        assert states == [State.SUCCESS, State.SUCCESS]

    async def test_that_the_connection_of_one_broke_says_nothing_of_the_other(self, paid: Shop) -> None:
        """Saleor notes a failure that names neither of them, but an amount."""
        refunds(paid, "100.00", "refund-1")
        first = paid.saleor.open(paid.transaction, "REFUND", Decimal(100), "first")
        answer = await answered(paid, says(paid, first), "body 1")
        refunds(paid, "50.00", "refund-2")
        second = paid.saleor.open(paid.transaction, "REFUND", Decimal(50), "second")
        await answered(paid, says(paid, second), "body 2")
        dropped(paid, second)
        await paid.later(seconds=8)
        assert Decimal("100.00") not in {each.amount for each in paid.saleor.reports}  # Saleor is still reading that
        paid.saleor.book_action(paid.transaction, first, "REFUND", answer)
        await paid.later(minutes=1)
        assert paid.amounts == amounts(charged="419.50", refunded="150.00")

    async def test_a_known_request_over_another_amount_is_refused_in_words(self, paid: Shop) -> None:
        refunds(paid)
        await paid.staff("REFUND", "100.00")
        answer = await paid.staff("REFUND", "50.00", booked=False)
        assert answer.result == "REFUND_FAILURE"
        assert "asked for something else then" in (answer.message or "")
        assert paid.gateway.calls == ["refund"]

    async def test_a_known_request_for_another_action_is_refused_in_words(self, reserved: Shop) -> None:
        reserved.gateway.will(said(operation("capture", reserved.order_id, "100.00")))
        await reserved.staff("CHARGE", "100.00")
        answer = await reserved.staff("REFUND", "100.00", booked=False)
        assert answer.result == "REFUND_FAILURE"
        assert "asked for something else then" in (answer.message or "")
        assert reserved.gateway.calls == ["capture"]

    async def test_a_cancelation_is_the_same_whatever_amount_it_names(self, reserved: Shop) -> None:
        """It means all that is reserved, and Saleor may have forgotten how much that was."""
        reserved.gateway.will(said(operation("void", reserved.order_id, TOTAL)))
        first = await reserved.staff("CANCEL", TOTAL)
        again = await reserved.staff("CANCEL", 0, booked=False)
        assert (again.result, again.psp_reference) == ("CANCEL_SUCCESS", first.psp_reference)
        assert reserved.gateway.calls == ["void"]


@pytest.mark.fault("network-cut")
@pytest.mark.law(9)
async def test_a_crash_in_the_middle_of_an_answer(paid: Shop) -> None:
    """The process dies with the call on its way: the connection to Saleor breaks, and the look-up finds the refund."""
    granted = paid.saleor.grant(paid.transaction, Decimal(100))
    paid.gateway.will(HangUp())
    request = paid.saleor.open_granted(granted)
    await answered(paid, says(paid, request))
    dropped(paid, request)
    paid.refunded("100.00", "refund-1")
    for _ in range(6):
        await paid.later(seconds=10)
        await book_app_requests(paid)
    await paid.later(minutes=2)
    assert paid.gateway.calls == ["refund"]
    assert (granted.status, paid.amounts) == (SUCCESS, amounts(charged="469.50", refunded="100.00"))
