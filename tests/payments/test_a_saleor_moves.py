"""A Saleor changes its address: until the operator moves it nothing fails or is begun twice, then all goes on."""

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, select

from app.ledger.accounts import NewAccount
from app.ledger.installations import OpenInstallation
from app.ledger.moves import Moved, MoveRefusedError, move
from app.ledger.search import Wanted, payments_page
from app.ledger.tables import CardKey, Installation, Payment, PendingToken, SaleorEvent, ToldProblem
from app.payments.begin.elsewhere import STORE_MOVED
from app.payments.begin.initialize import initialize
from app.payments.begin.process import process
from app.payments.begin.trial import begin_trial
from app.payments.cards.keys import offered_key
from app.saleor.errors import SaleorUnreachable
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession
from tests.payments.begin.test_trial import a_trial
from tests.payments.books import amounts
from tests.payments.shop import CUSTOMER, SALEOR, TOTAL, Shop, session_event
from tests.payments.test_webhooks import answer, defined
from tests.payments.till import operation, payment, said

NEW = "https://new.example.com/graphql/"


async def installed_at(shop: Shop, address: str = NEW) -> OpenInstallation:
    """The app is installed at another address; requests come from there from now on."""
    await shop.desk.installations.save(
        saleor_api_url=address,
        saleor_domain="new.example.com",
        schema_version="3.23",
        app_id="QXBwOjI=",
        token="another-token",
        jwks={"keys": ["another"]},
    )
    found = await shop.desk.installations.find(address)
    assert found is not None
    return found


async def an_account(shop: Shop, store: OpenInstallation, channel: str = "uah") -> None:
    """Staff set the new address up as they did the old one."""
    account = await shop.desk.accounts.add(
        NewAccount(
            installation_id=store.id,
            name="Anew",
            pos_id=shop.account.pos_id,
            base_url=shop.account.base_url,
            scheme_word="CPAY",
            keys=shop.desk.accounts.keys(shop.account),
            currencies=["UAH"],
            storefront_origins=["https://shop.example.com"],
        )
    )
    await shop.desk.accounts.map_channel(channel, account.id)


async def moved(shop: Shop, new: OpenInstallation) -> Moved:
    old = await shop.desk.installations.find(SALEOR)
    assert old is not None
    async with shop.desk.database.transaction() as session:
        done = await move(
            session, old.id, new.id, emails=shop.desk.emails, personal=shop.desk.personal, now=shop.clock.now
        )
    shop.desk.installations.forget()
    found = await shop.desk.installations.find(NEW)
    assert found is not None
    shop.installation = found
    return done


async def test_what_was_paid_before_is_refunded_after_the_move(paid: Shop) -> None:
    new = await installed_at(paid)
    assert await moved(paid, new) == Moved(payments=1, accounts=1, channels=1)
    paid.till.will(said(operation("refund", paid.order_id, "100.00")))
    answered = await paid.staff("REFUND", "100.00")
    assert answered.result == "REFUND_SUCCESS", answered.message
    assert answered.external_url is not None
    assert NEW in answered.external_url


async def test_the_new_token_and_app_are_in_force_and_the_old_address_is_unknown(paid: Shop) -> None:
    before = paid.installation
    await moved(paid, await installed_at(paid))
    after = paid.installation
    assert (after.id, after.token, after.app_id, after.jwks) == (
        before.id,
        "another-token",
        "QXBwOjI=",
        {"keys": ["another"]},
    )
    assert await paid.desk.installations.find(SALEOR) is None
    assert len(await paid.desk.installations.all()) == 1


async def test_a_shopper_who_is_on_the_page_meanwhile_is_told_to_wait_and_then_has_paid(shop: Shop) -> None:
    """Saleor would take a failure for final, and the page can be paid; nothing is begun a second time."""
    shop.till.will(shop.till.page())
    await shop.begin()
    new = await installed_at(shop)
    await an_account(shop, new, "eur")
    event = TransactionProcessSession.model_validate(session_event(shop.transaction.id))
    answered = await process(shop.desk, event, new)
    assert answered.result == "CHARGE_ACTION_REQUIRED"
    assert [each["code"] for each in answered.data["errors"]] == [STORE_MOVED]
    assert "c0ffee" not in str(answered.dump()), "another store's payment is nobody's business"
    shop.installation = new
    again = TransactionInitializeSession.model_validate(session_event(shop.transaction.id))
    answered = await answer(defined(shop)[again.event_type], again, shop)
    assert [each["code"] for each in answered.data["errors"]] == [STORE_MOVED]
    assert len(shop.till.calls) == 1

    await moved(shop, new)
    shop.till.book[shop.order_id] = [payment(shop.order_id)]
    answered = await process(shop.desk, event, shop.installation)
    assert answered.result == "CHARGE_SUCCESS"


async def test_what_waits_for_saleor_is_told_at_the_new_address_at_once(shop: Shop) -> None:
    shop.till.will(shop.till.page())
    await shop.begin()
    await shop.later(minutes=1)
    shop.books.troubles.extend([SaleorUnreachable("the old address is gone")] * 6)
    await shop.notify(payment(shop.order_id))
    for _ in range(6):
        await shop.work()
        shop.clock.forward(minutes=6)
    shop.books.troubles.clear()
    await moved(shop, await installed_at(shop))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


async def test_payments_of_both_addresses_are_found_by_e_mail(shop: Shop) -> None:
    await shop.paid()
    new = await installed_at(shop)
    await an_account(shop, new, "eur")
    shop.transaction = shop.books.new_transaction()
    shop.till.will(shop.till.page("second"))
    begun = session_event(shop.transaction.id, data={"customer": CUSTOMER})
    begun["sourceObject"]["channel"] = {"slug": "eur", "currencyCode": "UAH"}
    await initialize(shop.desk, TransactionInitializeSession.model_validate(begun), new)
    assert await moved(shop, new) == Moved(payments=1, accounts=1, channels=1)
    wanted = Wanted(email_digests=shop.desk.emails.sought([shop.installation.id], CUSTOMER["email"]))
    async with shop.desk.database.transaction() as session:
        found = await payments_page(session, wanted, most=10)
        events = (await session.exec(select(SaleorEvent.installation_id))).all()
    assert {each.installation_id for each in found} == {shop.installation.id}
    assert len(found) == 2
    assert set(events) <= {shop.installation.id}


async def test_whatever_is_kept_of_a_store_follows_it(shop: Shop) -> None:
    """Each table that names an installation: a new one must be thought of."""
    new = await installed_at(shop)
    await an_account(shop, new, "eur")
    await begin_trial_at(shop, new)
    await offered_key(shop.desk.card_keys.of(new.id), shop.clock.now)
    await shop.desk.installations.save_pending(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version=None, token="garbage"
    )
    async with shop.desk.database.transaction() as session:
        for store, app in ((shop.installation.id, "QXBwOjE="), (new.id, "QXBwOjI=")):
            session.add(ToldProblem(installation_id=store, key="waiting:x", app_id=app, told_at=shop.clock.now))
    await moved(shop, new)
    of_stores = {
        table.name
        for table in SQLModel.metadata.sorted_tables
        for column in table.c
        if any(key.column.table.name == "installation" for key in column.foreign_keys)
    }
    assert of_stores == {
        "card_key", "channel_route", "merchant_account", "payment", "pending_token", "told_problem",
    }  # fmt: skip
    async with shop.desk.database.transaction() as session:
        assert [each.saleor_api_url for each in (await session.exec(select(Installation))).all()] == [NEW]
        assert (await session.exec(select(PendingToken))).all() == []
        assert [each.app_id for each in (await session.exec(select(ToldProblem))).all()] == ["QXBwOjI="]
        assert (await session.exec(select(CardKey))).all() == []


async def begin_trial_at(shop: Shop, store: OpenInstallation) -> None:
    [account] = await shop.desk.accounts.all(store.id)
    shop.till.will(shop.till.page("trial"))
    await begin_trial(shop.desk, account, a_trial())


async def test_nothing_is_moved_that_would_lose_something(shop: Shop) -> None:
    new = await installed_at(shop)
    await an_account(shop, new)
    with pytest.raises(MoveRefusedError, match="uah"):
        await moved(shop, new)
    await shop.desk.accounts.unmap_channel(new.id, "uah")
    await shop.desk.installations.save_pending(
        saleor_api_url="https://never.example.com/graphql/", saleor_domain="n", schema_version=None, token="garbage"
    )
    never = await shop.desk.installations.find("https://never.example.com/graphql/")
    assert never is not None
    with pytest.raises(MoveRefusedError, match="activate"):
        await moved(shop, never)
    with pytest.raises(MoveRefusedError, match="same installation"):
        await moved(shop, shop.installation)


async def test_two_stores_with_the_same_transactions_are_not_one(shop: Shop) -> None:
    await shop.paid()
    copy = await installed_at(shop)
    await an_account(shop, copy, "eur")
    begun = session_event(shop.transaction.id)
    begun["sourceObject"]["channel"] = {"slug": "eur", "currencyCode": "UAH"}
    shop.till.will(shop.till.page("copy"))
    await initialize(shop.desk, TransactionInitializeSession.model_validate(begun), copy)
    async with shop.desk.database.transaction() as session:
        orders = (await session.exec(select(Payment.order_id))).all()
    assert len(set(orders)) == 2, "the gateway knows an order once only"
    with pytest.raises(MoveRefusedError, match="two stores"):
        await moved(shop, copy)
    assert await shop.desk.installations.find(SALEOR) is not None


async def test_another_stores_order_id_is_not_the_same_webhook_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shop.paid()
    taken = shop.order_id
    shop.transaction = shop.books.new_transaction()
    monkeypatch.setattr("app.payments.plan.terms.order_id_of", lambda *_: taken)
    with pytest.raises(IntegrityError):
        await shop.begin()
