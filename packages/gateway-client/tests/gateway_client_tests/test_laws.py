"""Three laws: what the interface allows survives, money to the last digit; what was tampered with is refused."""

from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway_client.errors import ForgedNotificationError, UnreadableNotificationError
from gateway_client.models import Capture, OperationRecord, PaymentRecord, Refund, SplitItem, SplitRefund, read_record
from gateway_client.models.accounts import BalanceAccount
from gateway_client.models.base import RequestModel
from gateway_client.models.records import validate_model
from gateway_client.models.reports import RegisterLine, TransactionLine
from gateway_client.models.values import with_two_decimals
from gateway_client.notification import encode, read_notification
from gateway_client.signature import sign
from gateway_client_tests.examples import CARD, SHOP, direct, hosted, payout
from gateway_client_tests.strategies import LINE, OPERATION, PAYMENT, accounts, amounts, lines, records
from integration_base import exact_json

SECRET = "secret-of-the-api"


@pytest.mark.parametrize(
    ("model", "members"), [(PaymentRecord, PAYMENT), (OperationRecord, OPERATION), (RegisterLine, LINE)]
)
def test_no_field_is_left_out_of_what_is_tried(model: Any, members: dict[str, Any]) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items() if not field.exclude}
    assert set(members) - {"a_new_field"} == fields


@given(lines)
def test_every_line_of_a_list_survives_reading_and_writing(members: dict[str, Any]) -> None:
    sent = exact_json.dumps(members)
    for model in (TransactionLine, RegisterLine):
        line = validate_model(model, exact_json.loads(sent))
        again = exact_json.loads(exact_json.dumps(line.to_wire()))
        assert again == exact_json.loads(sent)
        assert validate_model(model, again) == line


@given(accounts)
def test_every_balance_survives_reading_and_writing(members: dict[str, Any]) -> None:
    account = validate_model(BalanceAccount, exact_json.loads(exact_json.dumps(members)))
    assert str(account.balances.available) == str(members["balances"]["available"])
    again = exact_json.dumps(account.to_wire())
    assert validate_model(BalanceAccount, exact_json.loads(again)) == account
    named = members | {"name": members["name"] if members["name"].strip() else ""}  # a blank name is none
    assert sorted(again) == sorted(exact_json.dumps(named).replace('"rolling_reserve":', '"rollingReserve":'))


@given(records)
def test_a_reported_amount_keeps_every_digit(members: dict[str, Any]) -> None:
    record = read_record(exact_json.loads(exact_json.dumps(members)))
    written = with_two_decimals(Decimal(members["amount"]))  # as people read it: 569.50, not 569.5
    assert record.amount == Decimal(members["amount"])
    assert str(record.amount) == str(written)
    assert f'"amount":{written},' in exact_json.dumps(record.to_wire()) + ","


@given(amounts)
def test_an_asked_amount_keeps_every_digit(amount: Decimal) -> None:
    split = [SplitItem(sub_merchant_id=SHOP, amount=amount)]
    order: dict[str, Any] = {"order_id": "order1", "order_currency": "UAH"}
    asked: list[tuple[RequestModel, str]] = [
        (hosted(amount=amount, split=split), "amount"),
        (direct(amount=amount, **CARD), "amount"),
        (payout(amount=amount, cc_number=CARD["cc_number"]), "amount"),
        (Capture(charge_amount=amount, split=split, **order), "charge_amount"),
        (Refund(refund_amount=amount, **order), "refund_amount"),
        (SplitRefund(order_id="order1", currency="UAH", refund_amount=amount, split=split), "refund_amount"),
    ]
    for request, field in asked:
        members = request.to_wire()
        written = exact_json.dumps(members)
        assert f'"{field}":{amount},' in written.replace("}", ",")
        assert written.count(str(amount)) >= 1 + ("split" in members)


@st.composite
def tampered_forms(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A signed form, and the same after somebody's hands: cut, longer, turned round, of another record or secret."""
    members = draw(records)
    data = encode(members)
    form = urlencode({"data": data, "signature": sign(data, SECRET)}).encode()
    at = draw(st.integers(min_value=0, max_value=len(form) - 1))
    more = draw(st.binary(min_size=1, max_size=4))
    other = encode(draw(records))
    hands = [
        form[:at],
        form[:at] + form[at + 1 :],
        form[:at] + more + form[at:],
        form[:at] + form[at : at + 2][::-1] + form[at + 2 :],
        urlencode({"data": other, "signature": sign(data, SECRET)}).encode(),
        urlencode({"data": data, "signature": sign(other, SECRET)}).encode(),
        urlencode({"data": data, "signature": sign(data, draw(st.text(min_size=1, max_size=20)))}).encode(),
        urlencode({"data": encode(members | {"amount": draw(amounts)}), "signature": sign(data, SECRET)}).encode(),
        urlencode({"data": encode(members | {"status": "success"}), "signature": sign(data, SECRET)}).encode(),
    ]
    return form, draw(st.sampled_from(hands))


@pytest.mark.threat("forged-notification")
@given(tampered_forms())
def test_any_tampered_form_is_refused(forms: tuple[bytes, bytes]) -> None:
    form, tampered = forms
    assert read_notification(form, [SECRET]).data
    # What differs in writing only, such as %3d for %3D or an empty field, is the same form.
    assume(parse_qsl(tampered.decode("latin-1")) != parse_qsl(form.decode("latin-1")))
    signed = dict(parse_qsl(form.decode()))
    given_fields = [pair for pair in parse_qsl(tampered.decode("latin-1")) if pair[0] in signed]
    if dict(given_fields) == signed and len(given_fields) == len(signed) and tampered.isascii():
        # A further field beside the two signed ones changes nothing that is read.
        assert read_notification(tampered, [SECRET]).data == signed["data"]
        return
    with pytest.raises((ForgedNotificationError, UnreadableNotificationError)):
        read_notification(tampered, [SECRET])
