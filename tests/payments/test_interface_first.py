"""At a gateway that knows only its interface, every payment goes to its end; and what it says reaches people (16)."""

from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from app.core.vocabulary import Kind, State
from app.flows.on_demand import look_up_now
from app.flows.reconciliation.compare import find_differences
from app.flows.reconciliation.entries import entries_of
from app.rules.problems import problem_text
from app.store.tables import DiscrepancyKind, ProductsForm
from integration_base_tests.loopback import HangUp, ReceivedRequest, Reply, json_reply, text_reply
from tests.payments.baskets import line, taxed
from tests.payments.fake_gateway import action_of, operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_subscriptions import charge, subscribed
from tests.payments.reconciliation import books
from tests.payments.shop import TOTAL, Shop, source_object
from tests.payments.split.market import SHARES, enable_splitting, shares, split_checkout

pytestmark = pytest.mark.law(16)

PROXY_PAGE = "<html><head><title>403</title></head><body><h1>Request blocked</h1><p>Incident 4711</p></body></html>"


@pytest.fixture
async def bare(shop: Shop) -> Shop:
    """A shop whose gateway knows only its interface."""
    await shop.services.accounts.change(shop.account.id, dialect="interface", order_3ds_bypass="always")
    return shop


@pytest.fixture
async def held(bare: Shop) -> Shop:
    """Such a shop, in which a shopper has reserved 569.50."""
    await bare.complete_payment("AUTHORIZATION")
    return bare


async def capture(shop: Shop, amount: str, name: str) -> ReceivedRequest:
    """Staff capture a part; return the call."""
    shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, amount, operation_id=name)))
    assert (await shop.request_action("CHARGE", amount, name)).result == "CHARGE_SUCCESS"
    call = shop.gateway.requests[-1]
    await shop.pass_time(minutes=1)
    return call


class TestCaptureOfAPart:
    async def test_leaves_the_rest_reserved_until_staff_release_it(self, held: Shop) -> None:
        assert (await capture(held, "100.00", "first")).path == "/api/v1/split/capture"
        assert held.amounts == amounts(charged="100.00", authorized="469.50")
        assert held.transaction.actions == ["CANCEL", "CHARGE", "REFUND"]
        held.gateway.will_answer(json_reply(operation("void", held.order_id, "469.50", operation_id="the-rest")))
        assert (await held.request_action("CANCEL", "469.50")).result == "CANCEL_SUCCESS"
        await held.pass_time(minutes=1)
        assert held.amounts == amounts(charged="100.00", canceled="469.50")
        assert held.transaction.actions == ["REFUND"]
        assert problem_text((await held.aggregate()).payment) is None

    async def test_can_be_followed_by_another_of_what_is_left_and_no_more(self, held: Shop) -> None:
        await capture(held, "100.00", "first")
        too_much = await held.request_action("CHARGE", "469.51", "too-much")
        assert too_much.result == "CHARGE_FAILURE"
        assert "469.50 UAH is authorized" in (too_much.message or "")
        await capture(held, "469.50", "second")
        assert held.amounts == amounts(charged=TOTAL)
        assert held.transaction.actions == ["REFUND"]

    async def test_that_the_gateway_made_itself_keeps_the_rest_too(self, held: Shop) -> None:
        await held.notify(operation("capture", held.order_id, "100.00", operation_id="portal-1"))
        await held.work()
        assert held.amounts == amounts(charged="100.00", authorized="469.50")


@pytest.mark.law(10)
class TestARestThatWasNotReleased:
    """The public dialect says that a part capture releases the rest, and the gateway captures again."""

    async def test_is_taken_back_from_saleor_and_put_to_people(self, reserved_shop: Shop) -> None:
        await capture(reserved_shop, "100.00", "first")
        assert reserved_shop.amounts == amounts(charged="100.00", canceled="469.50")
        await reserved_shop.notify(operation("capture", reserved_shop.order_id, "50.00", operation_id="portal-1"))
        await reserved_shop.work()
        assert reserved_shop.amounts == amounts(charged="150.00", authorized="419.50")
        assert reserved_shop.transaction.actions == ["CANCEL", "CHARGE", "REFUND"]
        assert "this gateway keeps the rest" in (problem_text((await reserved_shop.aggregate()).payment) or "")
        assert "CANCEL_FAILURE" in reserved_shop.saleor.reported_types

    async def test_whose_release_saleor_has_not_heard_of_yet_is_never_told(self, reserved_shop: Shop) -> None:
        for number, amount in enumerate(("100.00", "50.00")):
            await reserved_shop.notify(
                operation("capture", reserved_shop.order_id, amount, operation_id=f"portal-{number}")
            )
        await reserved_shop.work()
        assert reserved_shop.amounts == amounts(charged="150.00", authorized="419.50")


async def test_a_split_hold_is_divided_when_it_is_captured(bare: Shop) -> None:
    await enable_splitting(bare)
    bare.gateway.will_answer(bare.gateway.page())
    await bare.begin(flow="AUTHORIZATION", sourceObject=split_checkout())
    [asked] = bare.gateway.requests
    assert asked.path == "/api/v1/payment"
    assert "split" not in asked.json
    await bare.notify(payment(bare.order_id, method="auth"))
    await bare.work()
    calls = [await capture(bare, amount, name) for amount, name in (("300.00", "first"), ("269.50", "second"))]
    assert {call.path for call in calls} == {"/api/v1/split/capture"}
    first, second = (shares(call.json["split"]) for call in calls)
    assert {who: first[who] + second[who] for who in SHARES} == SHARES


@pytest.mark.parametrize("dialect", ["interface", "public"])
async def test_products_of_a_fiscal_receipt_are_repeated_only_where_the_gateway_reads_them(
    shop: Shop, dialect: str
) -> None:
    await shop.services.accounts.change(
        shop.account.id, dialect=dialect, products=ProductsForm.FISCAL, receipt_delivery="sms"
    )
    basket = {"lines": [line(1, "499.50", 3)], "shippingPrice": taxed("70.00"), "totalPrice": taxed(TOTAL)}
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(sourceObject=source_object(**basket))
    await shop.notify(payment(shop.order_id))
    await shop.work()
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, TOTAL, operation_id="refund-1")))
    await shop.request_action("REFUND", TOTAL)
    asked = shop.gateway.requests[-1]
    assert asked.path == "/api/v1/refund"
    assert asked.json["f_receipt_delivery"] == "sms"
    assert ("products" in asked.json) is (dialect == "public")


class TestARefundOfEverything:
    """Gateway interface, 5: the request of a full refund omits the amount, that of a partial one needs it."""

    async def refund(self, shop: Shop, amount: str, name: str) -> ReceivedRequest:
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, amount, operation_id=name)))
        assert (await shop.request_action("REFUND", amount, name)).result == "REFUND_SUCCESS"
        call = shop.gateway.requests[-1]
        await shop.pass_time(minutes=1)
        return call

    @pytest.mark.parametrize(("dialect", "stated"), [("interface", None), ("public", Decimal(TOTAL))])
    async def test_names_its_amount_only_where_the_gateway_reads_it(
        self, paid_shop: Shop, dialect: str, stated: Decimal | None
    ) -> None:
        await paid_shop.services.accounts.change(paid_shop.account.id, dialect=dialect)
        call = await self.refund(paid_shop, TOTAL, "all")
        assert call.json.get("refund_amount") == stated
        assert paid_shop.amounts == amounts(refunded=TOTAL)

    async def test_names_it_after_a_part_was_refunded(self, paid_shop: Shop) -> None:
        await paid_shop.services.accounts.change(paid_shop.account.id, dialect="interface")
        assert (await self.refund(paid_shop, "100.00", "part")).json["refund_amount"] == Decimal(100)
        assert (await self.refund(paid_shop, "469.50", "rest")).json["refund_amount"] == Decimal("469.50")

    async def test_names_it_where_the_payer_bore_a_fee_that_the_gateway_might_refund_too(self, paid_shop: Shop) -> None:
        await paid_shop.services.accounts.change(
            paid_shop.account.id, dialect="interface", payer_fee_percent=Decimal(2)
        )
        assert (await self.refund(paid_shop, TOTAL, "all")).json["refund_amount"] == Decimal(TOTAL)

    async def test_names_it_where_one_authorization_was_charged_in_two_parts(self, held: Shop) -> None:
        await capture(held, "100.00", "first")
        await capture(held, "469.50", "second")
        assert (await self.refund(held, TOTAL, "all")).json["refund_amount"] == Decimal(TOTAL)

    @pytest.mark.parametrize(("status", "named"), [("success", Decimal(TOTAL)), ("failure", None)])
    async def test_names_it_where_the_subscription_has_charged_once_more(
        self, bare: Shop, status: str, named: Decimal | None
    ) -> None:
        """All charges have one order id: without an amount the gateway might give back another one, or all of them."""
        await subscribed(bare)
        await bare.notify(charge(bare, "second", status))
        await bare.pass_time(minutes=1)
        assert (await self.refund(bare, TOTAL, "all")).json.get("refund_amount") == named

    @pytest.mark.law(3, 8)
    @pytest.mark.parametrize(
        ("kind", "by_others", "named"),
        [("refund", "30.00", []), ("capture", "200.00", [Decimal(100)])],
        ids=["less is left", "more is charged"],
    )
    async def test_names_it_where_others_acted_while_it_waited_for_its_turn(
        self, held: Shop, kind: str, by_others: str, named: list[Decimal]
    ) -> None:
        """What the gateway would give back without an amount is not what staff asked for, and not what is recorded.

        Where too little is left, the gateway is not asked.
        """
        await capture(held, "100.00", "first")
        held.gateway.will_answer(HangUp())
        await held.request_action("CANCEL", "469.50", "the rest")
        assert (await held.request_action("REFUND", "100.00", "all")).result is None
        await held.notify(operation(kind, held.order_id, by_others, operation_id="portal"))
        held.gateway.will_answer(*[refusal_reply("Too much", "4139")] * len(named))
        await held.pass_time(hours=6)
        calls = [request for request in held.gateway.requests if action_of(request) == "refund"]
        assert [call.json["refund_amount"] for call in calls] == named
        assert held.saleor.reported_types.count("REFUND_FAILURE") == 1
        assert (await held.operation(Kind.REFUND)).state is State.FAILURE

    async def test_names_none_where_nobody_acted_while_it_waited_for_its_turn(self, held: Shop) -> None:
        await capture(held, "100.00", "first")
        held.gateway.will_answer(HangUp())
        await held.request_action("CANCEL", "469.50", "the rest")
        await held.request_action("REFUND", "100.00", "all")
        held.gateway.will_answer(json_reply(operation("refund", held.order_id, "100.00", operation_id="all")))
        await held.pass_time(hours=6)
        (call,) = (request for request in held.gateway.requests if action_of(request) == "refund")
        assert "refund_amount" not in call.json
        assert (await held.operation(Kind.REFUND)).state is State.SUCCESS

    async def test_of_which_less_was_left_than_anybody_had_told_us_is_put_to_people(self, paid_shop: Shop) -> None:
        """Somebody has refunded 69.50 in the portal, and its notification was lost (8)."""
        await paid_shop.services.accounts.change(paid_shop.account.id, dialect="interface")
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "500.00", operation_id="what-was-left"))
        )
        await paid_shop.request_action("REFUND", TOTAL)
        await paid_shop.pass_time(minutes=30)
        assert "REFUND_SUCCESS" not in paid_shop.saleor.reported_types
        assert "500.00" in (problem_text((await paid_shop.aggregate()).payment) or "")


class TestWhatTheGatewaySays:
    async def test_in_the_form_of_the_interface_is_believed_and_read_by_staff(self, bare: Shop) -> None:
        bare.gateway.will_answer(json_reply({"message": "customer_phone: must be a phone", "code": "P-400"}, 400))
        answer = await bare.begin()
        assert answer.result == "CHARGE_FAILURE"
        assert answer.data["errors"][0]["code"] == "STORE_UNAVAILABLE"
        create = (await bare.aggregate()).create
        assert create.state is State.FAILURE
        assert "customer_phone: must be a phone" in (create.message or "")

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (text_reply(PROXY_PAGE, 403), "Request blocked Incident 4711"),
            (json_reply({"error": "field refund_amount is unknown"}, 422), "field refund_amount is unknown"),
            (json_reply({"title": "x" * 400}, 400), "x" * 280),
        ],
        ids=["page", "another API", "long"],
    )
    async def test_in_another_form_is_not_believed_but_read_by_staff(
        self, paid_shop: Shop, reply: Reply, said: str
    ) -> None:
        paid_shop.gateway.will_answer(reply)
        await paid_shop.request_action("REFUND", "100.00")
        refund = await paid_shop.operation(Kind.REFUND)
        assert refund.state is State.UNKNOWN
        assert said in (refund.message or "")
        assert len(refund.message or "") < 400
        assert said in (problem_text((await paid_shop.aggregate()).payment) or "")

    async def test_of_a_card_is_never_shown(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(text_reply("card 4242 4242 4242 4242 cvv: 123 refused", 400))
        await paid_shop.request_action("REFUND", "100.00")
        message = (await paid_shop.operation(Kind.REFUND)).message or ""
        assert "4242" not in message
        assert "123" not in message


class TestMoneyIsNeverSkipped:
    """A success of an order of ours by a method that we do not know, or that nothing explains, is for review."""

    ANOTHER = "payment-of-somebody"

    @pytest.mark.parametrize("method", ["recurrent", "cashback", "p2p"])
    async def test_of_a_notification(self, paid_shop: Shop, method: str) -> None:
        await paid_shop.notify(payment(paid_shop.order_id, method=method, payment_id=self.ANOTHER))
        await paid_shop.work()
        assert f"{method}, 569.50 UAH" in (problem_text((await paid_shop.aggregate()).payment) or "")
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert paid_shop.transaction.actions == ["REFUND"]

    @pytest.mark.parametrize("method", ["recurrent", "cashback", "p2p"])
    async def test_of_a_look_up(self, paid_shop: Shop, method: str) -> None:
        paid_shop.gateway.book[paid_shop.order_id].append(
            payment(paid_shop.order_id, method=method, payment_id=self.ANOTHER)
        )
        assert await look_up_now(paid_shop.services, paid_shop.order_id) is None
        assert f"{method}, 569.50 UAH" in (problem_text((await paid_shop.aggregate()).payment) or "")

    @pytest.mark.parametrize(("method", "status"), [("lookup", "success"), ("recurrent", "failure"), ("x", "pending")])
    async def test_but_nothing_is_reviewed_where_none_has_moved(
        self, paid_shop: Shop, method: str, status: str
    ) -> None:
        await paid_shop.notify(payment(paid_shop.order_id, status, method=method, payment_id=self.ANOTHER))
        await paid_shop.work()
        assert problem_text((await paid_shop.aggregate()).payment) is None

    async def test_and_a_later_charge_of_our_subscription_is_booked_by_that_name_too(self, shop: Shop) -> None:
        subscription = {"id": "subscription-1", "status": "active"}
        await shop.complete_payment()
        for method, payment_id in (("purchase", None), ("recurrent", self.ANOTHER)):
            named = {} if payment_id is None else {"payment_id": payment_id}
            await shop.notify(payment(shop.order_id, method=method, recurring=subscription, **named))
            await shop.work()
        assert (await shop.operation(Kind.RECURRING)).operation_id == self.ANOTHER
        assert shop.amounts == amounts(charged="1139.00")
        assert problem_text((await shop.aggregate()).payment) is None

    @pytest.mark.parametrize("is_notified", [True, False], ids=["notification", "look-up"])
    async def test_of_a_payment_with_an_id_more_than_the_interface_shows(
        self, shop: Shop, *, is_notified: bool
    ) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        paid = payment(shop.order_id, operation_id="operation-1")
        if is_notified:
            await shop.notify(paid)
        else:
            shop.gateway.book[shop.order_id] = [paid]
        await shop.pass_time(minutes=5)
        assert shop.amounts == amounts(charged=TOTAL)

    @pytest.mark.parametrize("method", ["recurrent", "cashback"])
    def test_of_the_gateways_books(self, method: str) -> None:
        paid = books.payment()
        [unexplained] = [books.line(method, payment_id=self.ANOTHER)]
        assert unexplained.is_compared
        found = find_differences(paid, entries_of([books.line(), unexplained]))
        assert [difference.kind for difference in found] == [DiscrepancyKind.UNKNOWN]
        assert not books.line("lookup").is_compared
        assert not books.line("cashback", "failure").is_compared


class TestTimesOfTheGateway:
    @pytest.mark.law(15)
    async def test_are_in_its_zone(self, shop: Shop) -> None:
        await shop.services.accounts.change(shop.account.id, time_zone="Europe/Kyiv")
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        paid_at = shop.clock.now + timedelta(minutes=1)
        await shop.pass_time(minutes=2)
        in_kyiv = paid_at.astimezone(ZoneInfo("Europe/Kyiv")).replace(tzinfo=None)
        await shop.notify(payment(shop.order_id, processed_at=in_kyiv.isoformat(timespec="milliseconds")))
        await shop.work()
        assert (await shop.aggregate()).create.booked_at == paid_at
