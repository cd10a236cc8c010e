"""The third step: a small payment at the gateway's page, seen arriving."""

import re
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from app.store.tables import MerchantAccount
from integration_base_tests.loopback import json_reply
from tests.commands.conftest import add_account, one_database
from tests.dashboard.dashboard_app import StaffClient, other_store
from tests.payments.fake_gateway import operation, payment, refusal_reply


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


async def begun(staff_client: StaffClient) -> str:
    """Begin a trial; return its order."""
    staff_client.shop.gateway.will_answer(staff_client.shop.gateway.page())
    answer = await staff_client.do("/set-up/try", **form(staff_client.shop.account))
    assert answer.status_code == 200, answer.text
    found = re.fullmatch(r"/set-up/try/([0-9a-f]{32})", answer.headers["content-location"])
    assert found is not None
    return found[1]


async def test_from_the_form_to_the_money_and_back(staff_client: StaffClient) -> None:
    gateway, shop = staff_client.shop.gateway, staff_client.shop
    page = (await staff_client.see("/set-up/try")).text
    assert 'value="1.00"' in page
    assert 'value="staff@example.com"' in page

    order_id = await begun(staff_client)
    page = (await staff_client.see(f"/set-up/try/{order_id}")).text
    assert f"{gateway.url}/api/v1/checkout/c0ffee/form" in page
    assert f'src="/pay/{order_id}.svg"' in page
    assert f'data-follow="/set-up/try/{order_id}/standing"' in page
    standing = (await staff_client.see(f"/set-up/try/{order_id}/standing")).text
    chip = re.compile(r'<span class="badge ?(\w*)">waiting for the shopper</span>')
    assert chip.findall(standing) == chip.findall((await staff_client.see("/payments")).text) == ["warn"]
    assert "data-final" not in standing

    await shop.notify(payment(order_id, amount="1.00"))
    await shop.work()
    standing = (await staff_client.see(f"/set-up/try/{order_id}/standing")).text
    assert "It works: the payment has arrived." in standing
    assert "The gateway notified the app at" in standing
    assert "data-final" in standing
    assert "c0ffee" not in (await staff_client.see(f"/set-up/try/{order_id}")).text

    listed = (await staff_client.see("/payments")).text
    assert order_id in listed
    assert re.search(r">\s*Trial\s*<", listed)
    seen = (await staff_client.see(f"/payments/{order_id}")).text
    assert "Transaction in Saleor" not in seen
    key = re.search(r'action="/payments/\w+/refund".*?name="key" value="([^"]+)"', seen, re.DOTALL)
    assert key is not None
    gateway.will_answer(json_reply(operation("refund", order_id, "1.00")))
    await staff_client.do(f"/payments/{order_id}/refund", key=key[1], amount="1.00")
    assert "refunded" in (await staff_client.see(f"/set-up/try/{order_id}")).text
    await shop.work()
    assert shop.saleor.reports == []


@one_database
async def test_the_suggested_amount_is_written_as_the_language_writes_amounts(staff_client: StaffClient) -> None:
    staff_client.http.headers["Accept-Language"] = "uk"
    assert 'name="amount" value="1,00"' in (await staff_client.see("/set-up/try")).text
    await begun(staff_client)  # with "1,00"
    assert staff_client.shop.gateway.calls == ["payment"]


async def test_the_way_is_done_once_somebody_has_paid(staff_client: StaffClient) -> None:
    assert 'class="done"' in (await staff_client.see("/set-up")).text
    before = (await staff_client.see("/set-up")).text.count('class="done"')
    order_id = await begun(staff_client)
    assert (await staff_client.see("/set-up")).text.count('class="done"') == before
    await staff_client.shop.notify(payment(order_id, amount="1.00"))
    await staff_client.shop.work()
    assert (await staff_client.see("/set-up")).text.count('class="done"') == before + 1 == 3


async def test_a_form_that_is_sent_twice_is_one_payment(staff_client: StaffClient) -> None:
    staff_client.shop.gateway.will_answer(staff_client.shop.gateway.page())
    filled = form(staff_client.shop.account)
    first = await staff_client.do("/set-up/try", **filled)
    again = await staff_client.do("/set-up/try", **filled)
    assert first.headers["content-location"] == again.headers["content-location"]
    assert staff_client.shop.gateway.calls == ["payment"]


async def test_what_the_gateway_refuses_is_told_on_the_page(staff_client: StaffClient) -> None:
    staff_client.shop.gateway.will_answer(refusal_reply("The terminal is closed", "P-412"))
    answer = await staff_client.do("/set-up/try", **form(staff_client.shop.account))
    assert answer.status_code == 200
    assert "The terminal is closed" in answer.text
    assert "data-final" in answer.text


@one_database
async def test_why_a_trial_was_declined_is_said_in_the_language_of_the_page(staff_client: StaffClient) -> None:
    order_id = await begun(staff_client)
    await staff_client.shop.notify(payment(order_id, "failure", amount="1.00", status_code="4009"))
    await staff_client.shop.work()
    page = (await staff_client.see(f"/set-up/try/{order_id}/standing", **{"Accept-Language": "uk"})).text
    (why,) = re.findall('<p class="bad"[^>]*>(.*?)</p>', page)
    assert re.search("[а-яії]", why), why


async def test_a_payment_that_was_found_by_looking_says_that_nobody_notified(staff_client: StaffClient) -> None:
    order_id = await begun(staff_client)
    staff_client.shop.gateway.book[order_id] = [payment(order_id, amount="1.00")]
    staff_client.shop.clock.forward(minutes=2)
    await staff_client.shop.work()
    assert "The gateway did not notify the app" in (await staff_client.see(f"/set-up/try/{order_id}/standing")).text


@one_database
@pytest.mark.parametrize(
    ("typed", "field"),
    [({"amount": "a lot"}, "amount"), ({"amount": "0"}, "amount"), ({"currency": "EUR"}, "currency"),
     ({"email": ""}, "email"), ({"phone": ""}, "phone"), ({"birthday": "yesterday"}, "birthday"),
     ({"email": " , "}, "email"), ({"phone": "-"}, "phone"),
     ({"first_name": "4111 1111 1111 1111"}, "first_name"), ({"key": "mine"}, None)],
)  # fmt: skip
async def test_what_cannot_be_is_refused(staff_client: StaffClient, typed: dict[str, str], field: str | None) -> None:
    answer = await staff_client.do("/set-up/try", **form(staff_client.shop.account, **typed))
    assert (answer.status_code, list(answer.json()["detail"].get("fields", []))) == (422, [field] if field else [])
    assert staff_client.shop.gateway.requests == []


@one_database
async def test_all_that_is_wrong_is_said_at_once_and_in_the_language_of_the_page(staff_client: StaffClient) -> None:
    """A microfinance merchant's form, whose browser has checked nothing."""
    shop = staff_client.shop
    await staff_client.services.accounts.change(shop.account.id, sector="microfinance")
    typed = {"amount": "багато", "currency": "EUR", "email": ",", "phone": "-", "first_name": "", "last_name": ""}
    staff_client.http.headers["Accept-Language"] = "uk"
    answer = await staff_client.do("/set-up/try", **form(shop.account, **typed, birthday="вчора"))
    assert answer.status_code == 422
    fields = answer.json()["detail"]["fields"]
    assert set(fields) == {*typed, "birthday"}
    assert all(re.search("[а-яії]", message) for message in fields.values()), fields
    assert shop.gateway.requests == []


@one_database
@pytest.mark.parametrize("required", [{"names_required": True}, {"sector": "gambling"}])
async def test_names_are_asked_for_where_the_account_requires_them(
    staff_client: StaffClient, required: dict[str, Any]
) -> None:
    assert 'name="first_name"' not in (await staff_client.see("/set-up/try")).text
    await staff_client.services.accounts.change(staff_client.shop.account.id, **required)
    page = (await staff_client.see("/set-up/try")).text
    assert 'name="first_name" required' in page
    assert 'name="last_name" required' in page


@one_database
async def test_only_trials_of_this_store_are_shown(staff_client: StaffClient) -> None:
    other = await staff_client.payment(1)
    theirs = await other_store(staff_client.shop)
    for path in (f"/set-up/try/{other.order_id}", f"/set-up/try/{other.order_id}/standing", "/set-up/try/none"):
        assert (await staff_client.see(path)).status_code == 404
    assert (await staff_client.do("/set-up/try", **form(theirs))).json()["detail"]["code"] == "UNKNOWN_ACCOUNT"


@one_database
async def test_of_several_accounts_one_is_chosen_and_one_that_is_off_is_not_offered(staff_client: StaffClient) -> None:
    await add_account(staff_client.services, staff_client.shop.installation.id, name="Second", currencies=["EUR"])
    page = (await staff_client.see("/set-up/try")).text
    assert "Second (Live, EUR)" in page
    for account in await staff_client.services.accounts.all():
        await staff_client.services.accounts.change(account.id, enabled=False)
    assert "You need a merchant account first." in (await staff_client.see("/set-up/try")).text


@one_database
async def test_a_trial_in_dinars_may_be_typed_with_three_decimals(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.services.accounts.change(shop.account.id, currencies=["KWD"])
    shop.gateway.will_answer(shop.gateway.page())
    answer = await staff_client.do("/set-up/try", **form(shop.account, amount="1.250", currency="KWD"))
    assert answer.status_code == 200, answer.text
    assert shop.gateway.requests[-1].json["amount"] == Decimal("1.25")
