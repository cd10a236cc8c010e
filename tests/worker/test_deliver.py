"""Delivering the outbox: each event until Saleor has it, or refuses it for good (law of money 5)."""

from collections import deque
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import col, select

from app.core.ids import EventRowId
from app.core.notification import ProcessingResult
from app.core.vocabulary import EventState
from app.flows.staff.manual_resolution import resend_refused_events
from app.rules.problems import problem_text
from app.store.inbox import Inbox
from app.store.tables import SaleorEvent
from app.worker.deliver import deliver
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.responses import EventType
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, work_at_once


async def outbox(shop: Shop) -> list[SaleorEvent]:
    """Return all events, oldest first."""
    async with shop.services.database.transaction() as session:
        return list((await session.exec(select(SaleorEvent).order_by(col(SaleorEvent.id)))).all())


async def put(shop: Shop, *types: str, actions: list[str] | None = None, **more: object) -> list[int]:
    """Put events of the payment into the outbox."""
    aggregate = await shop.aggregate()
    assert aggregate.payment.id is not None
    ids = []
    async with shop.services.database.transaction() as session:
        for number, kind in enumerate(types):
            row = SaleorEvent(
                payment_id=aggregate.payment.id,
                installation_id=aggregate.payment.installation_id,
                type=kind,
                psp_reference=str(more.get("psp_reference", f"reference-{len(aggregate.events) + number}")),
                amount=Decimal(str(more.get("amount", "1.00"))),
                available_actions=actions,
                next_attempt_at=shop.clock.now,
                created_at=shop.clock.now,
            )
            session.add(row)
            await session.flush()
            assert row.id is not None
            ids.append(row.id)
    return ids


@pytest.mark.law(5)
async def test_an_event_is_written_in_the_commit_that_causes_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state without its event, or the reverse, can never be seen."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.work()
    seen: list[tuple[str, int]] = []

    process = Inbox.process

    async def look_after_the_commit(*asked: Any) -> ProcessingResult:
        processed = await process(*asked)
        async with shop.services.database.transaction() as session:
            events = (await session.exec(select(SaleorEvent).where(SaleorEvent.type == "CHARGE_SUCCESS"))).all()
        seen.append(((await shop.aggregate()).create.state.value, len(events)))
        return processed

    monkeypatch.setattr(Inbox, "process", look_after_the_commit)
    await shop.notify(payment(shop.order_id))
    shop.saleor.failures.append(SaleorUnreachableError("down"))
    await shop.work()
    assert seen == [("success", 1)]


@pytest.mark.fault("saleor-down")
@pytest.mark.law(5)
async def test_saleor_is_down_and_comes_back(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.work()
    await shop.notify(payment(shop.order_id))
    shop.saleor.failures.extend([SaleorUnreachableError("down")] * 12)
    await shop.pass_time(minutes=5)
    [event] = [event for event in await outbox(shop) if event.type == "CHARGE_SUCCESS"]
    assert event.state is EventState.WAITING
    assert event.last_error == "down"
    assert shop.amounts == amounts()
    await shop.pass_time(hours=1)
    [event] = [event for event in await outbox(shop) if event.type == "CHARGE_SUCCESS"]
    assert event.state is EventState.DELIVERED
    assert event.delivered_at is not None
    assert event.next_attempt_at is None
    assert event.last_error is None
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.fault("saleor-down")
@pytest.mark.parametrize(
    ("trouble", "first", "longest"),
    [
        (SaleorUnreachableError("down"), timedelta(seconds=1), timedelta(minutes=5)),
        (SaleorNotAuthorisedError("gone"), timedelta(minutes=1), timedelta(hours=1)),
    ],
)
async def test_each_attempt_waits_twice_as_long_as_the_one_before(
    paid_shop: Shop, trouble: SaleorError, first: timedelta, longest: timedelta
) -> None:
    """Up to a limit; a Saleor that has uninstalled us is left in peace longer, and may come back."""
    paid_shop.saleor.order(paid_shop.transaction)
    await put(paid_shop, "INFO")
    pauses = []
    for _ in range(14):
        paid_shop.saleor.failures = deque([trouble])
        await paid_shop.work()
        event = (await outbox(paid_shop))[-1]
        assert event.next_attempt_at is not None
        pauses.append(event.next_attempt_at - paid_shop.clock.now)
        paid_shop.clock.now = event.next_attempt_at
    assert pauses[:4] == [first * times for times in (1, 2, 4, 8)]
    assert pauses[-1] == longest
    assert pauses == sorted(pauses)
    await paid_shop.work()
    assert paid_shop.saleor.reported_types == ["INFO"]


@pytest.mark.fault("saleor-refuses")
@pytest.mark.law(5)
@pytest.mark.parametrize("code", ["INCORRECT_DETAILS", "INVALID", "NOT_FOUND"])
async def test_what_saleor_refuses_for_good_is_a_visible_problem_and_never_asked_again(
    paid_shop: Shop, code: str
) -> None:
    paid_shop.saleor.order(paid_shop.transaction)
    await put(paid_shop, "REFUND_SUCCESS")
    paid_shop.saleor.failures.append(SaleorRefusedError(code, "pspReference", "no"))
    await paid_shop.pass_time(days=1)
    event = (await outbox(paid_shop))[-1]
    assert (event.state, event.next_attempt_at, event.attempts) == (EventState.REFUSED, None, 1)
    assert code in (event.last_error or "")
    problem = problem_text((await paid_shop.aggregate()).payment) or ""
    assert "REFUND_SUCCESS of 1.00 UAH" in problem
    assert code in problem
    assert paid_shop.saleor.reports == []


@pytest.mark.law(5)
async def test_what_saleor_would_refuse_is_a_problem_that_names_the_field_and_is_not_sent(paid_shop: Shop) -> None:
    [event_id] = await put(paid_shop, "REFUND_SUCCESS", psp_reference="")
    await paid_shop.pass_time(days=1)
    [event] = [event for event in await outbox(paid_shop) if event.id == event_id]
    assert (event.state, event.attempts) == (EventState.REFUSED, 1)
    assert (event.last_error or "").startswith("Saleor refused (INVALID, psp_reference): it cannot be expressed")
    assert "REFUND_SUCCESS of 1.00 UAH" in (problem_text((await paid_shop.aggregate()).payment) or "")
    assert "REFUND_SUCCESS" not in paid_shop.saleor.reported_types


@pytest.mark.fault("saleor-refuses")
async def test_the_problem_is_gone_when_saleor_has_taken_the_event_after_all(paid_shop: Shop) -> None:
    [event_id] = await put(paid_shop, "REFUND_SUCCESS")
    paid_shop.saleor.failures.append(SaleorRefusedError("NOT_FOUND", "id", "no"))
    await paid_shop.work()
    assert problem_text((await paid_shop.aggregate()).payment)
    async with paid_shop.services.database.transaction() as session:
        row = await session.get_one(SaleorEvent, event_id)
        row.state, row.next_attempt_at = EventState.WAITING, paid_shop.clock.now
    await paid_shop.work()
    assert problem_text((await paid_shop.aggregate()).payment) is None


async def test_the_problem_is_gone_when_saleor_has_taken_the_event_under_another_reference(paid_shop: Shop) -> None:
    [event_id] = await put(paid_shop, "REFUND_SUCCESS")
    paid_shop.saleor.failures.append(SaleorRefusedError("NOT_FOUND", "id", "no"))
    await paid_shop.work()
    async with paid_shop.services.database.transaction() as session:
        row = await session.get_one(SaleorEvent, event_id)
        row.psp_reference = "what Saleor's own request has"
    assert await resend_refused_events(paid_shop.services, paid_shop.installation.id) == 1
    await paid_shop.work()
    assert problem_text((await paid_shop.aggregate()).payment) is None


@pytest.mark.law(5)
async def test_what_cannot_be_said_is_a_visible_problem_and_blocks_nothing(paid_shop: Shop) -> None:
    await put(paid_shop, "INFO", amount="-1.00")
    await put(paid_shop, "INFO")
    await paid_shop.work()
    states = [event.state for event in await outbox(paid_shop)][-2:]
    assert states == [EventState.REFUSED, EventState.DELIVERED]
    assert problem_text((await paid_shop.aggregate()).payment)


@pytest.mark.law(5)
async def test_what_saleor_has_already_counts_as_delivered(paid_shop: Shop) -> None:
    """The report arrived, its answer got lost: the same report again changes nothing."""
    reported = await put(paid_shop, "CHARGE_SUCCESS", psp_reference="another", amount="1.00")
    report = paid_shop.saleor.report

    async def arrives_but_is_not_answered(*args: object) -> object:
        await report(*args)  # type: ignore[arg-type] # whatever the worker gives
        paid_shop.saleor.report = report  # type: ignore[method-assign]
        raise SaleorUnreachableError("the connection was lost")

    paid_shop.saleor.report = arrives_but_is_not_answered  # type: ignore[method-assign,assignment]
    await paid_shop.pass_time(minutes=1)
    [event] = [event for event in await outbox(paid_shop) if event.id in reported]
    assert (event.state, event.attempts) == (EventState.DELIVERED, 2)
    assert paid_shop.amounts == amounts(charged="570.50")  # counted once


@pytest.mark.law(5)
async def test_events_of_one_payment_are_told_in_the_order_in_which_they_happened(paid_shop: Shop) -> None:
    """Told out of order, "refunded" would be overwritten by "you may refund"."""
    await put(paid_shop, *["INFO"] * 5)
    expected = [event.psp_reference for event in await outbox(paid_shop)][-5:]
    paid_shop.saleor.failures.extend([None, SaleorUnreachableError("down"), None, SaleorUnreachableError("down")])
    await paid_shop.pass_time(minutes=1)
    assert [report.psp_reference for report in paid_shop.saleor.reports] == expected


async def test_a_payment_whose_event_waits_does_not_hold_up_another_one(paid_shop: Shop) -> None:
    await put(paid_shop, "INFO")
    first = paid_shop.transaction
    paid_shop.saleor.failures.append(SaleorUnreachableError("down"))
    await paid_shop.work()
    other = paid_shop.saleor.new_transaction()
    paid_shop.transaction = other
    paid_shop.gateway.will_answer(paid_shop.gateway.page())
    await paid_shop.begin()
    await paid_shop.notify(payment(paid_shop.order_id))
    await paid_shop.work()
    # That Saleor takes the other's shows that it is back: then the first is told at once.
    assert [report.transaction_id for report in paid_shop.saleor.reports] == [other.id, first.id]


class TestNotes:
    """A note about what is possible is stale as soon as something newer says what is possible."""

    async def test_a_stale_note_is_not_told(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id))
        shop.saleor.failures.append(SaleorUnreachableError("down"))
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["CHARGE_SUCCESS"]
        states = [(event.type, event.state) for event in await outbox(shop)]
        assert states == [("INFO", EventState.SUPERSEDED), ("CHARGE_SUCCESS", EventState.DELIVERED)]
        assert shop.transaction.actions == ["REFUND"]

    async def test_a_problem_says_nothing_about_what_is_possible(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, amount="1.00"))
        shop.saleor.failures.append(SaleorUnreachableError("down"))
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["INFO", "INFO"]
        assert shop.transaction.actions == ["CANCEL"]

    async def test_a_problem_is_never_stale(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.pass_time(seconds=25)
        await shop.notify(payment(shop.order_id, amount="1.00"))
        shop.saleor.failures.append(SaleorUnreachableError("down"))
        await shop.work()
        await shop.notify(payment(shop.order_id))
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["INFO", "INFO", "CHARGE_SUCCESS"]


@pytest.mark.fault("process-killed")
@pytest.mark.law(5)
async def test_a_worker_that_dies_leaves_its_claim_to_another(paid_shop: Shop) -> None:
    """Nobody takes it over before the lease is out, somebody does after."""
    await put(paid_shop, "INFO")

    class DeathError(BaseException):
        pass

    async def die(*_: object) -> object:
        raise DeathError

    report, paid_shop.saleor.report = paid_shop.saleor.report, die  # type: ignore[method-assign,assignment]
    with pytest.raises(DeathError):
        await paid_shop.work()
    paid_shop.saleor.report = report  # type: ignore[method-assign]
    assert await paid_shop.work() == 0
    assert paid_shop.saleor.reports == []
    await paid_shop.pass_time(seconds=59)
    assert paid_shop.saleor.reports == []
    await paid_shop.pass_time(seconds=2)
    assert paid_shop.saleor.reported_types == ["INFO"]


@pytest.mark.law(5)
async def test_a_slow_worker_does_not_undo_what_the_next_one_did(paid_shop: Shop) -> None:
    """Its lease ran out while it waited for Saleor; another worker has delivered the event meanwhile."""
    [event_id] = await put(paid_shop, "INFO")
    report = paid_shop.saleor.report

    async def slow(*args: object) -> object:
        paid_shop.saleor.report = report  # type: ignore[method-assign]
        await deliver(paid_shop.services, paid_shop.saleor, EventRowId(event_id))
        raise SaleorUnreachableError("too late")

    paid_shop.saleor.report = slow  # type: ignore[method-assign,assignment]
    await deliver(paid_shop.services, paid_shop.saleor, EventRowId(event_id))
    event = (await outbox(paid_shop))[-1]
    assert (event.state, event.next_attempt_at, event.last_error) == (EventState.DELIVERED, None, None)
    assert paid_shop.saleor.reported_types == ["INFO"]


async def test_what_was_delivered_is_not_delivered_again(paid_shop: Shop) -> None:
    [event_id] = await put(paid_shop, "INFO")
    await deliver(paid_shop.services, paid_shop.saleor, EventRowId(event_id))
    await deliver(paid_shop.services, paid_shop.saleor, EventRowId(event_id))
    assert paid_shop.saleor.reported_types == ["INFO"]


@pytest.mark.fault("two-workers")
async def test_workers_at_the_same_moment_tell_each_event_once(paid_shop: Shop, second_process: Shop) -> None:
    await put(paid_shop, *["INFO"] * 4)
    await work_at_once(paid_shop, second_process)
    assert paid_shop.saleor.reported_types == ["INFO"] * 4
    assert [report.psp_reference for report in paid_shop.saleor.reports] == [
        event.psp_reference for event in (await outbox(paid_shop))[-4:]
    ]


async def test_a_report_says_all_that_saleor_must_know(paid_shop: Shop) -> None:
    await paid_shop.notify(operation("refund", paid_shop.order_id, "69.50", operation_id="portal-1"))
    await paid_shop.work()
    [report] = paid_shop.saleor.reports
    assert report.transaction_id == paid_shop.transaction.id
    assert report.type is EventType.REFUND_SUCCESS
    assert report.psp_reference == "portal-1"
    assert report.amount == Decimal("69.50")
    assert report.message == "Refunded [1004]"
    assert [action.value for action in report.available_actions or ()] == ["REFUND"]
