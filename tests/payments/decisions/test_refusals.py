"""Who says no to a call: what follows from what the gateway, or what stands before it, answers. On paper."""

from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from app.core.ids import OperationRowId
from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.vocabulary import Flow, Kind, State
from app.rules.action_request import ActionRequest
from app.rules.balance import balance
from app.rules.decisions.action import ActionRequested
from app.rules.decisions.gateway_call import CallReturned
from app.rules.decisions.look_up import OrderLookedUp
from app.rules.observation import Observations
from app.rules.problems import problem_text
from app.rules.refusal import RefusalError
from app.rules.responses import action_response, session_refusal_response, session_response
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import GatewayError
from gateway_client.models import Checkout, OperationRecord, PaymentRecord, Refund, read_record
from gateway_client.models.records import Records
from integration_base_tests.loopback import Reply, json_reply
from saleor_app_sdk.responses import AvailableAction, SessionResponse, TransactionFlow
from tests.payments.aggregates import HUNDRED, ORDER, POS, an_aggregate, decision_context
from tests.payments.fake_gateway import operation, payment, refusal_reply
from tests.payments.requests.test_payment import an_account, planned
from tests.payments.shop import source_object

KEYS = Credentials(POS, "key", "secret", "endpoints", "https://gateway.example")
REFUND = ActionRequest(AvailableAction.REFUND, HUNDRED, "UAH", keys=("key",))
TOTAL = Decimal("569.50")


async def outcome_of(
    reply: Reply, call: Callable[[GatewayClient], Awaitable[Checkout | PaymentRecord | OperationRecord]]
) -> Checkout | PaymentRecord | OperationRecord | GatewayError:
    """Return what the client makes of that answer to a call."""

    async def body() -> AsyncIterator[bytes]:
        assert isinstance(reply.body, bytes)
        yield reply.body

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(reply.status, content=body(), headers=dict(reply.headers))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        try:
            return await call(GatewayClient(http, KEYS))
        except GatewayError as error:
            return error


def a_refund(amount: Decimal = HUNDRED) -> tuple[PaymentAggregate, Operation]:
    """Return a payment of 569.50 with an intent to refund some of it, as Saleor has requested."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, amount=TOTAL)
    aggregate.create.operation_id = payment(ORDER)["payment_id"]
    request = ActionRequest(AvailableAction.REFUND, amount, "UAH", keys=("key",))
    refund = ActionRequested(request, decision_context(), opens_keys=lambda _payment: True).decide(aggregate).operation
    refund.id = OperationRowId(max(known.id or 0 for known in aggregate.operations) + 1)
    return aggregate, refund


async def answered(aggregate: PaymentAggregate, refund: Operation, reply: Reply) -> str | None:
    """Record the answer to the refund; return the result that Saleor is answered, None: it is pending."""
    request = Refund(order_id=ORDER, order_currency="UAH", refund_amount=refund.amount)
    outcome = await outcome_of(reply, lambda client: client.refund(request, timeout=30))
    CallReturned(row_id_of(refund), outcome, decision_context(answering=refund.id)).decide(aggregate, [])
    return action_response(aggregate, refund, AvailableAction.REFUND, None).result


def a_record(kind: str = "refund", order: str = ORDER, status: str = "success", **more: Any) -> dict[str, Any]:
    return operation(kind, order, "100.00", status, operation_id="ours", pos_id=POS) | more


@pytest.mark.law(2)
@pytest.mark.fault("gateway-unknown")
@pytest.mark.parametrize(
    "reply",
    [
        Reply(403, b"<html><h1>403 Forbidden</h1></html>", {"Content-Type": "text/html"}),
        Reply(400),
        json_reply({"message": "Not found"}, 404),
        Reply(429, b"slow down"),
        json_reply({"message": "wait", "code": "report_not_ready"}, 400),
        json_reply(a_record(), 400),
        json_reply(a_record(status="pending"), 403),
        json_reply(a_record(order="another", status="failure", operation_id="another"), 400),
        json_reply(a_record("capture", status="failure", operation_id="another"), 400),
    ],
    ids=[
        "a firewall's page",
        "nothing at all",
        "another API",
        "too many requests, says a proxy",
        "a register's words",
        "a record that says success",
        "a record that says pending",
        "another order's failure",
        "a capture's failure",
    ],
)
async def test_a_refund_has_not_failed_because_somebody_else_says_no(reply: Reply) -> None:
    """The gateway did it, and what stands before the gateway answers with a 4xx: staff would refund it twice."""
    aggregate, refund = a_refund()
    assert await answered(aggregate, refund, reply) is None  # accepted: pending for Saleor
    states = [refund.state]
    shown = Records([read_record(payment(ORDER, pos_id=POS)), read_record(a_record())])
    observations = Observations.from_records(shown, "en")
    OrderLookedUp(row_id_of(refund), frozenset(), observations, decision_context()).decide(aggregate)
    assert [*states, refund.state] == [State.UNKNOWN, State.SUCCESS]
    current = balance(Flow.CHARGE, aggregate.operations)
    assert (current.refunded, current.refundable) == (HUNDRED, TOTAL - HUNDRED)
    told = [(event.type, event.amount) for event in aggregate.events if event.type != "INFO"]
    assert told == [("REFUND_SUCCESS", HUNDRED)]


@pytest.mark.law(2)
@pytest.mark.parametrize("status", [200, 400, 401, 404, 422, 429])
async def test_the_gateways_own_refusal_is_believed_whatever_its_status(status: int) -> None:
    aggregate, refund = a_refund()
    reply = refusal_reply("Insufficient merchant balance", "P-4099", status)
    assert await answered(aggregate, refund, reply) == "REFUND_FAILURE"
    assert refund.state is State.FAILURE


@pytest.mark.law(8)
@pytest.mark.parametrize(
    "wrong",
    [{"amount": Decimal("99.99")}, {"currency": "USD"}, {"pos_id": "b28c8a4e-7c6f-4f6f-9c2c-000000000000"}],
)
async def test_an_answer_about_something_else_is_never_a_success(wrong: dict[str, Any]) -> None:
    aggregate, refund = a_refund()
    assert await answered(aggregate, refund, json_reply(a_record(**wrong))) is None
    assert not refund.state.final
    assert balance(Flow.CHARGE, aggregate.operations).refunding == HUNDRED
    [told] = aggregate.events
    assert (told.type, told.message) == ("INFO", problem_text(aggregate.payment))


@pytest.mark.law(14)
@pytest.mark.parametrize(("amount", "words"), [("0", "nothing is left to refund"), ("1.001", "two decimal places")])
def test_what_is_no_amount_of_money_is_refused_before_anything(amount: str, words: str) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    request = ActionRequest(AvailableAction.REFUND, Decimal(amount), "UAH", keys=("key",))
    with pytest.raises(RefusalError, match=words):
        ActionRequested(request, decision_context(), opens_keys=lambda _payment: True).decide(aggregate)
    assert [known.kind for known in aggregate.operations] == [Kind.CREATE]


def error_of(answer: SessionResponse) -> dict[str, Any]:
    """Return what the storefront reads of a failure."""
    [error] = answer.data["errors"]
    assert isinstance(error, dict)
    return error


def _violation(*fields: str) -> dict[str, object]:
    return {"message": "Invalid", "args": [{"field_name": field, "violation": "no"} for field in fields]}


@pytest.mark.parametrize(
    ("refusal", "status", "code"),
    [
        (_violation("amount"), 400, "AMOUNT_NOT_ACCEPTED"),
        (_violation("currency"), 400, "AMOUNT_NOT_ACCEPTED"),
        (_violation("currency", "server_url"), 400, "STORE_UNAVAILABLE"),  # with another amount neither
        (_violation("customer_phone"), 400, "DETAILS_NOT_ACCEPTED"),
        (_violation("customer_phone", "amount"), 400, "AMOUNT_NOT_ACCEPTED"),
        (_violation("merchant_mcc"), 400, "STORE_UNAVAILABLE"),
        ({"message": "This terminal is closed", "args": {"code": "S-405"}}, 400, "STORE_UNAVAILABLE"),
        ({"message": "No such terminal", "args": {"code": "S-405"}}, 404, "STORE_UNAVAILABLE"),
    ],
)
async def test_what_no_other_attempt_cures_does_not_say_try_again(
    refusal: dict[str, object], status: int, code: str
) -> None:
    request = planned(an_account()).request
    reply = json_reply(refusal, status)
    outcome = await outcome_of(reply, lambda client: client.create_hosted(request, timeout=30))
    aggregate = an_aggregate(Flow.CHARGE, State.INTENT)
    aggregate.payment.language = "uk"
    create = aggregate.create
    CallReturned(row_id_of(create), outcome, decision_context(answering=create.id)).decide(aggregate, [])
    answer = session_response(aggregate, None)
    assert answer.result == "CHARGE_FAILURE"
    assert error_of(answer)["code"] == code
    assert "Спробуйте ще раз" not in error_of(answer)["message"]


def refused(account: dict[str, Any], **said: Any) -> SessionResponse:
    """Return the answer to a session that is refused before anything is recorded and any call is made."""
    with pytest.raises(RefusalError) as refusal:
        planned(an_account(**account), **said)
    return session_refusal_response(TransactionFlow.CHARGE, refusal.value)


_PHONE = "+380501234567"


@pytest.mark.law(14)
@pytest.mark.parametrize(
    ("code", "field", "wrong"),
    [
        ("INVALID_AMOUNT", "amount", {"amount": "0"}),
        ("CURRENCY_NOT_SUPPORTED", None, {"currency": "PLN"}),
        ("INVALID_DATA", "data", {"data": "a text"}),
        ("INVALID_DATA", "data.saveCard", {"data": {"saveCard": "perhaps"}}),
        ("INVALID_DATA", "data.customer", {"data": {"customer": "taras"}}),
        ("CARD_DATA_REFUSED", "data.payment.cardNumber", {"data": {"payment": {"cardNumber": "4242424242424242"}}}),
        ("INVALID_RETURN_URL", "data.returnUrl", {"data": {"returnUrl": "https://evil.example/"}}),
        ("MISSING_EMAIL", "data.customer.email", {"sourceObject": source_object(email=None)}),
        (
            "MISSING_PHONE",
            "data.customer.phone",
            {"sourceObject": source_object(billingAddress={"firstName": "A", "lastName": "B"})},
        ),
        (
            "MISSING_NAME",
            "data.customer.firstName",
            {"sourceObject": source_object(billingAddress={"lastName": "Ш", "phone": _PHONE})},
        ),
        (
            "MISSING_NAME",
            "data.customer.lastName",
            {"sourceObject": source_object(billingAddress={"firstName": "Т", "phone": _PHONE})},
        ),
    ],
)
def test_a_session_is_refused_with_a_code_of_its_own(code: str, field: str | None, wrong: dict[str, Any]) -> None:
    answer = refused({"names_required": True}, **wrong)
    assert answer.result == "CHARGE_FAILURE"
    assert error_of(answer)["code"] == code
    assert error_of(answer).get("field") == field
    assert answer.message == error_of(answer)["message"]
    assert "4242424242424242" not in str(answer.dump())


@pytest.mark.law(14)
@pytest.mark.parametrize(("amount", "currency"), [("1.234", "KWD"), ("569.505", "UAH"), ("100.50", "JPY")])
def test_an_amount_that_cannot_be_paid_is_never_called_paid(amount: str, currency: str) -> None:
    """INVALID_AMOUNT means to the payment button, and to storefronts like it, that nothing is left to pay."""
    answer = refused({"currencies": ["UAH", "KWD", "JPY"]}, amount=amount, currency=currency)
    assert (answer.result, error_of(answer)["code"]) == ("CHARGE_FAILURE", "AMOUNT_NOT_ACCEPTED")
    assert error_of(answer)["message"].startswith("Магазин не може прийняти")  # for the shopper
    assert amount in (answer.message or "")  # for staff
    assert "amountToPay" not in error_of(answer)
