"""What waits is done in batches, and each payment fares as if it were alone (laws of money, in batches)."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from typing import Any

import pytest
from sqlmodel import col, select

from app.core.alerts import AlertKind
from app.core.payment import PaymentAggregate
from app.core.vocabulary import EventState, State
from app.flows.notifications import Receipt, process, receive
from app.rules.apply import apply
from app.store.inbox import Inbox
from app.store.tables import Notification, Payment, SaleorEvent
from saleor_app_sdk.errors import SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.reports import EventReport, ReportOutcome
from tests.notification_facts import Decided
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, run_concurrently, signed_notification, source_object, work_at_once
from tests.statements import QueryCounts, count_queries

MANY = 12


async def begun(shop: Shop, many: int = MANY) -> list[Shop]:
    """Let so many shoppers begin to pay, each a checkout of their own."""
    shops = []
    for number in range(many):
        each = replace(shop, transaction=shop.saleor.new_transaction())
        shop.gateway.will_answer(shop.gateway.page(f"c{number}"))
        await each.begin(sourceObject=_checkout(number))
        shops.append(each)
    return shops


def _checkout(number: int) -> dict[str, Any]:
    return source_object(id=f"checkout {number}")


async def notified(shops: list[Shop]) -> None:
    """Let the gateway notify us of all of them, paid, in one moment."""
    receipts = await run_concurrently(*(shop.notify(payment(shop.order_id)) for shop in shops))
    assert receipts == [Receipt.KEPT] * len(shops)


@asynccontextmanager
async def poisoned(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Let whatever is posted to that payment fail."""

    def fails(aggregate: PaymentAggregate, *rest: Any, **more: Any) -> None:
        if aggregate.payment.order_id == shop.order_id:
            raise RuntimeError("nobody has thought of this")
        apply(aggregate, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr("app.rules.decisions.notification.apply", fails)
        yield


@pytest.mark.law(5, 6)
async def test_a_batch_takes_few_statements_and_books_every_payment(shop: Shop) -> None:
    """Twelve payments cost hardly more of the database than one."""
    [alone] = await begun(shop, 1)
    await notified([alone])
    with count_queries(shop.services.database) as one:
        await alone.work()
    shops = await begun(shop)
    with count_queries(shop.services.database) as kept:
        await notified(shops)
    with count_queries(shop.services.database) as all_of_them:
        await shop.work()
    assert all(shop.amounts == amounts(charged=TOTAL) for shop in shops)
    assert kept.transactions <= 2
    assert kept.statements <= 2
    assert all_of_them.transactions <= one.transactions + 4  # a first one goes alone, the others follow together
    assert all_of_them.statements <= 2 * one.statements + MANY // 2  # as below


@pytest.mark.law(6, 7)
async def test_payments_with_several_notifications_each_take_few_statements_too(shop: Shop) -> None:
    """As they are when a worker has fallen behind: each payment hears of its own in their order."""

    async def pending_and_paid(shops: list[Shop]) -> QueryCounts:
        for status in ("pending", "success"):
            await run_concurrently(*(shop.notify(payment(shop.order_id, status=status)) for shop in shops))
        with count_queries(shop.services.database) as counted:
            await shop.work()
        return counted

    alone = await pending_and_paid(await begun(shop, 1))
    shops = await begun(shop)
    together = await pending_and_paid(shops)
    assert all(shop.amounts == amounts(charged=TOTAL) for shop in shops)
    assert together.statements <= 2 * alone.statements + MANY  # SQLite inserts one by one what is to say its id


async def test_orders_that_are_not_placed_yet_are_asked_for_together(shop: Shop) -> None:
    shops = await begun(shop)
    await notified(shops)
    await shop.work()
    shop.clock.forward(minutes=2)
    with count_queries(shop.services.database) as counted:
        await shop.work()
    rows = [(await shop.aggregate()).payment for shop in shops]
    assert {row.order_polls for row in rows} == {2}
    assert all(row.next_order_poll_at for row in rows)
    assert counted.transactions <= 10
    assert counted.statements <= 19


@pytest.mark.fault("poison")
@pytest.mark.law(6)
async def test_a_poisonous_notification_harms_nobody(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch comes to nothing, each is done alone, and the one that fails is kept and tried again."""
    shops = await begun(shop)
    await notified(shops)
    async with poisoned(shops[5], monkeypatch):
        await shop.work()
    booked = [shop.amounts == amounts(charged=TOTAL) for shop in shops]
    assert booked == [number != 5 for number in range(MANY)]
    async with shop.services.database.transaction() as session:
        [kept] = (await session.exec(select(Notification).where(col(Notification.processed_at).is_(None)))).all()
    assert (kept.order_id, kept.trouble, kept.outcome) == (shops[5].order_id, AlertKind.FAILED, "failed RuntimeError")
    await shop.pass_time(minutes=1)
    assert shops[5].amounts == amounts(charged=TOTAL)


@pytest.mark.fault("key-lost")
@pytest.mark.law(6)
async def test_one_that_nobody_can_open_harms_nobody(shop: Shop) -> None:
    shops = await begun(shop, 3)
    await notified(shops)
    async with shop.services.database.transaction() as session:
        rows = {row.order_id: row for row in (await session.exec(select(Notification))).all()}
        first, second, _ = (rows[shop.order_id] for shop in shops)
        second.data_sealed = first.data_sealed  # sealed for another place
    await shop.work()
    assert [shop.amounts == amounts(charged=TOTAL) for shop in shops] == [True, False, True]


@pytest.mark.law(5)
async def test_half_of_a_batch_is_refused(shop: Shop) -> None:
    """Each refusal is a problem of its own payment, and of no other."""
    shops = await begun(shop)
    await notified(shops)
    refused = {shop.transaction.id for shop in shops[::2]}
    report = shop.saleor.report

    async def half(installed: Installation, event: EventReport) -> ReportOutcome:
        if event.transaction_id in refused:
            raise SaleorRefusedError("INVALID", None, "no")
        return await report(installed, event)

    shop.saleor.report = half  # type: ignore[method-assign] # it stands before the books
    await shop.work()
    async with shop.services.database.transaction() as session:
        rows = (await session.exec(select(Payment, SaleorEvent).join(SaleorEvent).order_by(col(Payment.id)))).all()
    told = [(row.problem_since is not None, event.state) for row, event in rows if event.type == "CHARGE_SUCCESS"]
    assert told == [(True, EventState.REFUSED), (False, EventState.DELIVERED)] * (MANY // 2)


@pytest.mark.fault("process-killed")
@pytest.mark.law(5)
async def test_killed_after_telling_a_batch_it_is_told_again_and_counted_once(shop: Shop) -> None:
    """Saleor has all of them, and we died before we could note it."""
    shops = await begun(shop, 4)
    await notified(shops)

    class DeathError(BaseException):
        pass

    async def dies_after_it(installed: Installation, event: EventReport) -> ReportOutcome:
        await report(installed, event)
        raise DeathError

    report, shop.saleor.report = shop.saleor.report, dies_after_it  # type: ignore[method-assign]
    with pytest.raises(DeathError):
        await shop.work()
    shop.saleor.report = report  # type: ignore[method-assign]
    assert [shop.amounts for shop in shops] == [amounts(charged=TOTAL)] * 4
    await shop.pass_time(minutes=5)
    assert [shop.amounts for shop in shops] == [amounts(charged=TOTAL)] * 4
    assert len(shop.saleor.reports) == 8
    async with shop.services.database.transaction() as session:
        rows = (await session.exec(select(SaleorEvent).where(SaleorEvent.type == "CHARGE_SUCCESS"))).all()
    assert {row.state for row in rows} == {EventState.DELIVERED}


@pytest.mark.law(3, 5, 7)
async def test_what_is_told_of_one_payment_in_one_batch_keeps_its_order(shop: Shop) -> None:
    """A payment, its refund and the payment's older word once more, all kept before anybody works."""
    [paid] = await begun(shop, 1)
    await paid.notify(payment(paid.order_id, "pending"))
    await paid.notify(payment(paid.order_id))
    await paid.notify(operation("refund", paid.order_id, "69.50", operation_id="refund-1"))
    await paid.notify(operation("refund", paid.order_id, "69.50", operation_id="refund-1", extra="again"))
    await paid.notify(operation("refund", paid.order_id, "69.50", operation_id="refund-2"))
    await paid.notify(payment(paid.order_id, "pending", extra="late"))
    await paid.work()
    assert paid.amounts == amounts(charged="430.50", refunded="139.00")
    recorded = await paid.aggregate()
    assert [(operation.operation_id, operation.state) for operation in recorded.operations[1:]] == [
        ("refund-1", State.SUCCESS),
        ("refund-2", State.SUCCESS),
    ]
    told = [report.type for report in shop.saleor.reports if report.type != "INFO"]
    assert told[-3:] == ["CHARGE_SUCCESS", "REFUND_SUCCESS", "REFUND_SUCCESS"]


@pytest.mark.law(6, 7)
async def test_a_payment_fares_in_one_batch_as_it_does_one_by_one(shop: Shop) -> None:
    """Whatever is told of it, in whatever order: the same is booked, told and shown to staff."""
    chance = random.Random(6)  # noqa: S311 - nobody need fail to guess it
    shops = await begun(shop, 2 * MANY)
    alone, together = shops[::2], shops[1::2]
    for one, other in zip(alone, together, strict=True):
        for told in _anything(chance):
            for told_shop in (one, other):
                await told_shop.notify({**told, "order_id": told_shop.order_id})
    for one in alone:
        for kept in await one.services.inbox.find_for_order(one.account.id, one.order_id):
            assert await process(one.services, kept.id) is not None
    of_them = [
        notification
        for one in together
        for notification in await one.services.inbox.find_for_order(one.account.id, one.order_id)
    ]
    with count_queries(shop.services.database) as counted:
        await run_concurrently(*(process(shop.services, notification.id) for notification in of_them))
    assert [await _as_told(shop) for shop in together] == [await _as_told(shop) for shop in alone]
    assert counted.transactions <= 4  # in batches indeed


def _anything(chance: random.Random) -> list[dict[str, Any]]:
    """Return some of the gateway's words on one payment, in any order: right, late, repeated or wrong."""
    statuses = ("pending", "success", "failure")
    told = [payment("?", chance.choice(statuses), chance.choice(["569.50", "500.00"])) for _ in range(2)]
    for number in range(chance.randrange(1, 4)):
        amount, method = chance.choice(["69.50", "100.00", "569.50"]), chance.choice(["refund", "void"])
        name = f"{method}-{number}"
        told += [operation(method, "?", amount, choice, operation_id=name) for choice in chance.choices(statuses, k=2)]
    chance.shuffle(told)
    currencies = ["UAH"] * 9 + ["USD"]
    return [operation | {"currency": chance.choice(currencies), "extra": place} for place, operation in enumerate(told)]


async def _as_told(shop: Shop) -> list[str]:
    """Return all that is stored of a payment but for what is its own: names, row ids, traces."""
    aggregate = await shop.aggregate()
    places = {operation.id: place for place, operation in enumerate(aggregate.operations)}
    of_row = {"id", "trace_id", "key", "loaded_account", "problems"}
    of_checkout = {"transaction_id", "source_id", "checkout_url", "qr_url", "request", "personal_sealed"}
    told = []
    rows: list[Any] = [aggregate.payment, *aggregate.operations, *aggregate.events, *aggregate.payment.problems]
    for row in rows:
        said = {field.name: getattr(row, field.name) for field in fields(row)}
        said = {name: value for name, value in said.items() if name not in of_row | of_checkout}
        if said.get("operation_id") in places:
            said["operation_id"] = places[said["operation_id"]]
        told.append(str(sorted(said.items())).replace(shop.order_id, "order"))
    return told


@pytest.mark.law(6)
async def test_the_same_notification_twice_in_one_moment_is_kept_once(shop: Shop) -> None:
    [paid] = await begun(shop, 1)
    form = signed_notification(payment(paid.order_id))
    receipts = await run_concurrently(*(receive(shop.services, shop.account.id, form) for _ in range(5)))
    assert sorted(receipts, key=lambda receipt: receipt.name) == [Receipt.KEPT, *[Receipt.REPEATED] * 4]
    [kept] = await shop.services.inbox.find_for_order(shop.account.id, paid.order_id)
    assert kept.deliveries == 5


@pytest.mark.fault("two-workers")
@pytest.mark.law(6)
async def test_two_workers_share_a_backlog_and_do_nothing_twice(shop: Shop, second_process: Shop) -> None:
    shops = await begun(shop)
    await notified(shops)
    await work_at_once(shop, second_process)
    assert [shop.amounts for shop in shops] == [amounts(charged=TOTAL)] * MANY
    assert len([report for report in shop.saleor.reports if report.type == "CHARGE_SUCCESS"]) == MANY


@pytest.mark.fault("saleor-down")
@pytest.mark.law(5)
async def test_a_saleor_that_goes_away_in_the_middle_gets_the_rest_later(shop: Shop) -> None:
    shops = await begun(shop)
    await notified(shops)
    shop.saleor.failures.extend([None, None, *[SaleorUnreachableError("down")] * 10])
    await shop.work()
    await shop.pass_time(minutes=10)
    assert [shop.amounts for shop in shops] == [amounts(charged=TOTAL)] * MANY


async def test_a_notification_that_is_not_there_is_told_to_nobody_else(shop: Shop) -> None:
    [paid] = await begun(shop, 1)
    await notified([paid])
    inbox: Inbox = shop.services.inbox
    [kept] = await inbox.find_for_order(shop.account.id, paid.order_id)
    done, lost = await asyncio.gather(
        process(shop.services, kept.id),
        inbox.process(kept.id + 1, Decided(), shop.clock.now),
        return_exceptions=True,
    )
    assert done == "create success"
    assert isinstance(lost, LookupError)
