"""What Saleor hears of a payment is one queue, and answers stand in it: nothing overtakes (laws of money, 5)."""

import pytest
from sqlmodel import col, select

from app.core.ids import EventRowId
from app.core.payment import row_id_of
from app.core.vocabulary import EventState, Kind, State
from app.flows.on_demand import resend_events
from app.flows.process_session import process
from app.flows.staff.manual_resolution import resend_refused_events
from app.rules.apply import conclude
from app.rules.decision_context import DecisionContext, raise_problem
from app.rules.problems import KEYS, problem_text
from app.store.aggregates import save_all
from app.store.tables import SaleorEvent
from integration_base_tests.loopback import HangUp, json_reply
from saleor_app_sdk.errors import SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.events import TransactionProcessSession
from tests.db.rows import load_by_transaction
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.problems import issue_saying
from tests.payments.shop import TOTAL, Shop, session_event

pytestmark = pytest.mark.law(5)

NO = ({"message": "Invalid operation", "args": {"code": "4150"}}, 400)


async def given_up(shop: Shop) -> None:
    """Nobody pays in time, the page cannot be closed, and the app concludes from silence that the payment failed."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(minutes=1)
    shop.gateway.will_answer(*[json_reply(*NO)] * 5)
    await shop.pass_time(hours=3)
    create = (await shop.aggregate()).create
    assert (create.state, create.inferred) == (State.FAILURE, True)


async def events(shop: Shop, kind: str) -> list[SaleorEvent]:
    """Return the events of a type, oldest first."""
    async with shop.services.database.transaction() as session:
        query = select(SaleorEvent).where(SaleorEvent.type == kind).order_by(col(SaleorEvent.id))
        return list((await session.exec(query)).all())


async def untold(shop: Shop) -> None:
    """The payment has failed, and nobody has tried to tell Saleor: it waits behind what Saleor does not take."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(minutes=1)
    shop.saleor.failures.extend([SaleorUnreachableError("down")] * 500)
    async with shop.services.database.transaction() as session:
        aggregate = await load_by_transaction(session, shop.installation.id, shop.transaction.id)
        assert aggregate is not None
        context = DecisionContext(now=shop.clock.now, schedule=shop.services.schedule)
        raise_problem(aggregate, issue_saying("Something that is told before"), shop.clock.now, cause=KEYS)
        conclude(
            aggregate,
            aggregate.create,
            State.FAILURE,
            context,
            message="The gateway knows of no payment",
            inferred=True,
        )
        await save_all(session, [aggregate])
    await shop.work()
    [failure] = await events(shop, "CHARGE_FAILURE")
    assert (failure.state, failure.attempts) == (EventState.WAITING, 0)


async def test_an_answer_does_not_overtake_a_failure_that_may_be_on_its_way(shop: Shop) -> None:
    """Told after the success, the failure would take the charge off Saleor's books for good (Saleor contract, A.7)."""
    shop.saleor.failures.extend([SaleorUnreachableError("down")] * 500)  # we do not reach Saleor for a while
    await given_up(shop)
    await shop.notify(payment(shop.order_id))  # it was paid after all
    await shop.work()
    shop.clock.forward(seconds=1)
    answer = await shop.process_session()  # Saleor reaches us: it may know of the failure, or hear of it any moment
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.data["errors"][0]["code"] == "BEING_CONFIRMED"
    assert "не платіть ще раз" in answer.data["errors"][0]["message"]
    shop.saleor.failures.clear()
    await shop.pass_time(hours=3)
    assert all(event.state is not EventState.WAITING for event in (await shop.aggregate()).events)
    assert shop.amounts == amounts(charged=TOTAL), f"told {shop.saleor.reported_types}"
    shop.clock.forward(seconds=1)
    assert (await shop.process_session()).result == "CHARGE_SUCCESS"
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_failure_that_nobody_has_begun_to_tell_makes_way(shop: Shop) -> None:
    """An earlier word waits for Saleor, so nobody has tried to tell the failure: it is not told at all."""
    await untold(shop)
    await shop.notify(payment(shop.order_id))
    await shop.work()
    [failure] = await events(shop, "CHARGE_FAILURE")
    assert (failure.state, failure.next_attempt_at) == (EventState.SUPERSEDED, None)
    shop.clock.forward(seconds=1)
    assert (await shop.process_session()).result == "CHARGE_SUCCESS"
    shop.saleor.failures.clear()
    await shop.pass_time(hours=1)
    assert "CHARGE_FAILURE" not in shop.saleor.reported_types
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_failure_that_saleor_refused_is_not_told_after_the_success(shop: Shop) -> None:
    """Staff let it be told again: the charge would be gone. Nor is it a problem any more."""
    shop.saleor.failures.extend([None, SaleorRefusedError("GRAPHQL_ERROR", None, "Saleor is being upgraded")])
    await given_up(shop)
    [failure] = await events(shop, "CHARGE_FAILURE")
    assert failure.state is EventState.REFUSED
    await shop.notify(payment(shop.order_id))  # a late word: it was paid
    await shop.pass_time(minutes=5)
    shop.clock.forward(minutes=1)
    assert shop.amounts == amounts(charged=TOTAL)
    assert problem_text((await shop.aggregate()).payment) is None
    assert await resend_refused_events(shop.services, shop.installation.id) == 0
    await shop.pass_time(minutes=5)
    assert shop.amounts == amounts(charged=TOTAL), f"told {shop.saleor.reported_types}"


async def test_a_failure_that_saleor_refuses_while_the_success_waits_is_no_problem(shop: Shop) -> None:
    shop.saleor.failures.extend([None, *[SaleorUnreachableError("down")] * 40])
    await given_up(shop)
    shop.saleor.failures.clear()
    shop.saleor.failures.extend([SaleorRefusedError("GRAPHQL_ERROR", None, "Saleor is being upgraded")])
    await shop.notify(payment(shop.order_id))
    await shop.pass_time(hours=1)
    [failure] = await events(shop, "CHARGE_FAILURE")
    assert failure.state is EventState.SUPERSEDED
    assert problem_text((await shop.aggregate()).payment) is None
    assert await resend_events(shop.services, [EventRowId(row_id_of(failure))]) == []
    await shop.pass_time(hours=1)
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_success_does_not_overtake_a_failure_that_is_being_answered(shop: Shop) -> None:
    """Saleor is about to read "failed" when the gateway says that it was paid after all."""
    await untold(shop)
    event = TransactionProcessSession.model_validate(session_event(shop.transaction.id))
    request = shop.saleor.open_request(shop.transaction, "CHARGE", event.action.amount, "")
    answer = await process(shop.services, event, shop.installation)
    assert answer.result == "CHARGE_FAILURE"
    await shop.notify(payment(shop.order_id))
    await shop.work()
    shop.saleor.failures.clear()
    await shop.pass_time(seconds=17)
    assert "CHARGE_SUCCESS" not in shop.saleor.reported_types
    shop.saleor.book_session(shop.transaction, request, answer)
    await shop.pass_time(hours=1)
    assert shop.amounts == amounts(charged=TOTAL), f"told {shop.saleor.reported_types}"


@pytest.mark.parametrize("action", ["CHARGE", "REFUND"])
async def test_nor_does_the_answer_to_staff(shop: Shop, action: str) -> None:
    """A refund or capture was given up, the failure may be on its way, and then the gateway shows it."""
    await shop.complete_payment(flow="AUTHORIZATION" if action == "CHARGE" else "CHARGE")
    method = "capture" if action == "CHARGE" else "refund"
    shop.gateway.will_answer(HangUp())
    first = await shop.request_action(action, TOTAL)
    await shop.pass_time(seconds=5)
    shop.saleor.failures.extend([SaleorUnreachableError("down")] * 500)
    await shop.pass_time(minutes=40)
    await shop.notify(operation(method, shop.order_id, TOTAL, operation_id="late"))
    await shop.work()
    again = await shop.request_action(action, TOTAL, booked=False)  # the same delivery again
    assert (again.result, again.psp_reference) == (None, first.psp_reference)
    shop.saleor.failures.clear()
    await shop.pass_time(hours=1)
    told = [event_type for event_type in shop.saleor.reported_types if event_type != "INFO"]
    assert told == [f"{action}_FAILURE", f"{action}_SUCCESS"]
    assert (await shop.request_action(action, TOTAL, booked=False)).result == f"{action}_SUCCESS"
    assert (await shop.operation(Kind(method))).state is State.SUCCESS


async def test_the_answer_to_one_refund_does_not_wait_for_the_failure_of_another(paid_shop: Shop) -> None:
    """Saleor keeps them apart by their references."""
    paid_shop.gateway.will_answer(json_reply(*NO))
    paid_shop.saleor.failures.extend([SaleorUnreachableError("down")] * 50)
    assert (await paid_shop.request_action("REFUND", "100.00", "first")).result == "REFUND_FAILURE"
    await paid_shop.pass_time(seconds=10)
    [failure] = await events(paid_shop, "REFUND_FAILURE")
    assert failure.state is EventState.WAITING
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "50.00", operation_id="refund-2")))
    assert (await paid_shop.request_action("REFUND", "50.00", "second")).result == "REFUND_SUCCESS"
    paid_shop.saleor.failures.clear()
    await paid_shop.pass_time(hours=1)
    assert paid_shop.amounts == amounts(charged="519.50", refunded="50.00")


async def test_what_is_told_again_does_not_bring_back_what_was_possible_then(paid_shop: Shop) -> None:
    """Saleor refused the first refund; the second took all that was left; then staff let the first be told again."""
    await paid_shop.notify(operation("refund", paid_shop.order_id, "69.50", operation_id="portal-1"))
    paid_shop.saleor.failures.append(SaleorRefusedError("NOT_FOUND", "id", "no"))
    await paid_shop.work()
    await paid_shop.notify(operation("refund", paid_shop.order_id, "500.00", operation_id="portal-2"))
    await paid_shop.work()
    assert paid_shop.transaction.actions == []
    assert await resend_refused_events(paid_shop.services, paid_shop.installation.id) == 1
    await paid_shop.work()
    assert paid_shop.amounts == amounts(refunded=TOTAL)
    assert paid_shop.transaction.actions == []
