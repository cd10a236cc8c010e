"""A shopper pays with Apple Pay or Google Pay (laws of money, 1, 2, 4, 7, 9, 11)."""

import base64
import json
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel, select

from app.core.vocabulary import Kind, Mode, State
from app.flows.gateway_initialize import answer_gateway_initialize
from app.rules.schedule import Schedule
from app.store.tables import SavedCard
from gateway_client_tests.examples import APPLE_TOKEN, GOOGLE_TOKEN
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Reply, json_reply
from saleor_app_sdk.responses import SessionResponse
from tests.payments.cards.seals import BROWSER, CARD, seal
from tests.payments.fake_gateway import BROKEN, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.operations.test_gateway_initialize import event as offer_event
from tests.payments.shop import TOTAL, Shop, run_concurrently, source_object

TOKEN = "rcr:8f1e7c0d5b6a4932"
CHECKOUT = "Q2hlY2tvdXQ6MQ=="
APPLES = "https://apple-pay-gateway.apple.com/paymentservices/startSession"
SESSION = {"merchantSessionIdentifier": "SSH-of-Apple", "epochTimestamp": 1795262400000, "signature": "3080"}
WALLETS = {"applePay": APPLE_TOKEN, "googlePay": GOOGLE_TOKEN}
GOOGLES = {"google_pay_gateway": "tranzzo", "google_pay_gateway_merchant": "m-17", "google_pay_merchant": "BCR2DN6"}
SEALED = ("2lnZWQ", "c2VhbGVk", "MIAGCSqGSIb3DQEHAqCAMIACAQExDTALBgl", "MEYCIQCa")  # parts of what a wallet gave


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop that offers both wallets, and takes no cards in its storefront."""
    shop.account = await shop.services.accounts.change(shop.account.id, apple_pay=True, google_pay=True, **GOOGLES)
    return shop


async def offered(shop: Shop, data: Any = None) -> dict[str, Any]:
    told = (await answer_gateway_initialize(shop.services, offer_event(data), shop.installation)).data
    assert isinstance(told, dict)
    return told


async def given(shop: Shop, wallet: str = "applePay", token: object = None, **more: Any) -> dict[str, Any]:
    """Return what the storefront passes: what the wallet gave, sealed for the key that is offered, and the browser."""
    key = (await offered(shop))["wallets"]["key"]["jwk"]
    content = {wallet: WALLETS[wallet] if token is None else token, "for": CHECKOUT}
    customer = {"customer": {"ip": "203.0.113.7"}}
    return {"card": seal(content, key), "browserFingerprint": BROWSER} | customer | more


def paid(shop: Shop, status: str = "success", **more: Any) -> dict[str, Any]:
    """Return the gateway's record of the payment, which is in its book from now on."""
    record = payment(shop.order_id, status, mode="direct", cc_mask="424242******4242", **more)
    shop.gateway.book[shop.order_id] = [record]
    return record


def error_of(answer: SessionResponse) -> dict[str, Any]:
    [error] = answer.data["errors"]
    assert isinstance(error, dict)
    return error


EXCHANGED = json_reply({"cc_token": TOKEN})


async def test_what_there_is_of_wallets_is_offered_with_what_their_sheets_need(shop: Shop) -> None:
    told = await offered(shop)
    assert (told["modes"], "card" in told) == (["hosted"], False)
    key = told["wallets"].pop("key")
    assert (key["alg"], key["enc"], set(key["jwk"]) & {"d", "p", "q"}) == ("RSA-OAEP-256", "A256GCM", set())
    assert told["wallets"] == {
        "applePay": {"merchantName": shop.account.name},
        "googlePay": {
            "environment": "PRODUCTION",
            "gateway": "tranzzo",
            "gatewayMerchantId": "m-17",
            "merchantId": "BCR2DN6",
            "merchantName": shop.account.name,
        },
    }
    assert shop.gateway.requests == []


@pytest.mark.law(12)
async def test_a_wallet_is_not_charged_for_more_than_saleor_says_is_owed(shop: Shop) -> None:
    source = source_object(totalPrice={"gross": {"amount": Decimal("369.50"), "currency": "UAH"}})
    error = error_of(await shop.begin(data=await given(shop), sourceObject=source))
    assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", Decimal("369.50"))
    assert shop.gateway.requests == []  # the wallet's token can be used once: it is not exchanged either


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"apple_pay": False}, {"googlePay", "key"}),
        ({"google_pay": False}, {"applePay", "key"}),
        ({"google_pay_gateway": None}, {"applePay", "key"}),
        ({"google_pay_gateway_merchant": None}, {"applePay", "key"}),
        ({"apple_pay": False, "google_pay": False}, None),
    ],
)
async def test_only_what_the_account_has_is_offered(
    shop: Shop, columns: dict[str, Any], names: set[str] | None
) -> None:
    await shop.services.accounts.change(shop.account.id, **columns)
    told = await offered(shop)
    assert (set(told["wallets"]) if "wallets" in told else None) == names


async def test_a_test_project_plays_with_googles_test_environment(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, test_project=True)
    assert (await offered(shop))["wallets"]["googlePay"]["environment"] == "TEST"


async def test_apples_sheet_opens_with_a_session_that_the_gateway_gets(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply(SESSION))
    told = await offered(shop, {"applePay": {"validationUrl": APPLES}})
    assert told["applePay"] == {"merchantSession": SESSION}
    assert "errors" not in told
    [heard] = shop.gateway.requests
    assert (heard.path, heard.json["validation_url"]) == ("/api/v1/applepay/session", APPLES)


@pytest.mark.threat("ssrf-gateway")
@pytest.mark.parametrize(
    "question",
    [
        {"validationUrl": "https://evil.example/paymentservices/startSession"},
        {"validationUrl": "https://apple-pay-gateway.apple.com.evil.example/paymentservices/startSession"},
        {"validationUrl": "http://169.254.169.254/latest/meta-data"},
        {"validationUrl": ["https://apple-pay-gateway.apple.com/paymentservices/startSession"]},
        {"validationUrl": None},
        {},
        "https://apple-pay-gateway.apple.com/paymentservices/startSession",
    ],
)
async def test_nobody_is_asked_for_a_session_at_an_address_that_a_stranger_chose(shop: Shop, question: object) -> None:
    told = await offered(shop, {"applePay": question})
    [error] = told["errors"]
    assert (error["code"], error["field"]) == ("INVALID_DATA", "data.applePay.validationUrl")
    assert "evil" not in error["message"]
    assert told["available"] is True
    assert shop.gateway.requests == []


async def test_without_apple_pay_no_session_is_asked_for(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, apple_pay=False)
    told = await offered(shop, {"applePay": {"validationUrl": APPLES}})
    assert [error["code"] for error in told["errors"]] == ["WALLET_NOT_ENABLED"]
    assert shop.gateway.requests == []


@pytest.mark.parametrize(
    "answer", [BROKEN, HangUp(), refusal_reply("Not enabled", "P-403"), json_reply([]), Reply(404)]
)
async def test_where_the_gateway_gives_no_session_the_rest_is_offered(shop: Shop, answer: Behaviour) -> None:
    shop.gateway.will_answer(answer)
    told = await offered(shop, {"applePay": {"validationUrl": APPLES}})
    assert [error["code"] for error in told["errors"]] == ["WALLET_UNAVAILABLE"]
    assert told["available"] is True
    assert "applePay" not in told


@pytest.mark.parametrize(("wallet", "prefix"), [("applePay", "applepay:"), ("googlePay", "gpay:")])
async def test_a_wallets_token_is_exchanged_and_pays(shop: Shop, wallet: str, prefix: str) -> None:
    shop.gateway.will_answer(EXCHANGED, json_reply(record := paid(shop)))
    answer = await shop.begin(data=await given(shop, wallet))
    assert (answer.result, answer.psp_reference) == ("CHARGE_SUCCESS", record["payment_id"])
    exchange, paying = shop.gateway.requests
    assert exchange.path == "/api/v1/tokenization/tokenize"
    assert not exchange.has("X-API-KEY")
    token = exchange.json["token"]
    assert token.startswith(prefix)
    held = json.loads(base64.b64decode(token.removeprefix(prefix), validate=True))
    assert held == (APPLE_TOKEN if wallet == "applePay" else json.loads(GOOGLE_TOKEN))
    assert (paying.json["cc_token"], paying.json["amount"]) == (TOKEN, Decimal(TOTAL))
    assert not {"cryptogram", "cc_number"} & set(paying.json)
    assert shop.amounts == amounts(charged=TOTAL)
    row = (await shop.aggregate()).payment
    assert (row.mode, row.wallet) == (Mode.DIRECT, prefix.removesuffix(":"))


async def test_a_reservation_is_taken_and_then_captured(shop: Shop) -> None:
    shop.gateway.will_answer(EXCHANGED, json_reply(paid(shop, method="auth")))
    answer = await shop.begin(flow="AUTHORIZATION", data=await given(shop))
    assert answer.result == "AUTHORIZATION_SUCCESS"
    assert [action.value for action in answer.actions or ()] == ["CHARGE", "CANCEL"]


async def test_a_customer_who_agrees_pays_with_the_gateways_token_again_without_the_wallet(shop: Shop) -> None:
    """Such a token begins with ``rcr:`` (gateway interface, What the service does, 7)."""
    await shop.services.accounts.change(shop.account.id, saved_cards=True)
    olena = source_object(user={"id": "VXNlcjox"})
    shop.gateway.will_answer(EXCHANGED, json_reply(paid(shop, cc_token=TOKEN)))
    first = await shop.begin(data=await given(shop, saveCard=True), sourceObject=olena)
    assert first.result == "CHARGE_SUCCESS"
    async with shop.services.database.transaction() as session:
        [card] = (await session.exec(select(SavedCard))).all()
    assert TOKEN not in str(card)

    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.requests.clear()
    shop.gateway.will_answer(json_reply(paid(shop)))
    data = {"savedCardId": card.id, "browserFingerprint": BROWSER, "customer": {"ip": "203.0.113.7"}}
    again = await shop.begin(data=data, sourceObject=source_object(user={"id": "VXNlcjox"}, id="Q2hlY2tvdXQ6Mg=="))
    assert again.result == "CHARGE_SUCCESS"
    [asked] = shop.gateway.requests
    assert asked.json["cc_token"] == TOKEN


async def test_the_bank_may_want_to_hear_from_the_shopper(shop: Shop) -> None:
    """A card of Google Pay that is only a number (PAN_ONLY) is confirmed like any other."""
    bank = "https://bank.example.com/3ds?session=1"
    waiting = paid(shop, "pending", status_code="2122", user_action_required=True, user_action_url=bank)
    shop.gateway.will_answer(EXCHANGED, json_reply(waiting))
    answer = await shop.begin(data=await given(shop, "googlePay"))
    assert (answer.result, answer.data) == ("CHARGE_ACTION_REQUIRED", {"redirectUrl": bank})
    paid(shop)
    assert (await shop.process_session()).result == "CHARGE_SUCCESS"


async def test_a_declined_wallet_is_a_failure_with_words_for_the_shopper(shop: Shop) -> None:
    shop.gateway.will_answer(EXCHANGED, json_reply(paid(shop, "failure", status_code="4009")))
    answer = await shop.begin(data=await given(shop, language="uk"))
    assert (answer.result, error_of(answer)["code"]) == ("CHARGE_FAILURE", "4009")
    assert shop.amounts == amounts()


@pytest.mark.law(1)
async def test_when_the_token_is_exchanged_the_intent_is_there_and_holds_none(shop: Shop) -> None:
    seen: list[tuple[str, State, bool]] = []

    async def look_into_the_database(heard: ReceivedRequest) -> None:
        operation = await shop.operation(Kind.CREATE)
        seen.append((heard.path, operation.state, "cc_token" in operation.request))

    shop.gateway.on_request = look_into_the_database
    shop.gateway.will_answer(EXCHANGED, json_reply(paid(shop)))
    await shop.begin(data=await given(shop))
    intended = State.INTENT
    assert seen == [("/api/v1/tokenization/tokenize", intended, False), ("/api/v1/payment", intended, False)]


@pytest.mark.law(2)
@pytest.mark.parametrize("answer", [BROKEN, HangUp(), json_reply([]), Reply(502, b"<html>")])
async def test_an_exchange_without_a_readable_answer_has_paid_nothing_and_is_a_failure(
    shop: Shop, answer: Behaviour
) -> None:
    tries = 1 + len(shop.services.schedule.pauses_before_resending)
    shop.gateway.will_answer(*[answer] * tries)
    answered = await shop.begin(data=await given(shop))
    assert answered.result == "CHARGE_FAILURE"
    assert {request.path for request in shop.gateway.requests} == {"/api/v1/tokenization/tokenize"}
    assert shop.amounts == amounts()
    await shop.pass_time(hours=1)
    assert (await shop.operation(Kind.CREATE)).state is State.FAILURE
    assert "/api/v1/payment" not in {request.path for request in shop.gateway.requests}


async def test_a_lost_exchange_is_made_again_and_pays_once(shop: Shop) -> None:
    shop.gateway.will_answer(HangUp(), EXCHANGED, json_reply(paid(shop)))
    assert (await shop.begin(data=await given(shop))).result == "CHARGE_SUCCESS"
    assert shop.gateway.calls.count("payment") == 1


async def test_a_payment_that_was_not_sent_is_tried_again_with_the_token_that_was_got(shop: Shop) -> None:
    """A wallet's token is good for one exchange."""
    data = await given(shop)
    shop.clock.forward(seconds=1)
    columns = {"base_url": "http://127.0.0.1:9", "balances_url": shop.gateway.url}  # tokens are got elsewhere
    shop.account = await shop.services.accounts.change(shop.account.id, **columns)
    shop.services = replace(shop.services, schedule=Schedule(pauses_before_resending=(timedelta(0),) * 2))
    shop.gateway.will_answer(EXCHANGED)
    answer = await shop.begin(data=data)
    assert answer.result == "CHARGE_FAILURE"
    assert "could not be reached" in (answer.message or "")
    assert [request.path for request in shop.gateway.requests] == ["/api/v1/tokenization/tokenize"]


async def test_a_token_that_the_gateway_refuses_is_a_failure_at_once(shop: Shop) -> None:
    shop.gateway.will_answer(
        json_reply({"message": "Invalid token", "args": [{"field_name": "token", "violation": "used"}]}, 400)
    )
    answer = await shop.begin(data=await given(shop))
    assert answer.result == "CHARGE_FAILURE"
    assert len(shop.gateway.requests) == 1


@pytest.mark.law(2)
async def test_a_lost_payment_is_looked_up_and_never_sent_again(shop: Shop) -> None:
    shop.gateway.will_answer(EXCHANGED, BROKEN)
    answer = await shop.begin(data=await given(shop))
    assert (answer.result, answer.psp_reference) == ("CHARGE_REQUEST", shop.order_id)
    paid(shop)
    await shop.pass_time(minutes=5)
    assert shop.amounts == amounts(charged=TOTAL)
    assert shop.gateway.calls.count("payment") == 1


@pytest.mark.law(4)
async def test_a_repeated_delivery_exchanges_and_pays_nothing_again(shop: Shop) -> None:
    data = await given(shop)
    shop.gateway.will_answer(EXCHANGED, json_reply(paid(shop)))
    first = await shop.begin(data=data)
    assert await shop.begin(data=data) == first
    again = await run_concurrently(*(shop.begin(data=data) for _ in range(3)))
    assert all(answer == first for answer in again)
    assert len(shop.gateway.requests) == 2


@pytest.mark.law(7)
async def test_the_notification_is_faster_than_the_answer(shop: Shop) -> None:
    record = paid(shop)

    async def notify_first(heard: ReceivedRequest) -> None:
        if heard.path == "/api/v1/payment":
            await shop.notify(record)
            await shop.work()

    shop.gateway.on_request = notify_first
    shop.gateway.will_answer(EXCHANGED, json_reply(record))
    assert (await shop.begin(data=await given(shop))).result == "CHARGE_SUCCESS"
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_wallet_that_is_not_offered_is_not_taken(shop: Shop) -> None:
    data = await given(shop, "googlePay")
    await shop.services.accounts.change(shop.account.id, google_pay=False)
    answer = await shop.begin(data=data)
    assert error_of(answer)["code"] == "WALLET_NOT_ENABLED"
    assert await shop.find_aggregate() is None
    assert shop.gateway.requests == []


async def test_where_only_wallets_are_taken_a_sealed_card_is_not(shop: Shop) -> None:
    key = (await offered(shop))["wallets"]["key"]["jwk"]
    for means in (CARD, {"token": TOKEN}, {"cryptogram": {"data": "x"}}):
        data = {"card": seal({**means, "for": CHECKOUT}, key), "browserFingerprint": BROWSER}
        answer = await shop.begin(data=data | {"customer": {"ip": "203.0.113.7"}})
        assert error_of(answer)["code"] == "CARDS_NOT_ENABLED"
    assert shop.gateway.requests == []


@pytest.mark.parametrize(
    ("wallet", "token"),
    [
        ("applePay", {}),
        ("applePay", {"paymentData": {}}),
        ("applePay", "c2VhbGVk"),
        ("googlePay", "not JSON c2VhbGVk"),
        ("googlePay", {"signature": "MEYCIQCa"}),
        ("googlePay", "[]"),
        ("googlePay", "{}"),
    ],
)
async def test_what_no_wallet_gave_is_refused_without_being_told(shop: Shop, wallet: str, token: object) -> None:
    answer = await shop.begin(data=await given(shop, wallet, token))
    error = error_of(answer)
    assert (error["code"], error["field"]) == ("CARD_UNREADABLE", f"data.card.{wallet}")
    assert "c2VhbGVk" not in str(answer.dump())
    assert shop.gateway.requests == []


async def test_two_means_at_once_are_one_too_many(shop: Shop) -> None:
    key = (await offered(shop))["wallets"]["key"]["jwk"]
    sealed = seal({**WALLETS, "for": CHECKOUT}, key)
    data = {"card": sealed, "browserFingerprint": BROWSER, "customer": {"ip": "203.0.113.7"}}
    assert error_of(await shop.begin(data=data))["code"] == "CARD_UNREADABLE"


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize("wallet", list(WALLETS))
@pytest.mark.parametrize("outcome", ["success", "echoed", "refused", "unknown", "broken exchange"])
async def test_no_row_log_or_answer_holds_what_the_wallet_gave_nor_the_token(
    shop: Shop,
    wallet: str,
    outcome: str,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = await given(shop, wallet)

    async def echo(heard: ReceivedRequest) -> None:
        """A gateway that repeats what it was sent."""
        if outcome in ("echoed", "refused") and not shop.gateway.script:
            told = heard.json.get("token") or heard.json.get("cc_token")
            violation = [{"field_name": "token", "violation": f"got {told}"}]
            shop.gateway.will_answer(json_reply({"message": f"it said {told}", "args": violation}, 400))

    shop.gateway.on_request = echo
    tries = 1 + len(shop.services.schedule.pauses_before_resending)
    replies: dict[str, list[Behaviour]] = {
        "success": [EXCHANGED, json_reply(paid(shop, cc_token=TOKEN))],
        "echoed": [EXCHANGED],
        "refused": [],
        "unknown": [EXCHANGED, BROKEN],
        "broken exchange": [BROKEN] * tries,
    }
    shop.gateway.will_answer(*replies[outcome])
    answer = await shop.begin(data=data)
    await shop.pass_time(hours=1)
    async with shop.services.database.transaction() as session:
        connection = await session.connection()
        rows = [
            str((await connection.execute(text(f"SELECT * FROM {table.name}"))).all())  # noqa: S608 - names of our own
            for table in SQLModel.metadata.sorted_tables
        ]
    shown = capsys.readouterr()
    told = [*rows, caplog.text, shown.out, shown.err, str(answer.dump()), repr(answer)]
    encoded = [base64.b64encode(json.dumps(APPLE_TOKEN).encode()).decode()[:40], "eyJwYXltZW50RGF0YSI6"]
    for secret in (TOKEN, *SEALED, *encoded):
        assert all(secret not in text for text in told), secret


@pytest.mark.law(11)
async def test_a_budget_that_the_exchange_has_used_up_pays_nothing(shop: Shop) -> None:
    """One budget is for both calls together."""
    data = await given(shop)
    shop.services = replace(shop.services, schedule=Schedule(budget=timedelta(seconds=2)))
    shop.gateway.will_answer(json_reply({"cc_token": TOKEN}, delay=4), json_reply(paid(shop)))
    answer = await shop.begin(data=data)
    assert answer.result == "CHARGE_FAILURE"
    assert [request.path for request in shop.gateway.requests] == ["/api/v1/tokenization/tokenize"]
