"""Staff charge, release, refund and cancel on the payment's page."""

import re
from decimal import Decimal

import pytest

from app.core.vocabulary import Kind, State
from integration_base_tests.loopback import json_reply
from tests.commands.books import operation as operation_of
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import OTHER_STORE, StaffClient, other_store
from tests.dashboard.payments.test_payment_page import text
from tests.payments.fake_gateway import operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, run_concurrently
from tests.payments.split.market import enable_splitting, recorded, split_checkout
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
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow="AUTHORIZATION")
    assert set(await forms(staff_client)) == {"cancel"}
    await shop.notify(payment(shop.order_id, method="auth"))
    await shop.work()
    assert set(await forms(staff_client)) == {"capture", "void"}
    shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, "300.00")))
    page = await press(staff_client, "capture", amount="300")
    assert "The amount was captured." in page
    assert set(await forms(staff_client)) == {"refund"}
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "300.00")))
    assert "The amount was refunded." in await press(staff_client, "refund", amount="300,00")
    assert await forms(staff_client) == {}
    assert "No actions are available for this payment right now." in text(
        await staff_client.see(f"/payments/{shop.order_id}")
    )
    await shop.work()
    assert shop.amounts == amounts(refunded="300.00", canceled="269.50")


@one_database
async def test_a_reservation_is_released(staff_client: StaffClient) -> None:
    await staff_client.shop.complete_payment("AUTHORIZATION")
    staff_client.shop.gateway.will_answer(json_reply(operation("void", staff_client.shop.order_id, TOTAL)))
    page = await press(staff_client, "void")
    assert "The authorized amount was released." in page
    assert "staff asks in the app to release the authorization of 569.50 UAH (staff@example.com)" in page


@one_database
async def test_the_reason_reaches_the_gateway_and_the_list_of_events(staff_client: StaffClient) -> None:
    await staff_client.shop.complete_payment()
    staff_client.shop.gateway.will_answer(json_reply(operation("refund", staff_client.shop.order_id, "100.00")))
    page = await press(staff_client, "refund", amount="100", reason="<b>Too</b> small")
    assert "to refund 100.00 UAH (staff@example.com)" in page
    assert "“<b>Too</b> small”" in page, "as text, in which nothing is a tag"
    assert staff_client.shop.gateway.requests[-1].json["comment"] == "<b>Too</b> small"


@one_database
async def test_an_unpaid_page_is_closed(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page(), json_reply([payment(shop.order_id, "failure", status_code="6007")]))
    await shop.begin()
    assert "The payment was cancelled, and its payment page is closed." in await press(staff_client, "cancel")


async def test_the_same_form_sent_twice_is_done_once_and_answered_alike(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00")))
    form = {"key": (await forms(staff_client))["refund"], "amount": "100.00"}
    answers = await run_concurrently(*(staff_client.do(f"/payments/{shop.order_id}/refund", **form) for _ in range(3)))
    assert {answer.status_code for answer in answers} == {200}
    assert "The amount was refunded." in text(await staff_client.do(f"/payments/{shop.order_id}/refund", **form))
    assert shop.gateway.calls == ["refund"]
    other = await staff_client.do(f"/payments/{shop.order_id}/refund", key=form["key"], amount="200.00")
    assert other.status_code == 422
    assert other.json()["detail"]["message"] == (
        "This was already requested before, with different details: over 100.00 UAH. See what became of that before "
        "you request more."
    )


@one_database
async def test_what_is_under_way_comes_first_and_the_page_says_so(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00", "pending")))
    assert "The outcome is not known yet" in await press(staff_client, "refund", amount="100.00")
    page = text(await staff_client.see(f"/payments/{shop.order_id}"))
    assert "Anything you request now waits until it has finished." in page
    assert "sent when the operation in progress has finished" in await press(staff_client, "refund", amount="1.00")
    assert shop.gateway.calls == ["refund"]


@one_database
async def test_what_the_gateway_refuses_is_said(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.will_answer(refusal_reply("Insufficient balance", "P-400"))
    answer = await press(staff_client, "refund", amount="100.00")
    assert "The operation failed: The gateway refused the request: Insufficient balance" in answer
    assert set(await forms(staff_client)) == {"refund"}


async def test_a_refund_of_a_marketplace_is_taken_from_whom_the_form_says(staff_client: StaffClient) -> None:
    shop = await enable_splitting(staff_client.shop)
    await shop.complete_payment(sourceObject=split_checkout())
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "50.50")))
    fields = {f"from_{POTTER}": "40", f"from_{SMITH}": "10,50"}
    assert "The amount was refunded." in await press(staff_client, "refund", amount="", **fields)
    assert await recorded(shop, Kind.REFUND) == {POTTER: Decimal("40.00"), SMITH: Decimal("10.50")}


@one_database
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"amount": "569.51"}, "Refund at most 569.50 UAH."),
        ({"amount": "1,000"}, "Enter amounts like 1234.50."),
        ({"amount": ""}, "Enter how much"),
        ({"amount": "0"}, "Enter how much"),
        ({"amount": "1.00", "key": "0" * 31}, "Reload the page"),
        ({"amount": "1.00", "key": ""}, "Reload the page"),
    ],
)
async def test_what_cannot_be_done_is_refused_in_words(
    staff_client: StaffClient, fields: dict[str, str], words: str
) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    form = {"key": (await forms(staff_client))["refund"]} | fields
    answer = await staff_client.do(f"/payments/{shop.order_id}/refund", **form)
    assert answer.status_code == 422
    detail = answer.json()["detail"]
    assert words in detail["message"]
    assert [*detail.get("fields", ())] == ([] if "key" in fields else ["amount"])
    assert shop.gateway.requests == []
    assert all(operation.state is State.SUCCESS for operation in (await shop.aggregate()).operations)


@pytest.mark.threat("staff-of-another-store")
@one_database
async def test_nobody_acts_on_a_payment_next_door(staff_client: StaffClient) -> None:
    await other_store(staff_client.shop)
    await staff_client.shop.complete_payment()
    form = {"key": (await forms(staff_client))["refund"], "amount": "1.00"}
    token = staff_client.token(iss=OTHER_STORE)
    headers = staff_client.headers(token, saleor=OTHER_STORE)
    answer = await staff_client.http.post(
        f"/parts/payments/{staff_client.shop.order_id}/refund", headers=headers, data=form
    )
    assert answer.status_code == 404
    assert staff_client.shop.gateway.requests == []


@one_database
@pytest.mark.parametrize(("typed", "sent"), [("10.250", "10.25"), ("1,000.500", "1000.50"), ("10,25", "10.25")])
async def test_amounts_in_dinars_may_be_typed_with_their_three_decimals(
    staff_client: StaffClient, typed: str, sent: str
) -> None:
    kept = await staff_client.payment(
        1, currency="KWD", amount=Decimal(2000), operations=[operation_of(amount=Decimal(2000), currency="KWD")]
    )
    staff_client.shop.gateway.will_answer(json_reply(operation("refund", kept.order_id, sent, currency="KWD")))
    page = text(await staff_client.do(f"/payments/{kept.order_id}/refund", key="0" * 32, amount=typed))
    assert "The amount was refunded." in page
    (refund,) = [request for request in staff_client.shop.gateway.requests if request.path.endswith("/refund")]
    assert refund.json["refund_amount"] == Decimal(sent)


@one_database
@pytest.mark.parametrize(
    ("currency", "typed", "words"),
    [
        ("KWD", "10.255", "more than two decimal places"),
        ("KWD", "10,250", "Enter amounts like 1234.50."),
        ("UAH", "10.250", "Enter amounts like 1234.50."),
        ("JPY", "10.50", "Amounts in JPY have no decimals"),
        ("JPY", "10.000", "Enter amounts like 1234.50."),
    ],
)
async def test_amounts_that_their_currency_does_not_have_are_refused_in_words(
    staff_client: StaffClient, currency: str, typed: str, words: str
) -> None:
    paid = operation_of(amount=Decimal(2000), currency=currency)
    kept = await staff_client.payment(1, currency=currency, amount=Decimal(2000), operations=[paid])
    answer = await staff_client.do(f"/payments/{kept.order_id}/refund", key="0" * 32, amount=typed)
    assert (answer.status_code, staff_client.shop.gateway.requests) == (422, [])
    assert words in answer.json()["detail"]["message"]
    assert list(answer.json()["detail"]["fields"]) == ["amount"]


@one_database
@pytest.mark.parametrize(("typed", "sent"), [("100.00", "100"), ("1,000", "1000")])
async def test_yen_may_be_typed_with_zero_cents_and_in_thousands(
    staff_client: StaffClient, typed: str, sent: str
) -> None:
    paid = operation_of(amount=Decimal(2000), currency="JPY")
    kept = await staff_client.payment(1, currency="JPY", amount=Decimal(2000), operations=[paid])
    staff_client.shop.gateway.will_answer(json_reply(operation("refund", kept.order_id, sent, currency="JPY")))
    page = text(await staff_client.do(f"/payments/{kept.order_id}/refund", key="0" * 32, amount=typed))
    assert "The amount was refunded." in page
    (refund,) = [request for request in staff_client.shop.gateway.requests if request.path.endswith("/refund")]
    assert refund.json["refund_amount"] == Decimal(sent)
