"""What a merchant may send, field by field (gateway interface, Endpoints 1 to 7 and 10).

A body that breaks a rule is answered by the names of the fields and what is wrong with each; what was sent is never
echoed, since it may be a card number.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError, model_validator

from app.sandbox.book.records import RecurringPlan, Share
from app.sandbox.book.refusals import InvalidFields

FINGERPRINT_MEMBERS = frozenset(
    f"browser{member}"
    for member in (
        "ColorDepth",
        "ScreenHeight",
        "ScreenWidth",
        "JavaEnabled",
        "Language",
        "TimeZone",
        "TimeZoneOffset",
        "AcceptHeader",
        "IpAddress",
        "UserAgent",
    )
)


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an absolute http or https address")
    return value


def _number(value: object) -> object:
    # Plugins send amounts as numbers and as text; true and false are neither.
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic makes a violation of a ValueError only
    return value


Amount = Annotated[
    Decimal,
    BeforeValidator(_number),
    Field(gt=0, max_digits=14, decimal_places=2),
    AfterValidator(lambda amount: amount.quantize(Decimal("0.01"))),
]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
WebAddress = Annotated[str, AfterValidator(_web_address)]
Text = Annotated[str, Field(min_length=1)]
ShortOrderId = Annotated[str, Field(min_length=1, max_length=32)]
Comment = Annotated[str, Field(max_length=2048)]
ReceiptDelivery = Literal["email", "sms", "viber", "none"]


class Attribute(BaseModel):
    """One searchable attribute of a payment."""

    key: str = Field(min_length=1, max_length=45)
    value: str = Field(max_length=250)


class SplitItem(BaseModel):
    """One sub-merchant's part."""

    amount: Amount
    sub_merchant_id: UUID
    products: list[dict[str, Any]] | None = None


class SplitFields(BaseModel):
    """The `split` member that several bodies have."""

    split: list[SplitItem] | None = Field(default=None, min_length=1)

    @property
    def shares(self) -> list[Share]:
        """The parts as the book keeps them."""
        return [Share(sub_merchant_id=item.sub_merchant_id, amount=item.amount) for item in self.split or ()]


class PaymentFields(SplitFields):
    """What all payment creations have in common."""

    amount: Amount
    currency: Currency
    description: str = Field(min_length=1, max_length=2048)
    order_id: str = Field(min_length=1, max_length=256)
    order_3ds_bypass: Text
    products: list[dict[str, Any]] | None = None
    customer_id: str | None = None
    customer_fname: str | None = None
    customer_lname: str | None = None
    customer_patronym: str | None = None
    customer_email: str | None = None
    customer_phone: str | None = None
    customer_ip: str | None = None
    customer_country: str | None = Field(default=None, pattern=r"^[A-Z]{2}$")
    customer_city: str | None = None
    customer_birthday: str | None = Field(default=None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    customer_tax_id: str | None = None
    server_url: WebAddress | None = None
    result_url: WebAddress | None = None
    merchant_mcc: str | None = None
    payload: str | None = Field(default=None, max_length=4000)
    validation_url: str | None = None
    f_receipt_delivery: ReceiptDelivery | None = None
    attributes: list[Attribute] | None = Field(default=None, max_length=20)
    init_recurring: RecurringPlan | None = None

    @property
    def customer(self) -> dict[str, str]:
        """The `customer_*` fields that were sent."""
        return {
            name: value
            for name, value in self.model_dump(exclude_none=True).items()
            if name.startswith("customer_") and name not in {"customer_lang", "customer_referrer"}
        }


class CardFields(BaseModel):
    """How a direct payment is paid: full card data, a token, or a wallet's cryptogram."""

    cc_number: str | None = Field(default=None, pattern=r"^\d{12,19}$")
    exp_month: int | None = Field(default=None, ge=1, le=12)
    exp_year: int | None = Field(default=None, ge=0, le=9999)
    card_cvv: str | None = Field(default=None, pattern=r"^\d{3,4}$")
    cc_token: Text | None = None
    cryptogram: dict[str, Any] | str | None = None


class DirectPayment(PaymentFields, CardFields):
    """1a: the merchant's own page has collected the card."""

    mode: Literal["direct"]
    method: Literal["auth", "purchase", "lookup", "p2p"]
    customer_fname: Text
    customer_lname: Text
    customer_email: Text
    customer_phone: Text
    customer_ip: Text
    customer_referrer: WebAddress | None = None
    browser_fingerprint: dict[str, str]
    recipient_cc_number: str | None = Field(default=None, pattern=r"^\d{12,19}$")

    @model_validator(mode="after")
    def _one_way_to_pay(self) -> "DirectPayment":
        card = (self.cc_number, self.exp_month, self.exp_year, self.card_cvv)
        if self.cc_token is None and self.cryptogram is None and None in card:
            raise InvalidFields([("cc_number", "cc_number, exp_month, exp_year and card_cvv go together")])
        if self.cc_token is not None and any(part is not None for part in card):
            raise InvalidFields([("cc_token", "is sent instead of card data, not beside it")])
        if self.method == "p2p" and self.recipient_cc_number is None:
            raise InvalidFields([("recipient_cc_number", "Field required")])
        if missing := FINGERPRINT_MEMBERS - self.browser_fingerprint.keys():
            raise InvalidFields([("browser_fingerprint", f"lacks {', '.join(sorted(missing))}")])
        return self


class HostedPayment(PaymentFields):
    """1b: the gateway's page collects the card."""

    mode: Literal["hosted"]
    method: Literal["auth", "purchase", "lookup"]
    customer_email: Text
    customer_phone: Text
    customer_lang: str | None = None
    order_timeout: int | None = Field(default=None, gt=0, le=10**8)

    @model_validator(mode="before")
    @classmethod
    def _no_card(cls, body: object) -> object:
        if isinstance(body, Mapping):
            sent = [name for name in CardFields.model_fields if body.get(name) is not None]
            if sent:
                raise InvalidFields([(name, "is not taken in hosted mode") for name in sent])
        return body


class Payout(PaymentFields):
    """1c: money goes to a card."""

    mode: Literal["direct"]
    method: Literal["credit"]
    cc_number: str | None = Field(default=None, pattern=r"^\d{12,19}$")
    cc_token: Text | None = None
    customer_ip: Text
    properties: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one_recipient(self) -> "Payout":
        if (self.cc_number is None) == (self.cc_token is None):
            raise InvalidFields([("cc_number", "either cc_number or cc_token is sent")])
        return self


class CaptureBody(SplitFields):
    """3: `charge_amount` omitted takes the whole reservation."""

    order_id: ShortOrderId
    order_currency: Currency
    charge_amount: Amount | None = None
    comment: Comment | None = None
    server_url: WebAddress | None = None
    products: list[dict[str, Any]] | None = None


class VoidBody(BaseModel):
    """4: the whole reservation is given back."""

    order_id: ShortOrderId
    order_currency: Currency
    comment: Comment | None = None
    server_url: WebAddress | None = None


class RefundBody(BaseModel):
    """5: `refund_amount` omitted refunds everything."""

    order_id: ShortOrderId
    order_currency: Currency
    refund_amount: Amount | None = None
    comment: Comment | None = None
    server_url: WebAddress | None = None
    f_receipt_delivery: ReceiptDelivery | None = None
    products: list[dict[str, Any]] | None = None


class SplitRefundBody(SplitFields):
    """6: note `currency`, where the other bodies say `order_currency`."""

    order_id: ShortOrderId
    currency: Currency
    refund_amount: Amount
    comment: Comment | None = None
    server_url: WebAddress | None = None
    split: list[SplitItem] = Field(min_length=1)


class SubscriptionRefundBody(BaseModel):
    """Refund of one charge of a subscription; the path names the charge."""

    order_currency: Currency
    refund_amount: Amount | None = None
    comment: Comment | None = None
    server_url: WebAddress | None = None


class RegisterBody(BaseModel):
    """10: the period has an offset and is at most 31 days long."""

    start_date: datetime
    end_date: datetime
    statuses: list[Literal["success", "pending", "failure", "init"]] | None = None
    methods: (
        list[
            Literal[
                "auth",
                "purchase",
                "capture",
                "void",
                "p2p",
                "credit",
                "lookup",
                "refund",
                "dispute",
                "recurrent",
            ]
        ]
        | None
    ) = None
    transaction_details: list[str] | None = None


Body = TypeVar("Body", bound=BaseModel)


def read_body(model: type[Body], body: Mapping[str, Any]) -> Body:
    """Validate a body. Raises InvalidFields with one violation for each field that breaks a rule."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        violations = [
            (".".join(str(part) for part in problem["loc"]) or "body", problem["msg"])
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
    # Outside of the handler: pydantic's error carries what was sent, which may be a card number.
    raise InvalidFields(violations)
