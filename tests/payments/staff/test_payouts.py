"""Staff ask for a payout, read it on a page of its own, and confirm it: one payout, of what was shown."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update
from sqlmodel import select

from app.core.payment import PaymentAggregate
from app.flows.card_keys import offered_key
from app.flows.pay_out import Signature
from app.flows.staff.payouts import PROPOSAL_LIFETIME, PayoutReview, Person, confirm, may_pay_out, propose
from app.reports.payout_view import payout_rows
from app.reports.sheet import SheetStyle, csv_lines
from app.reports.status import standing
from app.rules.accounts.readers import email as email_option
from app.rules.requests.payout import PayoutRefusedError
from app.store.columns import table_of
from app.store.installations import OpenInstallation
from app.store.tables import MerchantAccount, Payout, SavedCard
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, json_reply
from tests.payments.cards.seals import NUMBER, seal
from tests.payments.fake_gateway import payment, refusal_reply
from tests.payments.payouts import MASK, OTHER, STAFF, audit_of, enable_payouts
from tests.payments.shop import Shop, run_concurrently
from tests.saved_cards import card_to_save, save_card

OLENA = "olena@example.com"
OLENAS_ID, ANOTHERS_ID = "VXNlcjox", "VXNlcjoy"
CUSTOMER = "VXNlcjo3"
TYPED = {
    "amount": "100.00",
    "description": "A prize",
    "recipient_first_name": "Соломія",
    "recipient_last_name": "Павличко",
}


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop that pays out, and may take typed cards."""
    await enable_payouts(shop, payout_staff=[OLENA], pci_dss_confirmed_at=shop.clock.now)

    def answer(request: ReceivedRequest) -> Behaviour:
        if "/balances/" in request.path:
            has = {"id": "1", "name": "x", "currency": "UAH", "balances": {"available": Decimal("5000.00")}}
            return json_reply({"accounts": [has]})
        if request.method == "GET":
            return type(shop.gateway).answer(shop.gateway, request)
        if shop.gateway.script:
            return shop.gateway.script.popleft()
        asked = request.json
        return json_reply(payment(asked["order_id"], mode="direct", method="credit", amount=asked["amount"]))

    shop.gateway.answer = answer  # type: ignore[method-assign] # a gateway that has money and pays out
    return shop


def asking(shop: Shop) -> Signature:
    return Signature(STAFF, shop.clock.now, "203.0.113.7")


async def form(shop: Shop, **typed: str) -> dict[str, str]:
    """Return what a browser posts of a card that was typed."""
    key = typed.pop("key", uuid4().hex)
    jwk = (await offered_key(shop.services.card_keys.for_store(shop.installation.id), shop.clock.now)).public_jwk
    number = typed.pop("number", NUMBER)
    card = seal({"for": f"payout:{key}", "number": number}, jwk)
    return {**TYPED, "key": key, "card": card, **typed}


async def proposed(shop: Shop, **typed: str) -> PayoutReview:
    return await propose(shop.services, shop.account, await form(shop, **typed), asking(shop))


async def confirmed(
    shop: Shop, sealed: str, store: OpenInstallation | None = None, email: str = OLENA, user: str = OLENAS_ID
) -> PaymentAggregate:
    by = Signature(OTHER, shop.clock.now, "203.0.113.8")
    return await confirm(shop.services, (store or shop.installation).id, sealed, by, person=Person(user, email))


def payments_out(shop: Shop) -> list[ReceivedRequest]:
    return [request for request in shop.gateway.requests if request.method == "POST"]


async def a_saved_card(shop: Shop, digits: str = "4242") -> SavedCard:
    token, mask, now = f"tok_{digits}", f"424242******{digits}", shop.clock.now
    card = card_to_save(shop.services.saved_cards, shop.account, CUSTOMER, token=token, mask=mask, now=now)
    return await save_card(shop.services.database, card)


async def test_what_was_shown_is_paid_out_and_by_nobody_before_it_is_confirmed(shop: Shop) -> None:
    review = await proposed(shop)
    assert (review.terms.amount, review.mask, review.warnings) == (Decimal("100.00"), MASK, [])
    assert not payments_out(shop)
    async with shop.services.database.transaction() as session:
        assert (await session.exec(select(Payout))).all() == []
    assert NUMBER not in review.sealed
    aggregate = await confirmed(shop, review.sealed)
    assert standing(aggregate) == "paid out"
    [request] = payments_out(shop)
    assert (request.json["cc_number"], request.json["customer_ip"]) == (NUMBER, "203.0.113.8")
    kept = await audit_of(shop, aggregate)
    assert (kept.asked_by, kept.asked_from, kept.confirmed_by) == (STAFF, "203.0.113.7", OTHER)


@pytest.mark.law(4)
async def test_a_review_that_is_confirmed_twice_or_in_two_browsers_is_one_payout(shop: Shop) -> None:
    review = await proposed(shop)
    first, second = await run_concurrently(confirmed(shop, review.sealed), confirmed(shop, review.sealed))
    shop.clock.forward(hours=2)  # somebody finds the page still open
    again = await confirmed(shop, review.sealed)
    assert first.payment.id == second.payment.id == again.payment.id
    assert len(payments_out(shop)) == 1


@pytest.mark.law(4)
async def test_the_same_key_in_another_spelling_is_the_same_payout(shop: Shop) -> None:
    """A UUID is written in many ways: with hyphens, in capitals, in braces."""
    key = uuid4()
    usual = await proposed(shop, key=key.hex)
    reviews = {
        spelling: await propose(
            shop.services, shop.account, await form(shop, key=key.hex) | {"key": spelling}, asking(shop)
        )
        for spelling in (str(key), key.hex.upper(), f"{{{key}}}", key.urn)
    }
    first = await confirmed(shop, usual.sealed)
    for spelling, review in reviews.items():
        assert (await confirmed(shop, review.sealed)).payment.id == first.payment.id, spelling
    assert len(payments_out(shop)) == 1


@pytest.mark.law(2)
async def test_an_answer_that_is_lost_is_not_asked_for_again_by_a_second_confirmation(shop: Shop) -> None:
    review = await proposed(shop)
    shop.gateway.will_answer(HangUp())
    assert standing(await confirmed(shop, review.sealed)) == "not known yet"
    assert standing(await confirmed(shop, review.sealed)) == "not known yet"
    assert len(payments_out(shop)) == 1


async def test_a_saved_card_is_paid_by_its_token(shop: Shop) -> None:
    card = await a_saved_card(shop)
    typed = {**TYPED, "key": uuid4().hex, "saved_card": card.id, "customer": CUSTOMER}
    review = await propose(shop.services, shop.account, typed, asking(shop))
    assert review.mask == MASK
    await confirmed(shop, review.sealed)
    [request] = payments_out(shop)
    assert (request.json["cc_token"], request.json["customer_id"], "cc_number" in request.json) == (
        "tok_4242",
        CUSTOMER,
        False,
    )


async def test_a_saved_card_is_only_its_customers(shop: Shop) -> None:
    card = await a_saved_card(shop)
    typed = {**TYPED, "key": uuid4().hex, "saved_card": card.id, "customer": "VXNlcjo4"}
    with pytest.raises(PayoutRefusedError) as refusal:
        await propose(shop.services, shop.account, typed, asking(shop))
    assert list(refusal.value.errors) == ["card"]


async def test_everything_that_is_wrong_is_told_at_once_the_card_with_it(shop: Shop) -> None:
    typed = await form(shop, number="4242424242424241", amount="", recipient_last_name="")
    with pytest.raises(PayoutRefusedError) as refusal:
        await propose(shop.services, shop.account, typed, asking(shop))
    assert set(refusal.value.errors) == {"card", "amount", "recipient_last_name"}
    assert "4242" not in str(refusal.value)


@pytest.mark.parametrize(
    "card",
    [{"card": "", "saved_card": ""}, {"saved_card": "x"}, {"card": NUMBER}, {"card": "a.b.c.d.e"}],
)
async def test_a_card_that_is_none_or_two_is_refused(shop: Shop, card: dict[str, str]) -> None:
    typed = await form(shop) | card
    with pytest.raises(PayoutRefusedError) as refusal:
        await propose(shop.services, shop.account, typed, asking(shop))
    assert list(refusal.value.errors) == ["card"]
    assert NUMBER not in str(refusal.value)


async def test_a_card_that_was_encrypted_for_another_payout_is_not_taken(shop: Shop) -> None:
    typed = await form(shop) | {"key": uuid4().hex}
    with pytest.raises(PayoutRefusedError) as refusal:
        await propose(shop.services, shop.account, typed, asking(shop))
    assert list(refusal.value.errors) == ["card"]


async def test_a_card_can_be_typed_only_where_the_owner_has_confirmed_pci_dss(shop: Shop) -> None:
    await enable_payouts(shop, pci_dss_confirmed_at=None)
    with pytest.raises(PayoutRefusedError) as refusal:
        await proposed(shop)
    assert "PCI DSS" in refusal.value.errors["card"]


@pytest.mark.threat("dishonest-staff")
async def test_a_proposal_that_nobody_confirms_in_time_or_that_was_changed_is_not_paid_out(shop: Shop) -> None:
    review = await proposed(shop)
    middle = len(review.sealed) // 2
    other = "B" if review.sealed[middle] == "A" else "A"
    for sealed in (review.sealed[:-4], f"{review.sealed[:middle]}{other}{review.sealed[middle + 1 :]}", "", "v1.x.y"):
        with pytest.raises(PayoutRefusedError):
            await confirmed(shop, sealed)
    shop.clock.forward(seconds=PROPOSAL_LIFETIME.total_seconds() + 1)
    with pytest.raises(PayoutRefusedError, match="not confirmed in time"):
        await confirmed(shop, review.sealed)
    assert not payments_out(shop)


@pytest.mark.threat("staff-of-another-store")
async def test_another_stores_proposal_does_not_open(shop: Shop) -> None:
    review = await proposed(shop)
    await shop.services.installations.save(
        saleor_api_url="https://other.example.com/graphql/", saleor_domain="o", schema_version="3.23", app_id="x",
        token="t", jwks=None,
    )  # fmt: skip
    other = await shop.services.installations.find("https://other.example.com/graphql/")
    with pytest.raises(PayoutRefusedError):
        await confirmed(shop, review.sealed, other)
    assert not payments_out(shop)


@pytest.mark.parametrize(("minutes", "in_time"), [(16, True), (30, True), (31, False)])
async def test_a_proposal_can_be_confirmed_for_half_an_hour(shop: Shop, minutes: int, in_time: bool) -> None:
    review = await proposed(shop)
    shop.clock.forward(minutes=minutes)
    if in_time:
        assert standing(await confirmed(shop, review.sealed)) == "paid out"
    else:
        with pytest.raises(PayoutRefusedError, match="not confirmed in time"):
            await confirmed(shop, review.sealed)
    assert len(payments_out(shop)) == in_time


async def test_only_whom_the_owner_has_named_may_pay_out_also_when_they_are_named_no_more_meanwhile(shop: Shop) -> None:
    assert may_pay_out(shop.account, Person(OLENAS_ID, "Olena@Example.com"))
    for email in ("taras@example.com", "", "olena@exampl\u0435.com"):
        assert not may_pay_out(shop.account, Person(OLENAS_ID, email))
    assert not may_pay_out(shop.account, Person("", OLENA))
    review = await proposed(shop)
    with pytest.raises(PayoutRefusedError):
        await confirmed(shop, review.sealed, email="taras@example.com")
    await enable_payouts(shop, payout_staff=[])
    with pytest.raises(PayoutRefusedError):
        await confirmed(shop, review.sealed)
    assert not payments_out(shop)


@pytest.mark.threat("dishonest-staff")
@pytest.mark.parametrize(
    ("named", "lookalike"),
    [("olesya@example.com", "ole\u017fya@example.com"), ("kira@example.com", "\u212aira@example.com"),
     ("strauss@example.com", "strau\u00df@example.com")],
)  # fmt: skip
async def test_an_address_that_unicode_folds_into_a_named_one_is_somebody_elses(
    shop: Shop, named: str, lookalike: str
) -> None:
    await enable_payouts(shop, payout_staff=[named])
    assert may_pay_out(shop.account, Person(OLENAS_ID, named.upper()))
    assert not may_pay_out(shop.account, Person(OLENAS_ID, lookalike))
    assert email_option(lookalike) != named


@pytest.mark.threat("dishonest-staff")
async def test_who_takes_over_the_address_of_somebody_who_has_paid_out_may_not(shop: Shop) -> None:
    await confirmed(shop, (await proposed(shop)).sealed)
    review = await proposed(shop)

    with pytest.raises(PayoutRefusedError, match="has not named you"):
        await confirmed(shop, review.sealed, user=ANOTHERS_ID)

    assert len(payments_out(shop)) == 1
    # Whose it was may, whatever address that person has now.
    await confirmed(shop, review.sealed, email="olena.new@example.com")
    assert len(payments_out(shop)) == 2


async def test_who_is_removed_and_named_again_may_be_another_person(shop: Shop) -> None:
    await confirmed(shop, (await proposed(shop)).sealed)
    await enable_payouts(shop, payout_staff=[])
    await enable_payouts(shop, payout_staff=[OLENA])
    await confirmed(shop, (await proposed(shop)).sealed, user=ANOTHERS_ID)
    review = await proposed(shop)
    with pytest.raises(PayoutRefusedError):
        await confirmed(shop, review.sealed)


@pytest.mark.threat("dishonest-staff")
async def test_who_was_taken_off_the_list_in_another_process_cannot_confirm_here_a_moment_later(shop: Shop) -> None:
    review = await proposed(shop)
    assert await shop.services.accounts.find(shop.account.id) is not None  # this process remembers it now
    async with shop.services.database.transaction() as session:
        await session.exec(update(table_of(MerchantAccount)).values(payout_staff=[]))
    with pytest.raises(PayoutRefusedError, match="has not named you"):
        await confirmed(shop, review.sealed)
    assert payments_out(shop) == []


@pytest.mark.law(2)
@pytest.mark.parametrize("step", ["accounts.all", "accounts.pin_payout_staff", "payments.begin"])
async def test_an_account_that_is_deleted_while_its_payout_is_confirmed_pays_nothing_out(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    review = await proposed(shop)
    repository, method = step.split(".")
    accounts, meant = shop.services.accounts, getattr(shop.services, repository)
    usual = getattr(type(meant), method)

    async def after_deletion(self: Any, *values: Any) -> Any:
        await accounts.remove(shop.account.id)
        return await usual(self, *values)

    monkeypatch.setattr(type(meant), method, after_deletion)
    with pytest.raises(PayoutRefusedError, match="This store has no such merchant account"):
        await confirmed(shop, review.sealed)
    assert not payments_out(shop)


async def test_a_limit_that_was_lowered_meanwhile_counts(shop: Shop) -> None:
    review = await proposed(shop)
    await enable_payouts(shop, most="99.99")
    with pytest.raises(PayoutRefusedError):
        await confirmed(shop, review.sealed)
    assert not payments_out(shop)


async def test_what_was_shown_in_one_currency_is_not_paid_out_in_another(shop: Shop) -> None:
    """An account pays out in its first currency; its owner has changed that while somebody read the review."""
    review = await proposed(shop)
    shop.account = await shop.services.accounts.change(shop.account.id, currencies=["EUR", "UAH"])
    with pytest.raises(PayoutRefusedError) as refusal:
        await confirmed(shop, review.sealed)
    assert "pays out in EUR now, and the payout was requested in UAH" in str(refusal.value)
    assert not payments_out(shop)
    assert standing(await confirmed(shop, (await proposed(shop)).sealed)) != "paid out"  # the gateway answers in UAH
    assert payments_out(shop)[0].json["currency"] == "EUR"


async def test_what_is_too_much_for_the_day_is_told_in_the_form(shop: Shop) -> None:
    await confirmed(shop, (await proposed(shop, amount="1000.00")).sealed)
    with pytest.raises(PayoutRefusedError) as refusal:
        await proposed(shop, amount="500.01")
    assert list(refusal.value.errors) == ["amount"]
    await confirmed(shop, (await proposed(shop, amount="500.00")).sealed)


async def test_who_confirms_is_told_of_a_balance_that_does_not_cover_it_and_of_the_same_payout_before(
    shop: Shop,
) -> None:
    await enable_payouts(shop, most="9000.00", a_day="99000.00")
    review = await proposed(shop, amount="5000.01")
    assert [str(warning) for warning in review.warnings] == [
        "The balance at the gateway is 5000.00 UAH; this payout of 5000.01 UAH may be refused."
    ]
    await confirmed(shop, (await proposed(shop)).sealed)
    [words] = (await proposed(shop)).warnings
    assert str(words).startswith("The same amount was already paid out to a card with these digits at 2026-11-21 12:00")
    assert (await proposed(shop, amount="100.01")).warnings == []
    shop.clock.forward(seconds=timedelta(days=1).total_seconds())
    assert (await proposed(shop)).warnings == []


async def test_a_payout_to_another_card_or_one_that_has_failed_is_no_reason_for_a_warning(shop: Shop) -> None:
    await confirmed(shop, (await proposed(shop, number="5555555555554444")).sealed)
    shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    assert standing(await confirmed(shop, (await proposed(shop)).sealed)) == "failed"
    assert (await proposed(shop)).warnings == []


async def test_the_file_has_every_payout_the_newest_first_and_no_formula(shop: Shop) -> None:
    await confirmed(shop, (await proposed(shop, description="=1+1")).sealed)
    shop.clock.forward(minutes=1)
    await confirmed(shop, (await proposed(shop, amount="7.00")).sealed)
    batches = payout_rows(shop.services, shop.installation.id, SheetStyle())
    [heading, *rows] = "".join([csv_lines(some, SheetStyle()) async for some in batches]).splitlines()
    assert heading.startswith("Confirmed (UTC),Requested (UTC),Gateway order ID,Merchant account,Project,Amount,")
    assert [",7.00,UAH,paid out," in rows[0], ",'=1+1," in rows[1], MASK in rows[1]] == [True, True, True]
    assert NUMBER not in "".join(rows)
