"""A storefront that calls ``transactionProcess`` often, from several tabs: other payments need the gateway too."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from app.web.shopper.look_ups import LookUps
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import payment
from tests.payments.shop import Shop, run_concurrently

INTERVAL = timedelta(milliseconds=200)


@pytest.fixture
async def waiting(shop: Shop) -> Shop:
    """A shop whose shopper is on the payment page, with a shorter interval than the real one."""
    look_up_once_in(shop, INTERVAL)
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init", mode="hosted")]
    return shop


def look_up_once_in(shop: Shop, interval: timedelta) -> None:
    usual = shop.services
    shop.services = replace(usual, schedule=replace(usual.schedule, between_shopper_look_ups=interval))


async def test_tabs_that_ask_at_once_share_a_look_up_and_get_one_answer(waiting: Shop) -> None:
    begun = asyncio.get_running_loop().time()
    answers = await run_concurrently(*(waiting.process_session() for _ in range(9)))
    took = asyncio.get_running_loop().time() - begun
    assert {answer.result for answer in answers} == {"CHARGE_ACTION_REQUIRED"}
    assert len({str(answer.data) for answer in answers}) == 1
    # Another for those whose request came while the first was under way; more where that took several intervals.
    assert waiting.gateway.polls <= 2 + took / INTERVAL.total_seconds()


async def test_a_payment_is_looked_up_once_in_an_interval(waiting: Shop) -> None:
    begun = asyncio.get_running_loop().time()
    for _ in range(3):
        await run_concurrently(*(waiting.process_session() for _ in range(3)))
    took = asyncio.get_running_loop().time() - begun
    assert waiting.gateway.polls <= 1 + took / INTERVAL.total_seconds()


async def test_what_has_no_time_to_wait_is_answered_from_the_record(waiting: Shop) -> None:
    look_up_once_in(waiting, timedelta(hours=1))
    await waiting.process_session()
    async with waiting.webhook_budget(0.1):
        assert (await waiting.process_session()).result == "CHARGE_ACTION_REQUIRED"
    polls = sum(f"/orders/{waiting.order_id}" in request.path for request in waiting.gateway.requests)
    assert polls == 1


async def turned_away(shop: Shop) -> int:
    """The gateway wants no requests for ten minutes. Return how often it was asked for the order so far."""
    refusal = {"message": "Too many requests", "args": {"code": "P-429"}}
    shop.gateway.will_answer(json_reply(refusal, 429, retry_after="600"))
    await shop.request_action("CANCEL", "0", "one")
    return shop.gateway.polls


@pytest.mark.fault("gateway-busy")
async def test_nobody_asks_while_the_gateway_wants_no_requests(waiting: Shop) -> None:
    """What is known is the answer until then, and the next answer of the gateway is read at once."""
    before = await turned_away(waiting)
    for _ in range(3):
        assert (await waiting.process_session()).result == "CHARGE_ACTION_REQUIRED"
    await LookUps(waiting.services).follow_up(waiting.order_id)
    assert waiting.gateway.polls == before
    waiting.clock.now += timedelta(minutes=11)
    await waiting.process_session()
    assert waiting.gateway.polls == before + 1


@pytest.mark.fault("gateway-busy")
async def test_pause_from_before_the_clock_was_set_back_holds_nobody_up(waiting: Shop) -> None:
    before = await turned_away(waiting)
    waiting.clock.now -= timedelta(minutes=20)
    await waiting.process_session()
    assert waiting.gateway.polls == before + 1
