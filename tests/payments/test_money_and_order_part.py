"""Saleor acts too: an order is cancelled while its page is open or paid, its payment fails, its total changes."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from app.core.alerts import AlertKind
from app.core.payment import PaymentAggregate, row_id_of
from app.core.vocabulary import CloseReason, Kind, State
from app.flows.open_pages import CHECK_INTERVAL, OpenPageChecks, check_polled_page
from app.i18n.messages import LazyMessage
from app.reports.order_payments import can_be_paid
from app.rules.problems import acknowledge, problem_text
from app.store.aggregates import ById, ByOrder
from app.store.database import create_engine
from app.store.migrate import migrate
from app.web.shopper.pay import pay_page
from app.web.shopper.view_builder import build_view
from integration_base_tests.loopback import HangUp, json_reply
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.reports import EventReport, ReportOutcome
from saleor_app_sdk.testing.records import Amounts, Order
from saleor_app_sdk.transaction_source import TransactionSource
from tests.payments.aggregates import an_operation
from tests.payments.alert_cases import subjects
from tests.payments.changes import Change
from tests.payments.fake_gateway import operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, source_object

pytestmark = pytest.mark.law(10)

BEING_CLOSED, TOO_LATE = LazyMessage("This payment is being closed"), LazyMessage("The time to pay has run out")
NOT_OWED = [(AlertKind.NOT_OWED, 1)]
NOT_PAID = [(AlertKind.NOT_PAID, 1)]
REASONS = {
    "CANCELED": CloseReason.ORDER_CANCELED,
    "EXPIRED": CloseReason.ORDER_EXPIRED,
    "RETURNED": CloseReason.ORDER_RETURNED,
}


@pytest.fixture(autouse=True)
def states_totals(shop: Shop) -> None:
    shop.saleor.states_totals = True


def amount_of(amount: object) -> dict[str, Any]:
    return {"amount": Decimal(str(amount)), "currency": "UAH"}


async def begin_on_order(shop: Shop, **more: Any) -> Order:
    """Open a page for an order that staff have taken."""
    order = shop.saleor.order(shop.transaction)
    shop.gateway.will_answer(shop.gateway.page())
    total = {"gross": amount_of(TOTAL)}
    source = source_object(__typename="Order", id=order.id, number=order.number, userEmail="t@example.com", total=total)
    await shop.begin(sourceObject=source, **more)
    return order


async def begin_on_checkout(shop: Shop, **more: Any) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(sourceObject=source_object(totalPrice={"gross": amount_of(TOTAL)}), **more)


def delete_checkout(shop: Shop) -> None:
    shop.transaction.checkout = None


def change_total(shop: Shop, total: str) -> None:
    basket = shop.transaction.source.basket
    basket.lines[0].unit_price += Decimal(total) - basket.total


async def pay(shop: Shop, **more: Any) -> None:
    await shop.notify(payment(shop.order_id, **more))
    await shop.work()


async def told(shop: Shop) -> str:
    return problem_text((await shop.aggregate()).payment) or ""


async def closing_reasons(shop: Shop) -> list[str]:
    operations = (await shop.aggregate()).operations
    closings = [closing for closing in operations if closing.kind is Kind.CANCEL]
    return [str(closing.close_reason) for closing in closings]


async def pay_apart(shop: Shop, amount: str) -> None:
    """Somebody pays a part of the same order or checkout through another app: no payment of ours moves."""
    source = shop.transaction.source
    other = shop.saleor.new_transaction()
    other.checkout, other.order = shop.transaction.checkout, shop.transaction.order
    other.amounts = Amounts(charged=Decimal(amount))
    source.transactions.append(other)


def authorize_apart(shop: Shop, amount: str, *, pending: bool = False) -> None:
    """A gift card, or another app, holds a part of the checkout: Saleor counts it as paid when the order is placed."""
    other = shop.saleor.new_transaction()
    other.checkout = shop.transaction.checkout
    held = Decimal(amount)
    other.amounts = Amounts(authorize_pending=held) if pending else Amounts(authorized=held)
    shop.transaction.source.transactions.append(other)


def will_close(shop: Shop) -> None:
    """The gateway closes the page when it is asked."""
    shop.gateway.will_answer(json_reply([payment(shop.order_id, "failure", TOTAL, status_code="6007")]))


async def acknowledge_all(shop: Shop) -> None:
    which = ById(row_id_of((await shop.aggregate()).payment))
    await shop.services.payments.record(which, Change(lambda locked: acknowledge(locked.payment, shop.clock.now)))


async def version_before_has_asked(shop: Shop) -> None:
    def abandon_polls(locked: PaymentAggregate) -> None:
        locked.payment.order_polls, locked.payment.next_order_poll_at = 6, None

    which = ById(row_id_of((await shop.aggregate()).payment))
    await shop.services.payments.record(which, Change(abandon_polls))


async def upgrade_from(revision: str, database_url: str) -> None:
    """Let the migrations after ``revision`` run over the rows that the version before has left."""
    engine = create_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = :name"), {"name": revision})
        await connection.execute(text("DROP INDEX ix_operation_granted_refund"))  # of later ones, like these
        for column in ("older_api_secrets_sealed", "older_api_secrets_until"):
            await connection.execute(text(f"ALTER TABLE merchant_account DROP COLUMN {column}"))
    await engine.dispose()
    await migrate(database_url)


class TestPaidEvenSo:
    @pytest.mark.parametrize("status", list(REASONS))
    @pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
    async def test_order_ended_while_its_page_was_open_raises_alert(self, shop: Shop, status: str, flow: str) -> None:
        order = await begin_on_order(shop, flow=flow)
        order.status = status
        await pay(shop, method="purchase" if flow == "CHARGE" else "auth")
        assert f"Order {order.number}" in await told(shop)
        assert "refund it" in await told(shop)
        assert await subjects(shop) == NOT_OWED
        assert "INFO" in shop.saleor.reported_types  # in the order's history too

    async def test_checkout_that_is_gone_raises_alert(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        delete_checkout(shop)
        await pay(shop)
        assert "checkout" in await told(shop)
        assert await subjects(shop) == NOT_OWED

    async def test_checkout_that_becomes_an_order_at_that_moment_raises_none(
        self, shop: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Saleor answers a report with the transaction as it read it first: of a checkout that is an order by then."""
        await begin_on_checkout(shop)
        report = shop.saleor.report

        async def report_meanwhile(installed: Installation, event: EventReport) -> ReportOutcome:
            outcome = await report(installed, event)
            shop.saleor.order(shop.transaction)
            return replace(outcome, order=None, source=TransactionSource())

        monkeypatch.setattr(shop.saleor, "report", report_meanwhile)
        await pay(shop)
        assert shop.amounts == amounts(charged=TOTAL)
        assert await told(shop) == ""
        assert (await shop.aggregate()).payment.order_number is not None
        await shop.pass_time(hours=2)
        assert await subjects(shop) == []
        assert not [told for told in shop.saleor.reports if "checkout" in (told.message or "")]

    async def test_answered_in_the_session_raises_alert_when_saleor_has_read_it(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        order.status = "CANCELED"
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        assert (await shop.process_session()).result == "CHARGE_SUCCESS"
        await shop.pass_time(seconds=30)
        assert await subjects(shop) == NOT_OWED

    async def test_refund_ends_it(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        order.status = "CANCELED"
        await pay(shop)
        for amount, key in (("500.00", "part"), ("69.50", "rest")):
            assert await subjects(shop) == NOT_OWED
            record = operation("refund", shop.order_id, amount, operation_id=f"refund-{key}")
            shop.gateway.will_answer(json_reply(record))
            await shop.request_action("REFUND", amount, key)
            await shop.work()
        assert await subjects(shop) == []

    async def test_release_of_the_authorization_ends_it(self, shop: Shop) -> None:
        order = await begin_on_order(shop, flow="AUTHORIZATION")
        order.status = "CANCELED"
        await pay(shop, method="auth")
        shop.gateway.will_answer(json_reply(operation("void", shop.order_id, TOTAL)))
        await shop.request_action("CANCEL", TOTAL, "release")
        await shop.work()
        assert await subjects(shop) == []

    async def test_acknowledged_it_is_not_raised_again(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        order.status = "CANCELED"
        await pay(shop)
        await acknowledge_all(shop)
        await shop.pass_time(days=2)
        assert await subjects(shop) == []

    async def test_partial_refund_of_a_cancelled_order_is_staffs_own_decision(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        await pay(shop)
        order.status = "CANCELED"
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "500.00")))
        await shop.request_action("REFUND", "500.00", "all but the fee")
        await shop.pass_time(days=2)
        assert await subjects(shop) == []


class TestNeverOrdered:
    """A checkout is paid, and nobody completes it: the storefront has died before it could."""

    @pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
    async def test_raises_alert_that_says_what_to_do(self, shop: Shop, flow: str) -> None:
        await begin_on_checkout(shop, flow=flow)
        await pay(shop, method="purchase" if flow == "CHARGE" else "auth")
        await shop.pass_time(minutes=60)
        assert await subjects(shop) == []  # the storefront may come back by itself
        await shop.pass_time(minutes=30)
        assert "569.50 UAH was paid or authorized for a checkout" in (await told(shop)).replace("\u00a0", " ")
        assert "Complete the checkout in Saleor, or refund it" in await told(shop)
        assert "disputing" not in await told(shop)
        assert await subjects(shop) == NOT_OWED

    async def test_order_placed_after_all_ends_it_within_the_hour(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        await shop.pass_time(hours=2)
        assert await subjects(shop) == NOT_OWED
        order = shop.saleor.order(shop.transaction)
        await shop.pass_time(hours=1)
        assert (await shop.aggregate()).payment.order_number == order.number
        assert await subjects(shop) == []

    async def test_order_placed_after_the_last_poll_of_its_own_ends_it(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        await shop.pass_time(days=2)
        assert await subjects(shop) == NOT_OWED
        shop.saleor.order(shop.transaction)
        await shop.pass_time(hours=1)
        assert await subjects(shop) == []

    async def test_refund_ends_it(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        await shop.pass_time(hours=2)
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, TOTAL)))
        await shop.request_action("REFUND", TOTAL, "all")
        await shop.work()
        assert await subjects(shop) == []

    async def test_acknowledged_it_is_not_raised_again_and_saleor_is_left_in_peace(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        await shop.pass_time(hours=2)
        await acknowledge_all(shop)
        await shop.pass_time(days=3)
        assert await subjects(shop) == []
        assert (await shop.aggregate()).payment.next_order_poll_at is None

    async def test_no_refund_is_advised_while_the_payer_disputes_it(self, shop: Shop) -> None:
        """What is refunded meanwhile, the bank takes back as well."""
        await begin_on_checkout(shop)
        await pay(shop)
        await shop.pass_time(hours=2)
        await shop.notify(operation("dispute", shop.order_id, TOTAL, "pending", operation_id="the-dispute"))
        await shop.work()
        first, _ = (await told(shop)).splitlines()
        assert first.startswith("The payer is disputing this payment: refund nothing until the dispute has ended.")
        assert "checkout that was never completed" in first
        await shop.notify(operation("dispute", shop.order_id, TOTAL, "failure", operation_id="the-dispute"))
        await shop.work()
        assert "Complete the checkout in Saleor, or refund it" in await told(shop)
        assert "disputing" not in await told(shop)

    async def test_payment_whose_polls_had_ended_before_an_upgrade_raises_alert(
        self, shop: Shop, database_url: str
    ) -> None:
        """The version before asked for the order for two days, found none, and told nobody."""
        await begin_on_checkout(shop)
        await pay(shop)
        await version_before_has_asked(shop)
        assert await subjects(shop) == []
        await upgrade_from("0011.0001", database_url)
        await shop.pass_time(hours=2)
        assert await subjects(shop) == NOT_OWED

    async def test_payment_of_an_order_is_not_asked_about_after_an_upgrade(self, shop: Shop, database_url: str) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        shop.saleor.order(shop.transaction)
        await shop.pass_time(minutes=2)
        await upgrade_from("0011.0001", database_url)
        assert (await shop.aggregate()).payment.next_order_poll_at is None

    async def test_checkout_that_vanishes_meanwhile_is_the_one_problem(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        await shop.pass_time(hours=2)
        delete_checkout(shop)
        await shop.pass_time(hours=1)
        assert "no longer exists in Saleor" in await told(shop)
        assert "Complete the checkout" not in await told(shop)

    async def test_checkout_whose_total_rose_says_that_alone(self, shop: Shop) -> None:
        """It cannot be completed before more is paid."""
        await begin_on_checkout(shop)
        change_total(shop, "600.00")
        await pay(shop)
        await shop.pass_time(hours=2)
        assert await subjects(shop) == NOT_PAID

    @pytest.mark.fault("saleor-down")
    async def test_is_not_concluded_from_silence(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        shop.saleor.order(shop.transaction)
        shop.saleor.is_down = True
        await shop.pass_time(days=2)
        assert await told(shop) == ""


class TestTotalChanged:
    async def test_total_of_order_fell_and_the_page_was_paid(self, shop: Shop) -> None:
        await begin_on_order(shop)
        change_total(shop, "469.50")
        await pay(shop)
        assert "100.00" in await told(shop)
        assert await subjects(shop) == NOT_OWED
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00")))
        await shop.request_action("REFUND", "100.00", "too much")
        await shop.work()
        assert await subjects(shop) == []

    async def test_it_stays_until_all_that_is_not_owed_is_refunded(self, shop: Shop) -> None:
        await begin_on_order(shop)
        change_total(shop, "469.50")
        await pay(shop)
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "60.00")))
        await shop.request_action("REFUND", "60.00", "not all")
        await shop.pass_time(hours=3)
        assert await subjects(shop) == NOT_OWED

    async def test_what_is_not_owed_grows_when_the_total_falls_further(self, shop: Shop) -> None:
        await begin_on_order(shop)
        change_total(shop, "469.50")
        await pay(shop)
        change_total(shop, "419.50")
        await shop.pass_time(hours=1)
        assert "150.00" in await told(shop)
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00")))
        await shop.request_action("REFUND", "100.00", "not all")
        await shop.work()
        assert "50.00 UAH more" in await told(shop)

    async def test_order_that_is_cancelled_as_well_says_that_alone(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        change_total(shop, "469.50")
        await pay(shop)
        order.status = "CANCELED"
        await shop.pass_time(hours=1)
        [only] = (await told(shop)).splitlines()
        assert f"Order {order.number}" in only

    async def test_page_that_was_paid_while_it_was_closed_for_that(self, shop: Shop) -> None:
        await begin_on_order(shop)
        change_total(shop, "469.50")
        await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
        shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
        await pay(shop)
        assert "100.00 UAH more" in await told(shop)

    async def test_total_that_rises_again_ends_it(self, shop: Shop) -> None:
        await begin_on_order(shop)
        change_total(shop, "469.50")
        await pay(shop)
        change_total(shop, TOTAL)
        await shop.pass_time(hours=2)
        assert await subjects(shop) == []

    async def test_total_of_checkout_fell(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        change_total(shop, "469.50")
        await pay(shop)
        await shop.pass_time(minutes=2)  # its total can take Saleor long: no report waits for it
        assert "100.00" in await told(shop)
        assert await subjects(shop) == NOT_OWED

    async def test_total_of_order_rose(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        change_total(shop, "600.00")
        await pay(shop)
        assert f"order {order.number}" in await told(shop)
        assert "30.50" in await told(shop)
        assert await subjects(shop) == NOT_PAID
        change_total(shop, TOTAL)
        await shop.pass_time(hours=2)
        assert await subjects(shop) == []

    async def test_total_of_checkout_rose(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        change_total(shop, "600.00")
        await pay(shop)
        await shop.pass_time(minutes=2)
        assert "30.50" in await told(shop)
        assert await subjects(shop) == NOT_PAID

    @pytest.mark.parametrize("begin", [begin_on_order, begin_on_checkout])
    async def test_total_rises_further_and_a_part_of_it_is_paid(
        self, shop: Shop, begin: Callable[[Shop], Awaitable[object]]
    ) -> None:
        """Staff ask the customer for the sum that they are told."""
        await begin(shop)
        change_total(shop, "600.00")
        await pay(shop)
        await shop.pass_time(minutes=2)
        change_total(shop, "700.00")
        await shop.pass_time(hours=1)
        assert " 130.50 UAH is" in await told(shop)
        await pay_apart(shop, "100.00")
        await shop.pass_time(hours=1)
        assert " 30.50 UAH is" in await told(shop)

    @pytest.mark.parametrize("begin", [begin_on_order, begin_on_checkout])
    async def test_payment_that_is_given_back_asks_for_nothing_more(
        self, shop: Shop, begin: Callable[[Shop], Awaitable[object]]
    ) -> None:
        await begin(shop)
        change_total(shop, "600.00")
        await pay(shop)
        await shop.pass_time(minutes=2)
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, TOTAL)))
        await shop.request_action("REFUND", TOTAL, "all")
        await shop.work()
        assert await subjects(shop) == []
        await shop.pass_time(days=1)
        assert await subjects(shop) == []

    async def test_part_of_what_is_owed_is_no_problem(self, shop: Shop) -> None:
        await begin_on_order(shop, amount="100.00")
        await pay(shop, amount="100.00")
        await shop.pass_time(hours=2)
        assert await subjects(shop) == []

    async def test_authorized_checkout_is_no_problem(self, shop: Shop) -> None:
        """Saleor does not count what is authorized in the balance of a checkout."""
        await begin_on_checkout(shop, flow="AUTHORIZATION")
        await pay(shop, method="auth")
        await shop.pass_time(minutes=30)
        assert await subjects(shop) == []
        shop.saleor.order(shop.transaction)
        await shop.pass_time(days=2)
        assert await subjects(shop) == []

    @pytest.mark.parametrize("pending", [False, True], ids=["held", "pending"])
    @pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
    async def test_rest_beside_a_gift_card_is_no_problem(self, shop: Shop, flow: str, *, pending: bool) -> None:
        """Saleor authorizes a gift card that is used as a payment, and charges it with the order."""
        authorize_apart(shop, "200.00", pending=pending)
        others = [{"id": "gift-card", "authorizedAmount": amount_of("200.00")}]
        source = source_object(totalPrice={"gross": amount_of(TOTAL)}, transactions=others)
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin(flow=flow, amount="369.50", sourceObject=source)
        await pay(shop, method="purchase" if flow == "CHARGE" else "auth", amount="369.50")
        await shop.pass_time(minutes=30)
        assert await told(shop) == ""
        await shop.pass_time(days=1)
        assert "369.50 UAH was paid or authorized for a checkout" in (await told(shop)).replace("\u00a0", " ")

    async def test_gift_card_used_for_another_checkout_pays_no_part_of_this(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        change_total(shop, "769.50")
        authorize_apart(shop, "200.00")
        await pay(shop)
        shop.transaction.source.transactions[-1].amounts = Amounts(canceled=Decimal("200.00"))
        await shop.pass_time(minutes=2)
        assert "another 200.00 UAH" in (await told(shop)).replace("\u00a0", " ")

    async def test_gift_card_beside_all_of_a_checkout_is_overpaid(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        authorize_apart(shop, "200.00")
        await pay(shop)
        await shop.pass_time(minutes=5)
        assert "200.00 UAH more was paid or authorized than is owed" in (await told(shop)).replace("\u00a0", " ")

    async def test_total_of_authorized_checkout_rose(self, shop: Shop) -> None:
        await begin_on_checkout(shop, flow="AUTHORIZATION")
        change_total(shop, "600.00")
        await pay(shop, method="auth")
        await shop.pass_time(minutes=2)
        assert "another 30.50 UAH" in (await told(shop)).replace("\u00a0", " ")
        assert await subjects(shop) == NOT_PAID

    @pytest.mark.parametrize("minutes", [0, 5], ids=["at once", "later"])
    async def test_refund_of_unknown_outcome_is_no_higher_total(self, shop: Shop, minutes: int) -> None:
        """Saleor no longer counts as charged what it has asked to refund."""
        await begin_on_checkout(shop)
        await pay(shop)
        await shop.pass_time(minutes=minutes)
        shop.gateway.will_answer(HangUp())
        await shop.request_action("REFUND", "10.00", "unknown")
        await shop.pass_time(minutes=12)
        assert AlertKind.NOT_PAID not in {kind for kind, _ in await subjects(shop)}

    async def test_part_that_was_refunded_is_no_higher_total(self, shop: Shop) -> None:
        """Saleor's balance is below zero then: staff have given it back without changing the checkout."""
        await begin_on_checkout(shop)
        await pay(shop)
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "10.00")))
        await shop.request_action("REFUND", "10.00", "part")
        await shop.pass_time(minutes=12)
        assert AlertKind.NOT_PAID not in {kind for kind, _ in await subjects(shop)}

    @pytest.mark.parametrize("action", ["CHARGE", "CANCEL"])
    async def test_charge_or_release_of_unknown_outcome_is_no_higher_total(self, shop: Shop, action: str) -> None:
        """Saleor no longer counts as authorized what it has asked to charge or release."""
        await begin_on_checkout(shop, flow="AUTHORIZATION")
        await pay(shop, method="auth")
        shop.gateway.will_answer(HangUp())
        await shop.request_action(action, "10.00" if action == "CHARGE" else TOTAL, "unknown")
        await shop.pass_time(minutes=12)
        assert AlertKind.NOT_PAID not in {kind for kind, _ in await subjects(shop)}

    @pytest.mark.parametrize("total", ["400.00", "569.50", "600.00"])
    @pytest.mark.parametrize("amount", [TOTAL, "400.00"])
    async def test_more_charged_than_an_edited_order_costs_raises_alert(
        self, shop: Shop, total: str, amount: str
    ) -> None:
        """The Dashboard charges all of the authorization, unless staff think of the line that they have removed."""
        await begin_on_order(shop, flow="AUTHORIZATION")
        await pay(shop, method="auth")
        change_total(shop, total)
        await shop.pass_time(days=1)
        assert await subjects(shop) == []  # what is only authorized can still be charged in part
        shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, amount)))
        await shop.request_action("CHARGE", amount, "charge")
        await shop.pass_time(minutes=5)
        if Decimal(amount) <= Decimal(total):
            assert await subjects(shop) == []
            return
        assert await subjects(shop) == NOT_OWED
        assert "169.50 UAH more was paid or authorized than is owed" in (await told(shop)).replace("\u00a0", " ")
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "169.50")))
        await shop.request_action("REFUND", "169.50", "refund")
        await shop.pass_time(hours=1)
        assert await subjects(shop) == []

    async def test_more_charged_than_is_left_after_a_granted_refund_is_no_problem(self, shop: Shop) -> None:
        """It is refunded next."""
        await begin_on_order(shop, flow="AUTHORIZATION")
        await pay(shop, method="auth")
        shop.saleor.grant_refund(shop.transaction, Decimal("100.00"))
        shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, TOTAL)))
        await shop.request_action("CHARGE", TOTAL, "charge")
        await shop.pass_time(days=2)
        assert await subjects(shop) == []
        assert (await shop.aggregate()).payment.next_order_poll_at is None

    async def test_granted_refund_is_no_problem(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop)
        shop.saleor.grant_refund(shop.transaction, Decimal("100.00"))
        await shop.pass_time(minutes=5)
        assert await subjects(shop) == []


class TestOrderPlacedOnPendingPayment:
    async def test_that_fails_raises_alert_until_it_is_paid(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop, status="pending", status_code="2001")
        order = shop.saleor.order(shop.transaction)
        await pay(shop, status="failure", status_code="4009")
        assert f"Order {order.number}" in await told(shop)
        assert TOTAL in await told(shop)
        assert await subjects(shop) == NOT_PAID
        order.status = "CANCELED"
        await shop.pass_time(hours=2)
        assert await subjects(shop) == []

    async def test_what_is_not_paid_falls_when_a_part_of_it_is_paid(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop, status="pending", status_code="2001")
        shop.saleor.order(shop.transaction)
        await pay(shop, status="failure", status_code="4009")
        await pay_apart(shop, "500.00")
        await shop.pass_time(hours=2)
        assert " 69.50 UAH is not paid" in await told(shop)

    async def test_that_succeeds_after_all_ends_it(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop, status="pending", status_code="2001")
        shop.saleor.order(shop.transaction)
        await pay(shop, status="failure", status_code="4009")
        await pay(shop)
        assert AlertKind.NOT_PAID not in {kind for kind, _ in await subjects(shop)}

    async def test_that_was_not_placed_is_no_problem(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        await pay(shop, status="pending", status_code="2001")
        await pay(shop, status="failure", status_code="4009")
        await shop.pass_time(days=2)
        assert await subjects(shop) == []

    async def test_declined_card_of_an_order_is_no_problem(self, shop: Shop) -> None:
        await begin_on_order(shop)
        await pay(shop, status="failure", status_code="4009")
        assert await subjects(shop) == []


class TestOpenPage:
    @pytest.mark.law(12)
    @pytest.mark.parametrize("status", list(REASONS))
    async def test_of_an_ended_order_is_closed_before_it_leads_on(self, shop: Shop, status: str) -> None:
        order = await begin_on_order(shop)
        order.status = status
        await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
        aggregate = await shop.aggregate()
        assert not can_be_paid(aggregate, shop.clock.now)
        assert pay_page(build_view(aggregate, None, shop.clock.now), waited=0, polls=0).says.title == BEING_CLOSED
        too_late = build_view(aggregate, None, shop.clock.now + timedelta(days=1))
        assert pay_page(too_late, waited=0, polls=0).says.title == TOO_LATE
        assert await closing_reasons(shop) == [REASONS[status]]
        will_close(shop)
        await shop.work()
        assert (await shop.operation(Kind.CREATE)).state is State.FAILURE
        assert await subjects(shop) == []

    @pytest.mark.law(12)
    async def test_is_closed_until_the_gateway_confirms_it(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        order.status = "CANCELED"
        await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
        shop.gateway.will_answer(refusal_reply("Too many requests", "P-429", 429))
        will_close(shop)
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
        await shop.pass_time(minutes=5)
        assert (await shop.operation(Kind.CREATE)).state is State.FAILURE

    async def test_is_closed_when_the_worker_polls_it(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        await shop.pass_time(seconds=30)
        order.status = "CANCELED"
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
        will_close(shop)
        await shop.pass_time(minutes=3)
        assert await closing_reasons(shop) == [CloseReason.ORDER_CANCELED]
        assert (await shop.operation(Kind.CREATE)).state is State.FAILURE

    async def test_of_a_checkout_that_is_gone_is_closed(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        delete_checkout(shop)
        await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
        assert await closing_reasons(shop) == [CloseReason.CHECKOUT_GONE]

    async def test_for_more_than_is_left_to_pay_is_closed(self, shop: Shop) -> None:
        await begin_on_order(shop)
        change_total(shop, "569.49")
        await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
        assert await closing_reasons(shop) == [CloseReason.TOO_HIGH]

    async def test_for_more_than_a_gift_card_leaves_to_pay_is_closed(self, shop: Shop) -> None:
        await begin_on_checkout(shop)
        authorize_apart(shop, "200.00")
        await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
        assert await closing_reasons(shop) == [CloseReason.TOO_HIGH]

    async def test_that_is_owed_stays_open(self, shop: Shop) -> None:
        await begin_on_order(shop)
        checks = OpenPageChecks(shop.services, shop.saleor)
        await checks.close_if_not_owed(shop.order_id)
        change_total(shop, "600.00")
        shop.clock.now += 2 * CHECK_INTERVAL
        await checks.close_if_not_owed(shop.order_id)
        assert can_be_paid(await shop.aggregate(), shop.clock.now)

    async def test_is_asked_about_when_it_is_looked_up_and_not_when_another_operation_is(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        order.status = "CANCELED"
        other = an_operation(Kind.REFUND, State.PENDING, id=None)
        await shop.services.payments.record(
            ByOrder(shop.order_id), Change(lambda found: found.operations.append(other))
        )
        await check_polled_page(shop.services, shop.saleor, row_id_of(other))
        assert can_be_paid(await shop.aggregate(), shop.clock.now)
        await check_polled_page(shop.services, shop.saleor, row_id_of(await shop.operation(Kind.CREATE)))
        assert not can_be_paid(await shop.aggregate(), shop.clock.now)

    @pytest.mark.fault("saleor-down")
    async def test_leads_on_while_saleor_does_not_answer(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        order.status = "CANCELED"
        shop.saleor.is_down = True
        checks = OpenPageChecks(shop.services, shop.saleor)
        await checks.close_if_not_owed(shop.order_id)
        assert can_be_paid(await shop.aggregate(), shop.clock.now)
        shop.saleor.is_down = False
        await checks.close_if_not_owed(shop.order_id)  # just asked: a page that is reloaded asks nobody
        assert can_be_paid(await shop.aggregate(), shop.clock.now)
        shop.clock.now += 2 * CHECK_INTERVAL
        await checks.close_if_not_owed(shop.order_id)
        assert not can_be_paid(await shop.aggregate(), shop.clock.now)

    async def test_is_paid_while_it_is_closed(self, shop: Shop) -> None:
        order = await begin_on_order(shop)
        order.status = "CANCELED"
        await OpenPageChecks(shop.services, shop.saleor).close_if_not_owed(shop.order_id)
        shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
        await shop.notify(payment(shop.order_id))
        await shop.pass_time(minutes=5)
        assert (await shop.operation(Kind.CREATE)).state is State.SUCCESS
        assert await subjects(shop) == NOT_OWED


@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
async def test_a_paid_or_authorized_checkout_whose_order_is_not_placed_yet_is_no_news(shop: Shop, flow: str) -> None:
    source = source_object(totalPrice={"gross": amount_of(TOTAL)})
    await shop.complete_payment(flow, sourceObject=source)
    await shop.pass_time(minutes=30)
    assert await told(shop) == ""


@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
async def test_a_checkout_whose_total_fell_before_it_was_paid_is_overpaid(shop: Shop, flow: str) -> None:
    await begin_on_checkout(shop, flow=flow)
    change_total(shop, "519.50")
    await pay(shop, method="purchase" if flow == "CHARGE" else "auth")
    await shop.pass_time(minutes=5)
    assert "50.00 UAH more was paid or authorized than is owed" in await told(shop)
