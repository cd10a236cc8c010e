"""What may stand in a log or an error: no card, nobody's name, nothing long; and what a broken limit is called."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from gateway_client.errors import InvalidRequestError
from gateway_client.models import Capture, Sector
from gateway_client.models.base import CARD_FIELDS, RequestModel, ResponseModel, displayable
from gateway_client_tests.examples import CARD, SHOP, direct, hosted, payout

_CREATION = ("order_id", "method", "amount", "currency")
_RECORD = ("payment_id", "order_id", "method", "status", "status_code", "amount", "currency")
_LINE = ("order_id", "payment_id", "method", "status", "amount", "currency")
SHOWN: dict[str, tuple[str, ...]] = {
    "Attribute": ("key",),
    "BalanceAccount": ("id", "name", "currency"),
    "Balances": ("available", "rolling_reserve"),
    "BrowserFingerprint": (),
    "Capture": ("order_id", "charge_amount", "order_currency"),
    "Creation": _CREATION,
    "DirectPayment": _CREATION,
    "Fee": ("amount", "currency"),
    "FiscalProduct": ("id", "amount", "qty", "unit"),
    "HostedPayment": _CREATION,
    "LimitInfo": ("retry_after", "description"),
    "OperationRecord": ("operation_id", *_RECORD),
    "Payment": _CREATION,
    "PaymentRecord": _RECORD,
    "Payout": _CREATION,
    "Product": ("id", "amount", "qty"),
    "Recipient": (),
    "Record": _RECORD,
    "Recurring": ("id", "status"),
    "RecurringPlan": ("interval_count", "interval_unit"),
    "Refund": ("order_id", "refund_amount", "order_currency"),
    "RegisterLine": _LINE,
    "RegisterRequest": ("start_date", "end_date"),
    "RegisterTicket": ("report_id", "count"),
    "Secondary": (),
    "SplitItem": ("sub_merchant_id", "amount"),
    "SplitRefund": ("order_id", "refund_amount", "currency"),
    "Subscription": ("recurring_status",),
    "SubscriptionRefund": ("refund_amount", "order_currency"),
    "Taxes": ("type", "prc"),
    "TransactionLine": _LINE,
    "Void": ("order_id", "order_currency"),
}


def _models(base: type[Any]) -> Iterator[type[Any]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


MODELS = {model.__name__: model for base in (RequestModel, ResponseModel) for model in _models(base)}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_model_shows_what_identifies_it_and_nothing_else(name: str) -> None:
    model = MODELS[name]
    whole = model.model_construct(**{field: f"<{field}>" for field in model.model_fields})
    assert repr(whole) == str(whole)
    shown = ", ".join(f"{field}='<{field}>'" for field in SHOWN[name])
    assert repr(whole) == f"{name}({shown})"


def test_every_model_has_its_row() -> None:
    assert set(MODELS) == set(SHOWN)


@pytest.mark.parametrize("name", ["customer_email", "recipient_first_name", "wallet_number", "browserUserAgent"])
def test_of_personal_data_only_the_size_is_shown(name: str) -> None:
    assert displayable(name, "Olena") == "a text of 5 characters"
    assert displayable(f"recipient.{name}", "Olena") == "a text of 5 characters"
    assert displayable(f"{name}.order_id", "one") == "one"


@pytest.mark.parametrize("name", sorted(CARD_FIELDS))
def test_of_a_card_nothing_is_shown(name: str) -> None:
    assert displayable(name, "4242") == displayable(f"card.{name}.0", 4242) == "(not shown)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        ("", "an empty text"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "a text of 65 characters"),
        ([1, 2, 3], "3 items"),
        ({"a": 1}, "1 items"),
        (True, "True"),
        (Decimal("10.50"), "10.50"),
        (object(), "object"),
    ],
)
def test_what_is_shown_of_a_value(value: object, shown: str) -> None:
    assert displayable("order_id", value) == shown


@pytest.mark.parametrize(
    ("build", "changes", "said"),
    [
        (hosted, {"order_id": None}, "order_id: must be text; given: nothing"),
        (hosted, {"order_id": ""}, "order_id: at least 1 characters; given: an empty text"),
        (hosted, {"description": "x" * 2049}, "description: at most 2048 characters; given: a text of 2049 characters"),
        (hosted, {"split": []}, "split: at least 1 of them; given: 0 items"),
        (
            hosted,
            {"attributes": [{"key": "k", "value": "v"}] * 21},
            "attributes: at most 20 of them; given: 21 items",
        ),
        (hosted, {"surprise": 1}, "surprise: is no field of this request; given: 1"),
        (
            hosted,
            {"split": [{"amount": 100, "sub_merchant_id": SHOP, "surprise": 1}]},
            "split.0.surprise: is no field of this request; given: 1",
        ),
        (direct, {"card_cvv": "12"}, "card_cvv: 3 to 4 digits; given: (not shown)"),
        (payout, {"cc_number": "1"}, "cc_number: 12 to 19 digits; given: (not shown)"),
    ],
)
def test_a_broken_limit_is_named_in_full(build: Any, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        build(**changes)
    assert said in str(caught.value)


def _of_sector(build: Any, sector: Sector, **changes: Any) -> Callable[[], object]:
    return lambda: build(**changes).check_sector(sector)


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (
            lambda: Capture(order_id="o", order_currency="UAH", split=[{"amount": 1, "sub_merchant_id": SHOP}]),
            ["charge_amount: is required with a split; given: nothing"],
        ),
        (
            lambda: payout(cc_number="4242424242424242", cc_token="tok"),
            ["cc_number: either this or cc_token; given: both or neither"],
        ),
        (payout, ["cc_number: either this or cc_token; given: both or neither"]),
        (
            _of_sector(hosted, Sector.GAMBLING),
            [
                "customer_fname: is required of gambling merchants; given: nothing",
                "customer_lname: is required of gambling merchants; given: nothing",
            ],
        ),
        (
            _of_sector(direct, Sector.MICROFINANCE, **CARD),
            ["customer_birthday: this or customer_tax_id is required of microfinance merchants; given: nothing"],
        ),
        (
            _of_sector(direct, Sector.MICROFINANCE, amount=Decimal(30001), **CARD),
            ["customer_tax_id: is required of microfinance merchants above 30000 UAH; given: nothing"],
        ),
        (
            _of_sector(payout, Sector.MICROFINANCE, amount=Decimal(30001), cc_token="tok"),
            [
                "customer_fname: is required of microfinance merchants; given: nothing",
                "customer_lname: is required of microfinance merchants; given: nothing",
                "customer_birthday: is required of microfinance merchants; given: nothing",
                "customer_tax_id: is required of microfinance merchants above 30000 UAH; given: nothing",
            ],
        ),
    ],
)
def test_a_combination_that_is_not_allowed_is_named_in_full(attempt: Callable[[], object], said: list[str]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        attempt()
    assert [f"{rule.field}: {rule.limit}; given: {rule.given}" for rule in caught.value.broken] == said


def test_a_wallet_s_cryptogram_is_masked_wherever_a_request_is_dumped() -> None:
    request = direct(cryptogram={"data": "secret"})
    assert request.model_dump(mode="json")["cryptogram"] == "**********"
    assert request.to_wire()["cryptogram"] == {"data": "secret"}
