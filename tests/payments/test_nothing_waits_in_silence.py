"""What has not ended is looked at again, or a person sees it until it has (laws of money, 13)."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.alerts import AlertKind
from app.core.vocabulary import Kind, State
from app.flows.staff.manual_resolution import Decision, acknowledge_problems, settle
from app.flows.trial_payment import SUGGESTED_AMOUNT, Trial, begin_trial
from app.rules.problems import problem_text
from app.rules.refusal import RefusalError
from app.services import Gateways
from app.store.accounts import AccountRepository
from app.store.vault import KEY_BYTES, Vault
from app.worker.loop import Worker
from integration_base_tests.loopback import HangUp, ReceivedRequest, Reply, json_reply
from tests.payments.alert_cases import items, subjects
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.problems import kinds_of
from tests.payments.shop import Shop
from tests.payments.unattended import unattended_operations

pytestmark = pytest.mark.law(13)

ANOTHER = Vault([b"\x08" * KEY_BYTES])


def lose_the_key(shop: Shop) -> None:
    """The file with the secret keys was replaced: nothing that was sealed before opens."""
    accounts = AccountRepository(shop.services.database, ANOTHER, shop.clock)
    shop.services = replace(shop.services, accounts=accounts, gateways=Gateways(shop.services.gateways._http, accounts))


async def mark(shop: Shop) -> tuple[str, ...] | None:
    return await acknowledge_problems(shop.services, shop.installation.id, shop.order_id)


class TestSeen:
    async def test_a_refund_that_does_not_agree_is_shown_until_it_is_settled(self, paid_shop: Shop) -> None:
        """It holds up the next one. Seen or not, somebody must say how it ended."""
        paid_shop.saleor.order(paid_shop.transaction)
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "90.00")))  # 100.00 was asked
        await paid_shop.request_action("REFUND", "100.00", "one")
        refund = await paid_shop.operation(Kind.REFUND)
        assert (refund.state, refund.next_poll_at) == (State.UNKNOWN, None)
        assert await mark(paid_shop) == ()
        assert (await paid_shop.request_action("REFUND", "50.00", "two")).result is None  # accepted: pending for Saleor
        await paid_shop.pass_time(days=30)
        assert (await paid_shop.operation(Kind.REFUND, 1)).state is State.WAITING
        assert (AlertKind.MISMATCH, 1) in await subjects(paid_shop)
        assert unattended_operations(await paid_shop.aggregate()) == []
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "50.00")))
        await settle(
            paid_shop.services,
            paid_shop.order_id,
            refund.id,
            Decision(State.SUCCESS, "Ann", "it was 100.00 in the portal"),
        )
        await paid_shop.pass_time(minutes=5)
        assert await subjects(paid_shop) == []
        assert (await paid_shop.operation(Kind.REFUND, 1)).state is State.SUCCESS

    async def test_what_is_not_known_for_a_day_is_shown_until_it_is(self, paid_shop: Shop) -> None:
        paid_shop.saleor.order(paid_shop.transaction)
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "100.00", "one")
        paid_shop.gateway.will_answer_look_ups(*[Reply(500)] * 100)
        await paid_shop.pass_time(hours=25)
        assert await subjects(paid_shop) == [(AlertKind.WAITING, 1)]
        assert await mark(paid_shop) == ()
        assert await subjects(paid_shop) == [(AlertKind.WAITING, 1)]
        paid_shop.gateway.look_ups.clear()
        paid_shop.record_refund("100.00", "ours")
        await paid_shop.pass_time(hours=2)
        assert await subjects(paid_shop) == []

    async def test_settling_one_ends_no_alert_about_another(self, paid_shop: Shop) -> None:
        paid_shop.saleor.order(paid_shop.transaction)
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "90.00", operation_id="first"))
        )
        await paid_shop.request_action("REFUND", "100.00", "one")
        await paid_shop.notify(operation("refund", paid_shop.order_id, "7.00", "pending", operation_id="portal"))
        await paid_shop.work()
        await paid_shop.pass_time(hours=30)  # what the portal has begun is not known for a day either
        kinds = kinds_of((await paid_shop.aggregate()).payment)
        assert kinds == "mismatch+waiting"
        ours = await paid_shop.operation(Kind.REFUND)
        await settle(
            paid_shop.services, paid_shop.order_id, ours.id, Decision(State.FAILURE, "Ann", "not in the portal")
        )
        assert kinds_of((await paid_shop.aggregate()).payment) == "waiting"

    async def test_what_others_did_wrongly_and_nothing_waits_for_is_seen_away(self, paid_shop: Shop) -> None:
        await paid_shop.notify(operation("refund", paid_shop.order_id, "0.001", operation_id="portal"))
        await paid_shop.work()
        assert await subjects(paid_shop) == [(AlertKind.MISMATCH, 1)]
        assert await mark(paid_shop) != ()
        assert await subjects(paid_shop) == []


class TestWhatHasEndedInAgreement:
    async def test_is_no_problem_any_more(self, shop: Shop) -> None:
        """The gateway has corrected itself, and Saleor has booked it: nothing says "nothing is booked" then."""
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, amount="569.49"))
        await shop.work()
        assert await subjects(shop) == [(AlertKind.MISMATCH, 1)]
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        await shop.process_session()
        assert shop.amounts == amounts(charged="569.50")
        assert await subjects(shop) == []
        assert problem_text((await shop.aggregate()).payment) is None

    async def test_a_contradiction_afterwards_is_one(self, shop: Shop) -> None:
        await shop.complete_payment()
        await shop.notify(payment(shop.order_id, "failure"))
        await shop.work()
        await shop.notify(payment(shop.order_id, receipt_url="https://pay.example/r"))
        await shop.work()
        assert await subjects(shop) == [(AlertKind.MISMATCH, 1)]

    async def test_what_was_no_amount_and_is_one_now(self, paid_shop: Shop) -> None:
        await paid_shop.notify(operation("refund", paid_shop.order_id, "0.001", operation_id="portal"))
        await paid_shop.work()
        await paid_shop.notify(operation("refund", paid_shop.order_id, "1.00", operation_id="portal"))
        await paid_shop.work()
        assert await subjects(paid_shop) == []
        assert paid_shop.amounts == amounts(charged="568.50", refunded="1.00")


async def test_an_answer_that_does_not_agree_leaves_no_intent(paid_shop: Shop) -> None:
    """The call is over: staff can settle it at once, and need not wait for a call that is on its way."""
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "90.00", operation_id="ours")))
    await paid_shop.request_action("REFUND", "100.00", "one")
    refund = await paid_shop.operation(Kind.REFUND)
    assert refund.state is State.UNKNOWN
    await settle(paid_shop.services, paid_shop.order_id, refund.id, Decision(State.FAILURE, "Ann", "not in the portal"))
    assert (await paid_shop.operation(Kind.REFUND)).state is State.FAILURE


async def test_nobody_decides_while_the_call_is_on_its_way(paid_shop: Shop) -> None:
    """Only when its answer must be here: what a person has seen in the portal before means nothing."""
    refusals: list[str] = []

    async def decide(_heard: Any) -> None:
        ours = await paid_shop.operation(Kind.REFUND)
        with pytest.raises(RefusalError) as caught:
            await settle(
                paid_shop.services, paid_shop.order_id, ours.id, Decision(State.FAILURE, "Ann", "not in the portal")
            )
        refusals.append(str(caught.value))

    paid_shop.gateway.on_request = decide
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="ours")))
    assert (await paid_shop.request_action("REFUND", "100.00", "one")).result == "REFUND_SUCCESS"
    assert refusals == ["A request to the gateway is in progress: try again in a minute."]


class TestKeysThatDoNotOpen:
    async def test_a_refund_is_refused_before_it_is_an_intent(self, paid_shop: Shop) -> None:
        lose_the_key(paid_shop)
        answer = await paid_shop.request_action("REFUND", "100.00", "one")
        assert answer.result == "REFUND_FAILURE"
        assert answer.message == (
            "The keys of this merchant account cannot be decrypted. Nothing was charged or changed"
        )
        assert [operation.kind for operation in (await paid_shop.aggregate()).operations] == [Kind.CREATE]
        assert await subjects(paid_shop) == [(AlertKind.UNOPENED, 1)]
        assert [item.account for item in await items(paid_shop)] == ["Main"]

    async def test_nor_does_one_begin_whose_turn_it_is(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "10.00", "pending", operation_id="first"))
        )
        await paid_shop.request_action("REFUND", "10.00", "one")
        await paid_shop.request_action("REFUND", "20.00", "two")
        healthy = paid_shop.services
        lose_the_key(paid_shop)
        paid_shop.services = replace(paid_shop.services, inbox=healthy.inbox)
        first = await paid_shop.operation(Kind.REFUND)
        await settle(
            paid_shop.services, paid_shop.order_id, first.id, Decision(State.SUCCESS, "Ann", "the portal says so")
        )
        await paid_shop.work()
        second = await paid_shop.operation(Kind.REFUND, 1)
        assert second.state is State.WAITING
        assert second.next_poll_at is not None
        paid_shop.services = healthy
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "20.00", operation_id="second"))
        )
        await paid_shop.pass_time(hours=2)
        assert (await paid_shop.operation(Kind.REFUND, 1)).state is State.SUCCESS

    async def test_a_trial_is_not_begun(self, shop: Shop) -> None:
        lose_the_key(shop)
        trial = Trial("k", "Ann", amount=SUGGESTED_AMOUNT, currency="UAH", email="a@example.com", phone="+380")
        with pytest.raises(Exception, match="no key decrypts"):
            await begin_trial(shop.services, shop.account, trial)
        assert await shop.find_aggregate() is None

    async def test_staff_are_told_at_once_of_look_ups_that_cannot_be_made(self, paid_shop: Shop) -> None:
        paid_shop.saleor.order(paid_shop.transaction)
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "100.00", "one")
        lose_the_key(paid_shop)
        await Worker(paid_shop.saleor).work_once(paid_shop.services)
        assert await subjects(paid_shop) == [(AlertKind.UNOPENED, 1)]
        for _ in range(60):  # 60 hours, a worker tries whenever it is due
            paid_shop.clock.forward(hours=1)
            await Worker(paid_shop.saleor).work_once(paid_shop.services)
        assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
        assert await subjects(paid_shop) == [(AlertKind.UNOPENED, 1), (AlertKind.WAITING, 1)]

    async def test_an_intent_that_could_not_be_sent_any_more_has_failed(self, paid_shop: Shop) -> None:
        """Between the commit and the call the keys are gone: nothing was sent, and that is certain."""
        client, calls = paid_shop.services.gateways.client, []

        def lost(account: Any) -> Any:
            calls.append(account)
            if len(calls) > 1:
                lose_the_key(paid_shop)
                return paid_shop.services.gateways.client(account)
            return client(account)

        paid_shop.services.gateways.client = lost  # type: ignore[method-assign] # the key goes while it is asked
        answer = await paid_shop.request_action("REFUND", "100.00", "one")
        assert answer.result == "REFUND_FAILURE"
        assert (await paid_shop.operation(Kind.REFUND)).state is State.FAILURE


class TestSomethingElseAnswers:
    async def test_staff_are_told_until_the_gateway_answers(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(Reply(403, b"<html>blocked</html>"))
        await paid_shop.request_action("REFUND", "100.00", "one")
        assert await subjects(paid_shop) == [(AlertKind.ADDRESS, 1)]
        assert await mark(paid_shop) == ()
        paid_shop.gateway.will_answer_look_ups(Reply(401, b"<html>sign in</html>"))
        await paid_shop.pass_time(seconds=4)
        assert await subjects(paid_shop) == [(AlertKind.ADDRESS, 1)]
        paid_shop.record_refund("100.00", "ours")
        await paid_shop.pass_time(minutes=5)
        assert await subjects(paid_shop) == []
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")

    async def test_a_look_up_tells_of_it_too(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        shop.gateway.will_answer_look_ups(Reply(403, b"<html>blocked</html>"))
        await shop.process_session()
        assert await subjects(shop) == [(AlertKind.ADDRESS, 1)]
        await shop.process_session()
        assert await subjects(shop) == []

    async def test_it_is_over_by_itself_when_a_notification_has_overtaken_that_answer(self, shop: Shop) -> None:
        async def notify_first(request: ReceivedRequest) -> None:
            record = payment(shop.order_id)
            shop.gateway.book[shop.order_id] = [record]
            await shop.notify(record)
            await shop.work()

        shop.gateway.on_request = notify_first
        shop.gateway.will_answer(Reply(403, b"<html>blocked</html>"))
        assert (await shop.begin()).result == "CHARGE_SUCCESS"
        assert await subjects(shop) == [(AlertKind.ADDRESS, 1)]
        await shop.pass_time(minutes=5)
        assert await subjects(shop) == []

    async def test_it_is_over_by_itself_when_another_look_up_was_quicker(self, shop: Shop) -> None:
        """Two at once: the later answer is recorded first, and nothing else is to be looked up."""
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]

        async def return_meanwhile(request: ReceivedRequest) -> None:
            shop.gateway.on_request = None
            assert (await shop.process_session()).result == "CHARGE_SUCCESS"
            shop.gateway.will_answer_look_ups(Reply(403, b"<html>blocked</html>"))

        shop.gateway.on_request = return_meanwhile
        await shop.process_session()
        assert await subjects(shop) == [(AlertKind.ADDRESS, 1)]
        await shop.pass_time(minutes=5)
        assert await subjects(shop) == []

    async def test_it_is_over_by_itself_when_a_notification_has_told_the_outcome(self, shop: Shop) -> None:
        shop.gateway.will_answer(Reply(403, b"<html>blocked</html>"))
        await shop.begin()
        assert await subjects(shop) == [(AlertKind.ADDRESS, 1)]
        record = payment(shop.order_id)
        shop.gateway.book[shop.order_id] = [record]
        await shop.notify(record)
        await shop.pass_time(minutes=5)
        assert (await shop.operation(Kind.CREATE)).state is State.SUCCESS
        assert await subjects(shop) == []
