"""``python -m tests.gateway_contract.statements``: where each statement of the gateway's interface is kept to.

One row for each field, path and word of the interface: where the client has it, in which journey it is sent or read,
whether the sandbox has it, on which cassette it is, and which test pins it. Journeys write down which members their
calls had (``make statements``); the rest is read from the code and the cassettes.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel

import gateway_client
from gateway_client.notification import decode
from gateway_client.sandbox.core import bodies
from gateway_client_tests.contract.scrubbing import WEBHOOKS
from gateway_client_tests.contract.tape import CASSETTES, interactions
from integration_base import exact_json
from integration_base_tests.places import GATEWAY_CLIENT, REPOSITORY
from tests.gateway_contract.statement_rules import NO_CRYPTOGRAM, rules

SANDBOX = GATEWAY_CLIENT / "sandbox"
PAGE = REPOSITORY / "docs" / "gateway-statements.md"
SEEN = Path(__file__).with_name("journeys.json")
REQUESTS, ANSWERS = "test_wire.py", "test_wire_answers.py"

_CARD = "cc_number exp_month exp_year card_cvv cc_token"
_CREATION = (
    "pos_id mode method amount currency description order_id order_3ds_bypass customer_id customer_fname "
    "customer_lname customer_email customer_phone customer_country customer_birthday server_url result_url "
    "merchant_mcc payload validation_url"
)
_PAYMENT = f"{_CREATION} products customer_patronym customer_tax_id f_receipt_delivery attributes"
_BROWSER = (
    "ColorDepth ScreenHeight ScreenWidth JavaEnabled Language TimeZone TimeZoneOffset AcceptHeader IpAddress UserAgent"
)
_RECIPIENT = (
    "recipient_first_name recipient_middle_name recipient_last_name recipient_doc_number recipient_doc_issue_date "
    "recipient_doc_issued_by recipient_phone recipient_birth_date recipient_birth_place recipient_country "
    "recipient_city recipient_address recipient_postcode wallet_number is_operation_taxable"
)
_SPLIT = "split split.amount split.sub_merchant_id split.products"
_RECORD = (
    "payment_id order_id transaction_id pos_id mode method amount currency status status_code status_description "
    "created_at fee receipt_url"
)
_PAYMENT_RECORD = (
    f"{_RECORD} gateway_order_id billing_order_id description user_action_required user_action_url eci mcc options_3ds "
    "cc_mask cc_token cc_token_expiration customer_id customer_ip customer_fname customer_lname customer_patronym "
    "customer_email customer_phone customer_country customer_city customer_birthday result_url processing_time "
    "processed_at fixed_fee percent_fee payload bank_short_name payway processed_amount processed_currency limit_info "
    "recurring properties"
)
_REFUND = "pos_id order_id order_currency refund_amount comment server_url f_receipt_delivery"
_LINE = (
    "projectId orderId paymentId amount currency method status dateTime authCode rrnCode description payload "
    "customerFee merchantFee paymentSystem recipientCardMask"
)
_DETAILS = (
    "cardMask payway entityName projectName originalAmount exchangeAmount exchangeCurrency exchangeRate "
    "tokenizationKind reserveAmount receiverName receiverAmount receiverFee"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the interface: its fields, the client's and the sandbox's model, and the calls in ``test_wire``.

    ``answers``: the fields are those of responses. ``sandbox`` is a model, or the module that writes the response.
    """

    title: str
    fields: Sequence[str]
    client: type[BaseModel]
    sandbox: type[BaseModel] | str
    pinned_by: str
    answers: bool = False


PARTS = {
    "1a": Part(
        "1a Direct",
        f"{_PAYMENT} {_CARD} customer_ip customer_referrer browser_fingerprint cryptogram".split()
        + [f"browser_fingerprint.browser{name}" for name in _BROWSER.split()],
        gateway_client.DirectPayment, bodies.DirectPayment, "card",
    ),
    "1b": Part(
        "1b Hosted",
        f"{_PAYMENT} customer_lang order_timeout qr attributes.key attributes.value".split(),
        gateway_client.HostedPayment, bodies.HostedPayment, "hosted",
    ),
    "1c": Part(
        "1c Payout",
        f"{_CREATION} cc_number cc_token customer_ip customer_city properties".split()
        + [f"properties.{name}" for name in _RECIPIENT.split()],
        gateway_client.Payout, bodies.Payout, "payout",
    ),
    "2": Part("2 Split purchase", _SPLIT.split(), gateway_client.HostedPayment, bodies.HostedPayment, "hosted split"),
    "3": Part(
        "3 Capture",
        f"pos_id order_id charge_amount order_currency comment server_url {_SPLIT}".split(),
        gateway_client.Capture, bodies.SplitCaptureBody, "capture split",
    ),
    "4": Part(
        "4 Void", ["pos_id", "order_id", "order_currency", "comment", "server_url"],
        gateway_client.Void, bodies.VoidBody, "void",
    ),
    "5": Part(
        "5 Refund", _REFUND.split(),
        gateway_client.Refund, bodies.RefundBody, "refund",
    ),
    "6": Part(
        "6 Split refund", f"pos_id order_id currency refund_amount comment server_url {_SPLIT}".split(),
        gateway_client.SplitRefund, bodies.SplitRefundBody, "refund split",
    ),
    "10": Part(
        "10 Register, start",
        ["project_id", "start_date", "end_date", "statuses", "methods", "transaction_details"],
        gateway_client.RegisterRequest, "api/registers.py", "register",
    ),
    "payment": Part(
        "Payment record", _PAYMENT_RECORD.split(), gateway_client.PaymentRecord, "render.py",
        "test_each_field_of_a_payment_is_read_under_its_name", answers=True,
    ),
    "operation": Part(
        "Secondary operation record",
        f"operation_id {_RECORD} processing_time processed_at split_fee comment".split(),
        gateway_client.OperationRecord, "render.py", "test_each_field_of_an_operation_is_read_under_its_name",
        answers=True,
    ),
    "period": Part(
        "Transaction-list record", _LINE.split(), gateway_client.TransactionLine, "render.py",
        "test_each_field_of_a_list_is_read_under_its_name", answers=True,
    ),
    "register": Part(
        "Transaction-register record", f"{_LINE} {_DETAILS}".split(), gateway_client.RegisterLine, "render.py",
        "test_each_field_of_a_list_is_read_under_its_name", answers=True,
    ),
    "ticket": Part(
        "Register, started", ["report_id", "count"], gateway_client.RegisterTicket, "api/registers.py",
        "test_reports.py::test_a_register_is_started_without_the_endpoints_key", answers=True,
    ),
    "balance": Part(
        "Balance account",
        ["id", "name", "currency", "balances", "balances.available", "balances.rollingReserve"],
        gateway_client.BalanceAccount, "api/balances.py",
        "test_balances_and_subscriptions_are_read_under_their_names", answers=True,
    ),
}  # fmt: skip
CALLS = {
    "POST /api/v1/payment": "1 Create payment",
    "POST /api/v1/split/purchase": "2 Split purchase",
    "POST /api/v1/split/capture": "3 Capture",
    "POST /api/v1/void": "4 Void",
    "POST /api/v1/refund": "5 Refund",
    "POST /api/v1/split/refund": "6 Split refund",
    "POST /api/v1/pos/*/order/*/cancel": "7 Cancel",
    "GET /api/v1/pos/*/orders/*": "8 All operations of an order",
    "GET /api/v1/pos/*/orders/*/*": "8 One operation of an order",
    "GET /api/v1/pos/*/recurring/*": "8 A subscription",
    "GET /api/v1/pos/*/transactions": "8 A period",
    "POST /streaming-report/start": "10 Register, start",
    "GET /streaming-report/fetch/*": "10 Register, fetch",
    "GET /api/v1/balances/pos/*/accounts": "11 Balances",
    "GET /api/v1/balances/pos/*/accounts/*": "11 One balance",
}
# Why the app sends or reads something in no journey, or the sandbox or a cassette does not have it.
REASONS: Mapping[tuple[str, str], str] = {
    ("journey", "comment"): "sent with a reason that staff give: `tests/payments/operations/test_actions.py`",
    ("journey", "merchant_mcc"): "an option of the account: `tests/payments/requests/test_context.py`",
    ("journey", "validation_url"): "an option of the account: `tests/payments/requests/test_context.py`",
    ("journey", "cryptogram"): NO_CRYPTOGRAM,
    ("journey", "GET /api/v1/pos/*/recurring/*"): "the app looks the order up, which shows all charges",
    ("journey", "GET /api/v1/balances/pos/*/accounts/*"): "`balances --balance`: `tests/commands/test_reconcile.py`",
    ("journey", "split.products"): "a split fiscal basket: `tests/payments/split/test_planning.py`",
    (
        "journey",
        "GET /api/v1/pos/*/orders/*/*",
    ): "the app looks orders up whole; `payments resend` asks for one operation",
    ("journey", "GET /api/v1/pos/*/transactions"): "read where there is no register: `tests/payments/reconciliation`",
    ("journey", "properties.is_operation_taxable"): "of gambling merchants: `tests/payments/requests/test_payout.py`",
    ("journey", "1c result_url"): "nobody is sent to a page by a payout",
}
EVERYWHERE = "a response; read in every journey that looks a payment up"


def part_of_call(verb: str, path: str, names: Sequence[str]) -> list[str]:
    """The parts of the interface that a request belongs to."""
    if path in ("/api/v1/payment", "/api/v1/split/purchase"):
        kind = "1a" if "browser_fingerprint" in names else "1c" if "customer_ip" in names else "1b"
        return [kind, "2"] if path.startswith("/api/v1/split") else [kind]
    ends = {"capture": "3", "void": "4", "start": "10", "fetch": "register", "transactions": "period"}
    if path.endswith("/refund"):
        return ["6" if "/split/" in path else "5"] if "/recurring/" not in path else []
    return [part for end, part in ends.items() if path.endswith(f"/{end}") or f"/{end}/" in path] if verb else []


def pattern_of(verb: str, path: str) -> str:
    """The path with a star for each identifier, as in ``CALLS``; as it is if it is none of them."""
    for known in CALLS:
        if re.fullmatch(known.replace("*", "[^/]+"), f"{verb} {path}"):
            return known
    return f"{verb} {path}"


def names_in(value: object, within: str = "") -> Iterator[str]:
    """The names of members, as ``split.amount`` if nested."""
    if isinstance(value, list):
        for item in value:
            yield from names_in(item, within)
    elif isinstance(value, dict):
        for name, member in value.items():
            yield f"{within}{name}"
            yield from names_in(member, f"{within}{name}.")


def _kind_of(answer: Mapping[str, object]) -> str | None:
    if "operation_id" in answer:
        return "operation"
    if "payment_id" in answer:
        return "payment"
    return {"report_id": "ticket", "balances": "balance"}.get(
        next((n for n in ("report_id", "balances") if n in answer), "")
    )


def on_cassettes() -> dict[str, str]:
    """On which cassette each ``part field`` is first, and each call."""
    found: dict[str, str] = {}

    def note(key: str, story: str) -> None:
        found.setdefault(key, story)

    for path in sorted(CASSETTES.rglob("*.yaml"), key=lambda path: (path.parts[-3:][1:], path.parts[-3])):
        story = str(path.relative_to(CASSETTES).with_suffix(""))
        for request, answer in interactions(path):
            target = urlsplit(request.uri)
            sent = exact_json.loads(request.body) if request.body and request.uri != WEBHOOKS else {}
            if request.uri == WEBHOOKS:
                data = dict(parse_qsl((request.body or b"").decode()))["data"]
                _note_answer(note, story, decode(data), "webhook ")
                continue
            names = [*names_in(sent), *(name for name, _ in parse_qsl(target.query))]
            note(pattern_of(request.method, target.path), story)
            parts = part_of_call(request.method, target.path, names)
            for part in parts:
                for name in names:
                    note(f"{part} {name}", story)
            for document in _documents(answer["body"]["string"]):
                _note_answer(note, story, document, "", next((part for part in parts if part in PARTS), None))
    return found


def _documents(body: bytes) -> Iterator[object]:
    try:
        yield exact_json.loads(body)
    except exact_json.NotJsonError:
        for line in body.splitlines():
            try:
                yield exact_json.loads(line)
            except exact_json.NotJsonError:
                return


def _note_answer(
    note: Callable[[str, str], None], story: str, document: object, prefix: str, part: str | None = None
) -> None:
    items = document if isinstance(document, list) else [document]
    for item in items:
        if not isinstance(item, dict):
            continue
        for account in item.get("accounts") or ():
            _note_answer(note, story, account, prefix)
        kind = _kind_of(item) or (part if part in ("register", "period") and "orderId" in item else None)
        if kind is not None:
            for name in names_in(item):
                note(f"{prefix}{kind} {name}", story)


def in_journeys() -> dict[str, str]:
    """In which journey each ``part field`` was first, and each call; as ``make statements`` has found it."""
    kept: dict[str, str] = json.loads(SEEN.read_text(encoding="utf-8"))
    return kept


def read_journeys(lines: Sequence[str]) -> dict[str, str]:
    """Return the same from what the journeys have written down; the first story by its name counts."""
    found: dict[str, str] = {}
    for line in lines:
        told = json.loads(line)
        for call in told["calls"]:
            keys = [pattern_of(call["http_method"], call["path"])]
            parts = part_of_call(call["http_method"], call["path"], call["fields"])
            keys += [f"{part} {name}" for part in parts for name in call["fields"]]
            for key in keys:
                found[key] = min(found.get(key, told["story"]), told["story"])
    return dict(sorted(found.items()))


def client_has(part: Part, name: str) -> str:
    models: list[type[BaseModel]] = [part.client]
    steps = name.split(".")
    if name == "qr":
        return "`create_hosted(qr=True)`"
    for step in steps[:-1]:
        models = [inner for model in models for inner in _models_of(model, step)]
    for model in models:
        for attribute, field in model.model_fields.items():
            if steps[-1] in (field.alias, attribute) or (attribute, steps[-1]) == ("processed_at", "processing_time"):
                return f"`{model.__name__}.{attribute}`"
    return ""


def _models_of(model: type[BaseModel], name: str) -> Iterator[type[BaseModel]]:
    for attribute, field in model.model_fields.items():
        if name in (attribute, field.alias):
            yield from _types_in(field.annotation)


def _types_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _types_in(inner)


def sandbox_has(part: Part, name: str) -> str:
    if name == "qr":
        return "`api/payments.py`"
    if isinstance(part.sandbox, str):
        text = (SANDBOX / part.sandbox).read_text()
        text += "".join(path.read_text() for path in SANDBOX.rglob("*.py"))
        last = name.rpartition(".")[2]
        return f"`{part.sandbox}`" if re.search(rf"\b{last}\b", text) else ""
    models: list[type[BaseModel]] = [part.sandbox]
    steps = name.split(".")
    for step in steps[:-1]:
        models = [inner for model in models for inner in _models_of(model, step)]
    return next((f"`{model.__name__}.{steps[-1]}`" for model in models if steps[-1] in model.model_fields), "")


def rows() -> Iterator[tuple[str, ...]]:
    """The rows of the page: part, statement, client, journey, sandbox, cassette, test."""
    cassettes, journeys = on_cassettes(), in_journeys()
    for call, title in CALLS.items():
        yield (title, f"`{call}`", "`client.py`", _told(journeys, call, call), "`api/`", _kept(cassettes, call),
               f"`{REQUESTS}::test_each_call_says_these_words_and_no_other`")  # fmt: skip
    for key, part in PARTS.items():
        for name in part.fields:
            place = f"{key} {name}"
            test = part.pinned_by if "test_" in part.pinned_by else "test_each_call_says_these_words_and_no_other"
            test = test if "::" in test else f"{ANSWERS if part.answers else REQUESTS}::{test}"
            test += "" if part.answers else f"[{part.pinned_by}]"
            journey = EVERYWHERE if part.answers else _told(journeys, place, name, key)
            yield (part.title, f"`{name}`", client_has(part, name), journey, sandbox_has(part, name),
                   _kept(cassettes, place, f"webhook {place}"), f"`{test}`")  # fmt: skip


def _told(journeys: Mapping[str, str], key: str, name: str, part: str = "") -> str:
    if key in journeys:
        return f"`{journeys[key]}`"
    return REASONS.get(("journey", f"{part} {name}")) or REASONS.get(("journey", name), "")


def _kept(cassettes: Mapping[str, str], *keys: str) -> str:
    story = next((cassettes[key] for key in keys if key in cassettes), None)
    return (
        f"`{story}`"
        if story
        else REASONS.get(("cassette", keys[0]), REASONS.get(("cassette", keys[0].partition(" ")[2]), ""))
    )


def page() -> str:
    head = """# The gateway's interface, statement by statement

Made by `make statements`; do not edit. Every call, field and rule of the interface: where the client has it, in which
journey (`tests/journeys/`) the app sends it, where the sandbox (`packages/gateway-client/gateway_client/sandbox/`) has
it, on which cassette (`cassettes/gateway/`) it is, and the tests that pin it (in the folder
`packages/gateway-client/tests/gateway_client_tests/`). Where a cell has a sentence instead of a place, it says why.
"""
    return f"{head}\n## Calls and fields\n\n{_table(rows())}\n## Rules, words and limits\n\n{_table(rules())}"


def _table(lines: Iterator[tuple[str, ...]]) -> str:
    titles = ("interface", "statement", "client", "journey", "sandbox", "cassette", "test")
    written = [titles, ("---",) * len(titles), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in written)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        seen = read_journeys(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines())
        SEEN.write_text(json.dumps(seen, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
