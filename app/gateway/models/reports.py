"""Records of the by-period list and of the register, and the request for a register (gateway interface, 8 and 10)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, field_serializer, model_validator
from pydantic.alias_generators import to_camel

from app.gateway.errors import InvalidRequest
from app.gateway.models.base import Aside, Asked, Said
from app.gateway.models.values import Method, Milliseconds, Uuid, to_decimal, to_milliseconds
from app.gateway.statuses import Status, read_status

LONGEST_PERIOD = timedelta(days=31)


def _status(value: object) -> object:
    return read_status(value) if isinstance(value, str) else value


# Lists write amounts as strings.
AmountText = Annotated[
    Decimal, BeforeValidator(to_decimal), PlainSerializer(lambda amount: format(amount, "f"), return_type=str)
]


class TransactionLine(Said):
    """One line of the list of all transactions in a period. What a line leaves out, or leaves empty, is ``None``."""

    model_config = ConfigDict(alias_generator=to_camel)
    _shown: ClassVar[tuple[str, ...]] = ("order_id", "payment_id", "method", "status", "amount", "currency")

    project_id: Aside[str] = None
    order_id: Aside[str] = None
    payment_id: Aside[str] = None
    amount: Aside[AmountText] = None
    currency: Aside[str] = None
    method: Method | str | None = Field(default=None, union_mode="left_to_right")
    status: Aside[Annotated[Status, BeforeValidator(_status)]] = None
    date_time: Aside[Milliseconds] = None
    auth_code: Aside[str] = None
    rrn_code: Aside[str] = None
    description: Aside[str] = None
    payload: Aside[str] = None
    customer_fee: Aside[AmountText] = None
    merchant_fee: Aside[AmountText] = None
    payment_system: Aside[str] = None
    recipient_card_mask: Aside[str] = None

    @field_serializer("date_time")
    def _empty_until_set(self, moment: datetime | None) -> int | str:
        return "" if moment is None else to_milliseconds(moment)


class RegisterLine(TransactionLine):
    """One line of a register: the fields that were asked for. ``receiver_*`` belong to a sub-merchant."""

    card_mask: Aside[str] = None
    payway: Aside[str] = None
    entity_name: Aside[str] = None
    project_name: Aside[str] = None
    original_amount: Aside[AmountText] = None
    exchange_amount: Aside[AmountText] = None
    exchange_currency: Aside[str] = None
    exchange_rate: Aside[AmountText] = None
    tokenization_kind: Aside[str] = None
    reserve_amount: Aside[AmountText] = None
    receiver_name: Aside[str] = None
    receiver_amount: Aside[AmountText] = None
    receiver_fee: Aside[AmountText] = None


class Detail(StrEnum):
    """A field that a register can hold. ``AMOUNT`` is with fees, ``ORIGINAL_AMOUNT`` without."""

    ORDER_ID = "orderId"
    PAYMENT_ID = "paymentId"
    AMOUNT = "amount"
    CURRENCY = "currency"
    METHOD = "method"
    STATUS = "status"
    DATE_TIME = "dateTime"
    CARD_MASK = "cardMask"
    PAYWAY = "payway"
    CUSTOMER_FEE = "customerFee"
    MERCHANT_FEE = "merchantFee"
    PROJECT_ID = "projectId"
    ENTITY_NAME = "entityName"
    PROJECT_NAME = "projectName"
    ORIGINAL_AMOUNT = "originalAmount"
    EXCHANGE_AMOUNT = "exchangeAmount"
    EXCHANGE_CURRENCY = "exchangeCurrency"
    EXCHANGE_RATE = "exchangeRate"
    TOKENIZATION_KIND = "tokenizationKind"
    AUTH_CODE = "authCode"
    RRN_CODE = "rrnCode"
    DESCRIPTION = "description"
    PAYLOAD = "payload"
    PAYMENT_SYSTEM = "paymentSystem"
    RECIPIENT_CARD_MASK = "recipientCardMask"
    RESERVE_AMOUNT = "reserveAmount"
    RECEIVER_NAME = "receiverName"
    RECEIVER_AMOUNT = "receiverAmount"
    RECEIVER_FEE = "receiverFee"


# What a register holds when no details are asked for.
DEFAULT_DETAILS = tuple(Detail)[:11]


def _write_moment(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


Moment = Annotated[datetime, PlainSerializer(_write_moment)]


class RegisterRequest(Asked):
    """Ask for a register of at most 31 days (see ``periods``). Both dates carry a time zone."""

    _shown: ClassVar[tuple[str, ...]] = ("start_date", "end_date")

    project_id: Uuid | None = None
    start_date: Moment
    end_date: Moment
    statuses: tuple[Status, ...] | None = None
    methods: tuple[Method, ...] | None = None
    transaction_details: tuple[Detail, ...] | None = None

    @model_validator(mode="after")
    def _a_period(self) -> "RegisterRequest":
        check_period("start_date", "end_date", self.start_date, self.end_date)
        if self.end_date - self.start_date > LONGEST_PERIOD:
            raise InvalidRequest("end_date", "at most 31 days after start_date", _write_moment(self.end_date))
        return self


class RegisterTicket(Said):
    """What a register is fetched by, and how many records it will have."""

    _shown: ClassVar[tuple[str, ...]] = ("report_id", "count")

    report_id: str = Field(min_length=1)
    count: Aside[int] = None


def check_period(start_name: str, end_name: str, start: datetime, end: datetime) -> None:
    """``InvalidRequest`` unless both carry a time zone and ``start`` is before ``end``."""
    for name, moment in ((start_name, start), (end_name, end)):
        if moment.tzinfo is None:
            raise InvalidRequest(name, "a moment with a time zone", moment.isoformat())
    if start >= end:
        raise InvalidRequest(end_name, f"after {start_name}", end.isoformat())


def periods(start: datetime, end: datetime, longest: timedelta = LONGEST_PERIOD) -> Iterator[tuple[datetime, datetime]]:
    """``start`` to ``end`` cut into periods that a register allows.

    Each begins where the one before ends. Whether the gateway counts the ends in is not said: a record at a seam may
    come twice and is never lost.
    """
    check_period("start", "end", start, end)
    if longest <= timedelta():
        raise ValueError("a period is longer than nothing")
    while end - start > longest:
        yield start, start + longest
        start += longest
    yield start, end
