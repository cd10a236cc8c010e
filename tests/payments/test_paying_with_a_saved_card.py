"""A customer pays with a card that was kept (laws of money, 1, 2, 4, 11); nobody pays with anybody else's."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind, Mode, State
from app.flows.card_keys import offered_key
from app.flows.initialize import initialize
from app.reports.timeline import timeline
from integration_base_tests.loopback import HangUp, json_reply
from saleor_app_sdk.events import TransactionInitializeSession
from saleor_app_sdk.responses import SessionResponse
from tests.payments.cards.seals import BROWSER, seal
from tests.payments.cards.seals import CARD as TYPED
from tests.payments.fake_gateway import BROKEN, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, run_concurrently, session_event
from tests.payments.test_a_saleor_moves import installed_at
from tests.payments.test_saved_cards import (
    AGREED,
    CARD,
    OLENA,
    TARAS,
    TOKEN,
    another_account,
    deletes,
    kept,
    listed,
    of,
    offering,
    pays,
)

__all__ = ["offering"]

BANK = "https://bank.example.com/3ds?session=1"
UNUSABLE = "This saved card cannot be used. Please pay with another card."


@pytest.fixture
async def keeping(offering: Shop) -> Shop:
    """A shop in which Olena has a card, and which somebody is about to pay in."""
    await pays(offering)
    offering.transaction = offering.saleor.new_transaction()
    offering.saleor.reports.clear()
    offering.gateway.requests.clear()
    return offering


async def card_of_olena(shop: Shop) -> str:
    [card] = await kept(shop)
    return card.id


def with_card(card_id: object, **more: Any) -> dict[str, Any]:
    return {"savedCardId": card_id, "browserFingerprint": BROWSER, "customer": {"ip": "203.0.113.7"}} | more


async def pay_with(shop: Shop, card_id: object, user: str | None = OLENA, **changed: Any) -> SessionResponse:
    data = changed.pop("data", with_card(card_id))
    who = {name: changed.pop(name) for name in ("issuingPrincipal",) if name in changed}
    return await shop.begin(data=data, sourceObject=of(user, id="the-checkout", languageCode="EN", **changed), **who)


def direct(shop: Shop, status: str = "success", **more: Any) -> dict[str, Any]:
    """Return the gateway's record of the payment, which is in its book from now on."""
    record = payment(shop.order_id, status, mode="direct", **{**CARD, **more})
    shop.gateway.book[shop.order_id] = [record]
    return record


def error_of(answer: SessionResponse) -> dict[str, Any]:
    [error] = answer.data["errors"]
    assert isinstance(error, dict)
    return error


@pytest.mark.law(12)
async def test_the_card_is_not_charged_for_more_than_saleor_says_is_owed(keeping: Shop) -> None:
    total = {"gross": {"amount": Decimal("369.50"), "currency": "UAH"}}
    error = error_of(await pay_with(keeping, await card_of_olena(keeping), totalPrice=total))
    assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", Decimal("369.50"))
    assert keeping.gateway.requests == []


@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
async def test_a_kept_card_pays(keeping: Shop, flow: str) -> None:
    card_id = await card_of_olena(keeping)
    keeping.gateway.will_answer(json_reply(direct(keeping, method="purchase" if flow == "CHARGE" else "auth")))
    answer = await keeping.begin(flow=flow, data=with_card(card_id), sourceObject=of(OLENA, id="the-checkout"))
    assert answer.result == f"{flow}_SUCCESS"
    [heard] = keeping.gateway.requests
    asked = heard.json
    assert (asked["mode"], asked["cc_token"], asked["customer_id"]) == ("direct", TOKEN, OLENA)
    assert not {"cc_number", "card_cvv", "exp_month", "exp_year", "cryptogram"} & asked.keys()
    aggregate = await keeping.aggregate()
    assert (aggregate.payment.mode, aggregate.payment.saved_card_id) == (Mode.DIRECT, card_id)
    assert TOKEN not in str([aggregate.create.request, aggregate.create.personal_sealed, aggregate.create.details])
    told = [str(entry.words) for entry in timeline(aggregate, [])]
    assert any("for a payment with a saved card (****4242)" in words for words in told), told
    assert len(await kept(keeping)) == 1


async def test_it_needs_no_certificate_and_no_consent_twice(keeping: Shop) -> None:
    assert keeping.account.pci_dss_confirmed_at is None
    keeping.gateway.will_answer(json_reply(direct(keeping)))
    before = await kept(keeping)
    answer = await pay_with(keeping, None, data=with_card(before[0].id, **AGREED))
    assert answer.result == "CHARGE_SUCCESS"
    assert [card.updated_at for card in await kept(keeping)] == [card.updated_at for card in before]


async def test_the_bank_asks_the_customer_and_then_it_is_paid(keeping: Shop) -> None:
    waiting = {"status_code": "2122", "user_action_required": True, "user_action_url": BANK}
    keeping.gateway.will_answer(json_reply(direct(keeping, "pending", **waiting)))
    answer = await pay_with(keeping, await card_of_olena(keeping))
    assert (answer.result, answer.data) == ("CHARGE_ACTION_REQUIRED", {"redirectUrl": BANK})
    direct(keeping)
    back = await keeping.process_session(sourceObject=of(OLENA, id="the-checkout"))
    assert back.result == "CHARGE_SUCCESS"
    assert keeping.amounts == amounts(charged=TOTAL)


Route = Callable[[Shop, str], Awaitable[SessionResponse]]


async def _another_customer(shop: Shop, card_id: str) -> SessionResponse:
    return await pay_with(shop, card_id, TARAS)


async def _a_guest(shop: Shop, card_id: str) -> SessionResponse:
    return await pay_with(shop, card_id, None)


async def _whoever_says_they_are_somebody(shop: Shop, card_id: str) -> SessionResponse:
    claims = {"userId": OLENA, "customerId": OLENA, "user": {"id": OLENA}}
    customer = {"ip": "203.0.113.7", **claims}
    return await pay_with(shop, card_id, TARAS, data=with_card(card_id, **claims, customer=customer))


async def _at_another_account(shop: Shop, card_id: str) -> SessionResponse:
    await another_account(shop, "eur")
    return await pay_with(shop, card_id, channel={"slug": "eur", "currencyCode": "UAH"})


async def _in_another_store(shop: Shop, card_id: str) -> SessionResponse:
    shop.installation = await installed_at(shop)
    await another_account(shop, "uah")
    return await pay_with(shop, card_id)


async def _deleted(shop: Shop, card_id: str) -> SessionResponse:
    await deletes(shop, card_id)
    return await pay_with(shop, card_id)


async def _expired(shop: Shop, card_id: str) -> SessionResponse:
    shop.clock.now += timedelta(days=5 * 365)
    return await pay_with(shop, card_id)


async def _not_offered_any_more(shop: Shop, card_id: str) -> SessionResponse:
    shop.account = await shop.services.accounts.change(shop.account.id, saved_cards=False)
    return await pay_with(shop, card_id)


async def _by_its_token(shop: Shop, _card_id: str) -> SessionResponse:
    return await pay_with(shop, TOKEN)


async def _by_its_sealed_token(shop: Shop, _card_id: str) -> SessionResponse:
    [card] = await kept(shop)
    return await pay_with(shop, card.token_sealed)


async def _by_saleors_id(shop: Shop, card_id: str) -> SessionResponse:
    return await pay_with(shop, f"app:gateway.payments.app:{card_id}")


async def _refused_before(shop: Shop, card_id: str) -> SessionResponse:
    shop.gateway.will_answer(json_reply(direct(shop, "failure", status_code="4144")))
    await pay_with(shop, card_id)
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.requests.clear()
    return await pay_with(shop, card_id)


ROUTES: list[Route] = [
    _another_customer,
    _a_guest,
    _whoever_says_they_are_somebody,
    _at_another_account,
    _in_another_store,
    _deleted,
    _expired,
    _not_offered_any_more,
    _by_its_token,
    _by_its_sealed_token,
    _by_saleors_id,
    _refused_before,
]


@pytest.mark.threat("saved-card-of-another")
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.__name__.strip("_"))
async def test_a_card_pays_for_nobody_by_any_other_route(keeping: Shop, route: Route) -> None:
    """The answer is that to an id that nobody has: which of them it is, nobody learns."""
    unknown = await pay_with(keeping, "nobody-has-this-card")
    keeping.transaction = keeping.saleor.new_transaction()
    answer = await route(keeping, await card_of_olena(keeping))
    assert answer.result == "CHARGE_FAILURE"
    assert (answer.data, answer.message) == (unknown.data, unknown.message)
    assert error_of(answer) == {
        "code": "SAVED_CARD_UNUSABLE",
        "message": UNUSABLE,
        "field": "data.savedCardId",
    }
    assert keeping.gateway.requests == []


@pytest.mark.parametrize("card_id", ["", " "])
async def test_a_card_that_is_nothing_leads_to_the_page(keeping: Shop, card_id: str) -> None:
    keeping.gateway.will_answer(keeping.gateway.page())
    assert (await pay_with(keeping, card_id)).data["checkoutUrl"]


@pytest.mark.parametrize("card_id", ["\x00", "\ud800", "x" * 5000, "' OR 1=1 --", "картка"])
async def test_whatever_a_storefront_writes_for_a_card(keeping: Shop, card_id: str) -> None:
    answer = await pay_with(keeping, card_id)
    assert (answer.result, error_of(answer)["code"]) == ("CHARGE_FAILURE", "SAVED_CARD_UNUSABLE")


@pytest.mark.parametrize("card_id", [5, 1.5, True, [], ["x"], {}, {"id": "x"}])
async def test_what_is_no_id_is_refused_with_its_field(keeping: Shop, card_id: object) -> None:
    answer = await pay_with(keeping, card_id)
    assert (error_of(answer)["code"], error_of(answer)["field"]) == ("INVALID_DATA", "data.savedCardId")
    assert await keeping.find_aggregate() is None


async def test_two_cards_for_one_payment_are_refused(keeping: Shop) -> None:
    key = await offered_key(keeping.services.card_keys.for_store(keeping.installation.id), keeping.clock.now)
    both = with_card(await card_of_olena(keeping), card=seal({"for": "the-checkout", **TYPED}, key.public_jwk))
    answer = await pay_with(keeping, None, data=both)
    assert (error_of(answer)["code"], error_of(answer)["field"]) == ("INVALID_DATA", "data.savedCardId")


@pytest.mark.parametrize("lacking", ["browserFingerprint", "names", "ip"])
async def test_what_the_bank_needs_is_asked_for_first(keeping: Shop, lacking: str) -> None:
    data = with_card(await card_of_olena(keeping))
    changed: dict[str, Any] = {"billingAddress": {"phone": "+380501234567"}} if lacking == "names" else {}
    if lacking == "ip":
        data["customer"] = {}
    elif lacking == "browserFingerprint":
        del data[lacking]
    answer = await pay_with(keeping, None, data=data, **changed)
    codes = {"browserFingerprint": ["INVALID_DATA"], "names": ["MISSING_NAME"] * 2, "ip": ["MISSING_IP"]}
    assert [error["code"] for error in answer.data["errors"]] == codes[lacking]
    assert keeping.gateway.requests == []


@pytest.mark.law(4)
async def test_the_same_question_again_is_answered_from_the_record(keeping: Shop) -> None:
    """Twice at once, again later, and when the card is gone: the gateway is asked once."""
    card_id = await card_of_olena(keeping)
    keeping.gateway.will_answer(json_reply(direct(keeping)))
    both = await run_concurrently(pay_with(keeping, card_id), pay_with(keeping, card_id))
    assert {answer.result for answer in both} <= {"CHARGE_SUCCESS", "CHARGE_REQUEST", "CHARGE_ACTION_REQUIRED"}
    await deletes(keeping, card_id)
    assert (await pay_with(keeping, card_id)).result == "CHARGE_SUCCESS"
    assert keeping.gateway.calls == ["payment"]


@pytest.mark.law(2)
@pytest.mark.parametrize("lost", [HangUp(), BROKEN], ids=["hung up", "500"])
async def test_an_answer_that_is_lost_is_looked_up_and_never_sent_again(keeping: Shop, lost: Any) -> None:
    card_id = await card_of_olena(keeping)
    keeping.gateway.will_answer(lost)
    assert (await pay_with(keeping, card_id)).result == "CHARGE_REQUEST"
    direct(keeping)
    await keeping.pass_time(minutes=10)
    assert keeping.gateway.calls == ["payment"]
    assert keeping.amounts == amounts(charged=TOTAL)


@pytest.mark.law(1)
async def test_the_intent_is_there_before_the_gateway_is_asked(keeping: Shop) -> None:
    states: list[State] = []

    async def look(_heard: object) -> None:
        keeping.gateway.on_request = None
        states.append((await keeping.operation(Kind.CREATE)).state)

    keeping.gateway.on_request = look
    keeping.gateway.will_answer(json_reply(direct(keeping)))
    await pay_with(keeping, await card_of_olena(keeping))
    assert states == [State.INTENT]


async def test_a_notification_before_the_answer_pays_once(keeping: Shop) -> None:
    async def first(_heard: object) -> None:
        keeping.gateway.on_request = None
        await keeping.notify(direct(keeping))
        await keeping.work()

    keeping.gateway.on_request = first
    keeping.gateway.will_answer(json_reply(direct(keeping)))
    assert (await pay_with(keeping, await card_of_olena(keeping))).result == "CHARGE_SUCCESS"
    await keeping.pass_time(minutes=1)
    assert keeping.amounts == amounts(charged=TOTAL)


@pytest.mark.parametrize("how", ["4001", "4144", "by its field", "by a code", "by a notification"])
async def test_a_card_that_the_gateway_takes_no_more_is_declined_clearly_and_listed_no_more(
    keeping: Shop, how: str
) -> None:
    card_id = await card_of_olena(keeping)
    if how == "by its field":
        said_ = {"message": f"Invalid cc_token {TOKEN}", "args": [{"field_name": "cc_token", "violation": TOKEN}]}
        keeping.gateway.will_answer(json_reply(said_, 400))
    elif how == "by a code":
        keeping.gateway.will_answer(refusal_reply("Card expired", "4001"))
    elif how == "by a notification":
        keeping.gateway.will_answer(json_reply(direct(keeping, "pending", status_code="2001")))
    else:
        keeping.gateway.will_answer(json_reply(direct(keeping, "failure", status_code=how)))
    answer = await pay_with(keeping, card_id)
    if how == "by a notification":
        await keeping.notify(direct(keeping, "failure", status_code="4144"))
        await keeping.work()
        answer = await keeping.process_session(sourceObject=of(OLENA, id="the-checkout"))
    assert answer.result == "CHARGE_FAILURE"
    assert error_of(answer)["message"] == UNUSABLE
    assert TOKEN not in str(answer.dump())
    assert await listed(keeping) == []
    [card] = await kept(keeping)
    assert card.unusable_since is not None
    assert await deletes(keeping, card_id) == {"result": "SUCCESSFULLY_DELETED"}


async def test_a_card_stays_offered_when_something_else_is_refused(keeping: Shop) -> None:
    """A payment, for another reason than its card; and the refund of one, even with the code of an expired card."""
    card_id = await card_of_olena(keeping)
    keeping.gateway.will_answer(refusal_reply("The terminal is closed", "P-412"))
    assert (await pay_with(keeping, card_id)).result == "CHARGE_FAILURE"
    keeping.transaction = keeping.saleor.new_transaction()
    keeping.gateway.will_answer(json_reply(direct(keeping)), refusal_reply("Card expired", "4001"))
    assert (await pay_with(keeping, card_id)).result == "CHARGE_SUCCESS"
    assert (await keeping.request_action("REFUND", TOTAL)).result == "REFUND_FAILURE"
    assert len(await listed(keeping)) == 1


async def test_a_card_that_is_kept_anew_is_good_again_whatever_is_repeated(keeping: Shop) -> None:
    card_id = await card_of_olena(keeping)
    failed = direct(keeping, "failure", status_code="4144")
    keeping.gateway.will_answer(json_reply(failed))
    await pay_with(keeping, card_id)
    assert await listed(keeping) == []
    keeping.clock.now += timedelta(minutes=1)
    await pays(keeping, card=CARD | {"cc_token": "another-token"})
    assert [method["id"] for method in await listed(keeping)] == [card_id]
    await keeping.notify(failed | {"fee": {"amount": 1, "currency": "UAH"}})
    await keeping.work()
    assert [method["id"] for method in await listed(keeping)] == [card_id]


@pytest.mark.parametrize("code", ["4009", "4010", "9999"])
async def test_a_card_without_money_stays(keeping: Shop, code: str) -> None:
    keeping.gateway.will_answer(json_reply(direct(keeping, "failure", status_code=code)))
    answer = await pay_with(keeping, await card_of_olena(keeping))
    assert (answer.result, error_of(answer)["message"] == UNUSABLE) == ("CHARGE_FAILURE", False)
    assert len(await listed(keeping)) == 1


async def test_a_token_that_no_key_opens_cannot_be_used_and_nothing_is_asked(keeping: Shop) -> None:
    [card] = await kept(keeping)
    async with keeping.services.database.transaction() as session:
        row = await session.get_one(type(card), card.id)
        row.token_sealed = f"{row.token_sealed[:-6]}AAAAAA"
    answer = await pay_with(keeping, card.id)
    assert error_of(answer) == {"code": "SAVED_CARD_UNUSABLE", "message": UNUSABLE, "field": "data.savedCardId"}
    assert TOKEN not in repr(answer)
    assert keeping.gateway.requests == []
    assert await keeping.find_aggregate() is None


NOBODY, STAFF = None, {"__typename": "User", "id": "VXNlcjo5"}
HERSELF, ANOTHER = {"__typename": "User", "id": OLENA}, {"__typename": "User", "id": TARAS}
AN_APP = {"__typename": "App", "id": "QXBwOjc="}
STRANGERS = [NOBODY, STAFF, ANOTHER, {}, {"__typename": "User"}, {"id": None}, {"__typename": None, "id": ""}]


@pytest.mark.threat("saved-card-of-another")
@pytest.mark.parametrize("principal", STRANGERS, ids=repr)
async def test_who_knows_her_checkout_and_her_card_does_not_pay_with_it(keeping: Shop, principal: Any) -> None:
    """Signed in as somebody else, or not at all: they hear what is heard of a card of nobody."""
    unknown = error_of(await pay_with(keeping, "nobody-has-this-card", issuingPrincipal=principal))
    keeping.transaction = keeping.saleor.new_transaction()
    card_id = await card_of_olena(keeping)
    data, hers = with_card(card_id), of(OLENA, id="the-checkout", languageCode="EN")
    answer = await keeping.begin(data=data, sourceObject=hers, issuingPrincipal=principal)
    assert (answer.result, error_of(answer)) == ("CHARGE_FAILURE", unknown)
    keeping.transaction = keeping.saleor.new_transaction()
    back = await keeping.process_session(data=data, sourceObject=hers, issuingPrincipal=principal)
    assert (back.result, error_of(back)) == ("CHARGE_FAILURE", unknown)
    assert keeping.gateway.requests == []


async def test_a_store_whose_subscription_does_not_say_who_asks_pays_with_none(keeping: Shop) -> None:
    said = session_event(keeping.transaction.id, data=with_card(await card_of_olena(keeping)), sourceObject=of(OLENA))
    del said["issuingPrincipal"]
    answer = await initialize(keeping.services, TransactionInitializeSession.model_validate(said), keeping.installation)
    assert error_of(answer)["code"] == "SAVED_CARD_UNUSABLE"
    assert keeping.gateway.requests == []


@pytest.mark.parametrize("principal", [HERSELF, AN_APP], ids=repr)
async def test_she_herself_pays_and_so_does_a_server_for_her(keeping: Shop, principal: Any) -> None:
    keeping.gateway.will_answer(json_reply(direct(keeping)))
    hers = of(OLENA, id="the-checkout")
    answer = await keeping.begin(
        data=with_card(await card_of_olena(keeping)), sourceObject=hers, issuingPrincipal=principal
    )
    assert answer.result == "CHARGE_SUCCESS"


@pytest.mark.threat("saved-card-of-another")
@pytest.mark.parametrize("principal", [HERSELF, AN_APP, NOBODY], ids=repr)
async def test_a_guests_checkout_has_nobodys_cards_whoever_asks(keeping: Shop, principal: Any) -> None:
    guest = of(None, id="the-checkout")
    answer = await keeping.begin(
        data=with_card(await card_of_olena(keeping)), sourceObject=guest, issuingPrincipal=principal
    )
    assert error_of(answer)["code"] == "SAVED_CARD_UNUSABLE"
    assert keeping.gateway.requests == []


@pytest.mark.threat("saved-card-of-another")
@pytest.mark.parametrize(
    ("principal", "is_kept"),
    [(HERSELF, True), (AN_APP, True), *((stranger, False) for stranger in STRANGERS)],
    ids=repr,
)
async def test_nobody_adds_a_card_to_hers(offering: Shop, principal: Any, *, is_kept: bool) -> None:
    """They pay, and that is all: payouts go to the cards that a customer keeps."""
    answer = await pays(offering, issuingPrincipal=principal)
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert len(await kept(offering)) == is_kept
    assert (await offering.aggregate()).create.state is State.SUCCESS
