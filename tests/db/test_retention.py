"""What is outdated goes, in small steps and by an index; what moved money stays, and so does whatever is open."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import EventState, Flow, Kind, State
from app.store.database import Database
from app.store.inbox import Inbox
from app.store.personal import SEALED, PersonalData
from app.store.retention import (
    INACTIVE_PERIOD,
    Outdated,
    Retention,
    count_outdated,
    erase_notifications,
    erase_payments,
)
from app.store.tables import MerchantAccount, Notification, Operation, Payment, SaleorEvent
from app.store.vault import Vault
from tests.db.rows import NOON, a_new_payment, an_event, an_operation, read_raw
from tests.statements import record_statements

YEARS = Retention(personal=timedelta(days=540), notifications=timedelta(days=180))
MUCH_LATER = NOON + timedelta(days=541)


def outdated(account: MerchantAccount, now: datetime = MUCH_LATER, retention: Retention = YEARS) -> Outdated:
    return Outdated.for_store(account.installation_id, retention, now)


async def paid(database: Database, vault: Vault, account: MerchantAccount, number: int, **more: Any) -> Payment:
    """Return a payment that was made and is over, with a notification and an event that was delivered."""
    payment = a_new_payment(account, number)
    payment.email_digest = f"digest{number}"
    payment.return_url_sealed = PersonalData(vault).seal_return_url(payment.transaction_id, "https://shop.example.com/")
    payment.checkout_url = "https://gateway.example/pay"
    told, sealed = PersonalData(vault).seal_request(
        payment.transaction_id, {"customer_email": "olena@example.com", "a": "1"}
    )
    async with database.transaction() as session:
        session.add(payment)
        await session.flush()
        over = {"state": State.SUCCESS, "next_poll_at": None, "request": told, "personal_sealed": sealed}
        session.add(an_operation(payment.id or 0, Kind.CREATE, "create", **over))
        said = an_event(payment.id or 0, payment.order_id, "CHARGE_SUCCESS")
        said.state, said.next_attempt_at = EventState.DELIVERED, None
        said.message, said.available_actions, said.last_error = "Paid with Visa", ["REFUND"], "Saleor was away"
        said.card = {"brand": "visa", "mask": "424242******4242"}
        session.add(said)
    inbox = Inbox(database, vault)
    order = payment.order_id
    await inbox.store(account_id=account.id, digest=f"{number}", data="the word", order_id=order, now=NOON)
    async with database.transaction() as session:
        word = (await inbox.read_for_order(session, account.id, order))[0]
        row = await session.get_one(Notification, word.id)
        row.next_attempt_at, row.processed_at = None, NOON
        for name, value in more.items():
            setattr(await session.get_one(Payment, payment.id), name, value)
    return payment


async def erase(database: Database, account: MerchantAccount, now: datetime = MUCH_LATER, most: int = 10) -> int:
    async with database.transaction() as session:
        erased, _ = await erase_payments(session, outdated(account, now), now, most=most)
    return erased


@pytest.mark.threat("stolen-backup")
async def test_what_a_payment_says_of_its_shopper_goes_and_its_money_stays(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    payment = await paid(database, vault, account, 1)
    async with database.transaction() as session:
        assert await count_outdated(session, outdated(account)) == (1, 1)
    assert await erase(database, account) == 1
    async with database.transaction() as session:
        kept = await session.get_one(Payment, payment.id)
        create = await session.get_one(Operation, 1)
        assert await count_outdated(session, outdated(account)) == (0, 0)
    gone = (kept.email_digest, kept.return_url_sealed, kept.checkout_url, kept.card_owner, create.personal_sealed)
    assert gone == (None,) * 5
    assert kept.erased_at == MUCH_LATER
    facts = (kept.amount, kept.order_id, create.state, create.amount, create.request)
    same = {"customer_email": SEALED, "a": "1"}
    assert facts == (Decimal("569.50"), payment.order_id, State.SUCCESS, Decimal("569.50"), same)
    assert PersonalData(vault).open_request(kept.transaction_id, create) == {"a": "1"}
    async with database.transaction() as session:
        told = await session.get_one(SaleorEvent, 1)
    assert (told.message, told.available_actions, told.card, told.last_error) == ("", None, None, None)
    assert (told.type, told.psp_reference, told.state) == ("CHARGE_SUCCESS", payment.order_id, EventState.DELIVERED)
    assert told.amount == an_event(1, "", "CHARGE_SUCCESS").amount
    assert await erase(database, account) == 0


@pytest.mark.law(6)
async def test_a_repeat_of_a_notification_whose_content_has_gone_is_still_known(
    database: Database, vault: Vault, account: MerchantAccount, inbox: Inbox
) -> None:
    payment = await paid(database, vault, account, 1)
    later = NOON + timedelta(days=181)
    async with database.transaction() as session:
        assert await erase_notifications(session, outdated(account, later), most=10) == 1
        assert await erase_notifications(session, outdated(account, later), most=10) == 0
    again = {"account_id": account.id, "digest": "1", "data": "the word", "order_id": payment.order_id}
    assert not await inbox.store(**again, now=later)  # type: ignore[arg-type] # the same as before
    [kept] = await inbox.find_for_order(account.id, payment.order_id)
    assert (kept.data, kept.retained, kept.deliveries, kept.next_attempt_at) == (None, False, 2, None)


@pytest.mark.parametrize(
    ("what", "values"),
    [
        (Payment, {"problem_since": NOON}),
        (Payment, {"attempts_due_at": NOON}),
        (Payment, {"flow": Flow.PAYOUT}),
        (Operation, {"state": State.UNKNOWN}),
        (Operation, {"state": State.WAITING}),
        (Operation, {"next_poll_at": NOON}),
        (Operation, {"updated_at": MUCH_LATER - INACTIVE_PERIOD}),
        (SaleorEvent, {"state": EventState.WAITING}),
        (Notification, {"next_attempt_at": NOON}),
        (Payment, {"recurring_id": "rec-1", "recurring_status": "active"}),
        (Payment, {"recurring_id": "rec-1", "recurring_status": None}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else value.__name__,
)
async def test_nothing_of_what_is_open_goes(
    database: Database, vault: Vault, account: MerchantAccount, what: Any, values: dict[str, Any]
) -> None:
    await paid(database, vault, account, 1)
    await paid(database, vault, account, 2)
    async with database.transaction() as session:
        for name, value in values.items():
            setattr(await session.get_one(what, 1), name, value)
    assert await erase(database, account) == 1
    assert await read_raw(database, "SELECT id FROM payment WHERE erased_at IS NOT NULL") == [(2,)]


async def test_data_of_a_payment_goes_once_its_subscription_is_cancelled(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    """Until then it is charged, once a year perhaps, and only by the address its payer finds it, to end it."""
    await paid(database, vault, account, 1, recurring_id="rec-1", recurring_status="active")
    async with database.transaction() as session:
        assert (await count_outdated(session, outdated(account)))[0] == 0
    assert await erase(database, account) == 0
    async with database.transaction() as session:
        kept = await session.get_one(Payment, 1)
        assert (kept.email_digest, kept.erased_at) == ("digest1", None)
        kept.recurring_status = "canceled"
    async with database.transaction() as session:
        assert (await count_outdated(session, outdated(account)))[0] == 1
    assert await erase(database, account) == 1


async def test_what_saleor_has_refused_keeps_its_words(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    """A person has looked at it, and may be asked why."""
    await paid(database, vault, account, 1)
    async with database.transaction() as session:
        (await session.get_one(SaleorEvent, 1)).state = EventState.REFUSED
    assert await erase(database, account) == 1
    async with database.transaction() as session:
        assert (await session.get_one(SaleorEvent, 1)).message == "Paid with Visa"


async def test_what_a_person_must_see_of_the_gateways_words_stays(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    await paid(database, vault, account, 1)
    async with database.transaction() as session:
        (await session.get_one(Notification, 1)).trouble = "unmatched"
    async with database.transaction() as session:
        assert await erase_notifications(session, outdated(account), most=10) == 0


async def test_a_problem_that_somebody_has_looked_at_keeps_nothing_for_ever(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    await paid(database, vault, account, 1, has_problems=True, problem_since=None)
    assert await erase(database, account) == 1


async def test_what_cannot_go_holds_up_nothing_behind_it(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    for number in range(3):
        await paid(database, vault, account, number)
    async with database.transaction() as session:
        (await session.get_one(Operation, 1)).state = State.UNKNOWN
    erased, place = [], None
    for _ in range(4):
        async with database.transaction() as session:
            number, place = await erase_payments(session, outdated(account), MUCH_LATER, most=1, after=place)
        erased.append((number, place and place.payment_id))
    assert erased == [(0, 1), (1, 2), (1, 3), (0, None)]


async def test_the_oldest_go_first_so_many_at_once_and_nothing_before_its_time(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    for number in range(3):
        await paid(database, vault, account, number, created_at=NOON - timedelta(days=number))
    assert await erase(database, account, now=NOON + timedelta(days=538), most=10) == 0
    assert await erase(database, account, most=2) == 2
    assert await read_raw(database, "SELECT id FROM payment WHERE erased_at IS NULL") == [(1,)]
    for_ever = outdated(account, retention=Retention())
    async with database.transaction() as session:
        assert await erase_payments(session, for_ever, MUCH_LATER, most=2) == (0, None)
        assert await erase_notifications(session, for_ever, most=2) == 0
        assert await count_outdated(session, for_ever) == (0, 0)


async def test_another_stores_payments_are_left_alone(
    database: Database, vault: Vault, account: MerchantAccount
) -> None:
    await paid(database, vault, account, 1)
    async with database.transaction() as session:
        others = Outdated.for_store(account.installation_id + 1, YEARS, MUCH_LATER)
        assert await erase_payments(session, others, MUCH_LATER, most=10) == (0, None)
        assert await erase_notifications(session, others, most=10) == 0


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_is_to_go_is_found_by_an_index(database: Database, vault: Vault, account: MerchantAccount) -> None:
    for number in range(3):
        await paid(database, vault, account, number)
    with record_statements(database) as asked:
        async with database.transaction() as session:
            await erase_payments(session, outdated(account), MUCH_LATER, most=1)
            await erase_notifications(session, outdated(account), most=1)
    async with database.engine.connect() as connection:
        plans = [
            [row[3] for row in await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            for statement, parameters in asked
        ]
    steps = [step for plan in plans for step in plan]
    large = ("payment", "operation", "notification", "saleor_event")
    assert not [step for step in steps if step.startswith(tuple(f"SCAN {table}" for table in large))], steps
    assert any("ix_payment_not_erased" in step for step in steps), steps
    assert any("ix_notification_kept" in step for step in steps), steps
