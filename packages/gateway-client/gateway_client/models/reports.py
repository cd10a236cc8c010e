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

from gateway_client.errors import InvalidRequestError
from gateway_client.models.base import Lenient, RequestModel, ResponseModel
from gateway_client.models.values import (
    Method,
    Uuid,
    empty_to_none,
    read_milliseconds,
    read_word,
    to_decimal,
    to_milliseconds,
)
from gateway_client.statuses import Status, read_status

LONGEST_PERIOD = timedelta(days=31)


def _optional_reader(reader: Callable[[object], object]) -> BeforeValidator:
    """Return a validator that applies ``reader`` to a value, and turns an empty text into ``None``."""

    def read(value: object) -> object:
        value = empty_to_none(value)
        return None if value is None else reader(value)

    return BeforeValidator(read)


def _parse_status(value: object) -> object:
    return read_status(value) if isinstance(value, str) else value


def _write_amount(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")


def _write_milliseconds(moment: datetime | None) -> int | str:
    return "" if moment is None else to_milliseconds(moment)


# Lists write amounts as strings.
AmountText = Annotated[
    Decimal | None, _optional_reader(to_decimal), PlainSerializer(_write_amount, return_type=str | None)
]
# Unix time in milliseconds, or an empty text while there is none. Nothing is decided by this time.
MomentOrEmpty = Annotated[
    Lenient[Annotated[datetime, BeforeValidator(read_milliseconds)]], PlainSerializer(_write_milliseconds)
]


class TransactionLine(ResponseModel):
    """One line of the list of all transactions in a period. Missing and empty fields are ``None``.

    The fields that identify the money, its amount and its status must be readable, or the line is an
    ``UnreadableLine``; the rest is informative. ``method`` is a word of the interface however it is capitalized, as in
    a ``Record``. ``reported_status`` is the gateway's own status if it is none of the four.
    """

    model_config = ConfigDict(alias_generator=to_camel)
    _repr_fields: ClassVar[tuple[str, ...]] = ("order_id", "payment_id", "method", "status", "amount", "currency")

    project_id: str | None = None
    order_id: str | None = None
    payment_id: str | None = None
    amount: AmountText = None
    currency: str | None = None
    method: Method | str | None = Field(default=None, union_mode="left_to_right")
    status: Annotated[Status | None, _optional_reader(_parse_status)] = None
    date_time: MomentOrEmpty = None
    auth_code: Lenient[str] = None
    rrn_code: Lenient[str] = None
    description: Lenient[str] = None
    payload: Lenient[str] = None
    customer_fee: AmountText = None
    merchant_fee: AmountText = None
    payment_system: Lenient[str] = None
    recipient_card_mask: Lenient[str] = None
    _reported_status: str | None = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _store_reported_status(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        line = handler(data)
        word = data.get("status") if isinstance(data, Mapping) else None
        if line.status is not None and word != line.status:
            line._reported_status = str(word)  # noqa: SLF001 - its own class
        return line

    @property
    def reported_status(self) -> str | None:
        """The gateway's own status, if it is none of the four."""
        return self._reported_status

    @field_validator("method", mode="before")
    @classmethod
    def _require_text(cls, value: object) -> object:
        if value is not None and not isinstance(value, str):
            raise ValueError("a word")
        return read_word(value)

    @field_serializer("status")
    def _serialize_status(self, status: Status | None) -> str | None:
        return self._reported_status or status

    @classmethod
    def names(cls) -> frozenset[str]:
        """Return the names of the fields in a list: an object without any of them is not a record."""
        return frozenset(field.alias or name for name, field in cls.model_fields.items())


class RegisterLine(TransactionLine):
    """One line of a register, with the requested fields. ``receiver_*`` belong to a sub-merchant."""

    card_mask: Lenient[str] = None
    payway: Lenient[str] = None
    entity_name: Lenient[str] = None
    project_name: Lenient[str] = None
    original_amount: AmountText = None
    exchange_amount: AmountText = None
    exchange_currency: str | None = None
    exchange_rate: AmountText = None
    tokenization_kind: Lenient[str] = None
    reserve_amount: AmountText = None
    receiver_name: Lenient[str] = None
    receiver_amount: AmountText = None
    receiver_fee: AmountText = None


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line that cannot be read: its ``number`` in the list, from 1, and the reason (``why``), without its content.

    ``is_record``: it has fields of a record. ``order_id`` and ``payment_id`` are set if they can be read.
    """

    number: int
    why: str
    is_record: bool
    order_id: str | None = None
    payment_id: str | None = None


class RegisterColumn(StrEnum):
    """A field of a register. ``AMOUNT`` includes fees, ``ORIGINAL_AMOUNT`` does not."""

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


# The fields of a register when no details are requested.
DEFAULT_DETAILS = tuple(RegisterColumn)[:11]


def _write_moment(moment: datetime) -> str:
    offset = moment.utcoffset()
    if offset is not None and offset % timedelta(minutes=1):  # historical local mean time, which ISO 8601 cannot write
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")


Moment = Annotated[datetime, PlainSerializer(_write_moment)]


class RegisterRequest(RequestModel):
    """Requests a register of at most 31 days (see ``split_period``). Both dates must have a time zone."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("start_date", "end_date")

    project_id: Uuid | None = None
    start_date: Moment
    end_date: Moment
    statuses: tuple[Status, ...] | None = None
    methods: tuple[Method, ...] | None = None
    transaction_details: tuple[RegisterColumn, ...] | None = None

    @model_validator(mode="after")
    def _check_dates(self) -> "RegisterRequest":
        start, end = check_period("start_date", "end_date", self.start_date, self.end_date)
        if end - start > LONGEST_PERIOD:
            raise InvalidRequestError("end_date", "at most 31 days after start_date", _write_moment(self.end_date))
        return self


class RegisterTicket(ResponseModel):
    """The id by which a register is fetched, and the number of its records."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("report_id", "count")

    report_id: str = Field(min_length=1)
    count: int | None = Field(default=None, ge=0)


def check_period(start_name: str, end_name: str, start: datetime, end: datetime) -> tuple[datetime, datetime]:
    """Return both times in UTC. Raises ``InvalidRequestError`` unless both have a time zone and ``start`` is before
    ``end``.

    Python subtracts and compares times of the same zone by wall clock: where the clock is put back, 31 days are 31 days
    and an hour. Only in UTC is the difference the elapsed time.
    """
    start, end = _to_utc(start_name, start), _to_utc(end_name, end)
    if start >= end:
        raise InvalidRequestError(end_name, f"after {start_name}", end.isoformat())
    return start, end


def _to_utc(name: str, moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise InvalidRequestError(name, "a moment with a time zone", moment.isoformat())
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidRequestError(name, "a moment between the years 1 and 9999", moment.isoformat()) from None


def split_period(
    start: datetime, end: datetime, longest: timedelta = LONGEST_PERIOD
) -> Iterator[tuple[datetime, datetime]]:
    """Split ``start`` to ``end`` into periods that a register allows; both ends of each are in UTC.

    Each begins where the previous one ends. Whether the gateway includes the ends is not documented: a record at a
    boundary may be listed twice, but is never lost.
    """
    start, end = check_period("start", "end", start, end)
    if longest <= timedelta():
        raise ValueError("a period is longer than nothing")
    while end - start > longest:
        yield start, start + longest
        start += longest
    yield start, end
