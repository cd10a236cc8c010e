"""One debt is paid once (laws of money, 12): several attempts to pay the same checkout or order."""

from decimal import Decimal
from typing import Any

import pytest

from app.core.alerts import AlertKind
from app.core.payment import PaymentAggregate, row_id_of
from app.core.vocabulary import Kind, State
from app.flows.notifications import process
from app.flows.staff.manual_resolution import Decision, settle
from app.reports.alerts.open_alerts import find_open_alerts
from app.rules.problems import problem_text
from app.store.aggregates import ByOrder
from app.worker.loop import compare_attempts
from integration_base_tests.loopback import HangUp, ReceivedRequest, json_reply
from saleor_app_sdk.responses import SessionResponse
from tests.payments.changes import Change
from tests.payments.fake_gateway import BROKEN, action_of, operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_competing_attempts import TOTAL, another, basket, listed, opened
from tests.payments.problems import kinds_of
from tests.payments.shop import Shop

pytestmark = pytest.mark.law(12)

BUSY = refusal_reply("Too many requests", "P-429", 429)


def code(answer: SessionResponse) -> str:
    """Return the code of the only error."""
    [error] = answer.data["errors"]
    return str(error["code"])


async def begins(shop: Shop, amount: object = TOTAL, **said_of_it: Any) -> SessionResponse:
    """A shopper begins to pay, with no page foreseen at the gateway."""
    return await shop.begin(amount=amount, **({"sourceObject": basket()} | said_of_it))


async def state(shop: Shop) -> State:
    return (await shop.operation(Kind.CREATE)).state


async def comes_to(shop: Shop, status: str, amount: object = TOTAL, **more: Any) -> None:
    """The gateway notifies us of what the shopper has done on the page."""
    await shop.notify(payment(shop.order_id, status, amount, **more))
    await shop.work()


def would_close(*shops: Shop) -> None:
    """The gateway closes these pages when it is asked, in any order."""
    for shop in shops:
        shop.gateway.will_answer(json_reply([payment(shop.order_id, "failure", TOTAL, status_code="6007")]))


class TestNoPageIsOpenedForWhatIsCovered:
    @pytest.mark.parametrize(
        ("older", "why"), [("success", "ALREADY_PAID"), ("pending", "PAYMENT_IN_PROGRESS")], ids=["paid", "at the bank"]
    )
    async def test_all_of_it(self, shop: Shop, older: str, why: str) -> None:
        await opened(shop)
        await comes_to(shop, older)
        new = another(shop)
        answer = await begins(new)
        assert (answer.result, code(answer)) == ("CHARGE_FAILURE", why)
        assert "не платіть ще раз" in answer.data["errors"][0]["message"]
        assert shop.gateway.calls == ["payment"]
        assert await new.find_aggregate() is None

    async def test_a_part_of_it(self, shop: Shop) -> None:
        await opened(shop, 60)
        await comes_to(shop, "success", 60)
        assert code(await begins(another(shop))) == "ALREADY_PAID"
        await opened(another(shop), 40)

    async def test_a_part_at_the_bank_leaves_the_rest_to_be_paid(self, shop: Shop) -> None:
        await opened(shop, 60)
        await comes_to(shop, "pending", 60)
        assert code(await begins(another(shop), "40.01")) == "PAYMENT_IN_PROGRESS"
        await opened(another(shop), 40)

    async def test_what_is_refunded_is_to_be_paid_again(self, shop: Shop) -> None:
        await opened(shop)
        await comes_to(shop, "success")
        await shop.notify(operation("refund", shop.order_id, TOTAL, operation_id="refund-1"))
        await shop.work()
        await opened(another(shop))

    async def test_what_the_payers_bank_has_taken_back_is_to_be_paid_again(self, shop: Shop) -> None:
        """As Saleor says too, which counts it as charged no longer; while the bank has not decided, it is covered."""
        await opened(shop)
        await comes_to(shop, "success")
        await comes_to(shop, "pending", method="dispute", payment_id="dispute-1")
        assert code(await begins(another(shop))) == "ALREADY_PAID"
        await comes_to(shop, "success", method="dispute", payment_id="dispute-1")
        assert shop.amounts.charged == 0
        await opened(another(shop))

    async def test_more_refunded_than_was_paid_leaves_no_more_to_pay_than_is_owed(self, shop: Shop) -> None:
        """By the refund and by the bank the payer got the same money back twice: that is no debt of the store."""
        await opened(shop)
        await comes_to(shop, "success")
        await shop.notify(operation("refund", shop.order_id, TOTAL, operation_id="refund-1"))
        await comes_to(shop, "success", method="dispute", payment_id="dispute-1")
        assert code(await begins(another(shop), "100.01")) == "AMOUNT_TOO_HIGH"
        await opened(another(shop))

    async def test_what_is_reserved_is_covered_until_it_is_released(self, shop: Shop) -> None:
        await opened(shop, flow="AUTHORIZATION")
        await comes_to(shop, "success", method="auth")
        assert code(await begins(another(shop))) == "ALREADY_PAID"
        await shop.notify(operation("void", shop.order_id, TOTAL, operation_id="void-1"))
        await shop.work()
        await opened(another(shop))

    async def test_of_a_reservation_that_was_captured_in_part_the_captured_part_is_covered(self, shop: Shop) -> None:
        await opened(shop, flow="AUTHORIZATION")
        await comes_to(shop, "success", method="auth")
        await shop.notify(operation("capture", shop.order_id, 60, operation_id="capture-1"))
        await shop.work()
        assert code(await begins(another(shop), "40.01")) == "ALREADY_PAID"
        await opened(another(shop), 40)

    async def test_while_it_is_the_shoppers_turn_another_page_may_be_opened(self, shop: Shop) -> None:
        """Whoever has lost the bank's page can pay all the same; when the older one goes on, the newer is closed."""
        await opened(shop)
        await comes_to(shop, "pending", status_code="2102")
        new = await opened(another(shop))
        await shop.work()
        assert await state(new) is State.INIT
        would_close(new)
        await comes_to(shop, "pending", status_code="2001")
        assert await state(new) is State.FAILURE

    async def test_a_failed_payment_covers_nothing(self, shop: Shop) -> None:
        await opened(shop)
        await comes_to(shop, "failure")
        await opened(another(shop))

    async def test_what_is_paid_in_another_currency_covers_nothing(self, shop: Shop) -> None:
        shop.account = await shop.services.accounts.change(shop.account.id, currencies=["UAH", "EUR"])
        await opened(shop)
        await comes_to(shop, "success")
        new = another(shop)
        new.gateway.will_answer(new.gateway.page())
        assert (await begins(new, currency="EUR")).data["checkoutUrl"]

    async def test_of_another_checkout_it_is_another_debt(self, shop: Shop) -> None:
        await opened(shop)
        await comes_to(shop, "success")
        await opened(another(shop), sourceObject=basket(id="Q2hlY2tvdXQ6Mg=="))

    async def test_an_order_that_was_made_of_the_checkout_is_the_same_debt(self, shop: Shop) -> None:
        await opened(shop)
        await comes_to(shop, "success")
        order = basket(__typename="Order", id="T3JkZXI6MQ==", number="7", transactions=[listed(shop.transaction)])
        assert code(await begins(another(shop), sourceObject=order)) == "ALREADY_PAID"

    async def test_an_order_that_has_grown_is_paid_for_the_difference(self, shop: Shop) -> None:
        await opened(shop)
        await comes_to(shop, "success")
        await opened(another(shop), 50, sourceObject=basket(150))

    @pytest.mark.law(4)
    async def test_what_was_begun_is_answered_as_it_was_though_it_is_covered_now(self, shop: Shop) -> None:
        await opened(shop)
        await comes_to(shop, "success")
        assert (await begins(shop)).result == "CHARGE_SUCCESS"

    async def test_covered_while_the_page_was_being_opened_nobody_gets_its_link(self, shop: Shop) -> None:
        await opened(shop)
        new = another(shop)

        async def pay_the_older(request: ReceivedRequest) -> None:
            if action_of(request) == "payment":
                shop.gateway.on_request = None
                await shop.notify(payment(shop.order_id, "success", TOTAL))
                await shop.work()

        shop.gateway.on_request = pay_the_older
        shop.gateway.will_answer(shop.gateway.page("late"))
        answer = await begins(new)
        assert (answer.result, code(answer)) == ("CHARGE_FAILURE", "ALREADY_PAID")
        assert (await new.aggregate()).payment.checkout_url is None
        would_close(new)
        await new.pass_time(minutes=2)
        assert shop.gateway.calls == ["payment", "payment", "cancel"]
        assert (await new.operation(Kind.CANCEL)).state is State.SUCCESS
        assert new.transaction.amounts == amounts()


class TestNothingIsAskedForBeyondWhatSaleorSaysIsOwed:
    """Saleor's default amount ignores gift cards and granted refunds: the total that it states does not."""

    async def test_a_gift_card_pays_a_part(self, shop: Shop) -> None:
        answer = await begins(shop, "569.50", sourceObject=basket("369.50"))
        assert answer.result == "CHARGE_FAILURE"
        assert answer.message == (
            "569.50 UAH is more than is left to pay: Saleor says 369.50 UAH. Request that amount instead."
        )
        [error] = answer.data["errors"]
        assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", Decimal("369.50"))
        assert "Сума до сплати менша" in error["message"]
        assert shop.gateway.calls == []
        assert await shop.find_aggregate() is None
        await opened(another(shop), error["amountToPay"], sourceObject=basket("369.50"))

    @pytest.mark.parametrize("amount", ["100.00", "99.99", "0.01"])
    async def test_all_of_it_or_less_may_be_asked_for(self, shop: Shop, amount: str) -> None:
        await opened(shop, amount)

    async def test_a_cent_more_may_not(self, shop: Shop) -> None:
        assert code(await begins(shop, "100.01")) == "AMOUNT_TOO_HIGH"

    async def test_what_other_apps_cover_is_subtracted(self, shop: Shop) -> None:
        """A gift card that is a transaction of its own, for example."""
        gift_card = listed(shop.saleor.new_transaction(), authorizedAmount="20.00", chargePendingAmount="10.00")
        source = basket(transactions=[gift_card, listed(shop.transaction)])
        [error] = (await begins(shop, sourceObject=source)).data["errors"]
        assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", Decimal("70.00"))
        await opened(another(shop), 70, sourceObject=source)

    async def test_what_our_own_attempts_cover_is_subtracted_once(self, shop: Shop) -> None:
        """Saleor lists them, too."""
        await opened(shop, 60)
        await comes_to(shop, "success", 60)
        source = basket(transactions=[listed(shop.transaction, chargedAmount="60.00")])
        [error] = (await begins(another(shop), "140.00", sourceObject=source)).data["errors"]
        assert (error["code"], error["amountToPay"]) == ("ALREADY_PAID", Decimal("40.00"))
        await opened(another(shop), 40, sourceObject=source)

    async def test_nothing_is_left(self, shop: Shop) -> None:
        """Nothing of the app's has paid it: gift cards have."""
        [error] = (await begins(shop, sourceObject=basket(0))).data["errors"]
        assert (error["code"], error["amountToPay"]) == ("INVALID_AMOUNT", Decimal("0.00"))

    async def test_others_cover_more_than_the_total(self, shop: Shop) -> None:
        generous = listed(shop.saleor.new_transaction(), chargedAmount="120.00")
        [error] = (await begins(shop, 1, sourceObject=basket(transactions=[generous]))).data["errors"]
        assert (error["code"], error["amountToPay"]) == ("INVALID_AMOUNT", Decimal("0.00"))

    async def test_a_total_of_thousandths_is_not_exceeded_either(self, shop: Shop) -> None:
        """Saleor keeps three decimals of what another app says that it has taken."""
        odd = listed(shop.saleor.new_transaction(), chargedAmount="20.005")
        source = basket(transactions=[odd])
        [error] = (await begins(shop, 80, sourceObject=source)).data["errors"]
        assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", Decimal("79.99"))
        await opened(another(shop), "79.99", sourceObject=source)

    async def test_what_staff_granted_to_refund_is_not_owed_any_more(self, shop: Shop) -> None:
        """Saleor's balance of an order says so; its total does not."""
        order = {"__typename": "Order", "id": "T3JkZXI6MQ==", "number": "7"}
        paid = listed(shop.saleor.new_transaction(), chargedAmount="50.00", chargePendingAmount="5.00")
        balance = {"amount": Decimal("-15.00"), "currency": "UAH"}  # 55 of 70: 30 of 100 are granted
        source = basket(**order, transactions=[paid], totalBalance=balance)
        [error] = (await begins(shop, 45, sourceObject=source)).data["errors"]
        assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", Decimal("15.00"))
        await opened(another(shop), 15, sourceObject=source)

    async def test_a_page_that_is_open_is_closed_when_a_newer_one_is_for_less(self, shop: Shop) -> None:
        """Also for a store that keeps older pages."""
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        older = await opened(shop)
        await opened(another(shop), 60, sourceObject=basket(60))
        would_close(older)
        await shop.work()
        assert await state(older) is State.FAILURE
        report = next(report for report in shop.saleor.reports if report.type == "CHARGE_FAILURE")
        assert report.message == "Less is left to pay than this page was for, so the payment page was closed [6007]"


class TestThePagesAmountIsTooHighByNow:
    """The checkout has changed since the page was opened, and the shopper comes back to it."""

    async def test_it_is_closed_and_nobody_is_sent_there(self, shop: Shop) -> None:
        await opened(shop)
        back = await shop.process_session(amount=TOTAL, sourceObject=basket(60))
        assert (back.result, code(back)) == ("CHARGE_ACTION_REQUIRED", "AMOUNT_CHANGED")
        assert "сума до сплати" in back.data["errors"][0]["message"].lower()
        would_close(shop)
        await shop.work()
        assert shop.gateway.calls[-1] == "cancel"
        assert code(await shop.process_session(amount=TOTAL, sourceObject=basket(60))) == "6007"
        await opened(another(shop), 60, sourceObject=basket(60))

    async def test_so_is_the_page_of_a_session_that_is_begun_again(self, shop: Shop) -> None:
        """Saleor requests the same amount for the same key, though a gift card pays a part of it by now."""
        await opened(shop)
        assert code(await begins(shop, sourceObject=basket(60))) == "AMOUNT_CHANGED"
        would_close(shop)
        await shop.work()
        assert shop.gateway.calls == ["payment", "cancel"]

    async def test_so_are_all_other_pages_for_more_than_is_left(self, shop: Shop) -> None:
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        older, newer = await opened(shop, 90), await opened(another(shop), 70)
        back = await newer.process_session(amount=70, sourceObject=basket(60))
        assert code(back) == "AMOUNT_CHANGED"
        would_close(newer, older)
        await shop.work()
        assert [await state(shop) for shop in (older, newer)] == [State.FAILURE, State.FAILURE]

    @pytest.mark.parametrize("older", ["success", "pending"], ids=["paid", "at the bank"])
    async def test_nobody_is_sent_to_a_page_for_what_another_attempt_covers(self, shop: Shop, older: str) -> None:
        """Two windows: in one the shopper has paid, and comes back in the other before its page is closed."""
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        await opened(shop)
        other = await opened(another(shop))
        await shop.notify(payment(shop.order_id, older, TOTAL))
        for notification in await shop.services.inbox.find_for_order(shop.account.id, shop.order_id):
            await process(shop.services, notification.id)
        covering = {"chargedAmount" if older == "success" else "chargePendingAmount": "100.00"}
        source = basket(transactions=[listed(shop.transaction, **covering)])
        assert code(await other.process_session(amount=TOTAL, sourceObject=source)) == "AMOUNT_CHANGED"
        would_close(other)
        await shop.work()
        assert await state(other) is State.FAILURE

    async def test_what_our_own_attempts_have_paid_is_subtracted_once(self, shop: Shop) -> None:
        """Of 100 the first has paid 30. When the total is 90, a page for 70 is too much, and one for 40 is not."""
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        await opened(shop, 30)
        await comes_to(shop, "success", 30)
        paid = [listed(shop.transaction, chargedAmount="30.00")]
        fits, exceeds = [
            await opened(another(shop), amount, sourceObject=basket(transactions=paid)) for amount in (40, 70)
        ]
        back = await exceeds.process_session(amount=70, sourceObject=basket(90, transactions=paid))
        assert code(back) == "AMOUNT_CHANGED"
        would_close(exceeds)
        await shop.work()
        assert [await state(shop) for shop in (fits, exceeds)] == [State.INIT, State.FAILURE]

    async def test_somebody_has_paid_there_meanwhile(self, shop: Shop) -> None:
        await opened(shop)
        await shop.process_session(amount=TOTAL, sourceObject=basket(60))
        shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "success", TOTAL)]
        await shop.pass_time(minutes=1)
        assert shop.amounts == amounts(charged="100.00")

    async def test_it_was_paid_before_anybody_asked(self, shop: Shop) -> None:
        await opened(shop)
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "success", TOTAL)]
        back = await shop.process_session(amount=TOTAL, sourceObject=basket(60))
        assert back.result == "CHARGE_SUCCESS"
        await shop.work()
        assert "cancel" not in shop.gateway.calls

    async def test_another_app_has_covered_a_part(self, shop: Shop) -> None:
        await opened(shop)
        gift_card = listed(shop.saleor.new_transaction(), chargedAmount="20.00")
        source = basket(transactions=[gift_card, listed(shop.transaction)])
        assert code(await shop.process_session(amount=TOTAL, sourceObject=source)) == "AMOUNT_CHANGED"

    @pytest.mark.parametrize("total", [100, 120], ids=["the same", "more"])
    async def test_as_much_or_more_is_owed(self, shop: Shop, total: int) -> None:
        await opened(shop)
        source = basket(total, transactions=[listed(shop.transaction, chargePendingAmount=TOTAL)])
        back = await shop.process_session(amount=TOTAL, sourceObject=source)
        assert back.data["checkoutUrl"]
        await shop.work()
        assert "cancel" not in shop.gateway.calls


class TestAPageIsClosedAsSoonAsAnotherAttemptIsPaid:
    @pytest.fixture
    async def two(self, shop: Shop) -> tuple[Shop, Shop]:
        """Two pages over the same, of which the older could not be closed because somebody was on it."""
        older = await opened(shop)
        newer = await opened(another(shop))
        shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
        await shop.work()
        return older, newer

    @pytest.mark.parametrize("status", ["pending", "success"])
    async def test_the_newer_by_a_notification_of_the_older(self, two: tuple[Shop, Shop], status: str) -> None:
        older, newer = two
        would_close(newer)
        await comes_to(older, status)
        assert await state(newer) is State.FAILURE
        report = next(report for report in older.saleor.reports if report.transaction_id == newer.transaction.id)
        assert report.type.value in {"INFO", "CHARGE_FAILURE"}

    async def test_the_newer_by_a_look_up_of_the_older(self, two: tuple[Shop, Shop]) -> None:
        older, newer = two
        older.gateway.book[older.order_id] = [payment(older.order_id, "success", TOTAL)]
        would_close(newer)
        await older.pass_time(minutes=2)
        assert await state(newer) is State.FAILURE

    async def test_the_newer_when_the_shopper_of_the_older_comes_back(self, two: tuple[Shop, Shop]) -> None:
        older, newer = two
        older.gateway.book[older.order_id] = [payment(older.order_id, "success", TOTAL)]
        assert (await older.process_session()).result == "CHARGE_SUCCESS"
        would_close(newer)
        await older.work()
        assert await state(newer) is State.FAILURE

    async def test_the_newer_when_staff_settle_the_older_by_hand(self, two: tuple[Shop, Shop]) -> None:
        older, newer = two
        create = await older.operation(Kind.CREATE)
        await settle(older.services, older.order_id, create.id, Decision(State.SUCCESS, "ann@example.com", "seen"))
        would_close(newer)
        await older.work()
        assert await state(newer) is State.FAILURE

    async def test_the_older_by_a_notification_of_the_newer(self, two: tuple[Shop, Shop]) -> None:
        older, newer = two
        older.gateway.will_answer(*[json_reply([payment(older.order_id, "failure", TOTAL, status_code="6007")])] * 2)
        await comes_to(newer, "success")
        await older.pass_time(minutes=2)
        older.gateway.script.clear()
        assert await state(older) is State.FAILURE
        assert await state(newer) is State.SUCCESS

    async def test_what_fits_beside_what_is_paid_stays_open(self, shop: Shop) -> None:
        sixty, forty = await opened(shop, 60), await opened(another(shop), 40)
        await comes_to(sixty, "success", 60)
        assert await state(forty) is State.INIT
        assert "cancel" not in shop.gateway.calls

    async def test_of_what_the_checkouts_order_pays_too(self, shop: Shop) -> None:
        """The newer attempt pays the order by its own id: the older one's word reaches it all the same."""
        await opened(shop, 60)
        order = basket(__typename="Order", id="T3JkZXI6MQ==", number="7", transactions=[listed(shop.transaction)])
        newer = await opened(another(shop), 40, sourceObject=order)
        third = await opened(
            another(shop),
            40,
            sourceObject=basket(
                __typename="Order",
                id="T3JkZXI6MQ==",
                number="7",
                transactions=[listed(shop.transaction), listed(newer.transaction)],
            ),
        )
        would_close(newer)
        await shop.work()
        would_close(third)
        await comes_to(shop, "success", 60, processed_amount=100, processed_currency="UAH")
        assert await state(third) is State.FAILURE

    async def test_of_a_store_that_keeps_older_pages_too(self, shop: Shop) -> None:
        """What it does not want is that a newer attempt alone closes the older page."""
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        older = await opened(shop)
        newer = await opened(another(shop))
        await shop.pass_time(minutes=2)
        assert "cancel" not in shop.gateway.calls
        would_close(older)
        await comes_to(newer, "success")
        assert await state(older) is State.FAILURE

    async def test_when_the_process_dies_between_the_two_commits(self, two: tuple[Shop, Shop]) -> None:
        """That the others are to be looked at stands in the commit that learns of it."""
        older, newer = two
        await older.notify(payment(older.order_id, "success", TOTAL))
        notification = next(iter(await older.services.inbox.find_for_order(older.account.id, older.order_id)))
        await process(older.services, notification.id)  # and nobody gets to anything else
        assert (await older.aggregate()).payment.attempts_due_at is not None
        assert await state(newer) is State.INIT
        would_close(newer)
        await older.work()
        assert await state(newer) is State.FAILURE
        assert (await older.aggregate()).payment.attempts_due_at is None

    async def test_looked_at_again_it_is_closed_once(self, two: tuple[Shop, Shop]) -> None:
        older, newer = two
        would_close(newer)
        await comes_to(older, "success")
        payment_id = (await older.aggregate()).payment.id
        assert payment_id is not None
        for _ in range(2):
            await compare_attempts(older.services, payment_id)
        closings = [operation for operation in (await newer.aggregate()).operations if operation.kind is Kind.CANCEL]
        assert len(closings) == 1


class TestAPageIsClosedUntilTheGatewayConfirmsIt:
    @pytest.mark.parametrize("trouble", [BUSY, BROKEN, HangUp()], ids=["429", "500", "hangs up"])
    async def test_though_the_gateway_was_busy(self, shop: Shop, trouble: Any) -> None:
        older = await opened(shop)
        await opened(another(shop))
        older.gateway.will_answer(
            trouble, trouble, json_reply([payment(older.order_id, "failure", TOTAL, status_code="6007")])
        )
        await older.pass_time(minutes=5)
        assert await state(older) is State.FAILURE
        assert older.gateway.calls == ["payment", "payment", "cancel", "cancel", "cancel"]

    @pytest.mark.law(13)
    async def test_it_becomes_an_alert_when_it_cannot_be_closed_which_ends_with_it(self, shop: Shop) -> None:
        older = await opened(shop)
        await opened(another(shop))
        older.gateway.will_answer(*[BUSY] * 100)
        await older.pass_time(minutes=20)
        older.gateway.script.clear()
        assert "has not closed" in (problem_text((await older.aggregate()).payment) or "")
        assert AlertKind.WAITING in {alert.what for alert in await find_open_alerts(shop.services, shop.installation)}
        older.gateway.will_answer(json_reply([payment(older.order_id, "failure", TOTAL, status_code="6007")]))
        await older.pass_time(minutes=10)
        assert problem_text((await older.aggregate()).payment) is None


class TestBothArePaidEvenSo:
    @pytest.fixture
    async def both(self, shop: Shop) -> tuple[Shop, Shop]:
        older = await opened(shop)
        newer = await opened(another(shop))
        shop.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 5)
        await shop.work()
        await comes_to(older, "success")
        await comes_to(newer, "success")
        shop.gateway.script.clear()
        return older, newer

    async def test_staff_are_told_at_once_on_both(self, both: tuple[Shop, Shop]) -> None:
        older, newer = both
        assert older.amounts.charged + newer.amounts.charged == 2 * TOTAL
        for one, other in (both, (newer, older)):
            row = (await one.aggregate()).payment
            assert kinds_of(row) == "paid twice"
            assert "Paid twice: 200.00 UAH was paid or authorized for 100.00 UAH" in (problem_text(row) or "")
            assert other.order_id in (problem_text(row) or "")
        [item] = await find_open_alerts(older.services, older.installation)
        assert (item.what, item.count) == (AlertKind.PAID_TWICE, 2)
        told = {report.transaction_id for report in older.saleor.reports if "Paid twice" in (report.message or "")}
        assert told == {older.transaction.id, newer.transaction.id}

    async def test_staff_are_told_when_only_one_of_them_is_known_by_its_order_yet(self, shop: Shop) -> None:
        """The checkout of the first has become an order; Saleor, which says so of the second, is told of that late."""
        older, newer = await opened(shop), await opened(another(shop))
        shop.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 5)
        await shop.work()
        order = shop.saleor.order(newer.transaction)
        order.transactions.append(older.transaction)
        older.transaction.checkout, older.transaction.order = None, order
        await comes_to(newer, "success")
        await shop.notify(payment(older.order_id, "success", TOTAL))
        for notification in await shop.services.inbox.find_for_order(shop.account.id, older.order_id):
            await process(shop.services, notification.id)
        await compare_attempts(shop.services, row_id_of((await older.aggregate()).payment))
        assert [kinds_of((await paid.aggregate()).payment) for paid in (older, newer)] == [None, None]
        await shop.work()
        assert [kinds_of((await paid.aggregate()).payment) for paid in (older, newer)] == ["paid twice"] * 2
        shop.gateway.script.clear()

    async def test_it_is_over_when_one_is_refunded(self, both: tuple[Shop, Shop]) -> None:
        older, newer = both
        await older.notify(operation("refund", older.order_id, TOTAL, operation_id="refund-1"))
        await older.work()
        assert [problem_text((await shop.aggregate()).payment) for shop in both] == [None, None]
        assert await find_open_alerts(newer.services, newer.installation) == []

    async def test_it_is_over_when_the_payers_bank_takes_one_back(self, both: tuple[Shop, Shop]) -> None:
        """Who follows the advice to refund the other then has delivered for nothing; it is none if the bank turns."""
        older, newer = both
        of_the_bank: dict[str, Any] = {"method": "dispute", "payment_id": "dispute-1"}
        await comes_to(older, "success", **of_the_bank)
        assert [kinds_of((await paid.aggregate()).payment) for paid in both] == ["dispute", None]
        await comes_to(older, "failure", **of_the_bank)
        assert "paid twice" in (kinds_of((await newer.aggregate()).payment) or "")

    async def test_more_than_the_total_by_one_payment_alone_is_not_paid_twice(self, shop: Shop) -> None:
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        generous, other = await opened(shop), await opened(another(shop))
        would_close(other)
        await comes_to(generous, "success", processed_amount=120, processed_currency="UAH")  # the payer added a tip
        assert await state(other) is State.FAILURE
        assert [problem_text((await shop.aggregate()).payment) for shop in (generous, other)] == [None, None]

    async def test_it_is_no_problem_of_an_attempt_that_has_paid_nothing(self, shop: Shop) -> None:
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        first, second, third = await opened(shop), await opened(another(shop)), await opened(another(shop))
        shop.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 5)
        await comes_to(third, "failure")
        await comes_to(first, "success")
        await comes_to(second, "success")
        shop.gateway.script.clear()
        kinds = [kinds_of((await shop.aggregate()).payment) for shop in (first, second, third)]
        assert kinds == ["paid twice", "paid twice", None]

    async def test_parts_of_one_payment_are_not_paid_twice(self, shop: Shop) -> None:
        sixty, forty = await opened(shop, 60), await opened(another(shop), 40)
        await comes_to(sixty, "success", 60)
        await comes_to(forty, "success", 40)
        assert [problem_text((await shop.aggregate()).payment) for shop in (sixty, forty)] == [None, None]

    @pytest.mark.law(2)
    async def test_on_a_page_that_was_given_up(self, shop: Shop) -> None:
        """Its late success is money, and something else was paid meanwhile."""
        shop.gateway.will_answer(HangUp())
        assert code(await begins(shop)) == "TRY_AGAIN"
        again = await opened(another(shop))
        await comes_to(again, "success")
        await comes_to(shop, "success")
        await shop.pass_time(minutes=1)
        assert shop.amounts == again.amounts == amounts(charged="100.00")
        assert [kinds_of((await paid.aggregate()).payment) for paid in (shop, again)] == ["paid twice"] * 2


async def test_of_two_that_began_in_the_same_moment_each_learns_of_the_other(shop: Shop) -> None:
    """Neither was recorded when the other began: they meet when the second page opens."""
    one, other = shop, another(shop)
    await opened(one)

    def forget(aggregate: PaymentAggregate) -> None:
        aggregate.payment.has_rivals = False

    await one.services.payments.record(ByOrder(one.order_id), Change(forget))
    await opened(other)
    assert [(await shop.aggregate()).payment.has_rivals for shop in (one, other)] == [True, True]


async def test_a_payment_that_is_alone_costs_nothing_more(shop: Shop) -> None:
    """Neither when the turn passes between shopper and bank nor when it is paid are others looked for."""
    await opened(shop)
    for status, status_code in [("pending", "2102"), ("pending", "2001"), ("success", "1000")]:
        await shop.notify(payment(shop.order_id, status, TOTAL, status_code=status_code))
        newest = max(
            await shop.services.inbox.find_for_order(shop.account.id, shop.order_id),
            key=lambda notification: notification.id,
        )
        await process(shop.services, newest.id)
        row = (await shop.aggregate()).payment
        assert (row.has_rivals, row.attempts_due_at, row.to_pay) == (False, None, Decimal("100.00"))
    assert await state(shop) is State.SUCCESS
