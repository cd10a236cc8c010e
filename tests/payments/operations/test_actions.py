"""Staff, or Saleor itself, ask to charge, refund or cancel (laws of money, 1, 8, 9, 14)."""

from dataclasses import replace
from decimal import Decimal

import pytest
from sqlmodel import select

from app.core import payment as core
from app.core.vocabulary import Kind, State
from app.flows.actions import answer_action_request
from app.rules.problems import problem_text
from app.rules.schedule import Schedule
from app.store.tables import Operation, ProductsForm
from integration_base.outbound import Deadline
from integration_base_tests.loopback import ReceivedRequest, json_reply
from tests.payments.baskets import line, taxed
from tests.payments.fake_gateway import action_of, operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, action_event, source_object

ALL = Decimal(TOTAL)


class TestCharge:
    async def test_the_whole_reservation(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, TOTAL, operation_id="capture-1"))
        )
        answer = await reserved_shop.request_action("CHARGE", TOTAL)
        assert answer.result == "CHARGE_SUCCESS"
        assert answer.psp_reference == "capture-1"
        [asked] = reserved_shop.gateway.requests
        assert asked.path == "/api/v1/capture"
        assert asked.json["charge_amount"] == ALL
        assert asked.json["order_id"] == reserved_shop.order_id
        assert asked.json["server_url"].endswith(reserved_shop.account.id)
        await reserved_shop.pass_time(minutes=1)
        assert reserved_shop.amounts == amounts(charged=TOTAL)
        assert reserved_shop.transaction.actions == ["REFUND"]

    async def test_a_part_of_it_releases_the_rest(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, "300.00", operation_id="capture-1"))
        )
        answer = await reserved_shop.request_action("CHARGE", "300.00")
        assert answer.result == "CHARGE_SUCCESS"
        await reserved_shop.pass_time(minutes=1)
        assert reserved_shop.saleor.reported_types == ["CHARGE_SUCCESS", "CANCEL_SUCCESS"]
        release = reserved_shop.saleor.reports[-1]
        assert release.amount == Decimal("269.50")
        assert release.psp_reference not in {"capture-1", reserved_shop.order_id}
        assert reserved_shop.amounts == amounts(charged="300.00", canceled="269.50")
        assert reserved_shop.transaction.actions == ["REFUND"]

    async def test_a_reservation_is_taken_once(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(json_reply(operation("capture", reserved_shop.order_id, "300.00")))
        await reserved_shop.request_action("CHARGE", "300.00", "first")
        answer = await reserved_shop.request_action("CHARGE", "1.00", "second")
        assert answer.result == "CHARGE_FAILURE"
        assert "can charge an authorization only once" in (answer.message or "")
        assert reserved_shop.gateway.calls == ["capture"]

    async def test_more_than_is_reserved_is_refused(self, reserved_shop: Shop) -> None:
        answer = await reserved_shop.request_action("CHARGE", "569.51")
        assert answer.result == "CHARGE_FAILURE"
        assert reserved_shop.gateway.requests == []

    async def test_the_gateway_declines(self, reserved_shop: Shop) -> None:
        record = operation("capture", reserved_shop.order_id, TOTAL, "failure", operation_id="capture-1")
        reserved_shop.gateway.will_answer(json_reply(record))
        answer = await reserved_shop.request_action("CHARGE", TOTAL)
        assert answer.result == "CHARGE_FAILURE"
        assert answer.psp_reference == "capture-1"
        assert "[4150]" in (answer.message or "")
        await reserved_shop.pass_time(minutes=1)
        assert reserved_shop.amounts == amounts(authorized=TOTAL)
        assert reserved_shop.transaction.actions == ["CANCEL", "CHARGE"]  # it can be tried again

    @pytest.mark.law(9)
    async def test_the_bank_takes_its_time(self, reserved_shop: Shop) -> None:
        """Asked, pending and done are one chain under the gateway's id."""
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, TOTAL, "pending", operation_id="capture-1"))
        )
        answer = await reserved_shop.request_action("CHARGE", TOTAL)
        assert answer.dump() == {"pspReference": "capture-1"}
        assert reserved_shop.amounts.charge_pending == ALL
        await reserved_shop.notify(operation("capture", reserved_shop.order_id, TOTAL, operation_id="capture-1"))
        await reserved_shop.pass_time(seconds=1)  # by then Saleor has read the answer
        assert reserved_shop.amounts == amounts(charged=TOTAL)


class TestCancel:
    async def test_a_reservation_is_voided(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(
            json_reply(operation("void", reserved_shop.order_id, TOTAL, operation_id="void-1"))
        )
        answer = await reserved_shop.request_action("CANCEL", TOTAL)
        assert answer.result == "CANCEL_SUCCESS"
        assert answer.amount == ALL
        await reserved_shop.pass_time(minutes=1)
        assert reserved_shop.amounts == amounts(canceled=TOTAL)
        assert reserved_shop.transaction.actions == []

    async def test_a_page_that_nobody_has_paid_on_is_closed(self, shop: Shop) -> None:
        shop.gateway.will_answer(
            shop.gateway.page(), json_reply([payment(shop.order_id, "failure", status_code="6007")])
        )
        await shop.begin()
        await shop.pass_time(seconds=25)
        answer = await shop.request_action("CANCEL")
        assert answer.result == "CANCEL_SUCCESS"
        assert answer.amount == 0
        assert shop.gateway.calls == ["payment", "cancel"]
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["INFO", "CHARGE_FAILURE", "CANCEL_SUCCESS"]
        assert shop.amounts == amounts()

    async def test_the_shopper_was_quicker(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page(), json_reply([payment(shop.order_id)]))
        await shop.begin()
        answer = await shop.request_action("CANCEL")
        assert answer.result == "CANCEL_FAILURE"
        assert "refund it instead" in (answer.message or "")
        await shop.pass_time(minutes=1)
        assert shop.amounts == amounts(charged=TOTAL)

    async def test_the_shopper_was_quicker_to_reserve(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page(), json_reply([payment(shop.order_id, method="auth")]))
        await shop.begin(flow="AUTHORIZATION")
        answer = await shop.request_action("CANCEL")
        assert answer.result == "CANCEL_FAILURE"
        assert "cancel the authorization instead" in (answer.message or "")
        await shop.pass_time(minutes=1)
        assert shop.amounts == amounts(authorized=TOTAL)
        assert set(shop.transaction.actions) == {"CHARGE", "CANCEL"}

    async def test_what_was_taken_is_refunded_instead(self, paid_shop: Shop) -> None:
        answer = await paid_shop.request_action("CANCEL")
        assert answer.result == "CANCEL_FAILURE"
        assert "refund it instead" in (answer.message or "")
        assert paid_shop.gateway.requests == []


class TestRefund:
    async def test_goes_to_where_the_account_has_moved(self, paid_shop: Shop) -> None:
        """From the next call on: whoever changes an account need not start the app anew."""
        paid_shop.clock.forward(seconds=1)
        await paid_shop.services.accounts.change(paid_shop.account.id, base_url="http://127.0.0.1:9")
        paid_shop.services = replace(paid_shop.services, schedule=Schedule(pauses_before_resending=()))
        answer = await paid_shop.request_action("REFUND", "100.00")
        assert answer.result == "REFUND_FAILURE"
        assert "could not be reached" in (answer.message or "")
        assert paid_shop.gateway.requests == []

    @pytest.mark.law(9)
    async def test_several_parts_each_with_a_reference_of_its_own(self, paid_shop: Shop) -> None:
        """Of two refunds under one reference Saleor would swallow the second."""
        for number, part in enumerate(["100.00", "100.00", "369.50"]):
            paid_shop.gateway.will_answer(
                json_reply(operation("refund", paid_shop.order_id, part, operation_id=f"refund-{number}"))
            )
            answer = await paid_shop.request_action("REFUND", part, key=f"key-{number}")
            assert answer.result == "REFUND_SUCCESS"
            assert answer.psp_reference == f"refund-{number}"
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.amounts == amounts(refunded=TOTAL)
        assert paid_shop.transaction.actions == []
        sent = [heard for heard in paid_shop.gateway.requests if action_of(heard) == "refund"]
        assert [heard.json["refund_amount"] for heard in sent] == [100, 100, Decimal("369.50")]

    async def test_never_more_than_was_paid(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "569.00")))
        await paid_shop.request_action("REFUND", "569.00", "first")
        answer = await paid_shop.request_action("REFUND", "0.51", "second")
        assert answer.result == "REFUND_FAILURE"
        assert "569.00 UAH has already been refunded. Refund at most 0.50 UAH." in (answer.message or "")
        assert paid_shop.gateway.calls == ["refund"]

    async def test_a_part_of_what_was_captured(self, reserved_shop: Shop) -> None:
        reserved_shop.gateway.will_answer(
            json_reply(operation("capture", reserved_shop.order_id, "300.00")),
            json_reply(operation("refund", reserved_shop.order_id, "299.00")),
        )
        await reserved_shop.request_action("CHARGE", "300.00", "charge")
        assert (await reserved_shop.request_action("REFUND", "300.01", "too much")).result == "REFUND_FAILURE"
        assert (await reserved_shop.request_action("REFUND", "299.00", "refund")).result == "REFUND_SUCCESS"
        await reserved_shop.pass_time(minutes=1)
        assert reserved_shop.amounts == amounts(charged="1.00", refunded="299.00", canceled="269.50")


@pytest.mark.law(1)
async def test_when_the_call_arrives_the_intent_is_in_the_database(paid_shop: Shop) -> None:
    seen: list[tuple[Kind, State, Decimal]] = []

    async def look_into_the_database(_: ReceivedRequest) -> None:
        async with paid_shop.services.database.transaction() as session:
            row = (await session.exec(select(Operation).where(Operation.idempotency_key == "key-1"))).one()
        seen.append((row.kind, row.state, row.amount))

    paid_shop.gateway.on_request = look_into_the_database
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "10.00")))
    await paid_shop.request_action("REFUND", "10.00")
    assert seen == [(Kind.REFUND, State.INTENT, Decimal("10.00"))]


class TestRefusedBeforeAnything:
    @pytest.mark.law(14)
    async def test_what_is_no_amount_of_money(self, paid_shop: Shop) -> None:
        """Which is none, on paper: ``decisions/test_refusals.py``."""
        before, amount = len((await paid_shop.aggregate()).operations), "1.001"
        answer = await paid_shop.request_action("REFUND", amount)
        assert answer.result == "REFUND_FAILURE"
        assert "two decimal places" in (answer.message or "")
        assert paid_shop.gateway.requests == []
        assert len((await paid_shop.aggregate()).operations) == before
        assert await paid_shop.request_action("REFUND", amount, booked=False) == answer

    async def test_a_payment_that_is_not_ours(self, shop: Shop) -> None:
        answer = await shop.request_action("REFUND", "1.00")
        assert answer.result == "REFUND_FAILURE"
        assert "not made with this app" in (answer.message or "")
        assert shop.gateway.requests == []

    async def test_a_payment_of_another_saleor(self, paid_shop: Shop) -> None:
        saleor = paid_shop.services.installations
        await saleor.save(
            saleor_api_url="https://other.example.com/graphql/",
            saleor_domain="other.example.com",
            schema_version="3.23",
            app_id="QXBwOjE=",
            token="other-token",
            jwks=None,
        )
        other = await saleor.find("https://other.example.com/graphql/")
        assert other is not None
        answer = await answer_action_request(
            paid_shop.services, action_event(paid_shop.transaction.id, "REFUND", "1.00", "key-1"), other
        )
        assert answer.result == "REFUND_FAILURE"
        assert paid_shop.gateway.requests == []

    async def test_a_request_that_saleor_does_not_name(self, paid_shop: Shop) -> None:
        """Without its key a repetition could not be told from a second request."""
        answer = await answer_action_request(
            paid_shop.services, action_event(paid_shop.transaction.id, "REFUND", "1.00", None), paid_shop.installation
        )
        assert answer.result == "REFUND_FAILURE"
        assert paid_shop.gateway.requests == []

    @pytest.mark.law(11)
    async def test_a_request_whose_time_was_over_before_it_was_recorded(self, paid_shop: Shop) -> None:
        event = action_event(paid_shop.transaction.id, "REFUND", "1.00", "key-1")
        with pytest.raises(TimeoutError):
            await answer_action_request(paid_shop.services, event, paid_shop.installation, Deadline(0))
        await paid_shop.work()
        assert paid_shop.gateway.requests == []
        assert [one.kind for one in (await paid_shop.aggregate()).operations] == [Kind.CREATE]

    async def test_another_currency(self, paid_shop: Shop) -> None:
        event = action_event(paid_shop.transaction.id, "REFUND", "1.00", "key-1", currency="PLN")
        answer = await answer_action_request(paid_shop.services, event, paid_shop.installation)
        assert answer.result == "REFUND_FAILURE"
        assert "in UAH" in (answer.message or "")
        assert paid_shop.gateway.requests == []


async def test_a_refusal_of_the_gateway_is_a_failure_with_a_reference(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(refusal_reply("Insufficient balance", "P-400"))
    answer = await paid_shop.request_action("REFUND", "100.00")
    assert answer.result == "REFUND_FAILURE"
    assert "Insufficient balance" in (answer.message or "")
    assert "[P-400]" in (answer.message or "")
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.amounts == amounts(charged=TOTAL)
    assert paid_shop.saleor.reported_types == ["REFUND_FAILURE"]
    assert paid_shop.saleor.reports[0].psp_reference == answer.psp_reference


@pytest.mark.law(8)
class TestTrustThenCompare:
    async def test_an_answer_about_something_else_is_never_a_success(self, paid_shop: Shop) -> None:
        """About what else it can be, on paper: ``decisions/test_refusals.py``."""
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "99.99", operation_id="refund-1"))
        )
        answer = await paid_shop.request_action("REFUND", "100.00")
        assert answer.result is None
        aggregate = await paid_shop.aggregate()
        assert problem_text(aggregate.payment)
        await paid_shop.pass_time(hours=1)
        assert paid_shop.saleor.reported_types == ["INFO"]
        assert paid_shop.saleor.reports[0].message == problem_text(aggregate.payment)
        assert paid_shop.amounts == amounts(charged="469.50", refund_pending="100.00")

    async def test_an_answer_of_another_order_is_no_answer(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", "another-order", "100.00")))
        assert (await paid_shop.request_action("REFUND", "100.00")).result is None
        assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN


class TestFiscalMerchant:
    @pytest.mark.law(1)
    async def test_the_products_are_in_the_row_before_they_are_in_the_call(self, shop: Shop) -> None:
        """The account's present options do not change what a payment was made with."""
        await shop.services.accounts.change(shop.account.id, products=ProductsForm.FISCAL, receipt_delivery="sms")
        basket = {"lines": [line(1, "499.50", 3)], "shippingPrice": taxed("70.00"), "totalPrice": taxed(TOTAL)}
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin(flow="AUTHORIZATION", sourceObject=source_object(**basket))
        await shop.notify(payment(shop.order_id, method="auth"))
        await shop.work()
        await shop.services.accounts.change(shop.account.id, products=ProductsForm.NONE, receipt_delivery=None)
        recorded: list[core.Operation] = []

        async def look_into_the_ledger(heard: ReceivedRequest) -> None:
            recorded.extend(
                operation
                for operation in (await shop.aggregate()).operations
                if operation.kind.value == action_of(heard)
            )

        shop.gateway.on_request = look_into_the_ledger
        shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, "300.00")))
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "300.00")))
        await shop.request_action("CHARGE", "300.00", "capture")
        await shop.request_action("REFUND", "300.00", "refund")

        *_, captured, refunded = (request.json for request in shop.gateway.requests)
        for asked, row in zip((captured, refunded), recorded, strict=True):
            assert [product["name"] for product in asked["products"]] == [
                product["name"] for product in row.request["products"]
            ]
            assert sum(product["qty"] * product["amount"] for product in asked["products"]) == Decimal("300.00")
        assert captured["products"] == refunded["products"]
        assert refunded["f_receipt_delivery"] == "sms"
