"""The gateway's answer got lost, and with it the address of the payment page: nobody can pay there.

The shopper is told at once to try again, and the page is closed behind the scenes.
"""

import asyncio
from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from app.rules.problems import problem_text
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Reply, Silence, json_reply
from saleor_app_sdk.responses import SessionResponse
from tests.payments.fake_gateway import BROKEN, NO_SUCH_ORDER, action_of, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

DUPLICATE = refusal_reply("Order exists", "P-409", 409)


def closed(order_id: str) -> dict[str, Any]:
    """Return the gateway's record of a page that was cancelled."""
    return payment(order_id, "failure", status_code="6007")


def code(answer: SessionResponse) -> str:
    """Return the code of the only error."""
    [error] = answer.data["errors"]
    return str(error["code"])


LOST = HangUp()


async def lose_the_answer(shop: Shop, *then: Behaviour, trouble: Behaviour = LOST) -> SessionResponse:
    """A shopper begins to pay; the page opens, its address gets lost, and the gateway says ``then``."""
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
    shop.gateway.will_answer(trouble, *then)
    return await shop.begin()


class TestTheShopper:
    @pytest.mark.law(2)
    @pytest.mark.parametrize("trouble", [HangUp(), BROKEN, Reply(503), Reply(200, b"<html>"), DUPLICATE])
    async def test_is_told_at_once_to_try_again(self, shop: Shop, trouble: Behaviour) -> None:
        answer = await lose_the_answer(shop, trouble=trouble)
        assert (answer.result, code(answer), answer.psp_reference) == ("CHARGE_FAILURE", "TRY_AGAIN", shop.order_id)
        assert "Спробуйте ще раз" in answer.data["errors"][0]["message"]
        assert shop.gateway.calls == ["payment"]
        assert shop.gateway.polls == 0  # nothing that the shopper would have to wait for

    @pytest.mark.law(4)
    async def test_gets_the_same_answer_however_often_it_is_asked(self, shop: Shop) -> None:
        """Also when the gateway has said meanwhile that the page was closed."""
        answer = await lose_the_answer(shop, json_reply([closed(shop.order_id)]))
        assert await shop.begin() == await shop.process_session() == answer
        await shop.pass_time(minutes=2)
        create = await shop.operation(Kind.CREATE)
        assert (create.state, create.inferred) == (State.FAILURE, False)
        for again in (await shop.begin(), await shop.process_session()):
            assert (again.result, again.data, again.psp_reference) == (
                answer.result,
                answer.data,
                answer.psp_reference,
            )

    async def test_begins_anew_with_another_transaction(self, shop: Shop) -> None:
        first = shop.order_id
        await lose_the_answer(shop)
        shop.transaction = shop.saleor.new_transaction()
        shop.gateway.will_answer(shop.gateway.page("second"))
        assert (await shop.begin()).data["checkoutUrl"].endswith("/checkout/second/form")
        shop.gateway.will_answer(json_reply([closed(first)]))
        await shop.pass_time(minutes=2)
        assert shop.gateway.calls == ["payment", "payment", "cancel"]
        assert (await shop.aggregate()).create.state is State.INIT

    @pytest.mark.law(9)
    async def test_who_asks_while_the_gateway_is_being_asked_waits(self, shop: Shop) -> None:
        meanwhile: list[SessionResponse] = []

        async def ask(request: ReceivedRequest) -> None:
            if action_of(request) == "payment":
                shop.gateway.on_request = None
                meanwhile.extend([await shop.process_session(), await shop.begin()])

        shop.gateway.on_request = ask
        answer = await lose_the_answer(shop)
        assert [(code(session_response), session_response.psp_reference) for session_response in meanwhile] == [
            ("CREATION_UNKNOWN", shop.order_id)
        ] * 2
        assert (code(answer), answer.psp_reference) == ("TRY_AGAIN", shop.order_id)  # law 9: one reference for ever


async def test_saleor_hears_of_one_failure(shop: Shop) -> None:
    await lose_the_answer(shop, json_reply([closed(shop.order_id)]))
    await shop.pass_time(hours=2)
    assert shop.saleor.reported_types == ["CHARGE_FAILURE"]
    assert "was lost with the gateway's response" in (shop.saleor.reports[0].message or "")
    assert shop.transaction.actions == []
    assert shop.amounts == amounts()


class TestThePage:
    async def test_is_closed_and_then_left_alone(self, shop: Shop) -> None:
        await lose_the_answer(shop, json_reply([closed(shop.order_id)]))
        await shop.pass_time(days=2)
        assert shop.gateway.calls == ["payment", "cancel"]
        create, closing = await shop.operation(Kind.CREATE), await shop.operation(Kind.CANCEL)
        assert (create.state, create.inferred) == (State.FAILURE, False)
        assert (closing.state, closing.next_poll_at) == (State.SUCCESS, None)

    async def test_is_closed_though_the_gateway_opens_it_late(self, shop: Shop) -> None:
        shop.gateway.will_answer(HangUp())
        await shop.begin()
        await shop.pass_time(minutes=14)
        assert shop.gateway.calls == ["payment"]
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
        shop.gateway.will_answer(json_reply([closed(shop.order_id)]))
        await shop.pass_time(minutes=10)
        assert shop.gateway.calls == ["payment", "cancel"]
        assert (await shop.operation(Kind.CANCEL)).state is State.SUCCESS

    @pytest.mark.law(2)
    @pytest.mark.parametrize(
        "trouble",
        [
            HangUp(),
            BROKEN,
            refusal_reply("Too many", "P-429", 429),
            refusal_reply("Invalid operation", "4150"),
            NO_SUCH_ORDER,
        ],
    )
    async def test_is_closed_though_the_gateway_would_not_at_first(self, shop: Shop, trouble: Behaviour) -> None:
        await lose_the_answer(shop, trouble, trouble, trouble, json_reply([closed(shop.order_id)]))
        await shop.pass_time(minutes=10)
        assert shop.gateway.calls == ["payment"] + ["cancel"] * 4
        assert (await shop.operation(Kind.CANCEL)).state is State.SUCCESS

    @pytest.mark.law(2)
    async def test_that_never_opened_is_looked_for_until_the_settling_time(self, shop: Shop) -> None:
        shop.gateway.will_answer(HangUp())
        await shop.begin()
        await shop.pass_time(minutes=14)
        assert (await shop.operation(Kind.CANCEL)).state is State.WAITING
        await shop.pass_time(minutes=10)
        closing = await shop.operation(Kind.CANCEL)
        assert (closing.state, closing.next_poll_at) == (State.SUCCESS, None)
        assert "has no such payment" in (closing.message or "")
        polls = shop.gateway.polls
        await shop.pass_time(hours=5)
        assert (shop.gateway.polls, shop.gateway.calls) == (polls, ["payment"])

    @pytest.mark.law(2)
    async def test_is_looked_for_as_long_as_look_ups_fail(self, shop: Shop) -> None:
        """A look-up that fails says nothing."""
        shop.gateway.will_answer(HangUp())
        shop.gateway.will_answer_look_ups(*[BROKEN] * 1000)
        await shop.begin()
        await shop.pass_time(hours=3)
        assert (await shop.operation(Kind.CANCEL)).state is State.WAITING
        shop.gateway.look_ups.clear()
        await shop.pass_time(hours=1)
        assert (await shop.operation(Kind.CANCEL)).state is State.SUCCESS

    async def test_is_closed_though_its_time_was_over_before_a_worker_got_to_it(self, shop: Shop) -> None:
        """It is not given up before it was tried: the gateway's clock may go otherwise."""
        await lose_the_answer(shop, json_reply([closed(shop.order_id)]))
        shop.clock.forward(hours=3)
        await shop.pass_time(minutes=1)
        assert shop.gateway.calls == ["payment", "cancel"]
        assert (await shop.operation(Kind.CANCEL)).state is State.SUCCESS

    async def test_the_pauses_grow(self, shop: Shop) -> None:
        await lose_the_answer(shop, *[refusal_reply("Invalid operation", "4150")] * 100)
        await shop.pass_time(minutes=50)
        assert len(shop.gateway.calls) < 25

    async def test_is_given_up_when_nobody_can_pay_there_any_more(self, shop: Shop) -> None:
        await lose_the_answer(shop, *[refusal_reply("Invalid operation", "4150")] * 100)
        await shop.pass_time(hours=2)
        closing = await shop.operation(Kind.CANCEL)
        assert (closing.state, closing.next_poll_at) == (State.FAILURE, None)
        assert [event_type for event_type in shop.saleor.reported_types if event_type != "INFO"] == ["CHARGE_FAILURE"]
        assert problem_text((await shop.aggregate()).payment) is None  # it was an alert until then

    @pytest.mark.law(1)
    async def test_when_the_call_arrives_the_intent_is_in_the_database(self, shop: Shop) -> None:
        seen: list[list[tuple[Kind, State]]] = []

        async def look_into_the_database(request: ReceivedRequest) -> None:
            if action_of(request) in {"payment", "cancel"}:
                seen.append([(operation.kind, operation.state) for operation in (await shop.aggregate()).operations])

        shop.gateway.on_request = look_into_the_database
        await lose_the_answer(shop, json_reply([closed(shop.order_id)]))
        await shop.pass_time(minutes=1)
        assert seen == [
            [(Kind.CREATE, State.INTENT)],
            [(Kind.CREATE, State.FAILURE), (Kind.CANCEL, State.INTENT)],
        ]

    @pytest.mark.law(2)
    async def test_is_closed_when_the_worker_dies_over_it(self, shop: Shop) -> None:
        arrived = asyncio.Event()

        async def notice(request: ReceivedRequest) -> None:
            if action_of(request) == "cancel":
                arrived.set()

        shop.gateway.on_request = notice
        await lose_the_answer(shop, Silence())
        shop.clock.forward(seconds=10)
        working = asyncio.create_task(shop.work())
        await arrived.wait()
        working.cancel()
        await asyncio.wait([working])
        assert (await shop.operation(Kind.CANCEL)).state is State.INTENT
        shop.gateway.will_answer(json_reply([closed(shop.order_id)]))
        await shop.pass_time(minutes=2)
        assert (await shop.operation(Kind.CANCEL)).state is State.SUCCESS


@pytest.mark.law(2)
class TestSomebodyHasPaidAllTheSame:
    """That the payment failed was our own conclusion. Money is money."""

    async def test_it_is_found(self, shop: Shop) -> None:
        await lose_the_answer(shop)
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types[-1] == "CHARGE_SUCCESS"
        assert shop.amounts == amounts(charged=TOTAL)
        assert (await shop.operation(Kind.CANCEL)).state is State.FAILURE
        assert (await shop.process_session()).result == "CHARGE_SUCCESS"

    async def test_the_gateway_notifies_long_after_the_page_was_given_up(self, shop: Shop) -> None:
        shop.gateway.will_answer(HangUp())
        await shop.begin()
        await shop.pass_time(hours=3)
        await shop.notify(payment(shop.order_id))
        await shop.work()
        assert shop.saleor.reported_types == ["CHARGE_FAILURE", "CHARGE_SUCCESS"]
        assert shop.amounts == amounts(charged=TOTAL)
        assert not (await shop.operation(Kind.CREATE)).inferred

    async def test_the_gateway_notifies_before_the_answer_is_lost(self, shop: Shop) -> None:
        """What the gateway has said of it counts for more than that its answer got lost."""

        async def pay_at_once(request: ReceivedRequest) -> None:
            if action_of(request) == "payment":
                await shop.notify(payment(shop.order_id))
                await shop.work()

        shop.gateway.on_request = pay_at_once
        answer = await lose_the_answer(shop)
        assert answer.result == "CHARGE_SUCCESS"
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["CHARGE_SUCCESS"]
        assert shop.amounts == amounts(charged=TOTAL)

    async def test_somebody_is_paying_at_the_moment(self, shop: Shop) -> None:
        await lose_the_answer(shop)
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "pending")]
        await shop.pass_time(minutes=5)
        assert shop.gateway.calls == ["payment"]  # what is at the bank cannot be cancelled
        await shop.notify(payment(shop.order_id))
        await shop.pass_time(minutes=5)
        assert shop.amounts == amounts(charged=TOTAL)
        assert all(operation.state.final for operation in (await shop.aggregate()).operations)


@pytest.mark.law(2)
async def test_the_lost_answer_to_a_cancelation_does_not_give_up_a_page_that_is_just_being_opened(shop: Shop) -> None:
    """The gateway's notification has overtaken its answer, which is still on its way with the link."""

    async def cancel_at_once(request: ReceivedRequest) -> None:
        if action_of(request) == "payment":
            await shop.notify(payment(shop.order_id, "init"))
            await shop.work()
            assert (await shop.request_action("CANCEL", booked=False)).result is None

    shop.gateway.on_request = cancel_at_once
    shop.gateway.will_answer(HangUp(), shop.gateway.page())
    assert (await shop.begin()).data["checkoutUrl"]
    assert shop.gateway.calls == ["payment", "cancel"]


class TestWhatDoesNotAgree:
    @pytest.mark.law(8)
    async def test_is_for_a_person_and_not_for_the_shopper(self, shop: Shop) -> None:
        """The gateway has said something else of it before its answer got lost."""
        meanwhile: list[SessionResponse] = []

        async def speak_of_something_else(request: ReceivedRequest) -> None:
            if action_of(request) == "payment":
                await shop.notify(payment(shop.order_id, amount="5.69"))
                await shop.work()
                meanwhile.append(await shop.process_session())

        shop.gateway.on_request = speak_of_something_else
        answer = await lose_the_answer(shop)
        for session_response in (*meanwhile, answer):
            assert (code(session_response), session_response.psp_reference) == ("UNDER_REVIEW", shop.order_id)
        assert shop.gateway.calls == ["payment"]
        assert "5.69 UAH, but 569.50 UAH was requested" in (problem_text((await shop.aggregate()).payment) or "")


class TestTheProcessDies:
    async def test_while_the_gateway_is_being_asked(self, shop: Shop) -> None:
        """The link dies with it: once its own call must be over, the page is given up."""
        arrived = asyncio.Event()

        async def notice(_: ReceivedRequest) -> None:
            arrived.set()

        shop.gateway.on_request = notice
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
        shop.gateway.will_answer(Silence())
        webhook = asyncio.create_task(shop.begin())
        await arrived.wait()
        webhook.cancel()
        await asyncio.wait([webhook])
        assert await shop.work() == 0  # not while its own call may still be under way
        shop.gateway.will_answer(json_reply([closed(shop.order_id)]))
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["CHARGE_FAILURE"]
        assert shop.gateway.calls == ["payment", "cancel"]
        assert code(await shop.process_session()) == "TRY_AGAIN"

    async def test_and_look_ups_fail_when_the_shopper_comes_back(self, shop: Shop) -> None:
        arrived = asyncio.Event()

        async def notice(_: ReceivedRequest) -> None:
            arrived.set()

        shop.gateway.on_request = notice
        shop.gateway.will_answer(Silence())
        webhook = asyncio.create_task(shop.begin())
        await arrived.wait()
        webhook.cancel()
        await asyncio.wait([webhook])
        shop.gateway.will_answer_look_ups(*[BROKEN] * 3)
        assert code(await shop.process_session()) == "CREATION_UNKNOWN"
        shop.clock.forward(seconds=16)
        assert code(await shop.process_session()) == "TRY_AGAIN"

    async def test_an_answer_that_comes_too_late_opens_no_page(self, shop: Shop) -> None:
        """Somebody has given the page up in the meantime: what the shopper was told stays."""

        async def be_slow(request: ReceivedRequest) -> None:
            if action_of(request) == "payment":
                shop.clock.forward(seconds=16)
                assert code(await shop.process_session()) == "TRY_AGAIN"

        shop.gateway.on_request = be_slow
        shop.gateway.will_answer(shop.gateway.page())
        assert code(await shop.begin()) == "TRY_AGAIN"
        payment_row = (await shop.aggregate()).payment
        assert payment_row.checkout_url is None
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
        shop.gateway.will_answer(json_reply([closed(shop.order_id)]))
        await shop.pass_time(minutes=2)
        assert shop.gateway.calls == ["payment", "cancel"]
