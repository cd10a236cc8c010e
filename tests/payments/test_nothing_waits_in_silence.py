"""What has not ended is looked at again, or a person sees it until it has (laws of money, 13)."""

from dataclasses import replace
from typing import Any

import pytest

from app.db.accounts import AccountRepository
from app.db.tables import Kind, State
from app.db.vault import KEY_BYTES, Vault
from app.payments.alerts.items import AlertKind
from app.payments.core.problems import problem_words
from app.payments.core.refusal import RefusalError
from app.payments.operations.trial_payment import SMALLEST, Trial, begin_trial
from app.payments.services import Gateways
from app.payments.staff.manual_resolution import Decision, mark_looked_at, settle
from app.worker.loop import Worker
from tests.loopback import HangUp, Reply, said
from tests.payments.alert_cases import items, whats
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.problems import kinds_of
from tests.payments.shop import Shop
from tests.payments.unattended import unattended

pytestmark = pytest.mark.law(13)

ANOTHER = Vault([b"\x08" * KEY_BYTES])


def lose_the_key(shop: Shop) -> None:
    """The file with the secret keys was replaced: nothing that was sealed before opens."""
    accounts = AccountRepository(shop.services.database, ANOTHER, shop.clock)
    shop.services = replace(shop.services, accounts=accounts, gateways=Gateways(shop.services.gateways._http, accounts))


async def mark(shop: Shop) -> tuple[str, ...] | None:
    return await mark_looked_at(shop.services, shop.installation.id, shop.order_id)


class TestSeen:
    async def test_a_refund_that_does_not_agree_is_shown_until_it_is_settled(self, paid: Shop) -> None:
        """It holds up the next one. Seen or not, somebody must say how it ended."""
        paid.gateway.will(said(operation("refund", paid.order_id, "90.00")))  # 100.00 was asked
        await paid.staff("REFUND", "100.00", "one")
        refund = await paid.operation(Kind.REFUND)
        assert (refund.state, refund.next_poll_at) == (State.UNKNOWN, None)
        assert await mark(paid) == ()
        assert (await paid.staff("REFUND", "50.00", "two")).result is None  # accepted: pending for Saleor
        await paid.later(days=30)
        assert (await paid.operation(Kind.REFUND, 1)).state is State.WAITING
        assert (AlertKind.MISMATCH, 1) in await whats(paid)
        assert unattended(await paid.aggregate()) == []
        paid.gateway.will(said(operation("refund", paid.order_id, "50.00")))
        await settle(
            paid.services, paid.order_id, refund.id, Decision(State.SUCCESS, "Ann", "it was 100.00 in the portal")
        )
        await paid.later(minutes=5)
        assert await whats(paid) == []
        assert (await paid.operation(Kind.REFUND, 1)).state is State.SUCCESS

    async def test_what_is_not_known_for_a_day_is_shown_until_it_is(self, paid: Shop) -> None:
        paid.gateway.will(HangUp())
        await paid.staff("REFUND", "100.00", "one")
        paid.gateway.will_look(*[Reply(500)] * 100)
        await paid.later(hours=25)
        assert await whats(paid) == [(AlertKind.WAITING, 1)]
        assert await mark(paid) == ()
        assert await whats(paid) == [(AlertKind.WAITING, 1)]
        paid.gateway.look_ups.clear()
        paid.refunded("100.00", "ours")
        await paid.later(hours=2)
        assert await whats(paid) == []

    async def test_settling_one_ends_no_alert_about_another(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "90.00", named="first")))
        await paid.staff("REFUND", "100.00", "one")
        await paid.notify(operation("refund", paid.order_id, "7.00", "pending", named="portal"))
        await paid.work()
        await paid.later(hours=30)  # what the portal has begun is not known for a day either
        kinds = kinds_of((await paid.aggregate()).payment)
        assert kinds == "mismatch+waiting"
        ours = await paid.operation(Kind.REFUND)
        await settle(paid.services, paid.order_id, ours.id, Decision(State.FAILURE, "Ann", "not in the portal"))
        assert kinds_of((await paid.aggregate()).payment) == "waiting"

    async def test_what_others_did_wrongly_and_nothing_waits_for_is_seen_away(self, paid: Shop) -> None:
        await paid.notify(operation("refund", paid.order_id, "0.001", named="portal"))
        await paid.work()
        assert await whats(paid) == [(AlertKind.MISMATCH, 1)]
        assert await mark(paid) != ()
        assert await whats(paid) == []


class TestWhatHasEndedInAgreement:
    async def test_is_no_problem_any_more(self, shop: Shop) -> None:
        """The gateway has corrected itself, and Saleor has booked it: nothing says "nothing is booked" then."""
        shop.gateway.will(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, amount="569.49"))
        await shop.work()
        assert await whats(shop) == [(AlertKind.MISMATCH, 1)]
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        await shop.come_back()
        assert shop.amounts == amounts(charged="569.50")
        assert await whats(shop) == []
        assert problem_words((await shop.aggregate()).payment) is None

    async def test_a_contradiction_afterwards_is_one(self, shop: Shop) -> None:
        await shop.paid()
        await shop.notify(payment(shop.order_id, "failure"))
        await shop.work()
        await shop.notify(payment(shop.order_id, receipt_url="https://pay.example/r"))
        await shop.work()
        assert await whats(shop) == [(AlertKind.MISMATCH, 1)]

    async def test_what_was_no_amount_and_is_one_now(self, paid: Shop) -> None:
        await paid.notify(operation("refund", paid.order_id, "0.001", named="portal"))
        await paid.work()
        await paid.notify(operation("refund", paid.order_id, "1.00", named="portal"))
        await paid.work()
        assert await whats(paid) == []
        assert paid.amounts == amounts(charged="568.50", refunded="1.00")


async def test_an_answer_that_does_not_agree_leaves_no_intent(paid: Shop) -> None:
    """The call is over: staff can settle it at once, and need not wait for a call that is on its way."""
    paid.gateway.will(said(operation("refund", paid.order_id, "90.00", named="ours")))
    await paid.staff("REFUND", "100.00", "one")
    refund = await paid.operation(Kind.REFUND)
    assert refund.state is State.UNKNOWN
    await settle(paid.services, paid.order_id, refund.id, Decision(State.FAILURE, "Ann", "not in the portal"))
    assert (await paid.operation(Kind.REFUND)).state is State.FAILURE


async def test_nobody_decides_while_the_call_is_on_its_way(paid: Shop) -> None:
    """Only when its answer must be here: what a person has seen in the portal before means nothing."""
    refusals: list[str] = []

    async def decide(_heard: Any) -> None:
        ours = await paid.operation(Kind.REFUND)
        with pytest.raises(RefusalError) as caught:
            await settle(paid.services, paid.order_id, ours.id, Decision(State.FAILURE, "Ann", "not in the portal"))
        refusals.append(str(caught.value))

    paid.gateway.on_arrival = decide
    paid.gateway.will(said(operation("refund", paid.order_id, "100.00", named="ours")))
    assert (await paid.staff("REFUND", "100.00", "one")).result == "REFUND_SUCCESS"
    assert refusals == ["The gateway is being asked at this moment: try again in a minute."]


class TestKeysThatDoNotOpen:
    async def test_a_refund_is_refused_before_it_is_an_intent(self, paid: Shop) -> None:
        lose_the_key(paid)
        answer = await paid.staff("REFUND", "100.00", "one")
        assert answer.result == "REFUND_FAILURE"
        assert answer.message == ("The keys of this merchant account cannot be opened. Nothing was charged or changed")
        assert [each.kind for each in (await paid.aggregate()).operations] == [Kind.CREATE]
        assert await whats(paid) == [(AlertKind.UNOPENED, 1)]
        assert [each.account for each in await items(paid)] == ["Main"]

    async def test_nor_does_one_begin_whose_turn_it_is(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "10.00", "pending", named="first")))
        await paid.staff("REFUND", "10.00", "one")
        await paid.staff("REFUND", "20.00", "two")
        healthy = paid.services
        lose_the_key(paid)
        paid.services = replace(paid.services, inbox=healthy.inbox)
        first = await paid.operation(Kind.REFUND)
        await settle(paid.services, paid.order_id, first.id, Decision(State.SUCCESS, "Ann", "the portal says so"))
        await paid.work()
        second = await paid.operation(Kind.REFUND, 1)
        assert second.state is State.WAITING
        assert second.next_poll_at is not None
        paid.services = healthy
        paid.gateway.will(said(operation("refund", paid.order_id, "20.00", named="second")))
        await paid.later(hours=2)
        assert (await paid.operation(Kind.REFUND, 1)).state is State.SUCCESS

    async def test_a_trial_is_not_begun(self, shop: Shop) -> None:
        lose_the_key(shop)
        trial = Trial("k", "Ann", amount=SMALLEST, currency="UAH", email="a@example.com", phone="+380")
        with pytest.raises(Exception, match="no key opens"):
            await begin_trial(shop.services, shop.account, trial)
        assert await shop.recorded() is None

    async def test_staff_are_told_at_once_of_look_ups_that_cannot_be_made(self, paid: Shop) -> None:
        paid.gateway.will(HangUp())
        await paid.staff("REFUND", "100.00", "one")
        lose_the_key(paid)
        await Worker(paid.saleor).work_once(paid.services)
        assert await whats(paid) == [(AlertKind.UNOPENED, 1)]
        for _ in range(60):  # 60 hours, a worker tries whenever it is due
            paid.clock.forward(hours=1)
            await Worker(paid.saleor).work_once(paid.services)
        assert (await paid.operation(Kind.REFUND)).state is State.UNKNOWN
        assert await whats(paid) == [(AlertKind.UNOPENED, 1), (AlertKind.WAITING, 1)]

    async def test_an_intent_that_could_not_be_sent_any_more_has_failed(self, paid: Shop) -> None:
        """Between the commit and the call the keys are gone: nothing was sent, and that is certain."""
        client, calls = paid.services.gateways.client, []

        def lost(account: Any) -> Any:
            calls.append(account)
            if len(calls) > 1:
                lose_the_key(paid)
                return paid.services.gateways.client(account)
            return client(account)

        paid.services.gateways.client = lost  # type: ignore[method-assign] # the key goes while it is asked
        answer = await paid.staff("REFUND", "100.00", "one")
        assert answer.result == "REFUND_FAILURE"
        assert (await paid.operation(Kind.REFUND)).state is State.FAILURE


class TestSomethingElseAnswers:
    async def test_staff_are_told_until_the_gateway_answers(self, paid: Shop) -> None:
        paid.gateway.will(Reply(403, b"<html>blocked</html>"))
        await paid.staff("REFUND", "100.00", "one")
        assert await whats(paid) == [(AlertKind.ADDRESS, 1)]
        assert await mark(paid) == ()
        paid.gateway.will_look(Reply(401, b"<html>sign in</html>"))
        await paid.later(seconds=4)
        assert await whats(paid) == [(AlertKind.ADDRESS, 1)]
        paid.refunded("100.00", "ours")
        await paid.later(minutes=5)
        assert await whats(paid) == []
        assert paid.amounts == amounts(charged="469.50", refunded="100.00")

    async def test_a_look_up_tells_of_it_too(self, shop: Shop) -> None:
        shop.gateway.will(shop.gateway.page())
        await shop.begin()
        shop.gateway.will_look(Reply(403, b"<html>blocked</html>"))
        await shop.come_back()
        assert await whats(shop) == [(AlertKind.ADDRESS, 1)]
        await shop.come_back()
        assert await whats(shop) == []

    async def test_it_is_over_by_itself_when_a_notification_has_told_the_outcome(self, shop: Shop) -> None:
        shop.gateway.will(Reply(403, b"<html>blocked</html>"))
        await shop.begin()
        assert await whats(shop) == [(AlertKind.ADDRESS, 1)]
        record = payment(shop.order_id)
        shop.gateway.book[shop.order_id] = [record]
        await shop.notify(record)
        await shop.later(minutes=5)
        assert (await shop.operation(Kind.CREATE)).state is State.SUCCESS
        assert await whats(shop) == []
