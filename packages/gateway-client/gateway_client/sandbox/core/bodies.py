"""Request bodies, field by field (gateway interface, Endpoints 1 to 7 and 10).

An unknown field is rejected: otherwise a misspelt `refund_amount` would be a full refund. The response to an invalid
body names the fields and what is wrong with each; it never echoes what was sent, since that may be a card number.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar
from unicodedata import name

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from gateway_client.luhn import passes_luhn
from gateway_client.sandbox.core.fields import (
    Amount,
    CardNumber,
    Comment,
    Country,
    Currency,
    Day,
    Identifier,
    Moment,
    Number,
    ReceiptDelivery,
    ShortOrderId,
    Text,
    WebAddress,
)
from gateway_client.sandbox.core.records import RecurringPlan, Share
from gateway_client.sandbox.core.refusals import InvalidFieldsError
from gateway_client.sandbox.core.wallets import validate_wallet_token

_EXCLUDED_CUSTOMER_FIELDS = {"customer_lang", "customer_referrer"}


class Body(BaseModel):
    """Base of all bodies: types are not coerced, and unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _check_attribute_text(text: str) -> str:
    if any(letter.isalpha() and not name(letter, "").startswith(("LATIN", "CYRILLIC")) for letter in text):
        raise ValueError("only Latin and Cyrillic letters are allowed")
    if any(passes_luhn(found) for found in _MAY_BE_A_CARD.findall(text)):
        raise ValueError("must not contain card data")
    return text


_MAY_BE_A_CARD = re.compile(r"(?<!\d)\d{13,19}(?!\d)")
AttributeText = Annotated[str, AfterValidator(_check_attribute_text)]


class Attribute(Body):
    """One searchable attribute of a payment."""

    key: AttributeText = Field(min_length=1, max_length=45)
    value: AttributeText = Field(max_length=250)


class Taxes(Body):
    """The tax of a product with fiscalization."""

    type: Literal["vat", "non-vat"]
    prc: Number


class Product(Body):
    """A product, with or without fiscalization. The interface shows no fields; these come from the public pages."""

    id: str | None = None
    name: str | None = None
    amount: Amount | None = None
    qty: Number = None
    currency: Currency | None = None
    category: str | None = None
    description: str | None = None
    url: WebAddress | None = None
    price_type: Literal["VAT", "NET"] | None = None
    vat: Number = None
    payload: str | None = None
    unit: str | None = None
    bar_code: str | None = None
    taxes: Taxes | list[Taxes] | None = None
    fiscalReceiptDelivery: ReceiptDelivery | None = None  # noqa: N815 - the gateway's name


class SplitItem(Body):
    """One sub-merchant's part."""

    amount: Amount
    sub_merchant_id: Identifier
    products: list[Product] | None = None


class WithProducts(Body):
    """A body that may name products."""

    products: list[Product] | None = None

    @property
    def goods(self) -> list[dict[str, Any]]:
        """The products, as sent."""
        return [product.model_dump(exclude_unset=True) for product in self.products or ()]


class WithSplit(Body):
    """A body that may divide its amount."""

    split: list[SplitItem] | None = Field(default=None, min_length=1)

    @property
    def shares(self) -> list[Share]:
        """The shares, as stored in the state."""
        return [Share(sub_merchant_id=item.sub_merchant_id, amount=item.amount) for item in self.split or ()]


class Plan(Body, RecurringPlan):
    """`init_recurring`; its fields come from the public pages."""

    start_date: Day | None = None
    expiry_date: Day | None = None
    time: str | None = Field(default=None, pattern=r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$")
    notification_url: WebAddress | None = None
    amount: Amount | None = None


class Creation(Body):
    """Base of payments and payouts (1a, 1b, 1c)."""

    pos_id: Identifier
    amount: Amount
    currency: Currency
    description: str = Field(min_length=1, max_length=2048)
    order_id: str = Field(min_length=1, max_length=256)
    order_3ds_bypass: Literal["supported", "always", "never"]
    customer_id: str | None = None
    customer_fname: str | None = None
    customer_lname: str | None = None
    customer_email: str | None = None
    customer_phone: str | None = None
    customer_country: Country | None = None
    customer_birthday: Day | None = None
    server_url: WebAddress | None = None
    result_url: WebAddress | None = None
    merchant_mcc: str | None = Field(default=None, pattern=r"^\d{4}$")
    payload: str | None = Field(default=None, max_length=4000)
    validation_url: str | None = None

    @property
    def customer(self) -> dict[str, str]:
        """The `customer_*` fields that were sent."""
        return {
            name: value
            for name, value in self.model_dump(exclude_none=True).items()
            if name.startswith("customer_") and name not in _EXCLUDED_CUSTOMER_FIELDS
        }


class PaymentFields(Creation, WithProducts, WithSplit):
    """Base of direct and hosted payments (1a, 1b)."""

    customer_patronym: str | None = None
    customer_email: Text
    customer_phone: Text
    customer_tax_id: str | None = None
    f_receipt_delivery: ReceiptDelivery | None = None
    attributes: list[Attribute] | None = Field(default=None, max_length=20)
    init_recurring: Plan | None = None


class Fingerprint(Body):
    """`browser_fingerprint`: ten members, all of them strings."""

    browserColorDepth: str  # noqa: N815 - the gateway's names, here and below
    browserScreenHeight: str  # noqa: N815
    browserScreenWidth: str  # noqa: N815
    browserJavaEnabled: str  # noqa: N815
    browserLanguage: str  # noqa: N815
    browserTimeZone: str  # noqa: N815
    browserTimeZoneOffset: str  # noqa: N815
    browserAcceptHeader: str  # noqa: N815
    browserIpAddress: str  # noqa: N815
    browserUserAgent: str  # noqa: N815


class DirectPayment(PaymentFields):
    """1a: the merchant's own page collected the card, or there is a token or a wallet's cryptogram."""

    mode: Literal["direct"]
    method: Literal["auth", "purchase", "lookup", "p2p"]
    customer_fname: Text
    customer_lname: Text
    customer_ip: Text
    customer_referrer: WebAddress | None = None
    browser_fingerprint: Fingerprint
    cc_number: CardNumber | None = None
    exp_month: int | None = Field(default=None, ge=1, le=12)
    exp_year: int | None = Field(default=None, ge=0, le=9999)
    card_cvv: str | None = Field(default=None, pattern=r"^\d{3,4}$")
    cc_token: Text | None = None
    cryptogram: dict[str, Any] | str | None = None
    recipient_cc_number: CardNumber | None = None

    @model_validator(mode="after")
    def _check_payment_source(self) -> "DirectPayment":
        card = (self.cc_number, self.exp_month, self.exp_year, self.card_cvv)
        if self.cc_token is None and self.cryptogram is None and None in card:
            raise InvalidFieldsError([("cc_number", "cc_number, exp_month, exp_year and card_cvv go together")])
        if self.cc_token is not None and any(part is not None for part in card):
            raise InvalidFieldsError([("cc_token", "is sent instead of card data, not beside it")])
        if self.method == "p2p" and self.recipient_cc_number is None:
            raise InvalidFieldsError([("recipient_cc_number", "Field required")])
        return self


class HostedPayment(PaymentFields):
    """1b: the gateway's page collects the card. The payer's card, address, fingerprint and referrer are rejected."""

    mode: Literal["hosted"]
    method: Literal["auth", "purchase", "lookup"]
    customer_lang: str | None = Field(default=None, pattern=r"^[A-Z]{2}(_[A-Z]{2})?$")
    order_timeout: int | None = Field(default=None, gt=0, le=10**8)


class Recipient(Body):
    """`properties` of a payout."""

    recipient_first_name: str | None = None
    recipient_middle_name: str | None = None
    recipient_last_name: str | None = None
    recipient_doc_number: str | None = None
    recipient_doc_issue_date: Day | None = None
    recipient_doc_issued_by: str | None = None
    recipient_phone: str | None = None
    recipient_birth_date: Day | None = None
    recipient_birth_place: str | None = None
    recipient_country: str | None = Field(default=None, pattern=r"^[A-Z]{2}(-[A-Z0-9]{1,3})?$")
    recipient_city: str | None = None
    recipient_address: str | None = None
    recipient_postcode: str | None = None
    wallet_number: str | None = None
    is_operation_taxable: Literal["true", "false"] | None = None


class Payout(Creation):
    """1c: money goes to a card."""

    mode: Literal["direct"]
    method: Literal["credit"]
    cc_number: CardNumber | None = None
    cc_token: Text | None = None
    customer_ip: Text
    customer_patronym: str | None = None
    customer_tax_id: str | None = None
    customer_city: str | None = None
    validation_url: WebAddress | None = None
    properties: Recipient | None = None

    @model_validator(mode="after")
    def _check_recipient(self) -> "Payout":
        if (self.cc_number is None) == (self.cc_token is None):
            raise InvalidFieldsError([("cc_number", "either cc_number or cc_token is sent")])
        return self


class OperationBody(Body):
    """Base of operations on a payment (3 to 6)."""

    pos_id: Identifier
    order_id: ShortOrderId
    comment: Comment | None = None
    server_url: WebAddress | None = None


class CaptureBody(OperationBody, WithProducts):
    """The capture without split, from the public pages. Without `charge_amount` it captures the whole reservation."""

    order_currency: Currency
    charge_amount: Amount | None = None


class SplitCaptureBody(CaptureBody, WithSplit):
    """3: capture a reservation; `split` distributes the captured amount."""


class VoidBody(OperationBody):
    """4: void the whole reservation."""

    order_currency: Currency


class RefundBody(OperationBody, WithProducts):
    """5: without `refund_amount` it refunds everything."""

    order_currency: Currency
    refund_amount: Amount | None = None
    f_receipt_delivery: ReceiptDelivery | None = None


class SplitRefundBody(OperationBody, WithSplit):
    """6: note `currency`, where the other bodies have `order_currency`."""

    currency: Currency
    refund_amount: Amount
    split: list[SplitItem] = Field(min_length=1)


class SubscriptionRefundBody(Body):
    """Refund of one charge of a subscription; the path names the charge."""

    pos_id: Identifier | None = None
    order_currency: Currency
    refund_amount: Amount | None = None
    comment: Comment | None = None
    server_url: WebAddress | None = None


class WalletTokenBody(Body):
    """The exchange of a wallet's token, from the provider's public pages: which wallet, and its JSON in Base64."""

    pos_id: Identifier
    token: Annotated[
        str, Field(pattern=r"^(applepay|gpay):[A-Za-z0-9+/]+={0,2}$"), AfterValidator(validate_wallet_token)
    ]


class WalletSessionBody(Body):
    """The start of Apple's payment sheet, from the provider's public pages. The address is one of Apple's."""

    pos_id: Identifier
    validation_url: Annotated[
        WebAddress, Field(pattern=r"^https://(cn-)?apple-pay-gateway(-[a-z0-9]+)*\.apple\.com/paymentservices/\w+$")
    ]


class RegisterBody(Body):
    """10: the period has an offset and is at most 31 days long."""

    project_id: Identifier
    start_date: Moment
    end_date: Moment
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


BodyT = TypeVar("BodyT", bound=BaseModel)
_VIOLATIONS = {"extra_forbidden": "is no field of this request", "missing": "Field required"}


def read_body(model: type[BodyT], body: Mapping[str, Any]) -> BodyT:
    """Validate a body. Raises InvalidFieldsError with one violation for each field that breaks a rule."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        violations = [
            (
                ".".join(str(part) for part in problem["loc"]) or "body",
                _VIOLATIONS.get(problem["type"], problem["msg"].removeprefix("Value error, ")),
            )
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
    # Outside of the handler: pydantic's error contains what was sent, which may be a card number.
    raise InvalidFieldsError(violations)
