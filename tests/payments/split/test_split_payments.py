"""A marketplace is paid, captures and refunds: nobody but the rules says whose money it is."""

from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from app.reports.money import GroupBy, read_money
from app.store.day_sums import Days
from app.store.tables import ProductsForm
from integration_base_tests.loopback import HangUp, ReceivedRequest, json_reply
from tests.payments.fake_gateway import action_of, operation, payment
from tests.payments.shop import TOTAL, Shop, source_object
from tests.payments.split.market import (
    LAMP,
    MUGS,
    SHARES,
    enable_splitting,
    granted_action_event,
    granted_refund_event,
    line,
    recorded,
    refund,
    shares,
    split_checkout,
    standing,
    taxed,
)
from tests.payments.split.people import MARKET, NAMES, POTTER, SMITH, WEAVER, rules


@pytest.fixture
async def market(shop: Shop) -> Shop:
    """A marketplace in which nobody has bought anything yet."""
    return await enable_splitting(shop)


@pytest.fixture
async def sold(market: Shop) -> Shop:
    """A marketplace whose shopper has paid 569.50."""
    await market.complete_payment(sourceObject=split_checkout())
    return market


@pytest.fixture
async def held(market: Shop) -> Shop:
    """A marketplace whose shopper has reserved 569.50."""
    await market.complete_payment("AUTHORIZATION", sourceObject=split_checkout())
    return market


def of(**amounts: str) -> dict[str, Decimal]:
    who = {"market": MARKET, "potter": POTTER, "smith": SMITH}
    return {who[name]: Decimal(amount) for name, amount in amounts.items()}


class TestPaying:
    async def test_a_purchase_says_whose_money_it_is(self, market: Shop) -> None:
        market.gateway.will_answer(market.gateway.page())
        answer = await market.begin(sourceObject=split_checkout())
        assert answer.result == "CHARGE_ACTION_REQUIRED"
        [asked] = market.gateway.requests
        assert asked.path == "/api/v1/split/purchase"
        assert shares(asked.json["split"]) == SHARES
        assert await recorded(market, Kind.CREATE) == SHARES

    async def test_a_reservation_says_it_too(self, market: Shop) -> None:
        market.gateway.will_answer(market.gateway.page())
        await market.begin(flow="AUTHORIZATION", sourceObject=split_checkout())
        [asked] = market.gateway.requests
        assert asked.path == "/api/v1/payment"
        assert asked.json["method"] == "auth"
        assert shares(asked.json["split"]) == SHARES

    @pytest.mark.law(1)
    async def test_when_the_call_arrives_the_shares_are_in_the_database(self, market: Shop) -> None:
        seen = []

        async def look(request: ReceivedRequest) -> None:
            seen.append(await recorded(market, Kind.CREATE))

        market.gateway.on_request = look
        market.gateway.will_answer(market.gateway.page())
        await market.begin(sourceObject=split_checkout())
        assert seen == [SHARES]

    async def test_a_part_of_the_order_is_the_same_part_of_each_share(self, market: Shop) -> None:
        market.gateway.will_answer(market.gateway.page())
        await market.begin(amount="56.95", sourceObject=split_checkout())
        assert await recorded(market, Kind.CREATE) == of(market="7.00", potter="30.00", smith="19.95")

    async def test_a_line_of_nobody_known_is_refused_before_anything_is_asked(self, market: Shop) -> None:
        stranger = line("Cloth", "10.00", "eeeeeeee-0000-4000-8000-000000000005")
        answer = await market.begin(sourceObject=split_checkout(MUGS, stranger))
        assert answer.result == "CHARGE_FAILURE"
        [error] = answer.data["errors"]
        assert error["code"] == "SPLIT_NOT_POSSIBLE"
        assert "“Cloth”" in error["message"]
        assert market.gateway.requests == []
        assert await market.find_aggregate() is None

    async def test_an_account_without_rules_splits_nothing(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin(sourceObject=split_checkout())
        [asked] = shop.gateway.requests
        assert asked.path == "/api/v1/payment"
        assert "split" not in asked.json


class TestCapturing:
    async def test_the_whole(self, held: Shop) -> None:
        held.gateway.will_answer(json_reply(operation("capture", held.order_id, TOTAL)))
        await held.request_action("CHARGE", TOTAL)
        [asked] = held.gateway.requests
        assert asked.path == "/api/v1/split/capture"
        assert shares(asked.json["split"]) == SHARES

    async def test_a_part_is_divided_as_the_whole_and_only_that_can_be_given_back(self, held: Shop) -> None:
        held.gateway.will_answer(json_reply(operation("capture", held.order_id, "300.00")))
        await held.request_action("CHARGE", "300.00")
        part = of(market="36.88", potter="158.03", smith="105.09")
        assert shares(held.gateway.requests[-1].json["split"]) == part
        assert await recorded(held, Kind.CAPTURE) == part
        assert (await standing(held)).left == part
        assert shares(await refund(held, "300.00", "all")) == part

    async def test_a_release_says_nothing_of_shares(self, held: Shop) -> None:
        held.gateway.will_answer(json_reply(operation("void", held.order_id, TOTAL)))
        await held.request_action("CANCEL")
        assert held.gateway.requests[-1].path == "/api/v1/void"


class TestRefunding:
    async def test_a_plain_sum_is_everybodys(self, sold: Shop) -> None:
        assert shares(await refund(sold, "56.95", "r")) == of(market="7.00", potter="30.00", smith="19.95")

    async def test_one_of_three_mugs_is_the_potters(self, sold: Shop) -> None:
        assert shares(await refund(sold, "100.00", "r", granted=granted_refund_event((MUGS, 1)))) == of(potter="100.00")
        assert await recorded(sold, Kind.REFUND) == of(potter="100.00")

    async def test_shipping_is_given_back_by_who_got_it(self, sold: Shop) -> None:
        one = granted_refund_event((LAMP, 1), shipping=True)
        assert shares(await refund(sold, "269.50", "r", granted=one)) == of(market="70.00", smith="199.50")

    async def test_first_a_mug_then_the_rest_and_everybody_is_at_zero(self, sold: Shop) -> None:
        await refund(sold, "100.00", "first", granted=granted_refund_event((MUGS, 1)))
        rest = of(market="70.00", potter="200.00", smith="199.50")
        assert shares(await refund(sold, "469.50", "second")) == rest
        assert (await standing(sold)).left == {}

    async def test_a_refund_that_failed_leaves_the_shares_as_they_were(self, sold: Shop) -> None:
        sold.gateway.will_answer(json_reply(operation("refund", sold.order_id, "100.00", "failure")))
        answer = await sold.request_action("REFUND", "100.00", "r")
        assert answer.result == "REFUND_FAILURE"
        assert sold.gateway.calls == ["refund"]
        assert (await standing(sold)).left == SHARES

    async def test_of_an_account_that_splits_no_more_what_was_split_is_still_given_back_so(self, sold: Shop) -> None:
        await sold.services.accounts.change(sold.account.id, split_rules=None)
        assert shares(await refund(sold, TOTAL, "all", granted=granted_refund_event((MUGS, 1)))) == SHARES

    async def test_what_nobody_here_received_is_not_taken_from_the_seller_of_another_line(self, sold: Shop) -> None:
        """The weaver sells the mugs now: the smith gives back a lamp, and of the mug no more than everybody."""
        lamp, mug = line("Lamp", "199.50", SMITH, 2), line("Mugs", "300.00", WEAVER, 3)
        granted = granted_refund_event((lamp, 1), (mug, 1))
        part = of(market="12.29", potter="52.68", smith="134.78")
        assert shares(await refund(sold, "199.75", "r", granted=granted)) == part

    async def test_shipping_is_not_given_back_by_a_seller_when_another_one_ships_now(self, sold: Shop) -> None:
        changed = rules(shipping=WEAVER).model_dump(mode="json")
        await sold.services.accounts.change(sold.account.id, split_rules=changed)
        granted = granted_refund_event((MUGS, 1), shipping=True)
        part = of(market="8.60", potter="136.88", smith="24.52")
        assert shares(await refund(sold, "170.00", "r", granted=granted)) == part

    @pytest.mark.parametrize("gone", ["by name", "with the rules"])
    async def test_a_seller_who_has_gone_gives_back_what_was_theirs(self, sold: Shop, gone: str) -> None:
        """The store works with the potter no more; nobody else pays for the potter's mug."""
        without = rules(names={who: name for who, name in NAMES.items() if who != POTTER}).model_dump(mode="json")
        await sold.services.accounts.change(sold.account.id, split_rules=without if gone == "by name" else None)
        assert shares(await refund(sold, "100.00", "r", granted=granted_refund_event((MUGS, 1)))) == of(potter="100.00")


class TestWaiting:
    @pytest.mark.law(3)
    async def test_shares_are_made_anew_when_the_turn_comes(self, sold: Shop) -> None:
        """A mug is granted while a refund of unknown outcome is open. That one fails, and the potter has all again."""
        sold.gateway.will_answer(HangUp())
        await sold.request_action(
            "REFUND", "300.00", "first", **granted_action_event(sold, "first", granted_refund_event((MUGS, 3)))
        )
        waiting = await sold.request_action(
            "REFUND", "100.00", "second", **granted_action_event(sold, "second", granted_refund_event((MUGS, 1)))
        )
        assert waiting.result is None
        assert (await sold.operation(Kind.REFUND, 1)).state is State.WAITING
        assert POTTER not in await recorded(sold, Kind.REFUND, 1), "the potter may have nothing left"
        sold.gateway.will_answer(json_reply(operation("refund", sold.order_id, "100.00")))
        await sold.pass_time(minutes=30)
        assert (await sold.operation(Kind.REFUND, 0)).state is State.FAILURE
        asked = [request.json for request in sold.gateway.requests if action_of(request) == "refund"]
        assert shares(asked[-1]["split"]) == of(potter="100.00")
        assert await recorded(sold, Kind.REFUND, 1) == of(potter="100.00")

    async def test_what_is_not_left_any_more_is_not_asked_for(self, sold: Shop) -> None:
        sold.gateway.will_answer(HangUp())
        await sold.request_action("REFUND", "300.00", "first")
        await sold.request_action("REFUND", "269.50", "second")
        await sold.notify(operation("refund", sold.order_id, "200.00", operation_id="in-the-portal"))
        await sold.pass_time(minutes=1)
        await sold.notify(operation("refund", sold.order_id, "300.00", operation_id="the-first"))
        await sold.pass_time(minutes=30)
        second = await sold.operation(Kind.REFUND, 1)
        assert second.state is State.FAILURE
        assert "Refund at most 69.50 UAH" in (second.message or "")
        assert sold.gateway.calls == ["refund"]
        assert "REFUND_FAILURE" in sold.saleor.reported_types


class TestOthersAct:
    async def test_a_refund_in_the_portal_is_assumed_to_be_everybodys(self, sold: Shop) -> None:
        await sold.notify(operation("refund", sold.order_id, "56.95", operation_id="in-the-portal"))
        await sold.work()
        now = await standing(sold)
        assert now.assumed
        assert now.left == of(market="63.00", potter="270.00", smith="179.55")
        assert now.at_most == SHARES
        assert await recorded(sold, Kind.REFUND) == {}, "what nobody knows is not recorded"

    async def test_an_automatic_capture_is_assumed_to_be_divided_as_the_reservation(self, held: Shop) -> None:
        await held.notify(operation("capture", held.order_id, TOTAL, operation_id="by-itself"))
        await held.work()
        now = await standing(held)
        assert now.assumed
        assert now.left == SHARES

    async def test_a_shopper_who_paid_another_amount_paid_everybody_in_proportion(self, market: Shop) -> None:
        market.gateway.will_answer(market.gateway.page())
        await market.begin(sourceObject=split_checkout())
        changed = payment(market.order_id, processed_amount=Decimal("284.75"), processed_currency="UAH")
        await market.notify(changed)
        await market.work()
        assert (await standing(market)).left == of(market="35.00", potter="150.00", smith="99.75")
        # That is assumed: no record says whose it is.
        today = market.services.now().date()
        money = await read_money(market.services, [market.account], Days(today, today))
        assert [(row.names, row.ours.charged) for row in money.rows(GroupBy.RECEIVER)] == [(("",), Decimal("284.75"))]


def products(said: list[dict[str, Any]]) -> dict[str, list[tuple[str, int]]]:
    """Whom the gateway was told to pay for which products, and how many pieces or how much."""
    return {
        share["sub_merchant_id"]: [(product["name"], product["qty"]) for product in share.get("products", ())]
        for share in said
    }


class TestProducts:
    async def test_each_share_says_what_it_is_for(self, market: Shop) -> None:
        market.account = await market.services.accounts.change(market.account.id, products=ProductsForm.PLAIN)
        market.gateway.will_answer(market.gateway.page())
        await market.begin(sourceObject=split_checkout())
        [asked] = market.gateway.requests
        assert shares(asked.json["split"]) == SHARES
        told = products(asked.json["split"])
        assert told == {MARKET: [("Доставка", 1)], POTTER: [("Mugs", 3)], SMITH: [("Lamp", 1)]}

    async def test_shares_that_are_not_the_products_go_without_them(self, market: Shop) -> None:
        await enable_splitting(market, shipping="lines")
        market.account = await market.services.accounts.change(market.account.id, products=ProductsForm.PLAIN)
        market.gateway.will_answer(market.gateway.page())
        await market.begin(sourceObject=split_checkout())
        [asked] = market.gateway.requests
        assert products(asked.json["split"]) == {POTTER: [], SMITH: []}
        assert len(asked.json["products"]) == 3

    async def test_a_fiscal_market_says_again_what_is_given_back(self, market: Shop) -> None:
        market.account = await market.services.accounts.change(market.account.id, products=ProductsForm.FISCAL)
        await market.complete_payment(sourceObject=split_checkout())
        assert products(await refund(market, "200.00", "r", granted=granted_refund_event((MUGS, 2)))) == {
            POTTER: [("Mugs", 2)]
        }
        rest = {MARKET: [("Доставка", 1)], POTTER: [("Mugs", 1)], SMITH: [("Lamp", 1)]}
        assert products(await refund(market, "369.50", "rest")) == rest


def rounded_apart(total: str) -> dict[str, Any]:
    """Two lines of 10.00 each, and a total that Saleor has rounded by itself: a tax app counts parts of a cent."""
    lines = [line("Candle", "10.00", SMITH), line("Mug", "10.00", POTTER)]
    return source_object(totalPrice=taxed(total), lines=lines)


class TestTotalsRoundedApart:
    """Lines and total of an order differ by a cent of rounding, which is nobody's surcharge and no gift card."""

    TOTALS = pytest.mark.parametrize(
        ("total", "theirs"),
        [
            ("20.01", {"potter": "10.00", "smith": "10.01"}),
            ("19.99", {"potter": "9.99", "smith": "10.00"}),
        ],
    )

    @pytest.fixture
    async def fiscal_market(self, market: Shop) -> Shop:
        """Each share of its payments names its products, for a fiscal receipt."""
        await enable_splitting(market, gift_cards="default", discounts="default")
        market.account = await market.services.accounts.change(market.account.id, products=ProductsForm.FISCAL)
        return market

    @TOTALS
    async def test_a_purchase_and_its_refund(self, fiscal_market: Shop, total: str, theirs: dict[str, str]) -> None:
        market, everything = fiscal_market, {POTTER: [("Mug", 1)], SMITH: [("Candle", 1)]}
        market.gateway.will_answer(market.gateway.page())
        await market.begin(amount=total, sourceObject=rounded_apart(total))
        asked = market.gateway.requests[0].json
        assert shares(asked["split"]) == of(**theirs)
        assert products(asked["split"]) == everything

        await market.notify(payment(market.order_id, amount=total))
        await market.work()
        given_back = await refund(market, total, "all")
        assert shares(given_back) == of(**theirs)
        assert products(given_back) == everything

    @TOTALS
    async def test_a_capture(self, fiscal_market: Shop, total: str, theirs: dict[str, str]) -> None:
        market = fiscal_market
        await market.complete_payment("AUTHORIZATION", amount=total, sourceObject=rounded_apart(total))
        market.gateway.will_answer(json_reply(operation("capture", market.order_id, total)))
        await market.request_action("CHARGE", total)
        asked = market.gateway.requests[-1].json
        assert shares(asked["split"]) == of(**theirs)
        assert products(asked["split"]) == {POTTER: [("Mug", 1)], SMITH: [("Candle", 1)]}

    async def test_what_is_more_than_rounding_is_a_surcharge(self, market: Shop) -> None:
        market.gateway.will_answer(market.gateway.page())
        await market.begin(amount="20.02", sourceObject=rounded_apart("20.02"))
        asked = market.gateway.requests[0].json
        assert shares(asked["split"]) == of(market="0.02", potter="10.00", smith="10.00")
