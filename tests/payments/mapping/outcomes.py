"""Every answer or failure of the gateway, each with a short name and a text for readers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gateway_client.statuses import TABLE, Status
from integration_base_tests.loopback import Behaviour, HangUp, Reply, Silence, json_reply
from tests.payments.fake_gateway import BROKEN, NO_SUCH_ORDER, refusal_reply


@dataclass(frozen=True, slots=True)
class Outcome:
    """``record`` holds the relevant members of the gateway's record; without one, ``reply`` is the answer instead.

    ``reachable`` False: there is no connection. ``code`` is the gateway's own, where an answer may repeat it.
    """

    words: str
    record: Mapping[str, Any] | None = None
    reply: Behaviour | None = None
    reachable: bool = True
    code: str | None = field(default=None)


def _record(words: str, status: str, code: str | None = None, **members: Any) -> Outcome:
    return Outcome(words, {"status": status, "status_code": code} | members, code=code)


def _first_sentence(words: str) -> str:
    return words.partition(". ")[0].rstrip(".")


PENDING = {
    code: _record(f"pending, `{code}`: {_first_sentence(TABLE[code].reason)}", "pending", code)
    for code in ("2001", "2012", "2013", "2119", "2201")
}
SHOPPERS_TURN = {
    code: _record(f"pending, `{code}`: {_first_sentence(TABLE[code].reason)}", "pending", code)
    for code in ("2102", "2122", "2123", "2124")
} | {"user_action_required": _record("pending, `user_action_required`", "pending", "2001", user_action_required=True)}
FAILED = {
    code: _record(f"failure, `{code}`: {_first_sentence(row.reason)}", "failure", code)
    for code, row in TABLE.items()
    if row.status is Status.FAILURE
} | {
    "unknown code": _record("failure with a code that nobody documents", "failure", "5999"),
    "no code": _record("failure without a code", "failure"),
}
SUCCESS = {"success": _record("success", "success", "1000")}
ANOTHER = {
    "another amount": _record("success over another amount than asked", "success", "1000", amount=Decimal("5.69")),
    "another currency": _record("success in another currency", "success", "1000", currency="USD"),
    "another point of sale": _record(
        "success at another point of sale", "success", "1000", pos_id="00000000-7c6f-4f6f-9c2c-1f6f0f1d3a11"
    ),
    "another order": _record("success of another order", "success", "1000", order_id="0" * 32),
}
# Of payments only: the shopper may change the amount, and the payment may be of the wrong kind.
PAYER_CHANGED = {
    "processed_amount": _record(
        "success; the payer changed the amount to 500.00",
        "success",
        "1000",
        processed_amount=Decimal("500.00"),
        processed_currency="UAH",
    ),
    "processed_currency": _record(
        "success; the payer paid 500.00 in another currency",
        "success",
        "1000",
        processed_amount=Decimal("500.00"),
        processed_currency="USD",
    ),
    "another flow": _record("success of a reservation where a payment was asked for, or the reverse", "success"),
}
CREATED = {"init": _record("`init`: it is there, and nobody has paid", "init")}

REFUSED = {
    "refused": Outcome("refused (4xx) in words", reply=refusal_reply("Invalid operation", "4150"), code="4150"),
    "invalid": Outcome(
        "refused (400) because of a field",
        reply=json_reply({"message": "Invalid", "args": [{"field_name": "amount", "violation": "1.00-500.00"}]}, 400),
    ),
    "busy": Outcome("too many requests (429)", reply=refusal_reply("Too many", "T-429", 429), code="T-429"),
}
KEYS = {
    "keys refused": Outcome(
        "the keys are refused (401)", reply=refusal_reply("Invalid credentials", "S-404", 401), code="S-404"
    )
}
DUPLICATE = {
    "duplicate": Outcome("this order id was used before (`P-409`)", reply=refusal_reply("Order exists", "P-409", 409))
}
NOT_FOUND = {"not found": Outcome("there is no such order (404)", reply=NO_SUCH_ORDER, code="P-404")}
NOT_SENT = {"not sent": Outcome("it cannot be reached; nothing was sent", reachable=False)}
UNKNOWN = {
    "500": Outcome("500", reply=BROKEN),
    "503": Outcome("503", reply=Reply(503)),
    "silence": Outcome("no answer within the budget of 12 seconds", reply=Silence()),
    "hangs up": Outcome("the connection breaks after the request left", reply=HangUp()),
    "garbage": Outcome("200 with something that is no record", reply=Reply(200, b"<html>welcome</html>")),
    "408": Outcome("408", reply=Reply(408)),
}
PAGE = Outcome("a link to its page")

OF_PAYMENT = CREATED | PENDING | SHOPPERS_TURN | SUCCESS | PAYER_CHANGED | ANOTHER | FAILED
OF_OPERATION = CREATED | PENDING | SHOPPERS_TURN | SUCCESS | ANOTHER | FAILED
FAULTS = REFUSED | KEYS | DUPLICATE | NOT_FOUND | NOT_SENT | UNKNOWN
