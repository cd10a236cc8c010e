"""Records of the by-period list and of the register, and the request for a register (gateway interface, 8 and 10)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PrivateAttr,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from app.gateway.errors import InvalidRequestError
from app.gateway.models.base import Aside, RequestModel, ResponseModel
from app.gateway.models.values import Method, Uuid, empty_is_none, read_milliseconds, to_decimal, to_milliseconds
from app.gateway.statuses import Status, read_status

LONGEST_PERIOD = timedelta(days=31)


def _read(reader: Callable[[object], object]) -> BeforeValidator:
    """A validator that reads what is there, and takes an empty text for nothing."""

    def read(value: object) -> object:
        value = empty_is_none(value)
        return None if value is None else reader(value)

    return BeforeValidator(read)


def _status(value: object) -> object:
    return read_status(value) if isinstance(value, str) else value


def _write_amount(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")


def _write_milliseconds(moment: datetime | None) -> int | str:
    return "" if moment is None else to_milliseconds(moment)


# Lists write amounts as strings.
AmountText = Annotated[Decimal | None, _read(to_decimal), PlainSerializer(_write_amount, return_type=str | None)]
# Unix time in milliseconds, or an empty text while there is none. When it was decides nothing.
MomentOrEmpty = Annotated[
    Aside[Annotated[datetime, BeforeValidator(read_milliseconds)]], PlainSerializer(_write_milliseconds)
]


class TransactionLine(ResponseModel):
    """One line of the list of all transactions in a period. What a line leaves out, or leaves empty, is ``None``.

    What says whose money moved, how much, and how it went must be readable, or the line is an
    ``UnreadableLine``; the rest explains. ``reported_status`` is the gateway's own word where it is none of the four.
    """

    model_config = ConfigDict(alias_generator=to_camel)
    _shown: ClassVar[tuple[str, ...]] = ("order_id", "payment_id", "method", "status", "amount", "currency")

    project_id: str | None = None
    order_id: str | None = None
    payment_id: str | None = None
    amount: AmountText = None
    currency: str | None = None
    method: Method | str | None = Field(default=None, union_mode="left_to_right")
    status: Annotated[Status | None, _read(_status)] = None
    date_time: MomentOrEmpty = None
    auth_code: Aside[str] = None
    rrn_code: Aside[str] = None
    description: Aside[str] = None
    payload: Aside[str] = None
    customer_fee: AmountText = None
    merchant_fee: AmountText = None
    payment_system: Aside[str] = None
    recipient_card_mask: Aside[str] = None
    _word: str | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _keep_the_word(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        line = handler(data)
        word = data.get("status") if isinstance(data, Mapping) else None
        if line.status is not None and word != line.status:
            line._word = str(word)  # noqa: SLF001 - its own class
        return line

    @property
    def reported_status(self) -> str | None:
        """The gateway's own word for the status, where it is none of the four."""
        return self._word

    @field_validator("method", mode="before")
    @classmethod
    def _only_words(cls, value: object) -> object:
        if value is not None and not isinstance(value, str):
            raise ValueError("a word")
        return value

    @field_serializer("status")
    def _its_word(self, status: Status | None) -> str | None:
        return self._word or status

    @classmethod
    def names(cls) -> frozenset[str]:
        """What the fields are called in a list: an object that has none of them is no record."""
        return frozenset(field.alias or name for name, field in cls.model_fields.items())


class RegisterLine(TransactionLine):
    """One line of a register: the fields that were asked for. ``receiver_*`` belong to a sub-merchant."""

    card_mask: Aside[str] = None
    payway: Aside[str] = None
    entity_name: Aside[str] = None
    project_name: Aside[str] = None
    original_amount: AmountText = None
    exchange_amount: AmountText = None
    exchange_currency: str | None = None
    exchange_rate: AmountText = None
    tokenization_kind: Aside[str] = None
    reserve_amount: AmountText = None
    receiver_name: Aside[str] = None
    receiver_amount: AmountText = None
    receiver_fee: AmountText = None


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that cannot be read: the ``number`` of it in its list, from 1, and ``why``, without what stands in it.

    ``is_record``: it has fields of a record. ``order_id`` and ``payment_id`` are there if they can be read.
    """

    number: int
    why: str
    is_record: bool
    order_id: str | None = None
    payment_id: str | None = None


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
    offset = moment.utcoffset()
    if offset is not None and offset % timedelta(minutes=1):  # local mean time of long ago: ISO 8601 has no such offset
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


Moment = Annotated[datetime, PlainSerializer(_write_moment)]


class RegisterRequest(RequestModel):
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
        start, end = check_period("start_date", "end_date", self.start_date, self.end_date)
        if end - start > LONGEST_PERIOD:
            raise InvalidRequestError("end_date", "at most 31 days after start_date", _write_moment(self.end_date))
        return self


class RegisterTicket(ResponseModel):
    """What a register is fetched by, and how many records it will have."""

    _shown: ClassVar[tuple[str, ...]] = ("report_id", "count")

    report_id: str = Field(min_length=1)
    count: int | None = Field(default=None, ge=0)


def check_period(start_name: str, end_name: str, start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """Both moments in UTC; ``InvalidRequestError`` unless both carry a time zone and ``start`` is before ``end``.

    Python subtracts and compares moments of one zone by their wall clocks: where a clock is put back, 31 days are
    31 days and an hour. Only in UTC is the difference the time that passes.
    """
    start, end = _in_utc(start_name, start), _in_utc(end_name, end)
    if start >= end:
        raise InvalidRequestError(end_name, f"after {start_name}", end.isoformat())
    return start, end


def _in_utc(name: str, moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise InvalidRequestError(name, "a moment with a time zone", moment.isoformat())
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidRequestError(name, "a moment between the years 1 and 9999", moment.isoformat()) from None


def periods(start: datetime, end: datetime, longest: timedelta = LONGEST_PERIOD) -> Iterator[tuple[datetime, datetime]]:
    """``start`` to ``end`` cut into periods that a register allows; both ends of each are in UTC.

    Each begins where the one before ends. Whether the gateway counts the ends in is not said: a record at a seam may
    come twice and is never lost.
    """
    start, end = check_period("start", "end", start, end)
    if longest <= timedelta():
        raise ValueError("a period is longer than nothing")
    while end - start > longest:
        yield start, start + longest
        start += longest
    yield start, end
