"""What the app itself asks for, word for word: payments, what follows on them, payouts, a night's register.

The other stories say what the interface needs; these say all that the app says: where the shopper is led back to,
attributes, payload, lifetime, the payer, products and receipts. Who refuses one of them refuses every payment.
"""

import base64
from collections.abc import Sequence
from contextlib import aclosing
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pytest

from app.core.ids import OrderId
from app.core.vocabulary import Flow, Kind, State
from app.flows.reconciliation.gather import start_register
from app.rules.addresses import Addresses
from app.rules.cards.card_form import PaymentInstrument
from app.rules.requests.direct import browser_of, plan_direct
from app.rules.requests.operation import operation_request
from app.rules.requests.payment import plan_hosted, terms_of
from app.rules.requests.payout import PayoutTerms, payout_request
from app.rules.split.rules import METADATA_KEY
from app.store.tables import MerchantAccount, ProductsForm
from gateway_client.dialect import DIALECTS
from gateway_client.models import (
    Capture,
    Checkout,
    Method,
    OperationRecord,
    Recipient,
    Refund,
    SplitRefund,
    Status,
    UnreadableLine,
    Void,
)
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_card
from gateway_client_tests.examples import CARD
from saleor_app_sdk.events import TransactionInitializeSession
from tests.payments.aggregates import an_aggregate, an_operation
from tests.payments.baskets import line, taxed
from tests.payments.cards.seals import BROWSER
from tests.payments.requests.test_payment import an_account
from tests.payments.shop import SALEOR, session_event, source_object

# The only address beside the gateway's that a cassette may name.
ADDRESSES = Addresses("https://shop.example")
PAYER = {
    "firstName": "Тарас", "lastName": "Шевченко", "patronymic": "Григорович", "email": "taras@example.com",
    "phone": "+380501234567", "country": "UA", "birthday": "1991-08-24", "taxId": "1234567899", "ip": "203.0.113.7",
    "referrer": "https://shop.example/cart",
}  # fmt: skip
LINES = [line(1, "1.00", 2, tax="0.17"), line(2, "0.30", tax="0.05", name="Сік")]


def account_of(harness: Harness, **chosen: Any) -> MerchantAccount:
    return an_account(
        currencies=[harness.currency], order_timeout=900, merchant_mcc="5499", receipt_delivery="email",
        validation_url="https://shop.example/check",
        storefront_origins=["https://shop.example"], dialect=harness.preset.value,
        **{"order_3ds_bypass": DIALECTS[harness.preset].order_3ds_bypass.value} | chosen,
    )  # fmt: skip


def begins(
    harness: Harness, name: str, flow: str = "CHARGE", *, lines: Sequence[dict[str, Any]] = LINES, **data: Any
) -> TransactionInitializeSession:
    """A shopper begins to pay for two lines and the delivery; nobody has paid this transaction before."""
    token = uuid5(NAMESPACE_OID, harness.order_id(name))
    transaction_id = base64.b64encode(f"TransactionItem:{token}".encode()).decode()
    basket = source_object(
        lines=list(lines),
        shippingPrice=taxed("0.20"),
        totalPrice=taxed(AMOUNT),
        channel={"slug": "uah", "currencyCode": "UAH"},
        user={"id": "VXNlcjox"},
    )
    said = {"returnUrl": "https://shop.example/back", "customer": PAYER} | data
    changes: dict[str, Any] = {"amount": AMOUNT, "currency": harness.currency, "sourceObject": basket, "data": said}
    return TransactionInitializeSession.model_validate(session_event(transaction_id, flow=flow, **changes))


async def test_a_page_with_plain_products(harness: Harness) -> None:
    account = account_of(harness, products=ProductsForm.PLAIN)
    request = plan_hosted(begins(harness, "plain"), account, ADDRESSES, SALEOR).request
    checkout = await harness.client.create_hosted(request, timeout=harness.timeout)
    assert isinstance(checkout, Checkout)
    await harness.hands.pay(request.order_id, checkout.checkout_url)
    (paid,) = await harness.client.get_order(request.order_id, timeout=harness.timeout)
    assert (paid.status, paid.amount) == (Status.SUCCESS, AMOUNT)


async def test_a_page_with_a_fiscal_receipt(harness: Harness) -> None:
    account = account_of(harness, products=ProductsForm.FISCAL, order_3ds_bypass="always")
    request = plan_hosted(begins(harness, "fiscal", flow="AUTHORIZATION"), account, ADDRESSES, SALEOR).request
    assert sum((product.total for product in request.products or ()), Decimal()) == AMOUNT
    checkout = await harness.client.create_hosted(request, timeout=harness.timeout)
    assert isinstance(checkout, Checkout)
    await harness.hands.pay(request.order_id, checkout.checkout_url)
    taken = await send(harness, account, request.order_id, Kind.CAPTURE, AMOUNT, products=request.products)
    assert (taken.status, taken.amount) == (Status.SUCCESS, AMOUNT)
    receipt = {"products": request.products, "f_receipt_delivery": request.f_receipt_delivery}
    returned = await send(harness, account, request.order_id, Kind.REFUND, AMOUNT, **receipt)
    assert (returned.status, returned.amount) == (Status.SUCCESS, AMOUNT)


async def send(
    harness: Harness, account: MerchantAccount, order_id: str, kind: Kind, amount: Decimal, **stored: Any
) -> OperationRecord:
    """Request an operation as the app does, from what it has stored of it."""
    payment, operation = (
        an_aggregate(Flow.AUTHORIZATION, State.SUCCESS).payment,
        an_operation(kind, State.INTENT, amount),
    )
    payment.order_id, payment.currency = OrderId(order_id), harness.currency
    operation.request = {"comment": "Why", **stored}
    request = operation_request(payment, operation, account, ADDRESSES.notifications(account.id))
    call: Any = {
        Capture: harness.client.capture,
        Void: harness.client.void,
        Refund: harness.client.refund,
        SplitRefund: harness.client.split_refund,
    }[type(request)]
    record = await call(request, timeout=harness.timeout)
    assert isinstance(record, OperationRecord)
    return record


async def test_part_of_an_authorization_is_charged_and_given_back_in_parts(harness: Harness) -> None:
    account = account_of(harness)
    held = await harness.client.create_direct(a_card(harness, "parts", method=Method.AUTH), timeout=harness.timeout)
    taken = await send(harness, account, held.order_id, Kind.CAPTURE, Decimal("1.00"))
    assert (taken.status, taken.amount) == (Status.SUCCESS, Decimal("1.00"))
    for part in (Decimal("0.40"), Decimal("0.60")):
        returned = await send(harness, account, held.order_id, Kind.REFUND, part)
        assert (returned.status, returned.amount) == (Status.SUCCESS, part)


async def test_an_authorization_is_released_whole(harness: Harness) -> None:
    held = await harness.client.create_direct(a_card(harness, "whole", method=Method.AUTH), timeout=harness.timeout)
    released = await send(harness, account_of(harness), held.order_id, Kind.VOID, AMOUNT)
    assert (released.status, released.amount) == (Status.SUCCESS, AMOUNT)


async def test_all_that_was_charged_is_given_back_at_once(harness: Harness) -> None:
    """Whether its amount is named is a point of the dialect."""
    paid = await harness.client.create_direct(a_card(harness, "all"), timeout=harness.timeout)
    returned = await send(harness, account_of(harness), paid.order_id, Kind.REFUND, AMOUNT, whole=True)
    assert (returned.status, returned.amount) == (Status.SUCCESS, AMOUNT)


@pytest.mark.splits
async def test_a_charge_and_a_refund_are_divided_among_sellers(harness: Harness) -> None:
    own, other = harness.sub_merchants
    account = account_of(harness)

    def shares(mine: str, theirs: str) -> list[dict[str, str]]:
        return [{"sub_merchant_id": own, "amount": mine}, {"sub_merchant_id": other, "amount": theirs}]

    held = await harness.client.create_direct(a_card(harness, "shared", method=Method.AUTH), timeout=harness.timeout)
    taken = await send(harness, account, held.order_id, Kind.CAPTURE, AMOUNT, split=shares("1.20", "0.30"))
    assert (taken.status, taken.amount) == (Status.SUCCESS, AMOUNT)
    part = Decimal("0.50")
    returned = await send(harness, account, held.order_id, Kind.REFUND, part, split=shares("0.40", "0.10"))
    assert (returned.status, returned.amount) == (Status.SUCCESS, part)


@pytest.mark.splits
async def test_a_page_split_among_sellers(harness: Harness) -> None:
    """By the store's rules: the second line is another seller's; the delivery and the rest are the store's own."""
    own, other = harness.sub_merchants
    rules = {"mode": "metadata", "default": own}
    account = account_of(harness, products=ProductsForm.PLAIN, split_rules=rules)
    product = LINES[1]["variant"] | {"metadata": [{"key": METADATA_KEY, "value": other}]}
    event = begins(harness, "sellers", lines=[LINES[0], LINES[1] | {"variant": product}])
    request = plan_hosted(event, account, ADDRESSES, SALEOR).request
    assert {item.sub_merchant_id: item.amount for item in request.split or ()} == {
        own: Decimal("1.20"),
        other: Decimal("0.30"),
    }
    assert isinstance(await harness.client.create_hosted(request, timeout=harness.timeout), Checkout)


async def test_the_register_of_a_night(harness: Harness) -> None:
    """With the statuses, methods and fields by which the books are compared."""
    paid = await harness.client.create_direct(a_card(harness, "night"), timeout=harness.timeout)
    start, end = harness.moment - timedelta(minutes=5), harness.moment + timedelta(minutes=5)
    ticket = await start_register(harness.client, start, end)
    assert ticket is not None
    async with aclosing(harness.client.reports.fetch(ticket, patience=120, timeout=harness.timeout)) as lines:
        read = [line async for line in lines if not isinstance(line, UnreadableLine)]
    assert paid.payment_id in {line.payment_id for line in read}


async def test_a_payout_to_a_known_recipient(harness: Harness) -> None:
    """With everything that the interface lets one say of the recipient."""
    given = {name: f"a {name}" for name in Recipient.model_fields} | {
        "recipient_doc_issue_date": "2015-05-20",
        "recipient_birth_date": "1991-08-24",
        "recipient_country": "UA",
        "is_operation_taxable": "false",
    }
    more = {"email": "solomiia@example.com", "tax_id": "3123456789", "reference": "Invoice 17"}
    terms = PayoutTerms(AMOUNT, harness.currency, "Prize", Recipient(**given), **more)
    request = payout_request(
        account_of(harness),
        terms,
        PaymentInstrument({"cc_number": CARD["cc_number"]}),
        order_id=OrderId(harness.order_id("prize")),
        ip="203.0.113.7",
        server_url=ADDRESSES.notifications("account"),
        customer_id="VXNlcjox",
    )
    sent = await harness.client.pay_out(request, timeout=harness.timeout)
    assert (sent.status, sent.amount) == (Status.SUCCESS, AMOUNT)
    assert set(sent.properties or {}) == set(given)


async def test_a_card_typed_into_the_storefront(harness: Harness) -> None:
    event = begins(harness, "typed", browserFingerprint=BROWSER, card="its.five.parts.are.encrypted")
    terms = terms_of(event, account_of(harness, products=ProductsForm.PLAIN), ADDRESSES, SALEOR)
    request = plan_direct(terms, browser_of(terms, None), PaymentInstrument(CARD)).request
    paid = await harness.client.create_direct(request, timeout=harness.timeout)
    assert (paid.status, paid.amount, paid.order_id) == (Status.SUCCESS, AMOUNT, request.order_id)
