"""Staff charge, release, refund and cancel on the payment's page."""

import re
from decimal import Decimal

import pytest

from app.db.tables import Kind, State
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import NEXT_DOOR, StaffClient, other_store
from tests.dashboard.payments.test_payment_page import text
from tests.loopback import said
from tests.payments.fake_gateway import operation, payment, refused
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, at_once
from tests.payments.split.market import becomes_a_market, bought, recorded
from tests.payments.split.people import POTTER, SMITH


async def forms(staff_client: StaffClient) -> dict[str, str]:
    """Return the one-time keys of the forms on the payment's page, by what they do."""
    answer = await staff_client.see(f"/payments/{staff_client.shop.order_id}")
    found = re.findall(
        r'action="[^"]*/([a-z]+)">\s*<input type="hidden" name="key" value="([0-9a-f]{32})"', answer.text
    )
    return dict(found)


async def press(staff_client: StaffClient, what: str, **fields: str) -> str:
    """Fill in a form of the page and send it; return what the page says then."""
    key = (await forms(staff_client))[what]
    return text(await staff_client.do(f"/payments/{staff_client.shop.order_id}/{what}", key=key, **fields))


async def test_exactly_what_is_possible_is_offered(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    assert set(await forms(staff_client)) == {"cancel"}
    await shop.notify(payment(shop.order_id, method="auth"))
    await shop.work()
    assert set(await forms(staff_client)) == {"capture", "void"}
    shop.gateway.will(said(operation("capture", shop.order_id, "300.00")))
    page = await press(staff_client, "capture", amount="300")
    assert "It is charged." in page
    assert set(await forms(staff_client)) == {"refund"}
    shop.gateway.will(said(operation("refund", shop.order_id, "300.00")))
    assert "It is refunded." in await press(staff_client, "refund", amount="300,00")
    assert await forms(staff_client) == {}
    assert "Nothing can be done with this payment now." in text(await staff_client.see(f"/payments/{shop.order_id}"))
    await shop.work()
    assert shop.amounts == amounts(refunded="300.00", canceled="269.50")


@one_database
async def test_a_reservation_is_released(staff_client: StaffClient) -> None:
    await staff_client.shop.paid("AUTHORIZATION")
    staff_client.shop.gateway.will(said(operation("void", staff_client.shop.order_id, TOTAL)))
    page = await press(staff_client, "void")
    assert "The reservation is released." in page
    assert "staff asks in the app to release the reservation of 569.50 UAH (staff@example.com)" in page


@one_database
async def test_the_reason_reaches_the_gateway_and_the_list_of_events(staff_client: StaffClient) -> None:
    await staff_client.shop.paid()
    staff_client.shop.gateway.will(said(operation("refund", staff_client.shop.order_id, "100.00")))
    page = await press(staff_client, "refund", amount="100", reason="<b>Too</b> small")
    assert "to refund 100.00 UAH (staff@example.com)" in page
    assert "“<b>Too</b> small”" in page, "as text, in which nothing is a tag"
    assert staff_client.shop.gateway.heard[-1].json["comment"] == "<b>Too</b> small"


@one_database
async def test_an_unpaid_page_is_closed(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will(shop.gateway.page(), said([payment(shop.order_id, "failure", status_code="6007")]))
    await shop.begin()
    assert "The payment is cancelled, and its page is closed." in await press(staff_client, "cancel")


async def test_the_same_form_sent_twice_is_done_once_and_answered_alike(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.paid()
    shop.gateway.will(said(operation("refund", shop.order_id, "100.00")))
    form = {"key": (await forms(staff_client))["refund"], "amount": "100.00"}
    answers = await at_once(*(staff_client.do(f"/payments/{shop.order_id}/refund", **form) for _ in range(3)))
    assert {each.status_code for each in answers} == {200}
    assert "It is refunded." in text(await staff_client.do(f"/payments/{shop.order_id}/refund", **form))
    assert shop.gateway.calls == ["refund"]
    other = await staff_client.do(f"/payments/{shop.order_id}/refund", key=form["key"], amount="200.00")
    assert other.status_code == 422
    assert "asked for something else" in other.json()["detail"]["message"]


@one_database
async def test_what_is_under_way_comes_first_and_the_page_says_so(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.paid()
    shop.gateway.will(said(operation("refund", shop.order_id, "100.00", "pending")))
    assert "How it ends is not known yet" in await press(staff_client, "refund", amount="100.00")
    page = text(await staff_client.see(f"/payments/{shop.order_id}"))
    assert "What you ask for now waits until that is settled." in page
    assert "sent when what is under way is settled" in await press(staff_client, "refund", amount="1.00")
    assert shop.gateway.calls == ["refund"]


@one_database
async def test_what_the_gateway_refuses_is_said(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.paid()
    shop.gateway.will(refused("Insufficient balance", "P-400"))
    answer = await press(staff_client, "refund", amount="100.00")
    assert "It was not done: The gateway refused the request: Insufficient balance" in answer
    assert set(await forms(staff_client)) == {"refund"}


async def test_a_refund_of_a_marketplace_is_taken_from_whom_the_form_says(staff_client: StaffClient) -> None:
    shop = await becomes_a_market(staff_client.shop)
    await shop.paid(sourceObject=bought())
    shop.gateway.will(said(operation("refund", shop.order_id, "50.50")))
    fields = {f"from_{POTTER}": "40", f"from_{SMITH}": "10,50"}
    assert "It is refunded." in await press(staff_client, "refund", amount="", **fields)
    assert await recorded(shop, Kind.REFUND) == {POTTER: Decimal("40.00"), SMITH: Decimal("10.50")}


@one_database
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"amount": "569.51"}, "Refund at most 569.50 UAH."),
        ({"amount": "1,000"}, "Write amounts like 1234.50."),
        ({"amount": ""}, "Say how much"),
        ({"amount": "0"}, "Say how much"),
        ({"amount": "1.00", "key": "0" * 31}, "Reload the page"),
        ({"amount": "1.00", "key": ""}, "Reload the page"),
    ],
)
async def test_what_cannot_be_done_is_refused_in_words(
    staff_client: StaffClient, fields: dict[str, str], words: str
) -> None:
    shop = staff_client.shop
    await shop.paid()
    form = {"key": (await forms(staff_client))["refund"]} | fields
    answer = await staff_client.do(f"/payments/{shop.order_id}/refund", **form)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]["message"]
    assert shop.gateway.heard == []
    assert all(each.state is State.SUCCESS for each in (await shop.aggregate()).operations)


@pytest.mark.threat("staff-of-another-store")
@one_database
async def test_nobody_acts_on_a_payment_next_door(staff_client: StaffClient) -> None:
    await other_store(staff_client.shop)
    await staff_client.shop.paid()
    form = {"key": (await forms(staff_client))["refund"], "amount": "1.00"}
    token = staff_client.token(iss=NEXT_DOOR)
    headers = staff_client.headers(token, saleor=NEXT_DOOR)
    answer = await staff_client.http.post(
        f"/parts/payments/{staff_client.shop.order_id}/refund", headers=headers, data=form
    )
    assert answer.status_code == 404
    assert staff_client.shop.gateway.heard == []
