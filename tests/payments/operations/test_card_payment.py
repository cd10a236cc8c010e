"""A shopper pays with a card that was typed into the storefront (laws of money, 1, 2, 4, 7, 8, 9, 11)."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel

from app.core.vocabulary import Kind, Mode, State
from app.flows.card_keys import offered_key, rotate
from app.flows.gateway_initialize import answer_gateway_initialize
from app.rules.problems import problem_text
from app.rules.schedule import Schedule
from app.rules.status_messages import status_message
from gateway_client.models import Status
from gateway_client.statuses import explain
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Reply, Silence, json_reply
from saleor_app_sdk.responses import SessionResponse
from tests.payments.cards.seals import BROWSER, CARD, CVV, NUMBER, seal
from tests.payments.fake_gateway import BROKEN, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_gateway_initialize import event as offer_event
from tests.payments.shop import TOTAL, Shop, run_concurrently, source_object

TOKEN = "rcr:5f0c9a17d3e24b6c"
CHECKOUT = "Q2hlY2tvdXQ6MQ=="
BANK = "https://bank.example.com/3ds?session=1"


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop whose owner has confirmed that it may take cards."""
    shop.account = await shop.services.accounts.change(shop.account.id, pci_dss_confirmed_at=shop.clock.now)
    return shop


async def typed(shop: Shop, card: object = CARD, **more: Any) -> dict[str, Any]:
    """Return what the storefront passes: the card, sealed for the key that is offered, and the browser."""
    answer = await answer_gateway_initialize(shop.services, offer_event(), shop.installation)
    sealed = seal({"for": CHECKOUT, **card} if isinstance(card, dict) else card, answer.data["card"]["jwk"])
    return {"card": sealed, "browserFingerprint": BROWSER, "customer": {"ip": "203.0.113.7"}} | more


def direct(shop: Shop, status: str = "success", **more: Any) -> dict[str, Any]:
    """Return the gateway's record of a direct payment, which is in its book from now on."""
    record = payment(shop.order_id, status, mode="direct", cc_mask="424242******4242", **more)
    shop.gateway.book[shop.order_id] = [record]
    return record


def waiting(shop: Shop, url: str | None = BANK, code: str = "2122", **more: Any) -> dict[str, Any]:
    """Return the record of a payment whose shopper must act."""
    return direct(shop, "pending", status_code=code, user_action_required=True, user_action_url=url, **more)


def error_of(answer: SessionResponse) -> dict[str, Any]:
    [error] = answer.data["errors"]
    assert isinstance(error, dict)
    return error


async def test_a_paid_card_is_a_success_under_the_gateways_id_with_the_card(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(record := direct(shop)))
    answer = await shop.begin(data=await typed(shop))
    assert answer.result == "CHARGE_SUCCESS"
    assert answer.psp_reference == record["payment_id"]
    assert answer.card is not None
    assert "4242" in str(answer.card)
    assert [action.value for action in answer.actions or ()] == ["REFUND"]
    assert shop.amounts == amounts(charged=TOTAL)
    await shop.pass_time(minutes=1)
    assert shop.saleor.reported_types == ["CHARGE_SUCCESS"]  # an answer can get lost, so it is reported too
    assert shop.amounts == amounts(charged=TOTAL)


async def test_the_gateway_is_asked_for_everything_that_a_direct_payment_takes(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, merchant_mcc="5814", order_3ds_bypass="always")
    shop.gateway.will_answer(json_reply(direct(shop)))
    customer = {"ip": "203.0.113.7", "referrer": "https://shop.example.com/cart"}
    await shop.begin(data=await typed(shop, customer=customer))
    [heard] = shop.gateway.requests
    asked = heard.json
    assert heard.path == "/api/v1/payment"
    card = {"cc_number": NUMBER, "exp_month": 12, "exp_year": 2030, "card_cvv": CVV}
    for name, value in {
        "mode": "direct",
        "method": "purchase",
        "amount": Decimal(TOTAL),
        "order_id": shop.order_id,
        "order_3ds_bypass": "always",
        "merchant_mcc": "5814",
        "customer_fname": "Тарас",
        "customer_lname": "Шевченко",
        "customer_ip": "203.0.113.7",
        "customer_referrer": "https://shop.example.com/cart",
        "result_url": f"https://pay.example.com/pay/return/{shop.order_id}",
        "server_url": f"https://pay.example.com/api/webhooks/gateway/{shop.account.id}",
        **card,
    }.items():
        assert asked[name] == value, name
    told = {**BROWSER, "browserIpAddress": "203.0.113.7", "browserJavaEnabled": "false"}
    assert asked["browser_fingerprint"] == {name: str(value) for name, value in told.items()}
    assert not {"customer_lang", "order_timeout"} & set(asked)


async def test_a_reservation_is_taken_and_then_captured(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(direct(shop, method="auth")))
    answer = await shop.begin(flow="AUTHORIZATION", data=await typed(shop))
    assert answer.result == "AUTHORIZATION_SUCCESS"
    assert shop.amounts == amounts(authorized=TOTAL)
    assert [action.value for action in answer.actions or ()] == ["CHARGE", "CANCEL"]


@pytest.mark.parametrize(
    ("means", "member"), [({"token": TOKEN}, "cc_token"), ({"cryptogram": {"data": "x"}}, "cryptogram")]
)
async def test_a_token_or_a_cryptogram_pays_too(shop: Shop, means: dict[str, Any], member: str) -> None:
    shop.gateway.will_answer(json_reply(direct(shop)))
    answer = await shop.begin(data=await typed(shop, means))
    assert answer.result == "CHARGE_SUCCESS"
    assert shop.gateway.requests[0].json[member] == next(iter(means.values()))
    assert "cc_number" not in shop.gateway.requests[0].json


@pytest.mark.law(1)
async def test_when_the_call_arrives_the_intent_is_there_and_holds_everything_but_the_card(shop: Shop) -> None:
    """No row ever holds a card."""
    seen: list[tuple[State, set[str], set[str]]] = []

    async def look_into_the_database(heard: ReceivedRequest) -> None:
        operation = await shop.operation(Kind.CREATE)
        seen.append((operation.state, set(heard.json) - {"pos_id"}, set(operation.request)))
        assert operation.psp_reference is None

    shop.gateway.on_request = look_into_the_database
    shop.gateway.will_answer(json_reply(direct(shop)))
    await shop.begin(data=await typed(shop))
    [(state, asked, kept)] = seen
    assert state is State.INTENT
    assert asked - kept == {"cc_number", "exp_month", "exp_year", "card_cvv"}
    assert kept <= asked
    assert (await shop.aggregate()).payment.mode is Mode.DIRECT


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize("means", [CARD, {"token": TOKEN}, {"cryptogram": {"secret": TOKEN}}])
@pytest.mark.parametrize("outcome", ["success", "echoed", "unknown"])
async def test_no_row_log_or_answer_holds_the_card(
    shop: Shop,
    means: dict[str, Any],
    outcome: str,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    secrets = [secret for secret in (NUMBER, CVV, TOKEN) if secret in str(means)]
    echo = f"it said {' and '.join(secrets)}"
    replies = {
        "success": json_reply(direct(shop, cc_token=TOKEN)),
        "echoed": json_reply({"message": echo, "args": [{"field_name": "card", "violation": echo}]}, 400),
        "unknown": BROKEN,
    }
    shop.gateway.will_answer(replies[outcome])
    answer = await shop.begin(data=await typed(shop, means))
    await shop.pass_time(hours=1)
    async with shop.services.database.transaction() as session:
        connection = await session.connection()
        rows = [
            str((await connection.execute(text(f"SELECT * FROM {table.name}"))).all())  # noqa: S608 - names of our own
            for table in SQLModel.metadata.sorted_tables
        ]
    shown = capsys.readouterr()
    told = [*rows, caplog.text, shown.out, shown.err, str(answer.dump()), repr(answer)]
    for secret in (NUMBER, TOKEN, f"'{CVV}'", f'"{CVV}"', f"and {CVV}"):
        assert all(secret not in text for text in told), secret


async def test_a_declined_card_is_a_failure_with_words_for_the_shopper_and_when_to_come_again(shop: Shop) -> None:
    limit = {"retry_after": "2026-11-21T14:30:00.000", "description": "daily count"}
    shop.gateway.will_answer(json_reply(direct(shop, "failure", status_code="4010", limit_info=limit)))
    answer = await shop.begin(data=await typed(shop, language="uk"))
    assert answer.result == "CHARGE_FAILURE"
    error = error_of(answer)
    assert error["code"] == "4010"
    assert "ліміт" in error["message"]
    assert error["retryAfter"] == "2026-11-21T14:30:00Z"
    assert answer.psp_reference == f"payment-of-{shop.order_id}"
    assert shop.amounts == amounts()


async def test_a_refused_request_is_a_failure_under_our_own_reference(shop: Shop) -> None:
    shop.gateway.will_answer(refusal_reply("Invalid amount", "P-400"))
    answer = await shop.begin(data=await typed(shop))
    assert (answer.result, answer.psp_reference) == ("CHARGE_FAILURE", shop.order_id)
    assert error_of(answer)["code"] == "STORE_UNAVAILABLE"  # another attempt would be refused too
    assert "P-400" in (answer.message or "")
    assert shop.gateway.calls == ["payment"]


async def test_a_shopper_who_must_confirm_is_led_to_the_bank_and_pays(shop: Shop) -> None:
    data = await typed(shop, returnUrl="https://shop.example.com/back")
    shop.gateway.will_answer(json_reply(waiting(shop)))
    answer = await shop.begin(data=data)
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.data == {"redirectUrl": BANK}
    assert answer.psp_reference == f"payment-of-{shop.order_id}"
    assert shop.amounts == amounts()  # nothing counts as paid before it is
    assert await shop.process_session(data=data) == answer  # still waiting: the same link
    direct(shop)
    paid = await shop.process_session(data=data)
    assert (paid.result, paid.psp_reference) == ("CHARGE_SUCCESS", answer.psp_reference)
    assert shop.amounts == amounts(charged=TOTAL)
    assert shop.gateway.calls == ["payment"]


async def test_a_shopper_who_does_not_confirm_has_not_paid(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(waiting(shop)))
    await shop.begin(data=await typed(shop))
    await shop.notify(payment(shop.order_id, "failure", mode="direct", status_code="4147"))
    await shop.work()
    assert "CHARGE_FAILURE" in shop.saleor.reported_types
    answer = await shop.process_session()
    assert error_of(answer)["code"] == "4147"


@pytest.mark.parametrize("code", ["2102", "2123", "2124"])
async def test_what_waits_for_the_shopper_does_not_count_as_paid(shop: Shop, code: str) -> None:
    shop.gateway.will_answer(json_reply(direct(shop, "pending", status_code=code)))
    answer = await shop.begin(data=await typed(shop))
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    words = status_message(explain(Status.PENDING, code), "uk")
    # Nowhere to go: the shopper is told what to do.
    assert (error_of(answer)["code"], error_of(answer)["message"]) == (code, words)
    assert shop.amounts == amounts()


async def test_after_the_bank_asked_it_is_the_banks_turn_and_a_late_word_does_not_change_that(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(asked := waiting(shop)))
    await shop.begin(data=await typed(shop))
    direct(shop, "pending", status_code="2001")
    answer = await shop.process_session()
    assert answer.result == "CHARGE_REQUEST"
    await shop.notify({**asked, "user_action_required": None, "user_action_url": None})
    await shop.work()
    assert not (await shop.operation(Kind.CREATE)).waits_for_shopper
    direct(shop)
    await shop.pass_time(hours=1)
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.law(7)
async def test_the_link_is_not_lost_when_a_notification_overtakes_the_answer(shop: Shop) -> None:
    """Pending is pending; but where to go is only in the answer."""

    async def notify(heard: ReceivedRequest) -> None:
        if heard.method == "POST":
            await shop.notify(direct(shop, "pending", status_code="2001"))
            await shop.work()
            waiting(shop)

    shop.gateway.on_request = notify
    shop.gateway.will_answer(json_reply(waiting(shop)))
    answer = await shop.begin(data=await typed(shop))
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.data == {"redirectUrl": BANK}


@pytest.mark.threat("open-redirect")
async def test_a_link_that_no_browser_should_follow_is_not_passed_on(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(waiting(shop, url="javascript:alert(1)")))
    answer = await shop.begin(data=await typed(shop))
    assert "redirectUrl" not in answer.data


@pytest.mark.law(9)
async def test_what_is_at_the_bank_counts_until_it_is_known_under_one_reference(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(direct(shop, "pending", status_code="2119")))
    answer = await shop.begin(data=await typed(shop))
    assert (answer.result, answer.psp_reference) == ("CHARGE_REQUEST", f"payment-of-{shop.order_id}")
    assert shop.amounts == amounts(charge_pending=TOTAL)
    await shop.notify(direct(shop))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.law(2, 9, 11)
@pytest.mark.parametrize("trouble", [BROKEN, Reply(503), HangUp(), Silence(), Reply(200, b"<html>")])
async def test_an_unknown_outcome_is_pending_under_our_reference_and_never_sent_again(
    shop: Shop, trouble: Behaviour
) -> None:
    data = await typed(shop)
    shop.gateway.will_answer(trouble)
    async with shop.webhook_budget(1.5):
        answer = await shop.begin(data=data)
    assert (answer.result, answer.psp_reference) == ("CHARGE_REQUEST", shop.order_id)
    assert await shop.begin(data=data) == answer
    direct(shop)
    await shop.pass_time(minutes=5)
    assert shop.amounts == amounts(charged=TOTAL)
    assert {report.psp_reference for report in shop.saleor.reports} == {shop.order_id}
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(2)
async def test_an_answer_that_tells_of_something_else_leaves_the_outcome_unknown(shop: Shop) -> None:
    data = await typed(shop)
    shop.gateway.will_answer(json_reply(payment(shop.order_id, mode="direct", method="payout")))
    answer = await shop.begin(data=data)
    assert (answer.result, answer.psp_reference) == ("CHARGE_REQUEST", f"payment-of-{shop.order_id}")
    direct(shop)
    await shop.pass_time(minutes=5)
    assert shop.amounts == amounts(charged=TOTAL)
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(2)
async def test_an_unknown_payment_of_which_nothing_is_found_has_failed(shop: Shop) -> None:
    shop.gateway.will_answer(BROKEN)
    answer = await shop.begin(data=await typed(shop))
    assert answer.result == "CHARGE_REQUEST"
    await shop.pass_time(minutes=20)
    assert shop.saleor.reported_types == ["CHARGE_FAILURE"]
    assert shop.amounts == amounts()
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(2)
async def test_an_unknown_payment_is_looked_up_every_few_seconds_at_first(shop: Shop) -> None:
    """The shopper waits. There is no page whose link could still be on its way."""
    data = await typed(shop)
    shop.gateway.will_answer(BROKEN)
    await shop.begin(data=data)
    await shop.pass_time(seconds=4)
    assert shop.gateway.polls == 1
    direct(shop)
    await shop.pass_time(seconds=8)
    assert shop.amounts == amounts(charged=TOTAL)


async def test_an_unknown_payment_that_waits_for_nobody_ends_as_the_gateway_says(shop: Shop) -> None:
    shop.gateway.will_answer(BROKEN)
    await shop.begin(data=await typed(shop))
    waiting(shop)
    await shop.pass_time(minutes=30)
    assert shop.saleor.reported_types == []  # it is there, so it has not failed
    direct(shop, "failure", status_code="4147")
    await shop.pass_time(hours=2)
    assert shop.saleor.reported_types == ["CHARGE_FAILURE"]
    assert shop.amounts == amounts()


@pytest.mark.law(8)
async def test_another_amount_than_asked_is_never_booked_and_never_given_up(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(direct(shop, amount="1.00")))
    answer = await shop.begin(data=await typed(shop))
    assert answer.result == "CHARGE_ACTION_REQUIRED"  # what does not agree must not count as covered
    assert error_of(answer)["code"] == "UNDER_REVIEW"  # and the shopper, whose money may have moved, must not pay again
    await shop.pass_time(hours=3)
    assert shop.saleor.reported_types == ["INFO"]
    assert "was requested" in (problem_text((await shop.aggregate()).payment) or "")
    assert not (await shop.operation(Kind.CREATE)).state.final


@pytest.mark.threat("replayed-webhook")
@pytest.mark.law(4)
async def test_a_repeated_delivery_pays_once(shop: Shop) -> None:
    data = await typed(shop)
    shop.gateway.will_answer(json_reply(direct(shop)))
    first = await shop.begin(data=data)
    assert await shop.begin(data=data) == first
    assert await shop.process_session(data=data) == first
    assert shop.gateway.calls == ["payment"]


async def test_two_deliveries_at_once_pay_once_and_the_other_does_not_count_as_paid(shop: Shop) -> None:
    data = await typed(shop)
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def hold(heard: ReceivedRequest) -> None:
        arrived.set()
        await go_on.wait()

    shop.gateway.on_request = hold
    shop.gateway.will_answer(json_reply(direct(shop)))
    paying = asyncio.create_task(shop.begin(data=data))
    await arrived.wait()
    for again in (await shop.begin(data=data), await shop.process_session(data=data)):
        assert again.result == "CHARGE_ACTION_REQUIRED"
        assert error_of(again)["code"] == "CREATION_UNKNOWN"
    go_on.set()
    answer = await paying
    assert (answer.result, answer.psp_reference) == ("CHARGE_SUCCESS", again.psp_reference)
    assert shop.gateway.calls == ["payment"]
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.fault("webhook-repeated")
async def test_many_deliveries_at_once_pay_once(shop: Shop) -> None:
    data = await typed(shop)
    shop.gateway.will_answer(json_reply(direct(shop)))
    await run_concurrently(*(shop.begin(data=data) for _ in range(4)))
    assert shop.gateway.calls == ["payment"]


async def test_a_process_that_died_around_the_call_leaves_a_payment_that_is_looked_up(shop: Shop) -> None:
    arrived = asyncio.Event()

    async def die(heard: ReceivedRequest) -> None:
        if heard.method == "POST":
            direct(shop)
            arrived.set()

    shop.gateway.on_request = die
    shop.gateway.will_answer(Silence())
    paying = asyncio.create_task(shop.begin(data=await typed(shop)))
    await arrived.wait()
    paying.cancel()
    await asyncio.gather(paying, return_exceptions=True)
    assert (await shop.operation(Kind.CREATE)).state is State.INTENT
    await shop.pass_time(minutes=1)
    assert shop.saleor.reported_types == ["CHARGE_SUCCESS"]
    assert shop.gateway.calls == ["payment"]


async def test_nobody_can_cancel_what_the_gateway_would_not(shop: Shop) -> None:
    """Gateway interface, 7: only unpaid hosted payments are cancelled."""
    shop.gateway.will_answer(json_reply(direct(shop, "init", status_code=None)))
    answer = await shop.begin(data=await typed(shop))
    assert answer.result == "CHARGE_REQUEST"
    assert answer.actions == ()
    refusal = await shop.request_action("CANCEL")
    assert refusal.result == "CANCEL_FAILURE"
    await shop.pass_time(days=2)
    assert shop.gateway.calls == ["payment"]  # nor does the app close it by itself
    assert all(not report.available_actions for report in shop.saleor.reports)


async def test_a_connection_that_was_never_made_is_a_failure(shop: Shop) -> None:
    data = await typed(shop)
    shop.clock.forward(seconds=1)
    shop.account = await shop.services.accounts.change(shop.account.id, base_url="http://127.0.0.1:9")
    shop.services = replace(shop.services, schedule=Schedule(pauses_before_resending=(timedelta(0),) * 2))
    answer = await shop.begin(data=data)
    assert answer.result == "CHARGE_FAILURE"
    assert "could not be reached" in (answer.message or "")


async def test_a_payment_that_saleor_could_not_begin_is_made_when_the_shopper_comes_back(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(direct(shop)))
    assert (await shop.process_session(data=await typed(shop))).result == "CHARGE_SUCCESS"


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"card": "4242424242424242"}, "CARD_DATA_REFUSED", "data.card"),
        ({"card": CARD}, "CARD_DATA_REFUSED", "data.card"),
        ({"cardNumber": NUMBER}, "CARD_DATA_REFUSED", "data.cardNumber"),
        ({"cc_token": TOKEN}, "CARD_DATA_REFUSED", "data.cc_token"),
        ({"card": "eyJhbGciOiJub25lIn0.a.b.c.d"}, "CARD_UNREADABLE", "data.card"),
        ({"browserFingerprint": None}, "INVALID_DATA", "data.browserFingerprint"),
        (
            {"browserFingerprint": {**BROWSER, "browserTimeZone": None}},
            "INVALID_DATA",
            "data.browserFingerprint.browserTimeZone",
        ),
        ({"browserFingerprint": {**BROWSER, "browserUserAgent": " "}}, "INVALID_DATA", "data.browserFingerprint."),
        ({"customer": {"ip": "example.com"}}, "MISSING_IP", "data.customer.ip"),
        ({"customer": {}}, "MISSING_IP", "data.customer.ip"),
    ],
)
async def test_what_is_wrong_is_refused_before_anything_is_recorded(
    shop: Shop, change: dict[str, Any], code: str, field: str
) -> None:
    answer = await shop.begin(data=await typed(shop) | change)
    assert answer.result == "CHARGE_FAILURE"
    error = error_of(answer)
    assert error["code"] == code
    assert error["field"].startswith(field)
    assert NUMBER not in str(answer.dump())
    assert await shop.find_aggregate() is None
    assert shop.gateway.requests == []


@pytest.mark.parametrize("referrer", ["nowhere", "about:client", "/cart", "", 7], ids=repr)
async def test_a_referrer_that_is_no_address_is_left_out(shop: Shop, referrer: Any) -> None:
    shop.gateway.will_answer(json_reply(direct(shop)))
    answer = await shop.begin(data=await typed(shop) | {"customer": {"ip": "203.0.113.7", "referrer": referrer}})
    assert answer.result == "CHARGE_SUCCESS"
    assert "customer_referrer" not in shop.gateway.requests[0].json


async def test_the_bank_is_told_the_browsers_address_where_the_customers_cannot_be_read(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(direct(shop)))
    browser = BROWSER | {"browserIpAddress": "203.0.113.8:52344"}
    answer = await shop.begin(data=await typed(shop) | {"customer": {"ip": "unknown"}, "browserFingerprint": browser})
    assert answer.result == "CHARGE_SUCCESS"
    assert shop.gateway.requests[0].json["customer_ip"] == "203.0.113.8"


@pytest.mark.law(12)
async def test_a_card_is_not_charged_for_more_than_saleor_says_is_owed(shop: Shop) -> None:
    """Saleor requests 569.50, of which a gift card pays 200.00."""
    source = source_object(totalPrice={"gross": {"amount": Decimal("369.50"), "currency": "UAH"}})
    error = error_of(await shop.begin(data=await typed(shop), sourceObject=source))
    assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", Decimal("369.50"))
    assert shop.gateway.requests == []
    assert await shop.find_aggregate() is None


@pytest.mark.parametrize("card", [None, "", " "], ids=repr)
async def test_a_card_that_is_nothing_leads_to_the_page(shop: Shop, card: str | None) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    assert (await shop.begin(data={"card": card, "browserFingerprint": "none"})).data["checkoutUrl"]


async def test_what_is_wrong_with_the_card_is_told_to_the_shopper_in_words(shop: Shop) -> None:
    answer = await shop.begin(data=await typed(shop, CARD | {"number": "4242424242424243"}, language="uk"))
    assert error_of(answer) == {
        "code": "INVALID_CARD",
        "message": "Номер картки неправильний. Будь ласка, перевірте його.",
        "field": "data.card.number",
    }
    assert answer.message == "The card number is not valid: nothing was sent to the gateway."
    assert await shop.find_aggregate() is None


async def test_a_direct_payment_needs_a_name_whatever_the_account_says(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, names_required=False)
    nameless = source_object(billingAddress={"phone": "+380501234567", "country": {"code": "UA"}})
    answer = await shop.begin(data=await typed(shop), sourceObject=nameless)
    assert [(error["code"], error["field"]) for error in answer.data["errors"]] == [
        ("MISSING_NAME", "data.customer.firstName"),
        ("MISSING_NAME", "data.customer.lastName"),
    ]


@pytest.mark.law(17)
@pytest.mark.parametrize("names", [("Sukarno", ""), ("", "Sukarno")])
async def test_a_shopper_with_a_single_name_is_called_by_it_twice(shop: Shop, names: tuple[str, str]) -> None:
    """The gateway requires a first and a last name with a card, and some people have one name."""
    shop.gateway.will_answer(json_reply(direct(shop)))
    billing = {"phone": "+380501234567", "firstName": names[0], "lastName": names[1]}
    answer = await shop.begin(data=await typed(shop), sourceObject=source_object(billingAddress=billing))
    assert answer.result == "CHARGE_SUCCESS"
    asked = shop.gateway.requests[0].json
    assert (asked["customer_fname"], asked["customer_lname"]) == ("Sukarno", "Sukarno")


@pytest.mark.parametrize("strict", [{"sector": "gambling"}, {"names_required": True}])
async def test_a_merchant_who_must_know_the_shopper_gets_no_name_that_nobody_has_given(
    shop: Shop, strict: dict[str, Any]
) -> None:
    await shop.services.accounts.change(shop.account.id, **strict)
    billing = {"phone": "+380501234567", "firstName": "Sukarno"}
    answer = await shop.begin(data=await typed(shop), sourceObject=source_object(billingAddress=billing))
    assert (error_of(answer)["code"], error_of(answer)["field"]) == ("MISSING_NAME", "data.customer.lastName")


async def test_the_shoppers_address_is_saleors_word_when_the_storefront_says_nothing(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(direct(shop)))
    await shop.begin(data=await typed(shop, customer={}), customerIpAddress="2001:db8::7")
    assert shop.gateway.requests[0].json["customer_ip"] == "2001:db8::7"


async def test_without_the_stores_word_cards_are_neither_offered_nor_taken(shop: Shop) -> None:
    data = await typed(shop)
    await shop.services.accounts.change(shop.account.id, pci_dss_confirmed_at=None)
    told = (await answer_gateway_initialize(shop.services, offer_event(), shop.installation)).data
    assert told["modes"] == ["hosted"]
    assert "card" not in told
    answer = await shop.begin(data=data)
    assert error_of(answer)["code"] == "CARDS_NOT_ENABLED"
    assert await shop.find_aggregate() is None


@pytest.mark.threat("stolen-ciphertext")
async def test_the_key_is_offered_only_in_its_public_half(shop: Shop) -> None:
    told = (await answer_gateway_initialize(shop.services, offer_event(), shop.installation)).data
    assert told["modes"] == ["hosted", "direct"]
    assert (told["card"]["alg"], told["card"]["enc"]) == ("RSA-OAEP-256", "A256GCM")
    assert not {"d", "p", "q", "dp", "dq", "qi"} & set(told["card"]["jwk"])


async def test_a_page_that_was_open_for_long_still_pays_and_then_asks_for_the_new_key(shop: Shop) -> None:
    old = await typed(shop)
    await rotate(shop.services.card_keys.for_store(shop.installation.id), shop.clock.forward(hours=1))
    shop.gateway.will_answer(json_reply(direct(shop)))
    assert (await shop.begin(data=old)).result == "CHARGE_SUCCESS"
    shop.transaction = shop.saleor.new_transaction()
    shop.clock.forward(days=1)
    assert error_of(await shop.begin(data=old))["code"] == "SEAL_OUTDATED"
    new = await offered_key(shop.services.card_keys.for_store(shop.installation.id), shop.clock.now)
    assert [key.kid for key in await shop.services.card_keys.for_store(shop.installation.id).all()] == [new.kid]


@pytest.mark.threat("stolen-ciphertext")
async def test_a_card_sealed_for_one_checkout_pays_no_other(shop: Shop) -> None:
    sealed = await typed(shop, CARD | {"for": CHECKOUT})
    other = source_object(id="Q2hlY2tvdXQ6Mg==")
    assert error_of(await shop.begin(data=sealed, sourceObject=other))["code"] == "CARD_UNREADABLE"
    shop.gateway.will_answer(json_reply(direct(shop)))
    assert (await shop.begin(data=sealed)).result == "CHARGE_SUCCESS"


@pytest.mark.threat("stolen-ciphertext")
async def test_a_card_sealed_for_another_store_does_not_pay_in_this_one(shop: Shop) -> None:
    """Also where both stores have a checkout of that name, as a copy of a store has."""
    await shop.services.installations.save(
        saleor_api_url="https://other.example.com/graphql/",
        saleor_domain="other.example.com",
        schema_version="3.23",
        app_id="QXBwOjE=",
        token="the-token-of-the-other",
        jwks=None,
    )
    other = await shop.services.installations.find("https://other.example.com/graphql/")
    assert other is not None
    key = await offered_key(shop.services.card_keys.for_store(other.id), shop.clock.now)
    data = await typed(shop) | {"card": seal(CARD | {"for": CHECKOUT}, key.public_jwk)}
    assert error_of(await shop.begin(data=data))["code"] == "SEAL_OUTDATED"
    assert await shop.find_aggregate() is None


async def test_the_page_of_an_earlier_attempt_is_closed_once_the_card_has_paid(shop: Shop) -> None:
    total = {"totalPrice": {"gross": {"amount": Decimal(TOTAL), "currency": "UAH"}}}
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(sourceObject=source_object(**total))
    await shop.notify(payment(shop.order_id, "init"))
    await shop.work()
    older = shop.order_id
    shop.transaction = shop.saleor.new_transaction()
    cancelled = payment(older, "failure", status_code="6007")
    shop.gateway.will_answer(json_reply(direct(shop)), json_reply([cancelled]))
    answer = await shop.begin(data=await typed(shop), sourceObject=source_object(**total))
    assert answer.result == "CHARGE_SUCCESS"
    await shop.work()
    assert shop.gateway.calls == ["payment", "payment", "cancel"]
    assert older in shop.gateway.requests[-1].path or older in shop.gateway.requests[-2].path
