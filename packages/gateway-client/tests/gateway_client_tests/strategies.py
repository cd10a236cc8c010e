"""Everything that the interface allows a record to be."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from gateway_client.models import Method, Mode, Status

texts = st.text(max_size=40)
ids = st.uuids().map(str)
cents = st.decimals(min_value=0, max_value=Decimal("9999999999.99"), places=2)
amounts = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("9999999999.99"), places=2)
# As written on the wire: a number with two decimals, one, none, or the same in quotes.
written_amounts = st.one_of(
    amounts,
    st.integers(min_value=1, max_value=10**12),
    amounts.map(lambda amount: Decimal(str(amount.normalize())) if amount % 1 else amount),
    amounts.map(str),
)
timestamps = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1)).map(  # noqa: DTZ001 - the interface's have no zone
    lambda moment: (
        moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
        .replace(tzinfo=None)
        .isoformat(timespec="milliseconds")
    )
)
fees = st.one_of(st.none(), st.fixed_dictionaries({"amount": cents, "currency": st.just("UAH")}))
COMMON_OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "transaction_id": ids,
    "status_code": st.from_regex(r"[1-6][0-9]{3}", fullmatch=True),
    "status_description": texts,
    "created_at": timestamps,
    "processed_at": timestamps,
    "fee": fees,
    "receipt_url": st.just("https://pay.example/receipt/1"),
    "limit_info": st.fixed_dictionaries({}, optional={"retry_after": timestamps, "description": texts}),
    # What nobody has heard of yet.
    "a_new_field": st.one_of(st.none(), texts, cents, st.lists(cents, max_size=3), st.booleans()),
}
COMMON: dict[str, st.SearchStrategy[Any]] = {
    "payment_id": ids,
    "order_id": st.text(min_size=1, max_size=256),
    "pos_id": ids,
    "mode": st.sampled_from([mode.value for mode in Mode]),
    "amount": written_amounts,
    "currency": st.sampled_from(["UAH", "EUR", "USD", "XTS"]),
    "status": st.sampled_from([status.value for status in Status]),
}
PRIMARY = ["purchase", "auth", "credit", "p2p", "lookup"]
TEXT_FIELDS = [
    "gateway_order_id", "billing_order_id", "description", "user_action_url", "eci", "mcc", "options_3ds", "cc_mask",
    "cc_token", "cc_token_expiration", "customer_id", "customer_ip", "customer_fname", "customer_lname",
    "customer_patronym", "customer_email", "customer_phone", "customer_country", "customer_city", "customer_birthday",
    "result_url", "payload", "bank_short_name", "payway", "processed_currency",
]  # fmt: skip
PAYMENT: dict[str, st.SearchStrategy[Any]] = (
    COMMON
    | COMMON_OPTIONAL
    | {name: st.one_of(st.none(), texts) for name in TEXT_FIELDS}
    | {
        "method": st.sampled_from(PRIMARY),
        "user_action_required": st.booleans(),
        "fixed_fee": fees,
        "percent_fee": fees,
        "processed_amount": amounts,
        "recurring": st.fixed_dictionaries({"id": ids, "status": st.sampled_from(["init", "active", "canceled"])}),
        "properties": st.dictionaries(texts, texts, max_size=3),
    }
)
OPERATION: dict[str, st.SearchStrategy[Any]] = (
    COMMON
    | COMMON_OPTIONAL
    | {
        "operation_id": ids,
        "method": st.sampled_from([method.value for method in Method if method.secondary]),
        "split_fee": fees,
        "comment": texts,
    }
)


def documents(members: dict[str, st.SearchStrategy[Any]], required: set[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Any JSON object of these members, of which the ``required`` are always there."""
    always = {name: strategy for name, strategy in members.items() if name in required}
    return st.fixed_dictionaries(
        always, optional={name: strategy for name, strategy in members.items() if name not in required}
    )


payments = documents(PAYMENT, {*COMMON, "method"})
operations = documents(OPERATION, {*COMMON, "method", "operation_id"})
records = st.one_of(payments, operations)

# Lists write numbers as text, and leave empty what they do not know yet.
LINE: dict[str, st.SearchStrategy[Any]] = (
    dict.fromkeys(("orderId", "currency", "authCode", "rrnCode", "description", "payload", "cardMask"), texts)
    | dict.fromkeys(("paymentSystem", "recipientCardMask", "payway", "entityName", "projectName"), texts)
    | dict.fromkeys(("exchangeCurrency", "tokenizationKind", "receiverName"), texts)
    | {name: cents.map(str) for name in ("amount", "customerFee", "merchantFee", "originalAmount", "exchangeAmount")}
    | {name: cents.map(str) for name in ("exchangeRate", "reserveAmount", "receiverAmount", "receiverFee")}
    | {
        "projectId": ids,
        "paymentId": ids,
        "method": st.sampled_from([method.value for method in Method]),
        "status": st.sampled_from([status.value for status in Status]),
        "dateTime": st.one_of(st.just(""), st.integers(min_value=0, max_value=4 * 10**12)),
    }
)
lines = documents(LINE, set())
accounts = st.fixed_dictionaries(
    {
        "id": ids,
        "name": texts,
        "currency": st.sampled_from(["UAH", "EUR"]),
        "balances": st.sampled_from(["rollingReserve", "rolling_reserve"]).flatmap(
            lambda name: st.fixed_dictionaries({"available": cents, name: cents})
        ),
    }
)
