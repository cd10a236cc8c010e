"""Staff pay out to a card: a form, a page on which everything is read once more, and one payout."""

import re
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from app.flows.card_keys import offered_key
from app.store.aggregates import ByOrder
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, json_reply
from tests.commands.books import BEGUN, DIFFERS
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, other_store
from tests.payments.cards.seals import NUMBER, seal
from tests.payments.fake_gateway import payment
from tests.payments.payouts import MASK, enable_payouts
from tests.payments.problems import issue_saying, raise_problem
from tests.payments.shop import source_object
from tests.saved_cards import card_to_save, save_card

MINE = "staff@example.com"
TYPED = {
    "amount": "100,00",
    "description": "A prize",
    "recipient_first_name": "Соломія",
    "recipient_last_name": "Павличко",
    "recipient_city": "Львів",
}


@pytest.fixture
async def staff_client(staff_client: StaffClient) -> StaffClient:
    """Somebody whom the owner has named, in a shop that may take typed cards."""
    await may_pay_out(staff_client)
    return staff_client


async def may_pay_out(client: StaffClient) -> None:
    shop = client.shop
    await enable_payouts(shop, payout_staff=[MINE], pci_dss_confirmed_at=shop.clock.now)
    usual = shop.gateway.answer

    def answer(request: ReceivedRequest) -> Behaviour:
        if "/balances/" in request.path:
            has = {"id": "1", "name": "x", "currency": "UAH", "balances": {"available": Decimal("50.00")}}
            return json_reply({"accounts": [has]})
        if request.method == "GET" or shop.gateway.script:
            return usual(request)
        members = request.json
        return json_reply(payment(members["order_id"], mode="direct", method="credit", amount=members["amount"]))

    shop.gateway.answer = answer  # type: ignore[method-assign] # a gateway that has little money and pays out


async def typed(client: StaffClient, **different: str) -> dict[str, str]:
    """Return what the form says once somebody has typed into it."""
    shop = client.shop
    page = (await client.see("/payouts/new")).text
    key = re.search(r'name="key" value="([0-9a-f]{32})"', page)
    assert key is not None
    jwk = (await offered_key(shop.services.card_keys.for_store(shop.installation.id), shop.clock.now)).public_jwk
    card = seal({"for": f"payout:{key[1]}", "number": NUMBER}, jwk)
    return {**TYPED, "key": key[1], "account": shop.account.id, "card": card, **different}


async def reviewed(client: StaffClient, **different: str) -> str:
    """Return what the review would have confirmed."""
    answer = await client.do("/payouts/review", **await typed(client, **different))
    assert answer.status_code == 200, answer.text
    sealed = re.search(r'name="sealed" value="([^"]+)"', answer.text)
    assert sealed is not None
    return sealed[1]


def payouts_asked(client: StaffClient) -> list[ReceivedRequest]:
    return [request for request in client.shop.gateway.requests if request.method == "POST"]


def wrong(answer: httpx2.Response) -> dict[str, str]:
    assert answer.status_code == 422, answer.text
    fields: dict[str, str] = answer.json()["detail"]["fields"]
    return fields


@one_database
async def test_a_payout_of_a_test_project_has_a_badge(staff_client: StaffClient) -> None:
    await staff_client.services.accounts.change(staff_client.shop.account.id, test_project=True)
    badge = '<span class="badge">Test project</span>'
    assert badge in (await staff_client.see("/payouts/new")).text
    assert badge in (await staff_client.do("/payouts/review", **await typed(staff_client))).text
    done = await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client))
    assert badge in done.text
    assert badge in (await staff_client.see("/payouts")).text


async def test_a_payout_that_is_confirmed_cannot_be_changed_any_more(staff_client: StaffClient) -> None:
    """Else its confirmation would say of the other amount that it was paid out."""
    first = await reviewed(staff_client)
    form = await staff_client.do("/payouts/change", sealed=first)
    assert form.status_code == 200, form.text
    key = re.search(r'name="key" value="([0-9a-f]{32})"', form.text)
    assert key is not None
    changed = await typed(staff_client, amount="7") | {"key": key[1], "card": "", "kept": first}
    await staff_client.do("/payouts/confirm", sealed=first)
    answer = await staff_client.do("/payouts/review", **changed)
    assert answer.status_code == 422
    assert "confirmed already" in answer.json()["detail"]["message"]
    assert len(payouts_asked(staff_client)) == 1


async def test_whoever_changes_a_payout_while_it_is_being_confirmed_is_told_which_one_was_made(
    staff_client: StaffClient,
) -> None:
    """Both reviews were opened before either was confirmed: the second one's amount was not paid out."""
    first = await reviewed(staff_client)
    fields = await typed(staff_client, amount="7")
    form = await staff_client.do("/payouts/change", sealed=first)
    key = re.search(r'name="key" value="([0-9a-f]{32})"', form.text)
    assert key is not None
    staff_client.shop.clock.forward(seconds=1)
    answer = await staff_client.do("/payouts/review", **fields | {"key": key[1], "card": "", "kept": first})
    second = re.search(r'name="sealed" value="([^"]+)"', answer.text)
    assert second is not None, answer.text
    words = "This payout had been confirmed already, as it is shown here. What you have confirmed now was not paid out."
    for sealed, told in ((first, False), (second[1], True), (first, False)):
        page = await staff_client.do("/payouts/confirm", sealed=sealed)
        assert "Payout of 100.00" in page.text
        assert (words in page.text) is told
    assert len(payouts_asked(staff_client)) == 1


async def test_a_saved_card_is_still_chosen_when_its_payout_is_changed(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    cards, now = shop.services.saved_cards, shop.clock.now
    for token, mask in (("tok_1", MASK), ("tok_2", "555555******4444")):
        kept = card_to_save(cards, shop.account, "VXNlcjo3", token=token, mask=mask, now=now)
        card = await save_card(shop.services.database, kept)
    chosen = f"{card.id} VXNlcjo3"
    sealed = await reviewed(staff_client, card="", saved=chosen)
    form = (await staff_client.do("/payouts/change", sealed=sealed)).text
    assert re.findall(r'<option value="([^"]+)" selected', form) == [chosen]
    assert 'name="kept"' not in form


async def test_another_stores_proposal_cannot_be_changed(staff_client: StaffClient) -> None:
    assert (await staff_client.do("/payouts/change", sealed="forged")).status_code == 422


async def test_from_the_form_over_the_review_to_the_list(staff_client: StaffClient) -> None:
    page = (await staff_client.see("/payouts")).text
    assert "There are no payouts yet." in page
    answer = await staff_client.do("/payouts/review", **await typed(staff_client))
    for told in ("100.00", MASK, "Соломія Павличко", "A prize", "Львів", "this payout of"):
        assert told in answer.text.replace("\xa0", " "), told
    assert NUMBER not in answer.text
    assert not payouts_asked(staff_client)

    done = await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client))
    assert done.status_code == 200, done.text
    assert "The payout was made." in done.text
    [heard] = payouts_asked(staff_client)
    assert heard.json["cc_number"] == NUMBER
    order_id = heard.json["order_id"]
    assert done.headers["content-location"] == f"/payments/{order_id}"
    for told in ("Payout of", "Соломія Павличко", MASK, "staff@example.com", "127.0.0.1", "paid out"):
        assert told in done.text, told
    assert "Transaction in Saleor" not in done.text
    listed = (await staff_client.see("/payouts")).text
    assert order_id in listed
    assert "Соломія Павличко" in listed
    assert order_id not in (await staff_client.see("/payments")).text
    file = await staff_client.do("/payouts.csv", zone="Europe/Kyiv")
    assert order_id in file.text
    headings, line = (row.split(",") for row in file.text.splitlines())
    assert headings[-2:] == ["Confirmed: UTC offset", "Requested: UTC offset"]
    assert line[-2:] == ["UTC+02:00", "UTC+02:00"]
    assert NUMBER not in file.text + listed + done.text


@one_database
async def test_more_about_the_recipient_is_reviewed_and_sent(staff_client: StaffClient) -> None:
    who = {"recipient_email": "s@example.com", "recipient_tax_id": "3123456789", "reference": "Invoice 17"}
    page = (await staff_client.see("/payouts/new")).text
    assert all(f'name="{name}"' in page for name in who)
    review = await staff_client.do("/payouts/review", **await typed(staff_client, **who))
    assert all(text in review.text for text in who.values())
    await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client, **who))
    [heard] = payouts_asked(staff_client)
    assert (heard.json["customer_email"], heard.json["customer_tax_id"], heard.json["payload"]) == tuple(who.values())
    assert "recipient_email" not in heard.json["properties"]


@pytest.mark.law(4)
async def test_confirmed_twice_it_is_one_payout_and_both_see_it(staff_client: StaffClient) -> None:
    sealed = await reviewed(staff_client)
    staff_client.shop.gateway.will_answer(HangUp())
    first = await staff_client.do("/payouts/confirm", sealed=sealed)
    again = await staff_client.do("/payouts/confirm", sealed=sealed)
    for response in (first, again):
        assert "The outcome is not known yet" in response.text
    assert first.headers["content-location"] == again.headers["content-location"]
    assert len(payouts_asked(staff_client)) == 1


@one_database
async def test_all_that_is_wrong_is_told_at_once_each_at_its_field(staff_client: StaffClient) -> None:
    answer = await staff_client.do(
        "/payouts/review", **await typed(staff_client, amount="x", card="", recipient_birth_date="yesterday")
    )
    assert set(wrong(answer)) == {"amount", "card", "saved", "recipient_birth_date"}


@pytest.mark.threat("dishonest-staff")
@one_database
@pytest.mark.parametrize("change", [{"payout_staff": ["somebody@example.com"]}, {"payouts": False}])
async def test_whom_the_owner_has_not_named_or_where_it_is_off_nobody_pays_out(
    staff_client: StaffClient, change: dict[str, Any]
) -> None:
    form, sealed = await typed(staff_client), await reviewed(staff_client)
    await staff_client.services.accounts.change(staff_client.shop.account.id, **change)
    assert (await staff_client.do("/payouts/review", **form)).status_code == 403
    assert (await staff_client.do("/payouts/confirm", sealed=sealed)).status_code == 422
    assert 'action="/payouts/review"' not in (await staff_client.see("/payouts/new")).text
    assert "/payouts/new?account" not in (await staff_client.see("/payouts")).text
    assert not payouts_asked(staff_client)


@pytest.mark.threat("missing-permission")
@one_database
async def test_it_needs_the_permission_to_handle_payments_as_well(staff_client: StaffClient) -> None:
    form, sealed = await typed(staff_client), await reviewed(staff_client)
    staff_client.permissions = ("MANAGE_APPS",)
    for answer in (
        await staff_client.see("/payouts"),
        await staff_client.see("/payouts/new"),
        await staff_client.do("/payouts/review", **form),
        await staff_client.do("/payouts/confirm", sealed=sealed),
        await staff_client.do("/payouts.csv"),
    ):
        assert answer.status_code == 403
    assert not payouts_asked(staff_client)


@pytest.mark.threat("staff-of-another-store")
@one_database
async def test_another_store_sees_and_confirms_nothing(staff_client: StaffClient) -> None:
    await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client))
    order_id = payouts_asked(staff_client)[0].json["order_id"]
    await other_store(staff_client.shop)
    next_door = "https://next-door.example.com/graphql/"
    token = staff_client.token(iss=next_door)
    headers = staff_client.headers(token, next_door)
    assert order_id not in (await staff_client.http.get("/parts/payouts", headers=headers)).text
    assert order_id not in (await staff_client.http.post("/parts/payouts.csv", headers=headers)).text
    form = await typed(staff_client)  # which names the account of this store
    assert (await staff_client.http.post("/parts/payouts/review", headers=headers, data=form)).status_code == 403
    sealed = await reviewed(staff_client)
    answer = await staff_client.http.post("/parts/payouts/confirm", headers=headers, data={"sealed": sealed})
    assert answer.status_code == 422
    assert len(payouts_asked(staff_client)) == 1


async def test_a_customers_saved_card_is_found_by_their_address_and_paid(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment(sourceObject=source_object(user={"id": "VXNlcjo3"}))
    cards, now = shop.services.saved_cards, shop.clock.now
    kept = card_to_save(cards, shop.account, "VXNlcjo3", token="tok_1", mask=MASK, now=now)
    card = await save_card(shop.services.database, kept)
    nobody = await staff_client.do("/payouts/new", account=shop.account.id, customer_email="nobody@example.com")
    assert "has no saved card" in nobody.text
    for address in ("Taras@example.com", "<ｔａｒａｓ＠example．com>,"):
        found = await staff_client.do("/payouts/new", account=shop.account.id, customer_email=address)
        assert f'value="{card.id} VXNlcjo3"' in found.text
    assert "tok_1" not in found.text
    about = await staff_client.see(f"/payouts/new?payment={shop.order_id}")
    assert f'value="{card.id} VXNlcjo3"' in about.text
    assert 'value="Тарас"' in about.text
    saved = {"card": "", "saved": f"{card.id} VXNlcjo3", "payment": shop.order_id}
    await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client, **saved))
    [heard] = payouts_asked(staff_client)
    assert heard.json["cc_token"] == "tok_1"
    page = (await staff_client.see(f"/payments/{shop.order_id}")).text
    assert f"/payments/{heard.json['order_id']}" in page


async def test_a_payout_that_needs_review_is_among_payouts_and_not_among_payments(staff_client: StaffClient) -> None:
    """It is a task all the same, and its page is one step away."""
    ordinary = await staff_client.payment(1, problem="The gateway says something else of a payment")
    done = await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client))
    order_id = done.headers["content-location"].removeprefix("/payments/")
    payout = await staff_client.services.payments.find(ByOrder(order_id))
    assert payout is not None
    issue = issue_saying("The gateway says something else of a payout")
    await raise_problem(staff_client.services.database, payout.payment, DIFFERS, issue, BEGUN)

    for search in (
        "",
        "?problems=1",
        f"?search={order_id}",
        f"?search={order_id[:8]}",
        f"?problems=1&search={order_id}",
    ):
        listed = (await staff_client.see(f"/payments{search}")).text
        assert f"/payments/{order_id}" not in listed, search
    assert ordinary.order_id in (await staff_client.see("/payments?problems=1")).text
    assert order_id not in (await staff_client.do("/payments.csv", problems="1")).text
    assert order_id not in (await staff_client.do("/payments.csv", search=order_id)).text

    link = f'<a class="row" href="/payments/{order_id}">'
    for page in ("/attention", "/payouts"):
        shown = (await staff_client.see(page)).text
        assert link in shown, page
        assert "The gateway says something else of a payout" in shown, page
        assert f">{order_id}" not in shown, page  # it leads there and is copied, but nobody has to read it
    assert "The gateway says something else of a payout" in (await staff_client.see(f"/payments/{order_id}")).text


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "No actions are available for this payout."), ("uk", "Із цією виплатою нічого зробити не можна.")],
)
async def test_the_page_of_a_payout_speaks_of_a_payout(staff_client: StaffClient, language: str, words: str) -> None:
    done = await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client))
    order_id = done.headers["content-location"].removeprefix("/payments/")
    staff_client.http.headers["Accept-Language"] = language
    page = (await staff_client.see(f"/payments/{order_id}")).text
    assert words in page
    assert "this payment" not in page
    assert "цим платежем" not in page


@pytest.mark.law(7)
async def test_nobody_is_advised_to_refund_a_payout_that_was_made_twice(staff_client: StaffClient) -> None:
    done = await staff_client.do("/payouts/confirm", sealed=await reviewed(staff_client))
    order_id = done.headers["content-location"].removeprefix("/payments/")
    again = payment(order_id, mode="direct", method="credit", amount=Decimal("100.00"), payment_id="another")
    await staff_client.shop.notify(again)
    await staff_client.shop.work()
    page = (await staff_client.see(f"/payments/{order_id}")).text
    assert "it was probably paid out twice" in page
    assert "refund one of them" not in page
