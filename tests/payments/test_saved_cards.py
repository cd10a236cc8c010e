"""Cards that customers keep for the next time: whose they are, what is listed, what is deleted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from app.core.payment import RefusedCard
from app.core.vocabulary import State
from app.rules.references import order_id_of
from app.store.accounts import AccountKeys, NewAccount
from app.store.saved_cards import DeletedCards, write_cards
from app.store.tables import SavedCard
from saleor_app_sdk.events import (
    AccountDeleted,
    CustomerDeleted,
    CustomerEvent,
    Event,
    ListStoredPaymentMethods,
    StoredPaymentMethodDeleteRequested,
)
from saleor_app_sdk.responses import SessionResponse
from tests.payments.fake_gateway import POS_ID, payment
from tests.payments.shop import SECRET, Shop, source_object
from tests.payments.test_a_saleor_moves import NEW, installed_at, moved
from tests.payments.test_webhooks import context, defined

OLENA, TARAS = "VXNlcjox", "VXNlcjoy"
TOKEN = "4f8a1c3b5d7e9f0a2b4c6d8e0f1a3b5c7d9e1f2a"
CARD = {"cc_mask": "424242******4242", "cc_token": TOKEN, "cc_token_expiration": "2029-11-30T23:59:59.000"}
AGREED = {"saveCard": True}


def of(user: str | None, **changed: Any) -> dict[str, Any]:
    """Return the checkout of a customer; None: of a guest."""
    return source_object(user=None if user is None else {"id": user}, **changed)


@pytest.fixture
async def offering(shop: Shop) -> Shop:
    """A shop that keeps cards."""
    shop.account = await shop.services.accounts.change(shop.account.id, saved_cards=True)
    return shop


async def pays(
    shop: Shop, user: str | None = OLENA, *, data: Any = AGREED, card: Any = CARD, **changed: Any
) -> SessionResponse:
    """Somebody pays on the gateway's page, with a transaction of their own."""
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.will_answer(shop.gateway.page())
    answer = await shop.begin(data=data, sourceObject=of(user, id=f"checkout-of-{shop.transaction.id}"), **changed)
    await shop.notify(payment(shop.order_id, **card))
    await shop.work()
    return answer


async def kept(shop: Shop) -> list[SavedCard]:
    async with shop.services.database.transaction() as session:
        return list((await session.exec(select(SavedCard).order_by(col(SavedCard.created_at)))).all())


def said_by(user: str, channel: str = "uah", **more: Any) -> dict[str, Any]:
    """Return the members of an event about a customer's cards."""
    return {
        "issuedAt": "2026-11-21T12:00:00+00:00",
        "version": "3.23.28",
        "recipient": {"id": "QXBwOjE=", "identifier": "gateway.payments.app"},
        "user": {"id": user},
        "channel": {"slug": channel, "currencyCode": "UAH"},
        **more,
    }


async def _answered(shop: Shop, event: Event) -> Any:
    webhook = defined(shop)[event.event_type]
    answer = await webhook.handler(event, context(shop))
    assert webhook.accepts(answer)
    return answer.dump()


async def listed(shop: Shop, user: str = OLENA, channel: str = "uah") -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = (
        await _answered(shop, ListStoredPaymentMethods.model_validate(said_by(user, channel)))
    )["paymentMethods"]
    return said


async def deletes(shop: Shop, card_id: str, user: str = OLENA, channel: str = "uah") -> Any:
    event = StoredPaymentMethodDeleteRequested.model_validate(said_by(user, channel, paymentMethodId=card_id))
    return await _answered(shop, event)


@pytest.mark.threat("stolen-database")
async def test_a_card_whose_owner_agreed_is_kept_sealed_and_listed(offering: Shop) -> None:
    await pays(offering)
    [card] = await kept(offering)
    assert (card.user_id, card.account_id, card.mask, card.brand) == (
        OLENA,
        offering.account.id,
        "424242******4242",
        "Visa",
    )
    assert TOKEN not in repr(card)
    assert TOKEN not in card.token_sealed
    assert offering.services.saved_cards.open_token(card) == TOKEN
    assert await listed(offering) == [
        {
            "id": card.id,
            "supportedPaymentFlows": ["INTERACTIVE"],
            "type": "CARD",
            "name": "Visa ****4242",
            "data": {"brand": "Visa", "lastDigits": "4242"},
            "creditCardInfo": {"brand": "Visa", "lastDigits": "4242", "expYear": 2029, "expMonth": 11},
        }
    ]
    assert ":" not in card.id  # Saleor takes its own ids apart by it
    assert len(card.id) >= 32


@pytest.mark.parametrize("data", [None, {}, {"saveCard": False}, {"saveCard": None}])
async def test_nobody_who_has_not_agreed_has_a_card_kept(offering: Shop, data: Any) -> None:
    await pays(offering, data=data)
    assert await kept(offering) == []


async def test_a_guest_pays_and_nothing_is_kept(offering: Shop) -> None:
    assert (await pays(offering, None)).result == "CHARGE_ACTION_REQUIRED"
    assert await kept(offering) == []


async def test_nothing_is_kept_where_the_store_does_not_offer_it(shop: Shop) -> None:
    await pays(shop)
    assert await kept(shop) == []
    shop.account = await shop.services.accounts.change(shop.account.id, saved_cards=True)
    assert await listed(shop) == []


@pytest.mark.parametrize(
    "given", ["true", "yes", 1, 0, 1.5, [], [True], {}, {"yes": True}, "\x00", "\ud800", "x" * 5000], ids=repr
)
async def test_consent_is_said_by_yes_and_no_alone(offering: Shop, given: Any) -> None:
    """Whatever else stands there, nothing is begun: a developer must see it on the first try."""
    answer = await offering.begin(data={"saveCard": given}, sourceObject=of(OLENA))
    assert answer.result == "CHARGE_FAILURE"
    assert [(error["code"], error["field"]) for error in answer.data["errors"]] == [("INVALID_DATA", "data.saveCard")]
    assert await kept(offering) == []


async def test_the_same_card_twice_is_one_row_with_the_newest_token(offering: Shop) -> None:
    await pays(offering)
    [first] = await kept(offering)
    await pays(offering, card=CARD | {"cc_token": "another-token"})
    [card] = await kept(offering)
    assert card.id == first.id
    assert offering.services.saved_cards.open_token(card) == "another-token"


@pytest.mark.parametrize("is_refused", [False, True], ids=["good", "refused"])
async def test_a_late_token_of_an_earlier_payment_replaces_no_newer_one_that_is_good(
    offering: Shop, is_refused: bool
) -> None:
    """The gateway says when the earlier one was paid; a token that it refuses is worse than an older one."""
    await pays(offering, card={})
    first = offering.transaction
    offering.clock.forward(hours=1)
    await pays(offering, card=CARD | {"cc_token": "newer", "processed_at": "2026-11-21T13:01:00.000"})
    [card] = await kept(offering)
    if is_refused:
        refused = RefusedCard(card.id, card.updated_at, offering.clock.now)
        async with offering.services.database.transaction() as session:
            await write_cards(session, [], [refused])
    offering.clock.forward(hours=1)
    offering.transaction = first
    await offering.notify(payment(offering.order_id, **CARD))
    await offering.work()
    [card] = await kept(offering)
    assert offering.services.saved_cards.open_token(card) == (TOKEN if is_refused else "newer")


async def test_what_the_gateway_repeats_does_not_bring_a_deleted_card_back(offering: Shop) -> None:
    await pays(offering)
    [card] = await kept(offering)
    assert await deletes(offering, card.id) == {"result": "SUCCESSFULLY_DELETED"}
    await offering.notify(payment(offering.order_id, **CARD, fee={"amount": 1, "currency": "UAH"}))
    await offering.work()
    await offering.process_session(sourceObject=of(OLENA))
    await offering.pass_time(days=1)
    assert await kept(offering) == []


async def test_a_token_that_is_told_after_its_card_was_deleted_brings_no_card_back(offering: Shop) -> None:
    """An earlier payment, whose token the gateway had not stated, was made with the same card."""
    await pays(offering, card={})
    first = offering.transaction
    await pays(offering)
    [card] = await kept(offering)
    await deletes(offering, card.id)
    offering.transaction = first
    await offering.notify(payment(offering.order_id, **CARD))
    await offering.work()
    assert await kept(offering) == []


@pytest.mark.parametrize("who", [TARAS, OLENA], ids=["another customer's", "no"])
async def test_who_deletes_what_is_not_theirs_or_is_not_there_withdraws_no_consent(offering: Shop, who: str) -> None:
    await pays(offering, card={})
    first = offering.transaction
    await pays(offering, TARAS)
    [card] = await kept(offering)
    await deletes(offering, card.id if who == TARAS else "no-card", who)
    offering.transaction = first
    await offering.notify(payment(offering.order_id, **CARD))
    await offering.work()
    assert OLENA in {card.user_id for card in await kept(offering)}


async def test_who_agreed_before_she_deleted_her_card_and_then_pays_has_it_kept(offering: Shop) -> None:
    """In another tab: that payment is not made yet, and she can still leave it."""
    await pays(offering)
    [card] = await kept(offering)
    offering.transaction = offering.saleor.new_transaction()
    offering.gateway.will_answer(offering.gateway.page())
    await offering.begin(data=AGREED, sourceObject=of(OLENA, id="the other tab"))
    await deletes(offering, card.id)
    await offering.notify(payment(offering.order_id, **CARD))
    await offering.work()
    assert len(await kept(offering)) == 1


async def test_a_token_that_only_the_look_up_tells_is_kept(offering: Shop) -> None:
    offering.gateway.will_answer(offering.gateway.page())
    await offering.begin(data=AGREED, sourceObject=of(OLENA))
    await offering.notify(payment(offering.order_id))  # paid, and nothing of a card
    await offering.work()
    assert await kept(offering) == []
    offering.gateway.book[offering.order_id] = [payment(offering.order_id, **CARD)]
    await offering.notify(payment(offering.order_id, **CARD, receipt_url="https://example.com/receipt"))
    await offering.work()
    assert len(await kept(offering)) == 1


async def test_a_notification_that_comes_before_the_answer_keeps_the_card(offering: Shop) -> None:
    async def first(_heard: object) -> None:
        offering.gateway.on_request = None
        await offering.notify(payment(offering.order_id, **CARD))
        await offering.work()

    offering.gateway.on_request = first
    offering.gateway.will_answer(offering.gateway.page())
    await offering.begin(data=AGREED, sourceObject=of(OLENA))
    await offering.process_session(sourceObject=of(OLENA))
    assert len(await kept(offering)) == 1


@pytest.mark.parametrize(
    "said",
    [
        {"status": "failure"},
        {"status": "pending"},
        {"amount": "1.00"},
        {"cc_token": None},
        {"cc_token": ""},
        {"cc_token": "\ud800"},
        {"cc_token": "a token"},
        {"cc_token": "x" * 513},
        {"cc_mask": None},
        {"cc_mask": "\x00"},
    ],
    ids=repr,
)
async def test_no_card_is_kept_of_what_is_no_paid_card(offering: Shop, said: dict[str, Any]) -> None:
    await pays(offering, card=CARD | said)
    assert await kept(offering) == []


@pytest.mark.law(15)
@pytest.mark.parametrize(
    "expiration", [None, "", "never", "\x00", 5, "0000-00-00", "0001-01-01T00:00:00.000", "1970-01-01T00:00:00.000"]
)
async def test_a_card_whose_expiry_nobody_knows_is_listed_without_it(offering: Shop, expiration: Any) -> None:
    await pays(offering, card=CARD | {"cc_token_expiration": expiration})
    [card] = await listed(offering)
    assert "creditCardInfo" not in card
    assert card["name"] == "Visa ****4242"


async def test_an_expired_card_is_not_listed(offering: Shop) -> None:
    await pays(
        offering, card=CARD | {"cc_token_expiration": f"{offering.clock.now + timedelta(days=1):%Y-%m-%dT%H:%M:%S}"}
    )
    assert len(await listed(offering)) == 1
    offering.clock.now += timedelta(days=1)
    assert await listed(offering) == []


@pytest.mark.law(15)
@pytest.mark.parametrize(
    ("expiration", "left"),
    [("2026-12-24T00:00:00.000", timedelta(hours=5)), ("2026-12-24", timedelta(days=1, hours=5))],
    ids=["a moment", "a day"],
)
async def test_a_card_expires_in_the_zone_of_the_gateway(offering: Shop, expiration: str, left: timedelta) -> None:
    await offering.services.accounts.change(offering.account.id, time_zone="America/New_York")
    await pays(offering, card=CARD | {"cc_token_expiration": expiration})
    offering.clock.now = datetime(2026, 12, 24, tzinfo=UTC) + left - timedelta(minutes=1)
    assert len(await listed(offering)) == 1
    offering.clock.now += timedelta(minutes=1)
    assert await listed(offering) == []


async def test_the_store_that_offers_it_no_more_lists_nothing_and_deletes_all_the_same(offering: Shop) -> None:
    await pays(offering)
    [card] = await listed(offering)
    offering.account = await offering.services.accounts.change(offering.account.id, saved_cards=False)
    assert await listed(offering) == []
    assert await deletes(offering, card["id"]) == {"result": "SUCCESSFULLY_DELETED"}


async def another_account(shop: Shop, channel: str) -> None:
    account = await shop.services.accounts.add(
        NewAccount(
            installation_id=shop.installation.id,
            name="Another",
            pos_id=POS_ID,
            base_url=shop.gateway.url,
            scheme_word="CPAY",
            keys=AccountKeys(api_key="the-api-key", api_secret=SECRET, endpoints_key="the-endpoints-key"),
            currencies=["UAH"],
            storefront_origins=[],
        )
    )
    await shop.services.accounts.change(account.id, saved_cards=True)
    await shop.services.accounts.map_channel(channel, account.id)


@pytest.mark.threat("saved-card-of-another")
async def test_a_card_is_unreachable_for_whomever_it_does_not_belong_to(offering: Shop) -> None:
    """Another customer, another channel's account, another store: each hears what is heard of a card of nobody."""
    await pays(offering)
    [card] = await kept(offering)
    unknown = await deletes(offering, "nobody-has-this-card")
    assert unknown["result"] == "FAILED_TO_DELETE"

    assert await listed(offering, TARAS) == []
    assert await deletes(offering, card.id, TARAS) == unknown

    await another_account(offering, "eur")
    assert await listed(offering, OLENA, "eur") == []
    assert await listed(offering, OLENA, "nobody-mapped-this") == []

    own = offering.installation
    offering.installation = await installed_at(offering)
    assert await listed(offering, OLENA) == []
    assert await deletes(offering, card.id) == unknown
    offering.installation = own
    assert [method["id"] for method in await listed(offering)] == [card.id]


async def test_cards_follow_a_saleor_that_moves(offering: Shop) -> None:
    """Those kept before and those kept at the new address are one store's then, and still one customer's."""
    await pays(offering)
    old_account = offering.account
    new = offering.installation = await installed_at(offering)
    await another_account(offering, "eur")
    found = await offering.services.accounts.for_channel(new.id, "eur")
    assert found is not None
    offering.account = found
    eur = {"slug": "eur", "currencyCode": "UAH"}
    offering.transaction = offering.saleor.new_transaction()
    offering.gateway.will_answer(offering.gateway.page())
    await offering.begin(data=AGREED, sourceObject=of(OLENA, id="checkout-there", channel=eur))
    order_id = order_id_of(offering.transaction.id, NEW)
    await offering.notify(payment(order_id, **CARD))
    await offering.work()
    before = {card.id for card in await kept(offering)}
    await moved(offering, new)

    [first], [second] = await listed(offering), await listed(offering, channel="eur")
    assert {first["id"], second["id"]} == before
    assert await listed(offering, TARAS) == []
    card = await offering.services.saved_cards.find(
        offering.installation.id, old_account.id, OLENA, first["id"], offering.clock.now
    )
    assert card is not None
    assert offering.services.saved_cards.open_token(card) == TOKEN
    for shown in before:
        assert await deletes(offering, shown) == {"result": "SUCCESSFULLY_DELETED"}


async def test_who_deletes_twice_hears_that_it_is_gone(offering: Shop) -> None:
    await pays(offering)
    [card] = await kept(offering)
    assert await deletes(offering, card.id) == {"result": "SUCCESSFULLY_DELETED"}
    assert await deletes(offering, card.id) == {
        "result": "FAILED_TO_DELETE",
        "error": "There is no such saved card.",
    }
    assert await listed(offering) == []


@pytest.mark.parametrize("card_id", ["", " ", "\x00", "\ud800", "x" * 5000, "' OR 1=1 --", "%", "карта", TOKEN])
async def test_whatever_a_storefront_calls_a_card_that_there_is_not(offering: Shop, card_id: str) -> None:
    await pays(offering)
    assert (await deletes(offering, card_id))["result"] == "FAILED_TO_DELETE"
    assert len(await kept(offering)) == 1


async def test_the_storefront_is_told_whether_a_card_can_be_kept(offering: Shop) -> None:
    for user, offered in ((OLENA, True), (None, False)):
        assert await _offered(offering, user) is offered
    for stranger in (None, TARAS):
        assert await _offered(offering, OLENA, stranger) is False
    offering.account = await offering.services.accounts.change(offering.account.id, saved_cards=False)
    assert await _offered(offering, OLENA) is False


async def _offered(shop: Shop, user: str | None, asks: str | None = "") -> bool:
    asks = user if asks == "" else asks
    caller = None if asks is None else {"__typename": "User", "id": asks}
    event = defined(shop)["PAYMENT_GATEWAY_INITIALIZE_SESSION"].event.model_validate(
        {**said_by(OLENA), "sourceObject": of(user), "amount": 1, "issuingPrincipal": caller}
    )
    said: bool = (await _answered(shop, event))["data"]["saveCard"]
    return said


async def saleor_deletes(shop: Shop, user: str = OLENA, event: type[CustomerEvent] = CustomerDeleted) -> None:
    """Saleor says that a customer is deleted."""
    assert await _answered(shop, event.model_validate(said_by(user))) == {}


@pytest.mark.parametrize("event", [CustomerDeleted, AccountDeleted])
async def test_of_a_deleted_customer_no_card_stays_and_everybody_elses_does(
    offering: Shop, event: type[CustomerEvent]
) -> None:
    """Of another customer, and of the customer of another store who happens to have the same id."""
    await pays(offering)
    await pays(offering, TARAS)
    own, account = offering.installation, offering.account
    new = offering.installation = await installed_at(offering)
    await another_account(offering, "eur")
    await saleor_deletes(offering)
    assert len(await kept(offering)) == 2  # the other store never had any

    offering.installation, offering.account = own, account
    for _ in range(2):  # Saleor says it twice
        await saleor_deletes(offering, event=event)
        assert [card.user_id for card in await kept(offering)] == [TARAS]
    assert (await offering.aggregate()).create.state is State.SUCCESS  # the money is what it was
    assert new.id != own.id


async def test_of_a_payment_under_way_no_card_is_kept_after_its_customer_was_deleted(offering: Shop) -> None:
    """Consent given, customer deleted, paid: whichever word of the gateway's comes, and however often."""
    offering.gateway.will_answer(offering.gateway.page())
    await offering.begin(data=AGREED, sourceObject=of(OLENA))
    await saleor_deletes(offering)
    paid = payment(offering.order_id, **CARD)
    await offering.notify(paid)
    await offering.work()
    await offering.notify(paid | {"fee": {"amount": 1, "currency": "UAH"}})
    await offering.process_session(sourceObject=of(OLENA))
    await offering.pass_time(days=1)
    assert await kept(offering) == []
    assert (await offering.aggregate()).create.state is State.SUCCESS


async def test_of_a_payment_that_saleor_had_asked_for_before_no_card_is_kept_either(offering: Shop) -> None:
    """Its event was on its way while the customer was deleted."""
    await saleor_deletes(offering)
    await pays(offering)
    assert await kept(offering) == []
    await pays(offering, TARAS)
    assert [card.user_id for card in await kept(offering)] == [TARAS]


async def test_a_customer_who_is_forgotten_and_not_deleted_can_agree_again(offering: Shop) -> None:
    await pays(offering)
    offering.transaction = offering.saleor.new_transaction()
    offering.gateway.will_answer(offering.gateway.page())
    await offering.begin(data=AGREED, sourceObject=of(OLENA, id="another-checkout"))
    done = await offering.services.saved_cards.delete_all(offering.installation.id, OLENA)
    assert done == DeletedCards(cards=1, consents=1)
    await offering.notify(payment(offering.order_id, **CARD))
    await offering.work()
    assert await kept(offering) == []
    await pays(offering)
    assert len(await kept(offering)) == 1


async def test_that_a_customer_is_deleted_follows_a_saleor_that_moves(offering: Shop) -> None:
    await saleor_deletes(offering)
    new = offering.installation = await installed_at(offering)
    await saleor_deletes(offering)
    await saleor_deletes(offering, TARAS)
    await moved(offering, new)
    for user in (OLENA, TARAS):
        await pays(offering, user)
    assert await kept(offering) == []
