"""The gateway's answer got lost, and with it the address of the payment page: the shopper gets another page at once."""

import asyncio
from typing import Any

import pytest
from sqlmodel import select

from app.ledger.sheets import find_by_order, load_by_transaction
from app.ledger.tables import BurntOrder, Kind, Notification, State
from app.payments.outcome.references import fresh_order_id, keep_reference
from app.saleor.answers import SessionAnswer
from tests.payments.books import amounts
from tests.payments.shop import TOTAL, Shop
from tests.payments.till import BROKEN, Heard, Mute, Reply, payment, refused, said


def fresh(shop: Shop, attempt: int = 2) -> str:
    """Return the order id of a later attempt."""
    return fresh_order_id(shop.transaction.id, attempt)


def closed(order_id: str) -> dict[str, Any]:
    """Return the gateway's record of a page that was cancelled."""
    return payment(order_id, "failure", status_code="6007")


def code(answer: SessionAnswer) -> str:
    """Return the code of the only error."""
    [error] = answer.data["errors"]
    return str(error["code"])


async def lose_the_answer(shop: Shop, *then: Reply | Mute, trouble: Reply | Mute = Mute.HANGS_UP) -> SessionAnswer:
    """A shopper begins to pay; the page opens, its address gets lost, and the gateway says ``then``."""
    shop.till.book[shop.order_id] = [payment(shop.order_id, "init")]
    shop.till.will(trouble, *then)
    return await shop.begin()


@pytest.mark.parametrize("trouble", [Mute.HANGS_UP, BROKEN, Reply(503), Reply(200, b"<html>")])
async def test_the_shopper_gets_a_working_page_in_the_same_webhook(shop: Shop, trouble: Reply | Mute) -> None:
    first = shop.order_id
    answer = await lose_the_answer(shop, said([closed(first)]), shop.till.page("second"), trouble=trouble)
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.data["checkoutUrl"].endswith("/checkout/second/form")
    assert answer.psp_reference == fresh(shop)
    assert [each.action for each in shop.till.heard] == ["payment", "look", "cancel", "payment"]
    old, new = shop.till.heard[0].body, shop.till.heard[-1].body
    assert (old["order_id"], new["order_id"]) == (first, fresh(shop))
    assert new["result_url"].endswith(fresh(shop))
    assert {name for name in old if old[name] != new[name]} <= {"order_id", "result_url", "description"}
    assert await shop.begin() == answer  # law 4
    assert len(shop.till.calls) == 3


async def test_saleor_hears_of_the_page_that_is_open_and_of_no_other(shop: Shop) -> None:
    """Law 9: one chain of events, under one reference."""
    first = shop.order_id
    await lose_the_answer(shop, said([closed(first)]), shop.till.page())
    await shop.later(seconds=25)
    await shop.notify(payment(fresh(shop)))
    await shop.work()
    assert shop.books.told == ["INFO", "CHARGE_SUCCESS"]
    assert {each.psp_reference for each in (await shop.sheet()).events} == {fresh(shop)}
    assert shop.transaction.actions == ["REFUND"]
    assert shop.amounts == amounts(charged=TOTAL)


async def test_staff_can_cancel_the_page_that_is_open(shop: Shop) -> None:
    await lose_the_answer(shop, said([closed(shop.order_id)]), shop.till.page())
    await shop.later(seconds=25)
    assert shop.transaction.actions == ["CANCEL"]
    shop.till.will(said([closed(fresh(shop))]))
    assert (await shop.staff("CANCEL")).result == "CANCEL_SUCCESS"
    assert shop.till.heard[-1].path.split("/")[-2] == fresh(shop)


async def test_each_step_is_in_the_database_before_it_is_asked(shop: Shop) -> None:
    """Law 1."""
    seen: list[tuple[str, str, list[tuple[Kind, State]]]] = []

    async def look_into_the_database(heard: Heard) -> None:
        if heard.action in {"payment", "cancel"}:
            sheet = await shop.sheet()
            states = [(each.kind, each.state) for each in sheet.operations]
            seen.append((heard.action, sheet.payment.order_id, states))

    first = shop.order_id
    shop.till.on_arrival = look_into_the_database
    await lose_the_answer(shop, said([closed(first)]), shop.till.page())
    lost, gone = (Kind.CREATE, State.INIT), (Kind.CREATE, State.FAILURE)
    assert seen == [
        ("payment", first, [(Kind.CREATE, State.INTENT)]),
        ("cancel", first, [lost, (Kind.CANCEL, State.INTENT)]),
        ("payment", fresh(shop), [gone, (Kind.CANCEL, State.SUCCESS), (Kind.CREATE, State.INTENT)]),
    ]


async def test_the_answer_is_lost_again_and_again(shop: Shop) -> None:
    """Three pages are enough of it. The last one is closed by the worker, and only then is the payment over."""

    async def every_page_opens(heard: Heard) -> None:
        if heard.action == "payment":
            order_id = heard.body["order_id"]
            shop.till.book[order_id] = [payment(order_id, "init")]

    orders = [shop.order_id, fresh(shop, 2), fresh(shop, 3)]
    shop.till.on_arrival = every_page_opens
    shop.till.will(Mute.HANGS_UP, said([closed(orders[0])]), Mute.HANGS_UP, said([closed(orders[1])]), Mute.HANGS_UP)
    answer = await shop.begin()
    assert code(answer) == "CREATION_UNKNOWN"
    assert [each.body["order_id"] for each in shop.till.heard if each.action == "payment"] == orders
    shop.till.will(said([closed(orders[2])]))
    await shop.later(minutes=2)
    assert shop.books.told == ["CHARGE_FAILURE"]
    assert shop.books.reports[0].psp_reference == orders[2]


class TestAsLongAsItIsNotCertain:
    """Law 2: no second page while the first may be paid."""

    async def test_the_gateway_shows_nothing_yet(self, shop: Shop) -> None:
        shop.till.will(Mute.HANGS_UP)
        answer = await shop.begin()
        assert code(answer) == "CREATION_UNKNOWN"
        assert shop.till.calls == ["payment"]
        shop.till.book[shop.order_id] = [payment(shop.order_id, "init")]  # it was only slow
        shop.till.will(said([closed(shop.order_id)]))
        await shop.later(minutes=1)
        assert shop.till.calls == ["payment", "cancel"]
        assert shop.books.told == ["CHARGE_FAILURE"]

    async def test_the_look_up_fails(self, shop: Shop) -> None:
        shop.till.will_look(BROKEN)
        assert code(await lose_the_answer(shop)) == "CREATION_UNKNOWN"
        assert shop.till.calls == ["payment"]

    async def test_the_gateway_does_not_close_the_page(self, shop: Shop) -> None:
        answer = await lose_the_answer(shop, refused("Invalid operation", "4150"))
        assert code(answer) == "CREATION_UNKNOWN"
        assert shop.till.calls == ["payment", "cancel"]
        shop.till.book[shop.order_id] = [payment(shop.order_id)]  # somebody was paying, whoever that is
        await shop.later(minutes=2)
        assert shop.amounts == amounts(charged=TOTAL)

    async def test_nobody_knows_whether_it_was_closed(self, shop: Shop) -> None:
        answer = await lose_the_answer(shop, Mute.HANGS_UP)
        assert code(answer) == "CREATION_UNKNOWN"
        shop.till.book[shop.order_id] = [closed(shop.order_id)]
        await shop.later(minutes=1)
        assert shop.till.calls == ["payment", "cancel"]
        assert shop.books.told == ["CHARGE_FAILURE"]
        assert (await shop.sheet()).payment.order_id == shop.order_id

    async def test_the_gateway_says_that_it_is_another_payment(self, shop: Shop) -> None:
        """Law 8."""
        shop.till.book[shop.order_id] = [payment(shop.order_id, "init", amount="5.69")]
        shop.till.will(Mute.HANGS_UP)
        assert code(await shop.begin()) == "UNDER_REVIEW"
        assert shop.till.calls == ["payment"]
        assert "5.69 UAH, but 569.50 UAH was asked" in ((await shop.sheet()).payment.problem or "")

    async def test_somebody_has_paid(self, shop: Shop) -> None:
        shop.till.book[shop.order_id] = [payment(shop.order_id)]
        shop.till.will(Mute.HANGS_UP)
        assert (await shop.begin()).result == "CHARGE_SUCCESS"
        await shop.later(minutes=1)
        assert shop.books.told == ["CHARGE_SUCCESS"]
        assert shop.amounts == amounts(charged=TOTAL)

    async def test_time_is_short(self, shop: Shop) -> None:
        """Law 11."""
        shop.till.book[shop.order_id] = [payment(shop.order_id, "init")]
        shop.till.will(Mute.IS_SILENT)
        async with shop.impatient():
            answer = await shop.begin()
        assert code(answer) == "CREATION_UNKNOWN"
        assert shop.till.calls == ["payment"]

    async def test_the_fresh_order_id_is_known_to_the_gateway_already(self, shop: Shop) -> None:
        answer = await lose_the_answer(shop, said([closed(shop.order_id)]), refused("Order exists", "P-409", 409))
        assert code(answer) == "CREATION_UNKNOWN"
        assert (await shop.sheet()).create.state is State.UNKNOWN
        assert shop.till.calls == ["payment", "cancel", "payment"]

    async def test_the_fresh_attempt_is_refused(self, shop: Shop) -> None:
        answer = await lose_the_answer(shop, said([closed(shop.order_id)]), refused("Invalid amount", "P-400"))
        assert (answer.result, answer.psp_reference) == ("CHARGE_FAILURE", fresh(shop))
        await shop.later(minutes=1)
        assert shop.books.told == ["CHARGE_FAILURE"]


class TestSomebodyAsksMeanwhile:
    """Laws 4 and 9: what Saleor was told once stays, so it is told nothing that may still change."""

    @pytest.mark.parametrize("call", ["payment", "look", "cancel"])
    async def test_no_reference_is_told_before_it_is_known_which_page_it_is(self, shop: Shop, call: str) -> None:
        meanwhile: list[SessionAnswer] = []

        async def ask(heard: Heard) -> None:
            if heard.action == call:
                shop.till.on_arrival = None
                meanwhile.extend([await shop.come_back(), await shop.begin()])

        shop.till.on_arrival = ask
        answer = await lose_the_answer(shop, said([closed(shop.order_id)]), shop.till.page())
        assert [(code(each), each.psp_reference) for each in meanwhile] == [("CREATION_UNKNOWN", None)] * 2
        assert (answer.psp_reference, "checkoutUrl" in answer.data) == (fresh(shop), True)
        assert await shop.come_back() == await shop.begin() == answer
        assert shop.transaction.psp_reference == fresh(shop)
        assert [each.psp_reference for each in (await shop.sheet()).operations] == [None, None, fresh(shop)]

    async def test_who_was_told_not_to_pay_again_gets_no_other_page(self, shop: Shop) -> None:
        """The gateway has said something else of it: a person must look, under the reference that was told."""
        meanwhile: list[SessionAnswer] = []

        async def speak_of_something_else(heard: Heard) -> None:
            if heard.action == "payment":
                await shop.notify(payment(shop.order_id, amount="5.69"))
                await shop.work()
                meanwhile.append(await shop.come_back())
                shop.till.book[shop.order_id] = [payment(shop.order_id, "init")]

        shop.till.on_arrival = speak_of_something_else
        answer = await lose_the_answer(shop)
        for each in (*meanwhile, answer):
            assert (code(each), each.psp_reference) == ("UNDER_REVIEW", shop.order_id)
        assert shop.till.calls == ["payment"]

    @pytest.mark.parametrize("call", ["look", "cancel"])
    async def test_no_other_page_is_opened_once_a_reference_was_told(self, shop: Shop, call: str) -> None:
        """By a process that runs an older version, while the app is being updated."""

        async def tell(heard: Heard) -> None:
            if heard.action == call:
                async with shop.desk.database.transaction() as session:
                    sheet = await load_by_transaction(session, shop.installation.id, shop.transaction.id)
                    assert sheet is not None
                    keep_reference(sheet.payment, sheet.create)

        shop.till.on_arrival = tell
        answer = await lose_the_answer(shop, said([closed(shop.order_id)]))
        assert answer.psp_reference == shop.order_id
        await shop.later(minutes=2)
        assert shop.till.calls == ["payment", "cancel"]
        assert [(each.type, each.psp_reference) for each in shop.books.reports] == [("CHARGE_FAILURE", shop.order_id)]


class TestTheProcessDies:
    @pytest.mark.parametrize("last_call", ["cancel", "payment"])
    async def test_between_two_steps(self, shop: Shop, last_call: str) -> None:
        """What it meant to do stands in the rows, and is looked up; nothing is sent a second time."""
        first, arrived = shop.order_id, asyncio.Event()

        async def notice(heard: Heard) -> None:
            if heard.action == last_call and len(shop.till.calls) > 1:
                arrived.set()

        shop.till.on_arrival = notice
        shop.till.book[first] = [payment(first, "init")]
        before = [] if last_call == "cancel" else [said([closed(first)])]
        shop.till.will(Mute.HANGS_UP, *before, Mute.IS_SILENT)
        webhook = asyncio.create_task(shop.begin())
        await arrived.wait()
        webhook.cancel()
        await asyncio.wait([webhook])
        shop.till.book[first] = [closed(first)]
        await shop.later(minutes=20)
        assert shop.books.told == ["CHARGE_FAILURE"]
        assert shop.till.calls == ["payment", "cancel"] + ["payment"] * (last_call == "payment")
        assert all(each.state.final for each in (await shop.sheet()).operations)


class TestWhatIsSaidOfAFormerOrder:
    @pytest.fixture
    async def anew(self, shop: Shop) -> Shop:
        await lose_the_answer(shop, said([closed(shop.order_id)]), shop.till.page())
        await shop.later(seconds=25)
        shop.books.reports.clear()
        return shop

    @staticmethod
    async def outcomes(shop: Shop) -> list[str | None]:
        async with shop.desk.database.transaction() as session:
            rows = (await session.exec(select(Notification))).all()
        return [each.outcome for each in rows]

    async def test_that_it_was_closed_is_no_news(self, anew: Shop) -> None:
        await anew.notify(payment(anew.order_id, "init"))
        await anew.notify(closed(anew.order_id))
        await anew.work()
        assert anew.books.told == []
        assert all("had before: nothing to do" in (each or "") for each in await self.outcomes(anew))
        assert (await anew.sheet()).create.state is State.INIT

    async def test_that_somebody_has_paid_is_a_problem_for_staff(self, anew: Shop) -> None:
        await anew.notify(payment(anew.order_id))
        await anew.work()
        assert anew.books.told == ["INFO"]
        assert "569.50 UAH was paid on it" in (anew.books.reports[0].message or "")
        assert anew.order_id in ((await anew.sheet()).payment.problem or "")
        assert anew.amounts == amounts()
        await anew.notify(payment(fresh(anew)))  # the payment itself goes on
        await anew.work()
        assert anew.amounts == amounts(charged=TOTAL)

    async def test_the_payment_is_found_by_either(self, anew: Shop) -> None:
        async with anew.desk.database.transaction() as session:
            found = [await find_by_order(session, each) for each in (anew.order_id, fresh(anew))]
            [burnt] = (await session.exec(select(BurntOrder))).all()
        assert [each.payment.transaction_id for each in found if each] == [anew.transaction.id] * 2
        assert burnt.order_id == anew.order_id

    async def test_it_comes_while_the_page_is_being_closed(self, shop: Shop) -> None:
        """It waits: it is not the end of the payment, unless the process that is at it dies."""
        first = shop.order_id

        async def tell_at_once(heard: Heard) -> None:
            if heard.action == "cancel":
                await shop.notify(closed(first))
                await shop.work()
                assert (await shop.come_back()).result == "CHARGE_ACTION_REQUIRED"

        shop.till.on_arrival = tell_at_once
        answer = await lose_the_answer(shop, said([closed(first)]), shop.till.page())
        assert answer.data["checkoutUrl"]
        await shop.later(minutes=1)
        assert shop.books.told == ["INFO"]
        assert await self.outcomes(shop) == ["create failure of an order that this payment had before: nothing to do"]
