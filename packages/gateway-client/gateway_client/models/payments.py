"""Requests that create a payment, and where the shopper pays it (gateway interface, 1a, 1b and 2)."""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field, PlainSerializer, SerializationInfo, model_validator

from gateway_client.errors import BrokenRule, InvalidRequestError
from gateway_client.models.base import CARD_FIELDS, CardCvv, CardNumber, RequestModel, Secret, is_for_wire
from gateway_client.models.details import Attributes, BrowserFingerprint, RecurringPlan, Split, check_split
from gateway_client.models.products import Products
from gateway_client.models.values import (
    Amount,
    CategoryCode,
    Country,
    Currency,
    Day,
    Description,
    Method,
    Mode,
    OrderId,
    PageLanguage,
    Payload,
    ReceiptDelivery,
    Text,
    Url,
    Uuid,
    absolute_url,
)

TAX_ID_ABOVE = Decimal(30_000)  # UAH
_CARD = ("cc_number", "exp_month", "exp_year", "card_cvv")


class Sector(StrEnum):
    """The merchant's line of business: for some the interface requires more fields."""

    GENERAL = "general"
    GAMBLING = "gambling"
    MICROFINANCE = "microfinance"


def needs_tax_id(sector: Sector, amount: Decimal, currency: str) -> bool:
    """Return whether a merchant must name the payer's or recipient's tax id (gateway interface, Limits)."""
    return sector is Sector.MICROFINANCE and currency == "UAH" and amount > TAX_ID_ABOVE


class Creation(RequestModel):
    """The common fields of direct and hosted payments and of payouts.

    The client fills in ``pos_id``. ``order_id`` must be new: the first attempt uses it up, whatever its outcome.
    """

    _repr_fields: ClassVar[tuple[str, ...]] = ("order_id", "method", "amount", "currency")

    pos_id: Uuid | None = None
    mode: Mode
    method: Method
    amount: Amount
    currency: Currency
    description: Description
    order_id: OrderId
    order_3ds_bypass: Text | None = None  # None: as the dialect has it
    customer_id: str | None = None
    customer_country: Country | None = None
    customer_birthday: Day | None = None
    server_url: Url | None = None
    result_url: Url | None = None
    merchant_mcc: CategoryCode | None = None
    payload: Payload | None = None
    validation_url: Url | None = None

    def to_journal(self) -> dict[str, Any]:
        """Return the members as JSON, for a journal, without the card, the token or the cryptogram."""
        return self.model_dump(mode="json", exclude_none=True, exclude=set(CARD_FIELDS))


class Payment(Creation):
    """The common fields of direct and hosted payments. ``init_recurring`` is provisional (see ``RecurringPlan``)."""

    method: Literal[Method.PURCHASE, Method.AUTH] = Method.PURCHASE
    customer_email: Text
    customer_phone: Text
    customer_fname: Text | None = None
    customer_lname: Text | None = None
    customer_patronym: str | None = None
    customer_tax_id: str | None = None
    products: Products | None = None
    f_receipt_delivery: ReceiptDelivery | None = None
    attributes: Attributes | None = None
    split: Split | None = None
    init_recurring: RecurringPlan | None = None

    @model_validator(mode="after")
    def _check_split_sum(self) -> "Payment":
        if self.split is not None:
            check_split(self.split, self.amount)
        return self

    def check_sector(self, sector: Sector) -> None:
        """Raise ``InvalidRequestError`` if the merchant's sector requires fields that are not given."""
        if broken := tuple(self._missing_fields(sector)):
            raise InvalidRequestError.of(broken, order_id=self.order_id)

    def _missing_fields(self, sector: Sector) -> Iterator[BrokenRule]:
        if sector is not Sector.GENERAL:
            for name in ("customer_fname", "customer_lname"):
                if getattr(self, name) is None:
                    yield BrokenRule(name, f"is required of {sector} merchants", "nothing")
        if sector is Sector.MICROFINANCE and not self.customer_tax_id:
            if needs_tax_id(sector, self.amount, self.currency):
                limit = f"is required of {sector} merchants above {TAX_ID_ABOVE} UAH"
                yield BrokenRule("customer_tax_id", limit, "nothing")
            elif self.customer_birthday is None:
                limit = f"this or customer_tax_id is required of {sector} merchants"
                yield BrokenRule("customer_birthday", limit, "nothing")


class HostedPayment(Payment):
    """A payment on the gateway's page. ``order_timeout`` is its lifetime in seconds.

    ``customer_lang`` is the page's language ("UK" is Ukrainian; "uk" is accepted too).
    """

    mode: Literal[Mode.HOSTED] = Mode.HOSTED
    customer_lang: PageLanguage | None = None
    order_timeout: int | None = Field(default=None, ge=1)


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where the shopper pays (gateway interface, 1b: the ``location`` of the 303, and the QR page beside it).

    The hosted page and the page that shows it as a QR code. ``None``: neither given nor derivable.

    ``payment_id`` is set only if the gateway sends it along with the link (the interface's 303 does not).
    """

    checkout_url: str | None
    qr_url: str | None
    payment_id: str | None = None

    @classmethod
    def from_form(cls, url: str, *, payment_id: str | None = None) -> "Checkout":
        """Return the checkout of a checkout URL. Raises ``ValueError`` unless it is an absolute http(s) address."""
        return cls(absolute_url(url), _replace_last_segment(url, "form", "qr"), payment_id)

    @classmethod
    def from_qr(cls, url: str, *, payment_id: str | None = None) -> "Checkout":
        """Return the checkout of a QR page's URL. Raises ``ValueError`` unless it is an absolute http(s) address."""
        return cls(_replace_last_segment(url, "qr", "form"), absolute_url(url), payment_id)


def _replace_last_segment(url: str, last: str, other: str) -> str | None:
    """Return ``url`` with the last segment of its path replaced by ``other``; None if it is not ``last``."""
    parts = urlsplit(url)
    if not parts.path.endswith(f"/{last}"):
        return None
    return urlunsplit(parts._replace(path=parts.path.removesuffix(last) + other))


def _reveal_on_wire(value: dict[str, Any], info: SerializationInfo) -> dict[str, Any] | str:
    return value if is_for_wire(info) else "**********"


class DirectPayment(Payment):
    """A payment with a card typed in on the merchant's side (PCI DSS), or with a token or wallet cryptogram.

    Exactly one of: the four card fields, ``cc_token``; or neither with a ``cryptogram``.
    """

    mode: Literal[Mode.DIRECT] = Mode.DIRECT
    customer_fname: Text
    customer_lname: Text
    customer_ip: Text
    browser_fingerprint: BrowserFingerprint
    cc_number: CardNumber | None = None
    exp_month: int | None = Field(default=None, ge=1, le=12)
    exp_year: int | None = Field(default=None, ge=0, le=2999)
    card_cvv: CardCvv | None = None
    cc_token: Annotated[Secret, Field(min_length=1)] | None = None
    cryptogram: Annotated[dict[str, Any], PlainSerializer(_reveal_on_wire)] | None = None
    customer_referrer: Url | None = None

    @classmethod
    def _check_combination(cls, given: Set[str]) -> Iterator[BrokenRule]:
        missing = [name for name in _CARD if name not in given]
        if not missing and "cc_token" in given:
            yield BrokenRule("cc_token", "either card fields or a token", "both")
        elif len(missing) < len(_CARD):
            yield from (BrokenRule(name, "card fields go together", "nothing") for name in missing)
        elif given.isdisjoint(("cc_token", "cryptogram")):
            yield BrokenRule("cc_number", "card fields, a token or a cryptogram is required", "nothing")
