"""A shopper begins to pay (laws of money, 1, 2, 4, 8, 11, 14)."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import select

from app.core.vocabulary import EventState, Flow, Kind, State
from app.rules.call_errors import KeysNotOpenedError, shopper_code_of
from app.rules.problems import problem_text
from app.rules.schedule import Schedule
from app.store.tables import Operation, Payment
from gateway_client.errors import InvalidRequestError, NotSentError
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Reply, Silence, json_reply
from saleor_app_sdk.responses import SessionResponse
from tests.payments.fake_gateway import BROKEN, POS_ID, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import CUSTOMER, TOTAL, Shop, run_concurrently, source_object


def error_of(answer: SessionResponse) -> dict[str, Any]:
    """Return what the storefront reads of a failure."""
    [error] = answer.data["errors"]
    assert isinstance(error, dict)
    return error


@pytest.mark.parametrize(
    ("flow", "method", "result"),
    [
        ("CHARGE", "purchase", "CHARGE_ACTION_REQUIRED"),
        ("AUTHORIZATION", "auth", "AUTHORIZATION_ACTION_REQUIRED"),
    ],
)
async def test_the_shopper_is_led_to_the_payment_page(shop: Shop, flow: str, method: str, result: str) -> None:
    shop.gateway.will_answer(shop.gateway.page("abc"))
    answer = await shop.begin(flow=flow, data={"returnUrl": "https://shop.example.com/back", "language": "uk"})
    assert answer.result == result
    assert answer.amount == Decimal(TOTAL)
    assert answer.psp_reference == shop.order_id
    assert answer.data == {
        "checkoutUrl": f"{shop.gateway.url}/api/v1/checkout/abc/form",
        "qrUrl": f"{shop.gateway.url}/api/v1/checkout/abc/qr",
        "expiresAt": "2026-11-21T13:00:00Z",
    }
    [asked] = shop.gateway.requests
    assert asked.path == "/api/v1/payment"
    assert asked.json["method"] == method
    assert asked.json["amount"] == Decimal(TOTAL)
    assert asked.json["pos_id"] == POS_ID
    assert asked.json["order_id"] == shop.order_id
    assert asked.json["customer_lang"] == "UK"
    assert asked.json["result_url"] == f"https://pay.example.com/pay/return/{shop.order_id}"
    assert asked.json["server_url"] == f"https://pay.example.com/api/webhooks/gateway/{shop.account.id}"
    assert shop.amounts == amounts()  # nothing counts as paid before it is


async def test_the_qr_page_is_asked_for_when_the_storefront_wants_it(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply({"qr_link": f"{shop.gateway.url}/api/v1/checkout/abc/qr"}))
    answer = await shop.begin(data={"qr": True})
    assert answer.data["qrUrl"].endswith("/checkout/abc/qr")
    assert answer.data["checkoutUrl"].endswith("/checkout/abc/form")


async def test_staff_can_cancel_a_page_that_waits_for_its_shopper(shop: Shop) -> None:
    """Saleor hears of it when it must have read the answer."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    assert await shop.work() == 0
    await shop.pass_time(seconds=25)
    [note] = shop.saleor.reports
    assert note.type == "INFO"
    assert note.amount == 0
    assert "until 2026-11-21 13:00 UTC" in (note.message or "")
    assert shop.transaction.actions == ["CANCEL"]


@pytest.mark.law(5)
async def test_saleor_is_not_told_that_a_shopper_is_waited_for_who_has_paid(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert shop.saleor.reported_types == ["CHARGE_SUCCESS"]
    assert [event.state for event in (await shop.aggregate()).events] == [EventState.SUPERSEDED, EventState.DELIVERED]
    assert shop.transaction.actions == ["REFUND"]


@pytest.mark.law(5)
async def test_a_problem_does_not_wait_for_the_note_before_it(shop: Shop) -> None:
    """It is told after the note, as it came, and at once."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="5.69"))
    await shop.work()
    assert shop.saleor.reported_types == ["INFO", "INFO"]
    assert "5.69" in (shop.saleor.reports[-1].message or "")


@pytest.mark.law(1)
async def test_when_the_call_arrives_the_intent_is_in_the_database(shop: Shop) -> None:
    """Another transaction sees it, so it is committed; and it says all that the call says."""
    seen: list[tuple[State, dict[str, Any]]] = []

    async def look_into_the_database(heard: ReceivedRequest) -> None:
        async with shop.services.database.transaction() as session:
            row = (await session.exec(select(Operation))).one()
        seen.append((row.state, row.request))
        assert {name for name in heard.json if name != "pos_id"} == set(row.request)

    shop.gateway.on_request = look_into_the_database
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    [(state, request)] = seen
    assert state is State.INTENT
    assert request["order_id"] == shop.order_id
    assert request["amount"] == TOTAL


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2, 11)
@pytest.mark.parametrize("trouble", [BROKEN, Reply(503), HangUp(), Silence(), Reply(200, b"<html>")])
async def test_without_a_readable_answer_nobody_has_the_link_and_the_shopper_tries_again(
    shop: Shop, trouble: Behaviour
) -> None:
    """A conclusion of ours, not the gateway's word. Beyond the budget no answer is waited for."""
    shop.gateway.will_answer(trouble)
    async with shop.webhook_budget():
        answer = await shop.begin()
    assert answer.result == "CHARGE_FAILURE"
    assert error_of(answer)["code"] == "TRY_AGAIN"
    assert "checkoutUrl" not in answer.data
    create, closing = await shop.operation(Kind.CREATE), await shop.operation(Kind.CANCEL)
    assert (create.state, create.inferred) == (State.FAILURE, True)
    assert closing.next_poll_at is not None
    assert await shop.begin() == answer  # asked again: the same answer
    assert shop.gateway.calls == ["payment"]  # and nobody is called
    assert await shop.work() == 0


@pytest.mark.fault("gateway-down")
async def test_a_connection_that_was_never_made_is_a_failure_that_can_be_repeated(shop: Shop) -> None:
    account = await shop.services.accounts.change(
        shop.account.id, base_url="http://127.0.0.1:9"
    )  # nobody listens there
    shop.account = account
    shop.services = replace(shop.services, schedule=Schedule(pauses_before_resending=(timedelta(0),) * 2))
    answer = await shop.begin()
    assert answer.result == "CHARGE_FAILURE"
    assert "could not be reached" in (answer.message or "")
    assert error_of(answer)["code"] == "BUSY"  # that says when to try again
    assert (await shop.operation(Kind.CREATE)).state is State.FAILURE


async def test_a_refused_payment_is_a_failure_with_the_reason_for_staff_and_words_for_the_shopper(shop: Shop) -> None:
    violation = {"field_name": "amount", "violation": "must be in [1.00-500.00] UAH"}
    shop.gateway.will_answer(json_reply({"message": "Invalid amount provided", "args": [violation]}, 400))
    answer = await shop.begin()
    assert answer.result == "CHARGE_FAILURE"
    assert answer.psp_reference == shop.order_id
    assert "amount: must be in [1.00-500.00] UAH" in (answer.message or "")
    assert error_of(answer)["code"] == "AMOUNT_NOT_ACCEPTED"
    assert "Спробуйте ще раз" not in error_of(answer)["message"]
    await shop.pass_time(minutes=1)
    assert shop.saleor.reported_types == ["CHARGE_FAILURE"]  # an answer can get lost, so it is reported too
    assert [event.type.value for event in shop.transaction.events if event.counts] == ["CHARGE_FAILURE"]


def test_keys_that_do_not_open_are_no_decline() -> None:
    error = KeysNotOpenedError("no key opens these keys")
    assert shopper_code_of(error) == "STORE_UNAVAILABLE"
    assert shopper_code_of(InvalidRequestError("amount", "two decimals", "1.001")) == "STORE_UNAVAILABLE"
    assert shopper_code_of(NotSentError("no connection")) == "BUSY"


@pytest.mark.fault("gateway-keys")
async def test_wrong_keys_are_a_problem_for_staff(shop: Shop) -> None:
    shop.gateway.will_answer(refusal_reply("Invalid pos_id field or credentials", "S-404", 401))
    answer = await shop.begin()
    assert answer.result == "CHARGE_FAILURE"
    aggregate = await shop.aggregate()
    assert "rejects the keys" in (problem_text(aggregate.payment) or "")
    assert error_of(answer)["code"] == "STORE_UNAVAILABLE"
    assert "Зверніться до магазину" in error_of(answer)["message"]
    assert "S-404" in (answer.message or "")


@pytest.mark.fault("gateway-busy")
async def test_a_busy_gateway_has_declined_nothing(shop: Shop) -> None:
    shop.gateway.will_answer(refusal_reply("Too many requests", "P-429", 429))
    answer = await shop.begin()
    assert (answer.result, error_of(answer)["code"]) == ("CHARGE_FAILURE", "BUSY")
    assert "за хвилину" in error_of(answer)["message"]
    assert "P-429" in (answer.message or "")


@pytest.mark.fault("gateway-busy")
@pytest.mark.parametrize(("pause", "words"), [("60", "за хвилину"), ("600", "пізніше")])
async def test_a_busy_gateway_that_states_a_pause_is_to_be_tried_again_after_it(
    shop: Shop, pause: str, words: str
) -> None:
    refusal = {"message": "Too many requests", "args": {"code": "P-429"}}
    shop.gateway.will_answer(json_reply(refusal, 429, retry_after=pause))
    answer = await shop.begin()
    error = error_of(answer)
    assert (error["code"], words in error["message"]) == ("BUSY", True)
    assert datetime.fromisoformat(error["retryAfter"]) == shop.clock.now + timedelta(seconds=int(pause))
    assert ("in a minute" in (answer.message or "")) is (pause == "60")


@pytest.mark.law(2)
async def test_an_order_id_that_the_gateway_knows_already_is_looked_up(shop: Shop) -> None:
    """Whoever made that page, this shopper has no link to it. If it was paid, that is money."""
    shop.gateway.will_answer(refusal_reply("Order exists", "P-409", 409))
    answer = await shop.begin()
    assert (answer.result, error_of(answer)["code"]) == ("CHARGE_FAILURE", "TRY_AGAIN")
    assert (await shop.operation(Kind.CREATE)).inferred
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_payment_that_is_declined_at_once(shop: Shop) -> None:
    record = payment(shop.order_id, "failure", status_code="4009")
    shop.gateway.will_answer(json_reply(record))
    answer = await shop.begin()
    assert answer.result == "CHARGE_FAILURE"
    assert error_of(answer) == {"code": "4009", "message": error_of(answer)["message"]}
    assert "Insufficient funds [4009]" in (answer.message or "")


@pytest.mark.fault("webhook-repeated")
@pytest.mark.threat("replayed-webhook")
@pytest.mark.law(4)
async def test_the_same_webhook_twice_at_once_makes_one_payment(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    answers = await run_concurrently(shop.begin(), shop.begin(), shop.begin())
    assert {answer.result for answer in answers} == {"CHARGE_ACTION_REQUIRED"}
    # Whoever is answered before there is a page is told to wait, under the reference that it will have.
    told = {(answer.psp_reference, "checkoutUrl" in answer.data) for answer in answers}
    assert told | {(shop.order_id, False)} == {(shop.order_id, True), (shop.order_id, False)}
    assert shop.gateway.calls == ["payment"]
    again = await shop.begin()
    assert (again.psp_reference, "checkoutUrl" in again.data) == (shop.order_id, True)
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(7)
async def test_a_notification_that_overtakes_the_answer_is_not_undone_by_it(shop: Shop) -> None:
    """The link, which only the answer tells, is kept."""

    async def pay_meanwhile(heard: ReceivedRequest) -> None:
        await shop.notify(payment(shop.order_id))
        await shop.work()

    shop.gateway.on_request = pay_meanwhile
    shop.gateway.will_answer(shop.gateway.page())
    answer = await shop.begin()
    assert answer.result == "CHARGE_SUCCESS"
    assert (await shop.aggregate()).payment.checkout_url
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_page_whose_first_notification_overtakes_the_answer_still_waits_for_its_shopper(shop: Shop) -> None:
    async def init_meanwhile(heard: ReceivedRequest) -> None:
        shop.gateway.on_request = None
        await shop.notify(payment(shop.order_id, "init"))
        await shop.work()
        # The storefront is quick as well: it must not find the page abandoned while its link is on its way.
        early = await shop.process_session()
        assert early.result == "CHARGE_ACTION_REQUIRED"

    shop.gateway.on_request = init_meanwhile
    shop.gateway.will_answer(shop.gateway.page())
    answer = await shop.begin()
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert answer.data["checkoutUrl"]
    assert shop.gateway.calls == ["payment"]
    await shop.pass_time(seconds=25)
    assert shop.transaction.actions == ["CANCEL"]


@pytest.mark.law(8)
async def test_a_payment_paid_in_full_by_another_amount_is_never_a_success(shop: Shop) -> None:
    """In the answer itself."""
    shop.gateway.will_answer(json_reply(payment(shop.order_id, amount="5.69")))
    answer = await shop.begin()
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    aggregate = await shop.aggregate()
    assert "5.69 UAH, but 569.50 UAH was requested" in (problem_text(aggregate.payment) or "")
    await shop.work()
    assert shop.saleor.reported_types == ["INFO"]
    assert shop.amounts == amounts()


REFUSED = [
    ("CHANNEL_NOT_MAPPED", None, {"sourceObject": source_object(channel={"slug": "pln", "currencyCode": "PLN"})}),
    ("CARD_DATA_REFUSED", "data.payment.cardNumber", {"data": {"payment": {"cardNumber": "4242424242424242"}}}),
]
"""What the database has to say, and what must not get there; all others, on paper: ``decisions/test_refusals.py``."""


@pytest.mark.law(14)
class TestRefusedBeforeAnything:
    """What can be known to be wrong is refused before any row is written and any call is made."""

    @pytest.fixture(autouse=True)
    async def names_required(self, shop: Shop) -> None:
        await shop.services.accounts.change(shop.account.id, names_required=True)

    @pytest.mark.parametrize(("code", "field", "wrong"), REFUSED)
    async def test_with_a_code_of_its_own(
        self, shop: Shop, code: str, field: str | None, wrong: dict[str, Any]
    ) -> None:
        answer = await shop.begin(**wrong)
        assert answer.result == "CHARGE_FAILURE"
        assert error_of(answer)["code"] == code
        assert error_of(answer).get("field") == field
        assert answer.message == error_of(answer)["message"]
        assert "4242424242424242" not in str(answer.dump())
        assert shop.gateway.requests == []
        assert await shop.find_aggregate() is None

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (
                {"returnUrl": "https://evil.example/"},
                [
                    ("INVALID_AMOUNT", "amount"),
                    ("INVALID_RETURN_URL", "data.returnUrl"),
                    ("MISSING_NAME", "data.customer.firstName"),
                    ("MISSING_NAME", "data.customer.lastName"),
                    ("MISSING_EMAIL", "data.customer.email"),
                    ("MISSING_PHONE", "data.customer.phone"),
                ],
            ),
            (
                {"returnUrl": "https://evil.example/", "saveCard": "perhaps", "customer": {"email": "taras"}},
                [
                    ("INVALID_AMOUNT", "amount"),
                    ("INVALID_DATA", "data.saveCard"),
                    ("INVALID_RETURN_URL", "data.returnUrl"),
                ],
            ),
        ],
    )
    async def test_all_that_is_wrong_is_said_at_once(
        self, shop: Shop, data: dict[str, Any], expected: list[tuple[str, str]]
    ) -> None:
        answer = await shop.begin(amount="0", data=data, sourceObject=source_object(email="", billingAddress={}))
        assert [(error["code"], error["field"]) for error in answer.data["errors"]] == expected
        assert all(error["message"] in (answer.message or "") for error in answer.data["errors"][:3])  # it is cut off

    async def test_when_the_account_is_switched_off(self, shop: Shop) -> None:
        await shop.services.accounts.change(shop.account.id, enabled=False)
        assert error_of(await shop.begin())["code"] == "ACCOUNT_DISABLED"
        assert shop.gateway.requests == []
        assert await shop.find_aggregate() is None

    @pytest.mark.law(9)
    async def test_two_refusals_never_share_a_reference(self, shop: Shop) -> None:
        """Of two failures without a reference of their own Saleor would swallow one."""
        first, second = await shop.begin(amount="0"), await shop.begin(amount="0")
        assert first.psp_reference != second.psp_reference


@pytest.mark.law(17)
async def test_an_address_of_the_storefronts_that_cannot_be_read_is_named_in_the_log(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    answer = await shop.begin(data={"customer": {"email": "taras at example", "phone": " ", "taxId": ["1"]}})
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert shop.gateway.requests[0].json["customer_email"] == "taras@example.com"
    [line] = [line for line in capsys.readouterr().out.splitlines() if "storefront_data.not_read" in line]
    assert "data.customer.email, data.customer.taxId" in line
    assert "taras at example" not in line


async def test_what_the_storefront_knows_of_the_shopper_goes_before_what_saleor_knows(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(data={"customer": CUSTOMER | {"email": "other@example.com", "country": "PL"}})
    [asked] = shop.gateway.requests
    assert asked.json["customer_email"] == "other@example.com"
    assert asked.json["customer_country"] == "PL"
    assert asked.json["customer_phone"] == "+380501234567"


async def test_a_storefront_may_pass_its_data_as_the_text_that_it_wrote(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    answer = await shop.begin(data='{"returnUrl": "https://shop.example.com/back", "customer": {"country": "PL"}}')
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert shop.gateway.requests[0].json["customer_country"] == "PL"


async def test_a_card_number_in_such_a_text_is_noticed(shop: Shop) -> None:
    answer = await shop.begin(data='{"card": {"number": "4242424242424242"}}')
    assert answer.data["errors"][0]["code"] == "CARD_DATA_REFUSED"


async def test_a_page_needs_no_names_unless_the_account_says_so(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    answer = await shop.begin(sourceObject=source_object(billingAddress={"phone": "+380501234567"}))
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert "customer_fname" not in shop.gateway.requests[0].json


async def test_a_payment_remembers_what_it_was_made_for(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    order = source_object(__typename="Order", id="T3JkZXI6MQ==", number="1042")
    await shop.begin(flow="AUTHORIZATION", sourceObject=order, data={"returnUrl": "https://shop.example.com/back"})
    async with shop.services.database.transaction() as session:
        row = (await session.exec(select(Payment))).one()
    assert (row.flow, row.amount, row.currency, row.channel) == (Flow.AUTHORIZATION, Decimal(TOTAL), "UAH", "uah")
    assert (row.order_number, row.language) == ("1042", "uk")
    assert shop.services.personal.open_return_url(row) == "https://shop.example.com/back"
    assert "shop.example.com" not in (row.return_url_sealed or "")
    [asked] = shop.gateway.requests
    assert asked.json["description"] == "Order 1042"
    assert {"key": "saleor_order", "value": "1042"} in asked.json["attributes"]


async def test_an_error_of_the_keys_leaves_no_trace_of_a_payment(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, api_key_sealed="v1.00000000.nothing")
    answer = await shop.begin()
    assert (error_of(answer)["code"], shop.gateway.requests) == ("STORE_UNAVAILABLE", [])
    assert await shop.find_aggregate() is None
