"""Answers that Saleor takes, whatever goes into them; and what is refused before it is said."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from integration_base.exact_json import dumps
from saleor_app_sdk.responses import (
    ActionResponse,
    AvailableAction,
    CardDetails,
    EventType,
    GatewayConfigResponse,
    OtherMethod,
    SessionResponse,
    TransactionFlow,
    unique_reference,
    usable_link,
)
from saleor_app_sdk_tests.oracle import rejections

OUTCOMES = ("success", "request", "action_required", "failure")

# What handlers can be expected to pass, and what they could pass by mistake.
proper_references = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=512)
proper_amounts = st.integers(1, 10**13).map(lambda cents: Decimal(cents).scaleb(-2))
any_text = st.text(st.characters(), max_size=700)  # surrogates and control characters included
any_amount = st.decimals(allow_nan=True, allow_infinity=True) | proper_amounts
links = st.sampled_from(["https://app.example.com/orders/1", "http://localhost:8000/x?y=1", "https://127.0.0.1/"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | any_text | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
some_actions = st.none() | st.lists(st.sampled_from(AvailableAction), unique=True)
cards = st.none() | st.builds(
    CardDetails.from_known,
    name=any_text,
    brand=st.none() | any_text,
    first_digits=st.none() | st.text(st.sampled_from("0123456789*x٣"), max_size=20),
    last_digits=st.none() | st.text(st.sampled_from("0123456789*x٣"), max_size=20),
    exp_month=st.none() | st.integers(-5, 40),
    exp_year=st.none() | st.integers(-5, 20_000),
)


@given(
    outcome=st.sampled_from(OUTCOMES),
    flow=st.sampled_from(TransactionFlow),
    reference=proper_references,
    amount=proper_amounts,
    said=st.fixed_dictionaries(
        {},
        optional={
            "actions": some_actions,
            "message": st.none() | any_text,
            "data": json_values,
            "external_url": links,
            "card": cards,
        },
    ),
)
def test_a_session_answer_is_always_one_that_saleor_takes(
    outcome: str, flow: TransactionFlow, reference: str, amount: Decimal, said: dict[str, Any]
) -> None:
    answer = getattr(SessionResponse, outcome)(flow, psp_reference=reference, amount=amount, **said)
    assert rejections(dumps(answer.dump()).encode(), asked="SESSION") == []
    assert answer.result == f"{flow}_{outcome.upper()}"


@given(
    outcome=st.sampled_from(("success", "failure")),
    kind=st.sampled_from(AvailableAction),
    reference=proper_references,
    amount=proper_amounts,
    said=st.fixed_dictionaries(
        {}, optional={"actions": some_actions, "message": st.none() | any_text, "external_url": links}
    ),
)
def test_an_action_answer_is_always_one_that_saleor_takes(
    outcome: str, kind: AvailableAction, reference: str, amount: Decimal, said: dict[str, Any]
) -> None:
    answer = getattr(ActionResponse, outcome)(kind, psp_reference=reference, amount=amount, **said)
    assert rejections(dumps(answer.dump()).encode(), asked=kind) == []
    assert answer.result == f"{kind}_{outcome.upper()}"


@given(
    outcome=st.sampled_from(OUTCOMES),
    reference=any_text,
    amount=any_amount,
    url=st.none() | any_text | links,
    message=any_text,
)
def test_whatever_is_passed_by_mistake_is_refused_or_harmless(
    outcome: str, reference: str, amount: Decimal, url: str | None, message: str
) -> None:
    try:
        answer = getattr(SessionResponse, outcome)(
            TransactionFlow.CHARGE, psp_reference=reference, amount=amount, external_url=url, message=message
        )
    except ValidationError:
        return
    assert rejections(dumps(answer.dump()).encode(), asked="SESSION") == []


@given(kind=st.sampled_from(AvailableAction), reference=any_text, amount=any_amount, url=st.none() | any_text)
def test_the_same_for_actions(kind: AvailableAction, reference: str, amount: Decimal, url: str | None) -> None:
    try:
        answer = ActionResponse.success(kind, psp_reference=reference, amount=amount, external_url=url)
    except ValidationError:
        return
    assert rejections(dumps(answer.dump()).encode(), asked=kind) == []


def test_the_oracle_is_not_asleep() -> None:
    """What was measured to hurt on a running Saleor, it must see (first page of the contract)."""
    good = {"pspReference": "x", "result": "CHARGE_SUCCESS", "amount": Decimal("1.00")}
    assert rejections(dumps(good).encode(), asked="SESSION") == []
    for harm in (
        {"externalUrl": ""},
        {"externalUrl": "https://x.test/" + "a" * 200},
        {"pspReference": 1},
        {"pspReference": "x" * 513},
        {"amount": Decimal("569.504")},
        {"amount": Decimal("-1.00")},
        {"result": "charge_success"},
        {"time": "2026-11-21"},
        {"actions": "REFUND"},
        {"paymentMethodDetails": {"type": "CARD", "name": "Visa", "firstDigits": "411111"}},
        {"paymentMethodDetails": {"type": "CARD", "name": "Visa", "expYear": 30}},
        {"paymentMethodDetails": {"type": "card", "name": "Visa"}},
    ):
        assert rejections(dumps(good | harm).encode(), asked="SESSION") != [], harm
    assert rejections(dumps({"pspReference": "x", "actions": ["REFUND"]}).encode(), asked="REFUND") != []
    assert rejections(b"[]", asked="REFUND") != []


def test_pending_is_a_reference_and_nothing_else() -> None:
    answer = ActionResponse.pending(AvailableAction.REFUND, psp_reference="refund-1")
    assert answer.result is None
    assert dumps(answer.dump()) == '{"pspReference":"refund-1"}'
    harms: list[dict[str, Any]] = [
        {"actions": []},
        {"amount": Decimal(1)},
        {"message": "soon"},
        {"external_url": "https://x.test/"},
    ]
    for harm in harms:
        with pytest.raises(ValidationError):
            ActionResponse(kind=AvailableAction.REFUND, psp_reference="refund-1", **harm)


@pytest.mark.parametrize("field", ["time", "metadata", "psp", "pspReference"])
def test_no_other_field_can_be_said(field: str) -> None:
    said: dict[str, Any] = {"psp_reference": "x", "amount": Decimal(1), field: "2026-11-21T00:00:00Z"}
    with pytest.raises(ValidationError):
        SessionResponse(result=EventType.CHARGE_SUCCESS, **said)
    with pytest.raises(ValidationError):
        ActionResponse(kind=AvailableAction.CHARGE, outcome="SUCCESS", **said)


@pytest.mark.parametrize("result", [EventType.REFUND_SUCCESS, EventType.CANCEL_SUCCESS, EventType.INFO])
def test_no_other_result_can_be_said_in_a_session(result: Any) -> None:
    with pytest.raises(ValidationError):
        SessionResponse(result=result, psp_reference="x", amount=Decimal(1))


@pytest.mark.parametrize(
    "amount", [Decimal("569.504"), Decimal(0), Decimal(-1), Decimal("NaN"), Decimal(10) ** 12, 569.5, "1"]
)
def test_no_such_amount_can_be_said(amount: Any) -> None:
    with pytest.raises(ValidationError):
        SessionResponse.success(TransactionFlow.CHARGE, psp_reference="x", amount=amount)
    with pytest.raises(ValidationError):
        ActionResponse.success(AvailableAction.REFUND, psp_reference="x", amount=amount)


@pytest.mark.parametrize("outcome", ["success", "request", "action_required"])
def test_only_a_failure_leaves_the_amount_out(outcome: str) -> None:
    with pytest.raises(ValidationError):
        getattr(SessionResponse, outcome)(TransactionFlow.CHARGE, psp_reference="x", amount=None)
    assert "amount" not in SessionResponse.failure(TransactionFlow.CHARGE, psp_reference="x").dump()
    assert "amount" not in ActionResponse.failure(AvailableAction.REFUND, psp_reference="x").dump()


@given(flow=st.sampled_from(TransactionFlow), outcome=st.sampled_from(OUTCOMES))
def test_only_whoever_waits_for_the_shopper_leaves_the_reference_out(flow: TransactionFlow, outcome: str) -> None:
    said: dict[str, Any] = {"psp_reference": None, "amount": Decimal(1)}
    if outcome != "action_required":
        with pytest.raises(ValidationError):
            getattr(SessionResponse, outcome)(flow, **said)
    else:
        answer = SessionResponse.action_required(flow, **said).dump()
        assert "pspReference" not in answer  # which is what was tried with a real Saleor; null was not
        assert rejections(dumps(answer).encode(), asked="SESSION") == []


def test_calling_off_a_payment_that_nobody_made_is_about_nothing() -> None:
    answer = ActionResponse.success(AvailableAction.CANCEL, psp_reference="x", amount=Decimal(0))
    assert dumps(answer.dump()) == '{"pspReference":"x","result":"CANCEL_SUCCESS","amount":0.00}'


def test_a_long_message_is_cut_and_a_broken_one_mended() -> None:
    answer = SessionResponse.failure(TransactionFlow.CHARGE, psp_reference="x", message="а\0б\ud800" + "в" * 600)
    assert answer.message == "а б " + "в" * 508


def test_an_empty_list_of_actions_is_not_the_same_as_none() -> None:
    """Empty: nothing is possible any more. None: Saleor keeps the list that it has."""
    said = SessionResponse.success(TransactionFlow.CHARGE, psp_reference="x", amount=Decimal(1), actions=[])
    unsaid = SessionResponse.success(TransactionFlow.CHARGE, psp_reference="x", amount=Decimal(1))
    assert said.dump()["actions"] == ()
    assert "actions" not in unsaid.dump()


@pytest.mark.parametrize("data", [1.5, {"when": object()}, {1: "x"}, Decimal("NaN")])
def test_data_that_json_cannot_say_is_refused_when_it_is_made(data: object) -> None:
    """And not when it is written, after the money moved."""
    with pytest.raises((ValidationError, TypeError)):
        SessionResponse.failure(TransactionFlow.CHARGE, psp_reference="x", data=data)
    with pytest.raises((ValidationError, TypeError)):
        GatewayConfigResponse(data=data)


def test_a_gateway_config_may_be_nothing() -> None:
    assert dumps(GatewayConfigResponse(data=None).dump()) == '{"data":null}'


def test_references_for_what_never_got_one_are_all_different() -> None:
    assert len({unique_reference() for _ in range(100)}) == 100


@pytest.mark.threat("open-redirect")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "/orders/1",
        "//x.test/",
        "ftp://x.test/",
        "javascript:alert(1)",
        "https://",
        "https://x test/",
        "https://x.test/\n",
        "https://x.test/і",
        "https://app:3000x/",
        "https://app:5/",
        "https://user:word@x.test/",
        "http://app/",  # Saleor's reports refuse a name without a dot
        "https://[2001:db8::zz]/",
        "https://[fe80::1%25eth0]/",
        "https://x.test/" + "a" * 186,
    ],
)
def test_a_link_that_saleor_would_refuse(url: str) -> None:
    assert usable_link(url) is None
    with pytest.raises(ValidationError):
        SessionResponse.failure(TransactionFlow.CHARGE, psp_reference="x", external_url=url)


@pytest.mark.parametrize(
    "url",
    [
        "https://x.test/" + "a" * 185,
        "http://localhost:8000/",
        "https://a-b.example.co/p?q=1#r",
        "https://[2001:db8::7]/payments/1",
        "http://[::1]:8100/payments/1?saleorApiUrl=http://[::1]:8000/graphql/",
    ],
)
def test_a_link_that_saleor_takes(url: str) -> None:
    assert usable_link(url) == url
    assert usable_link(None) is None


def test_a_card_is_told_as_far_as_saleor_understands() -> None:
    card = CardDetails.from_known(
        name=" Visa ", brand="visa", first_digits="411111", last_digits="**1111", exp_month=1, exp_year=30
    )
    assert card.response_fields() == {
        "type": "CARD",
        "name": "Visa",
        "brand": "visa",
        "firstDigits": "4111",
        "lastDigits": "1111",
        "expMonth": 1,
        "expYear": 2030,
    }
    assert card.graphql_input() == {
        "card": {name: value for name, value in card.response_fields().items() if name != "type"}
    }


def test_what_is_not_known_of_a_card_is_left_out() -> None:
    card = CardDetails.from_known(name="", first_digits="4***", exp_month=13, exp_year=-1)
    assert card.response_fields() == {"type": "CARD", "name": "Card"}


def test_what_cannot_be_printed_of_a_card_is_a_space() -> None:
    card = CardDetails.from_known(name="Visa\0\ud800", brand="Vi\ud800sa")
    assert card.response_fields() == {"type": "CARD", "name": "Visa", "brand": "Vi sa"}
    assert CardDetails.from_known(name="\ud800").name == "Card"


def test_other_methods_have_a_name() -> None:
    assert OtherMethod(name="QR").response_fields() == {"type": "OTHER", "name": "QR"}
    assert OtherMethod(name="QR").graphql_input() == {"other": {"name": "QR"}}
    with pytest.raises(ValidationError):
        OtherMethod(name="")


@pytest.mark.parametrize(
    "harm", [{"first_digits": "41111"}, {"exp_year": 30}, {"exp_month": 0}, {"brand": "x" * 41}, {"name": ""}]
)
def test_a_card_cannot_say_what_saleor_refuses(harm: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CardDetails(**({"name": "Visa"} | harm))
