"""The third step: a small payment at the gateway's page, seen arriving."""

import re
from uuid import uuid4

import pytest

from app.ledger.tables import MerchantAccount
from tests.commands.conftest import add_account, one_database
from tests.dashboard.office import Office, next_door
from tests.payments.till import operation, payment, refused, said


def form(account: MerchantAccount, **different: str) -> dict[str, str]:
    """Return the form of a trial, filled in."""
    usual = {
        "key": str(uuid4()),
        "account": account.id,
        "amount": "1,00",
        "currency": "UAH",
        "email": "staff@example.com",
        "phone": "+380501234567",
        "first_name": "Тарас",
        "last_name": "Шевченко",
    }
    return usual | different


async def begun(office: Office) -> str:
    """Begin a trial; return its order."""
    office.shop.till.will(office.shop.till.page())
    answer = await office.do("/set-up/try", **form(office.shop.account))
    assert answer.status_code == 200, answer.text
    found = re.fullmatch(r"/set-up/try/([0-9a-f]{32})", answer.headers["content-location"])
    assert found is not None
    return found[1]


async def test_from_the_form_to_the_money_and_back(office: Office) -> None:
    till, shop = office.shop.till, office.shop
    page = (await office.see("/set-up/try")).text
    assert 'value="1.00"' in page
    assert 'value="staff@example.com"' in page

    order_id = await begun(office)
    page = (await office.see(f"/set-up/try/{order_id}")).text
    assert f"{till.url}/api/v1/checkout/c0ffee/form" in page
    assert f'src="/pay/{order_id}.svg"' in page
    assert f'data-follow="/set-up/try/{order_id}/standing"' in page
    standing = (await office.see(f"/set-up/try/{order_id}/standing")).text
    assert "waiting for the shopper" in standing
    assert "data-final" not in standing

    await shop.notify(payment(order_id, amount="1.00"))
    await shop.work()
    standing = (await office.see(f"/set-up/try/{order_id}/standing")).text
    assert "It works: the payment has arrived." in standing
    assert "The gateway has notified the app of it at" in standing
    assert "data-final" in standing
    assert "c0ffee" not in (await office.see(f"/set-up/try/{order_id}")).text

    listed = (await office.see("/payments")).text
    assert order_id in listed
    assert ">Trial<" in listed
    seen = (await office.see(f"/payments/{order_id}")).text
    assert "Transaction in Saleor" not in seen
    key = re.search(r'action="/payments/\w+/refund".*?name="key" value="([^"]+)"', seen, re.DOTALL)
    assert key is not None
    till.will(said(operation("refund", order_id, "1.00")))
    await office.do(f"/payments/{order_id}/refund", key=key[1], amount="1.00")
    assert "refunded" in (await office.see(f"/set-up/try/{order_id}")).text
    await shop.work()
    assert shop.books.reports == []


async def test_the_way_is_done_once_somebody_has_paid(office: Office) -> None:
    assert 'class="done"' in (await office.see("/set-up")).text
    before = (await office.see("/set-up")).text.count('class="done"')
    order_id = await begun(office)
    assert (await office.see("/set-up")).text.count('class="done"') == before
    await office.shop.notify(payment(order_id, amount="1.00"))
    await office.shop.work()
    assert (await office.see("/set-up")).text.count('class="done"') == before + 1 == 3


async def test_a_form_that_is_sent_twice_is_one_payment(office: Office) -> None:
    office.shop.till.will(office.shop.till.page())
    filled = form(office.shop.account)
    first = await office.do("/set-up/try", **filled)
    again = await office.do("/set-up/try", **filled)
    assert first.headers["content-location"] == again.headers["content-location"]
    assert office.shop.till.calls == ["payment"]


async def test_what_the_gateway_refuses_is_told_on_the_page(office: Office) -> None:
    office.shop.till.will(refused("The terminal is closed", "P-412"))
    answer = await office.do("/set-up/try", **form(office.shop.account))
    assert answer.status_code == 200
    assert "The terminal is closed" in answer.text
    assert "data-final" in answer.text


async def test_a_payment_that_was_found_by_looking_says_that_nobody_notified(office: Office) -> None:
    order_id = await begun(office)
    office.shop.till.book[order_id] = [payment(order_id, amount="1.00")]
    office.shop.clock.forward(minutes=2)
    await office.shop.work()
    assert "The gateway has not notified the app" in (await office.see(f"/set-up/try/{order_id}/standing")).text


@one_database
@pytest.mark.parametrize(
    ("typed", "field"),
    [({"amount": "a lot"}, "amount"), ({"amount": "0"}, "amount"), ({"currency": "EUR"}, None),
     ({"email": ""}, "email"), ({"phone": ""}, "phone"), ({"birthday": "yesterday"}, "birthday"),
     ({"key": "mine"}, None)],
)  # fmt: skip
async def test_what_cannot_be_is_refused(office: Office, typed: dict[str, str], field: str | None) -> None:
    answer = await office.do("/set-up/try", **form(office.shop.account, **typed))
    assert (answer.status_code, answer.json()["detail"].get("field")) == (422, field)
    assert office.shop.till.heard == []


@one_database
async def test_only_trials_of_this_store_are_shown(office: Office) -> None:
    other = await office.payment(1)
    theirs = await next_door(office.shop)
    for path in (f"/set-up/try/{other.order_id}", f"/set-up/try/{other.order_id}/standing", "/set-up/try/none"):
        assert (await office.see(path)).status_code == 404
    assert (await office.do("/set-up/try", **form(theirs))).json()["detail"]["code"] == "UNKNOWN_ACCOUNT"


@one_database
async def test_of_several_accounts_one_is_chosen_and_one_that_is_off_is_not_offered(office: Office) -> None:
    await add_account(office.desk, office.shop.installation.id, name="Second", currencies=["EUR"])
    page = (await office.see("/set-up/try")).text
    assert "Second (Live, EUR)" in page
    for each in await office.desk.accounts.all():
        await office.desk.accounts.change(each.id, enabled=False)
    assert "First there must be a merchant account." in (await office.see("/set-up/try")).text
