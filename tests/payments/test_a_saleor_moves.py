"""A Saleor changes its address: until the operator moves it nothing fails or is begun twice, then all goes on."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.flows.card_keys import offered_key
from app.flows.initialize import STORE_MOVED, initialize
from app.flows.notifications import receive
from app.flows.process_session import process
from app.flows.trial_payment import begin_trial
from app.rules.problems import problem_text
from app.rules.references import order_id_of
from app.store.accounts import NewAccount
from app.store.aggregates import ByTransaction
from app.store.database import Database, create_engine, is_sqlite
from app.store.errors import CommitUnknownError
from app.store.installations import OpenInstallation
from app.store.moves import MoveRefusedError, MoveResult, move
from app.store.search import PaymentFilter, payments_page
from app.store.tables import (
    CardKey,
    DeletedCustomer,
    Discrepancy,
    DiscrepancyKind,
    DiscrepancyState,
    Installation,
    MerchantAccount,
    Payment,
    Payout,
    PendingToken,
    ReconciliationRun,
    ReportedProblem,
    RunState,
    SaleorEvent,
    SavedCard,
)
from integration_base_tests.loopback import json_reply
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.events import TransactionInitializeSession, TransactionProcessSession
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_competing_attempts import another, opened
from tests.payments.operations.test_trial_payment import a_trial
from tests.payments.shop import CUSTOMER, SALEOR, TOTAL, Shop, session_event, signed_notification
from tests.payments.test_at_once import queue_for_the_lock
from tests.payments.test_webhooks import answer, defined

NEW = "https://new.example.com/graphql/"


async def installed_at(shop: Shop, address: str = NEW) -> OpenInstallation:
    """The app is installed at another address; requests come from there from now on."""
    await shop.services.installations.save(
        saleor_api_url=address,
        saleor_domain="new.example.com",
        schema_version="3.23",
        app_id="QXBwOjI=",
        token="another-token",
        jwks={"keys": ["another"]},
    )
    found = await shop.services.installations.find(address)
    assert found is not None
    return found


async def an_account(shop: Shop, store: OpenInstallation, channel: str = "uah", name: str = "Anew") -> None:
    """Staff set the new address up as they did the old one."""
    account = await shop.services.accounts.add(
        NewAccount(
            installation_id=store.id,
            name=name,
            pos_id=shop.account.pos_id,
            base_url=shop.account.base_url,
            scheme_word="CPAY",
            keys=shop.services.accounts.keys(shop.account),
            currencies=["UAH"],
            storefront_origins=["https://shop.example.com"],
        )
    )
    await shop.services.accounts.map_channel(channel, account.id)


async def moved(shop: Shop, new: OpenInstallation) -> MoveResult:
    old = await shop.services.installations.find(SALEOR)
    assert old is not None
    async with shop.services.database.transaction() as session:
        done = await move(
            session, old.id, new.id, emails=shop.services.emails, personal=shop.services.personal, now=shop.clock.now
        )
    shop.services.installations.invalidate()
    found = await shop.services.installations.find(NEW)
    assert found is not None
    shop.installation = found
    return done


async def test_what_was_paid_before_is_refunded_after_the_move(paid_shop: Shop) -> None:
    new = await installed_at(paid_shop)
    assert await moved(paid_shop, new) == MoveResult(payments=1, accounts=1, channels=1)
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
    answered = await paid_shop.request_action("REFUND", "100.00")
    assert answered.result == "REFUND_SUCCESS", answered.message
    assert answered.external_url is not None
    assert NEW in answered.external_url


@pytest.mark.threat("moved-saleor")
async def test_the_new_token_and_app_are_in_force_and_the_old_address_is_unknown(paid_shop: Shop) -> None:
    before = paid_shop.installation
    await moved(paid_shop, await installed_at(paid_shop))
    after = paid_shop.installation
    assert (after.id, after.token, after.app_id, after.jwks) == (
        before.id,
        "another-token",
        "QXBwOjI=",
        {"keys": ["another"]},
    )
    assert await paid_shop.services.installations.find(SALEOR) is None
    assert len(await paid_shop.services.installations.all()) == 1


async def test_a_shopper_who_is_on_the_page_meanwhile_is_told_to_wait_and_then_has_paid(shop: Shop) -> None:
    """Saleor would take a failure for final, and the page can be paid; nothing is begun a second time."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    new = await installed_at(shop)
    await an_account(shop, new, "eur")
    event = TransactionProcessSession.model_validate(session_event(shop.transaction.id))
    answered = await process(shop.services, event, new)
    assert answered.result == "CHARGE_ACTION_REQUIRED"
    assert [error["code"] for error in answered.data["errors"]] == [STORE_MOVED]
    assert "c0ffee" not in str(answered.dump()), "another store's payment is nobody's business"
    shop.installation = new
    again = TransactionInitializeSession.model_validate(session_event(shop.transaction.id))
    answered = await answer(defined(shop)[again.event_type], again, shop)
    assert [error["code"] for error in answered.data["errors"]] == [STORE_MOVED]
    assert len(shop.gateway.calls) == 1

    await moved(shop, new)
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    answered = await process(shop.services, event, shop.installation)
    assert answered.result == "CHARGE_SUCCESS"


async def test_what_waits_for_saleor_is_told_at_the_new_address_at_once(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(minutes=1)
    shop.saleor.failures.extend([SaleorUnreachableError("the old address is gone")] * 6)
    await shop.notify(payment(shop.order_id))
    for _ in range(6):
        await shop.work()
        shop.clock.forward(minutes=6)
    shop.saleor.failures.clear()
    await moved(shop, await installed_at(shop))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.parametrize("old_names", [["ANEW"], ["anew", "Anew (2)"]])
async def test_accounts_of_one_name_are_told_apart_once_both_addresses_are_one_store(
    shop: Shop, old_names: list[str]
) -> None:
    """No two accounts of a store have one name: commands and staff find an account by it."""
    accounts, new = shop.services.accounts, await installed_at(shop)
    await an_account(shop, new, "eur")
    await accounts.change(shop.account.id, name=old_names[0])
    for name in old_names[1:]:
        await an_account(shop, shop.installation, "pln", name=name)
    done = await moved(shop, new)
    number = len(old_names) + 1
    assert done.renamed == (f"Anew ({number})",)
    assert sorted(account.name for account in await accounts.all(shop.installation.id)) == sorted(
        [*old_names, f"Anew ({number})"]
    )


async def test_payments_of_both_addresses_are_found_by_e_mail(shop: Shop) -> None:
    await shop.complete_payment()
    new = await installed_at(shop)
    await an_account(shop, new, "eur")
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.will_answer(shop.gateway.page("second"))
    begun = session_event(shop.transaction.id, data={"customer": CUSTOMER})
    begun["sourceObject"]["channel"] = {"slug": "eur", "currencyCode": "UAH"}
    await initialize(shop.services, TransactionInitializeSession.model_validate(begun), new)
    assert await moved(shop, new) == MoveResult(payments=1, accounts=1, channels=1)
    wanted = PaymentFilter(
        email_digests=shop.services.emails.digests_to_search([shop.installation.id], CUSTOMER["email"])
    )
    async with shop.services.database.transaction() as session:
        found = await payments_page(session, wanted, most=10)
        events = (await session.exec(select(SaleorEvent.installation_id))).all()
    assert {payment.installation_id for payment in found} == {shop.installation.id}
    assert len(found) == 2
    assert set(events) <= {shop.installation.id}


async def test_whatever_is_kept_of_a_store_follows_it(shop: Shop) -> None:
    """Each table that names an installation: a new one must be thought of."""
    new = await installed_at(shop)
    await an_account(shop, new, "eur")
    await begin_trial_at(shop, new)
    await offered_key(shop.services.card_keys.for_store(new.id), shop.clock.now)
    await shop.services.installations.save_pending(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version=None, token="garbage"
    )
    async with shop.services.database.transaction() as session:
        for store, app in ((shop.installation.id, "QXBwOjE="), (new.id, "QXBwOjI=")):
            session.add(ReportedProblem(installation_id=store, key="waiting:x", app_id=app, told_at=shop.clock.now))
        await a_difference(session, new, shop.clock.now)
        await a_kept_card(session, new, shop.clock.now)
        await a_payout(session, new, shop.clock.now)
        for user in ("VXNlcjo1", "VXNlcjo2"):  # the first one both addresses were told of
            session.add(DeletedCustomer(installation_id=new.id, user_id=user, deleted_at=shop.clock.now))
        session.add(
            DeletedCustomer(installation_id=shop.installation.id, user_id="VXNlcjo1", deleted_at=shop.clock.now)
        )
    await moved(shop, new)
    of_stores = {
        table.name
        for table in SQLModel.metadata.sorted_tables
        for column in table.c
        if any(key.column.table.name == "installation" for key in column.foreign_keys)
    }
    assert of_stores == {
        "card_key", "channel_route", "deleted_customer", "discrepancy", "merchant_account", "payment", "payout",
        "pending_token", "reconciliation_run", "reported_problem", "saved_card",
        "turned_away",
    }  # fmt: skip
    async with shop.services.database.transaction() as session:
        assert [installation.saleor_api_url for installation in (await session.exec(select(Installation))).all()] == [
            NEW
        ]
        assert (await session.exec(select(PendingToken))).all() == []
        assert [
            reported_problem.app_id for reported_problem in (await session.exec(select(ReportedProblem))).all()
        ] == ["QXBwOjI="]
        assert (await session.exec(select(CardKey))).all() == []
        assert {
            reconciliation_run.installation_id for reconciliation_run in await session.exec(select(ReconciliationRun))
        } == {shop.installation.id}
        assert {discrepancy.installation_id for discrepancy in await session.exec(select(Discrepancy))} == {
            shop.installation.id
        }
        assert {saved_card.installation_id for saved_card in await session.exec(select(SavedCard))} == {
            shop.installation.id
        }
        assert {payout.installation_id for payout in await session.exec(select(Payout))} == {shop.installation.id}
        deleted = (await session.exec(select(DeletedCustomer).order_by(DeletedCustomer.user_id))).all()
        assert [(deleted_customer.installation_id, deleted_customer.user_id) for deleted_customer in deleted] == [
            (shop.installation.id, "VXNlcjo1"),
            (shop.installation.id, "VXNlcjo2"),
        ]


async def a_difference(session: AsyncSession, store: OpenInstallation, now: datetime) -> None:
    """An account of that store was compared with the gateway's books, and something was found."""
    account = (await session.exec(select(MerchantAccount).where(MerchantAccount.installation_id == store.id))).one()
    run = ReconciliationRun(
        installation_id=store.id, account_id=account.id, state=RunState.DONE, created_at=now, finished_at=now
    )
    session.add(run)
    await session.flush()
    found = {"installation_id": store.id, "account_id": account.id, "run_id": run.id, "seen_run_id": run.id}
    what = {"order_id": "theirs", "key": "k", "kind": DiscrepancyKind.UNKNOWN, "state": DiscrepancyState.TO_PEOPLE}
    session.add(Discrepancy.model_validate(found | what | {"facts": {}, "found_at": now, "changed_at": now}))


async def a_kept_card(session: AsyncSession, store: OpenInstallation, now: datetime) -> None:
    """A customer of that store has agreed that a card is kept."""
    account = (await session.exec(select(MerchantAccount).where(MerchantAccount.installation_id == store.id))).one()
    card = SavedCard(
        id="card", installation_id=store.id, account_id=account.id, user_id="VXNlcjox", mask="424242****4242",
        token_sealed="sealed", created_at=now, updated_at=now,
    )  # fmt: skip
    session.add(card)


async def a_payout(session: AsyncSession, store: OpenInstallation, now: datetime) -> None:
    """Staff of that store have paid out; of whose making its payment is does not matter here."""
    payment = (await session.exec(select(Payment).where(Payment.installation_id == store.id))).first()
    assert payment is not None
    assert payment.id is not None
    session.add(
        Payout(
            payment_id=payment.id, installation_id=store.id, account_id=payment.account_id,
            card_mask="424242******4242",
            asked_by="a", asked_at=now, asked_from="::1", confirmed_by="b", confirmed_at=now, confirmed_from="::1",
        )
    )  # fmt: skip


async def begin_trial_at(shop: Shop, store: OpenInstallation) -> None:
    [account] = await shop.services.accounts.all(store.id)
    shop.gateway.will_answer(shop.gateway.page("trial"))
    await begin_trial(shop.services, account, a_trial())


@pytest.mark.threat("moved-saleor")
async def test_nothing_is_moved_that_would_lose_something(shop: Shop) -> None:
    new = await installed_at(shop)
    await an_account(shop, new)
    with pytest.raises(MoveRefusedError, match="uah"):
        await moved(shop, new)
    await shop.services.accounts.unmap_channel(new.id, "uah")
    await shop.services.installations.save_pending(
        saleor_api_url="https://never.example.com/graphql/", saleor_domain="n", schema_version=None, token="garbage"
    )
    never = await shop.services.installations.find("https://never.example.com/graphql/")
    assert never is not None
    with pytest.raises(MoveRefusedError, match="activate"):
        await moved(shop, never)
    with pytest.raises(MoveRefusedError, match="same installation"):
        await moved(shop, shop.installation)


@pytest.mark.law(4)
async def test_nobody_is_asked_to_pay_twice_where_the_new_address_is_set_up_already(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    new = await installed_at(shop)
    await an_account(shop, new)
    said = session_event(shop.transaction.id)
    begun = await initialize(shop.services, TransactionInitializeSession.model_validate(said), new)
    come_back = await process(shop.services, TransactionProcessSession.model_validate(said), new)
    for answered in (begun, come_back):
        assert answered.result == "CHARGE_ACTION_REQUIRED"
        assert [error["code"] for error in answered.data["errors"]] == [STORE_MOVED]
        assert "c0ffee" not in str(answered.dump())
    assert len(shop.gateway.calls) == 1, "there is one page to pay at"
    async with shop.services.database.transaction() as session:
        assert len((await session.exec(select(Payment.id))).all()) == 1


async def called_in_the_database(shop: Shop, before: str, after: str) -> None:
    """Change which transaction the first store's payment is of."""
    its = (col(Payment.installation_id) == shop.installation.id, col(Payment.transaction_id) == before)
    async with shop.services.database.transaction() as session:
        await session.exec(update(Payment).where(*its).values(transaction_id=after))


@pytest.mark.threat("moved-saleor")
async def test_two_stores_with_the_same_transactions_are_not_one(shop: Shop) -> None:
    await shop.complete_payment()
    copy = await installed_at(shop)
    await an_account(shop, copy, "eur")
    begun = session_event(shop.transaction.id)
    begun["sourceObject"]["channel"] = {"slug": "eur", "currencyCode": "UAH"}
    shop.gateway.will_answer(shop.gateway.page("copy"))
    await called_in_the_database(shop, shop.transaction.id, "hidden")  # as it is for whoever begins in the same moment
    await initialize(shop.services, TransactionInitializeSession.model_validate(begun), copy)
    await called_in_the_database(shop, "hidden", shop.transaction.id)
    async with shop.services.database.transaction() as session:
        orders = (await session.exec(select(Payment.order_id))).all()
    assert len(set(orders)) == 2, "the gateway knows an order once only"
    with pytest.raises(MoveRefusedError, match="two stores"):
        await moved(shop, copy)
    assert await shop.services.installations.find(SALEOR) is not None


async def test_another_stores_order_id_is_not_the_same_webhook_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shop.complete_payment()
    taken = shop.order_id
    shop.transaction = shop.saleor.new_transaction()
    monkeypatch.setattr("app.rules.requests.payment.order_id_of", lambda *_: taken)
    with pytest.raises(IntegrityError):
        await shop.begin()


async def test_nor_is_an_order_id_after_a_commit_of_which_nobody_knows(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded under it is another payment: that is no answer to this one."""
    await shop.complete_payment()
    taken = shop.order_id
    shop.transaction = shop.saleor.new_transaction()
    monkeypatch.setattr("app.rules.requests.payment.order_id_of", lambda *_: taken)
    group_commit = shop.services.database.group_commit
    lost: list[object] = []

    async def loses_the_first(write: Any, job: Any) -> Any:
        if not lost:
            lost.append(job.build())  # as it was about to be written
            raise CommitUnknownError("COMMIT")
        return await group_commit(write, job)

    monkeypatch.setattr(shop.services.database, "group_commit", loses_the_first)
    with pytest.raises(IntegrityError):
        await shop.begin()
    assert lost


async def test_a_token_that_comes_while_the_move_waits_is_the_one_that_counts(
    paid_shop: Shop, database_url: str
) -> None:
    """The app is installed anew at the same moment: the move takes what is there once nobody changes it any more."""
    if is_sqlite(database_url):
        pytest.skip("SQLite has one connection")
    new = await installed_at(paid_shop)
    holder = Database(create_engine(database_url))
    moving = None
    try:
        async with holder.transaction() as session:
            row = await session.get_one(Installation, new.id, with_for_update=True)
            moving = asyncio.create_task(moved(paid_shop, new))
            await queue_for_the_lock(holder, 1)
            row.app_id = "QXBwOjM="
    finally:
        await holder.close()
        if moving is not None:
            await moving
    assert paid_shop.installation.app_id == "QXBwOjM="


async def opened_at_both(shop: Shop) -> tuple[Shop, Shop, OpenInstallation]:
    """A shopper has opened a page before the Saleor moved, and another one of the same checkout since."""
    first = await opened(shop)
    await shop.services.accounts.unmap_channel(shop.installation.id, "uah")
    new = await installed_at(shop)
    await an_account(shop, new)
    return first, await opened(replace(another(shop), installation=new)), new


async def found_at_new(shop: Shop, attempt: Shop) -> PaymentAggregate:
    found = await shop.services.payments.find(ByTransaction(shop.installation.id, attempt.transaction.id))
    assert found is not None
    return found


@pytest.mark.law(12)
async def test_a_checkout_that_was_paid_at_both_addresses_is_put_to_staff_once_it_has_moved(shop: Shop) -> None:
    """Nothing is compared before: nobody knows yet whether the two are one store."""
    first, second, new = await opened_at_both(shop)
    await pays(first, SALEOR)
    await pays(second, NEW)
    assert problem_text((await first.aggregate()).payment) is None
    await moved(shop, new)
    await shop.pass_time(minutes=1)
    for attempt in (first, second):
        assert "Paid twice: 200.00 UAH" in (problem_text((await found_at_new(shop, attempt)).payment) or "")


@pytest.mark.law(12)
async def test_the_page_of_the_old_address_is_closed_when_the_new_one_is_paid_after_the_move(shop: Shop) -> None:
    first, second, new = await opened_at_both(shop)
    await moved(shop, new)
    shop.gateway.will_answer(json_reply([payment(first.order_id, "failure", 100, status_code="6007")]))
    await pays(second, NEW)
    assert shop.gateway.calls[-1] == "cancel"
    assert (await found_at_new(shop, first)).create.state is State.FAILURE
    assert (await found_at_new(shop, second)).create.state is State.SUCCESS


async def pays(shop: Shop, address: str) -> None:
    """The shopper pays on the page that was opened for the Saleor with that address."""
    accounts = await shop.services.accounts.all()
    [account] = [account for account in accounts if (account.id == shop.account.id) is (address == SALEOR)]
    record = payment(order_id_of(shop.transaction.id, address), amount=100)
    await receive(shop.services, account.id, signed_notification(record))
    await shop.pass_time(minutes=1)
