"""The records of payments and of what is done to them (gateway interface, Resources; Events)."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from app.gateway.models.base import Aside, ResponseModel, Secret
from app.gateway.models.values import Method, Mode, Reported, Timestamp, empty_is_none
from app.gateway.statuses import Status, read_status

# One thing under two names: the second is used by some answers, or by older versions of the interface.
_OTHER_NAMES = {
    "processed_at": "processing_time",
    "status_code": "response_code",
    "status_description": "response_description",
}

_MOST_TOLD = 3

ProcessedName = Literal["processed_at", "processing_time"]
S = TypeVar("S", bound=ResponseModel)


class UnreadableError(ValueError):
    """What the gateway sent is not a record. Names the fields that are wrong, never their content."""


class Fee(ResponseModel):
    """A fee or a portion of one."""

    _shown: ClassVar[tuple[str, ...]] = ("amount", "currency")

    amount: Reported
    currency: str | None = None


class LimitInfo(ResponseModel):
    """Which limit declined a payment, and when the next attempt is recommended."""

    _shown: ClassVar[tuple[str, ...]] = ("retry_after", "description")

    retry_after: Aside[Timestamp] = None
    description: Aside[str] = None


class Recurring(ResponseModel):
    """The subscription that a payment started or belongs to. Statuses seen: ``init``, ``active``, ``canceled``."""

    _shown: ClassVar[tuple[str, ...]] = ("id", "status")

    id: str
    status: Aside[str] = None


class Record(ResponseModel):
    """What every record of an operation holds, whether it comes from an answer, a look-up or a webhook.

    ``method`` and ``mode`` are enum members, or the word as it came if it is not in the interface.
    ``processed_at`` is the time of the last change, whichever of its two names was used.
    """

    _shown: ClassVar[tuple[str, ...]] = (
        "operation_id", "payment_id", "order_id", "method", "status", "status_code", "amount", "currency",
    )  # fmt: skip

    payment_id: str = Field(min_length=1)
    order_id: str = Field(min_length=1)
    pos_id: str
    mode: Mode | str | None = Field(default=None, union_mode="left_to_right")
    method: Method | str = Field(union_mode="left_to_right")
    amount: Reported
    currency: str
    status: Status
    status_code: Aside[str] = None
    status_description: Aside[str] = None
    transaction_id: Aside[str] = None
    created_at: Aside[Timestamp] = None
    processed_at: Aside[Timestamp] = None
    fee: Aside[Fee] = None
    receipt_url: Aside[str] = None
    limit_info: Aside[LimitInfo] = None
    # The gateway's own word, when it was none of the four.
    reported_status: str | None = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _one_name_for_one_thing(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        members = dict(data)
        for name, other in _OTHER_NAMES.items():
            if members.get(name) is None and members.get(other) is not None:
                members[name] = members.pop(other)
        word = members.get("status")
        if isinstance(word, str) and (status := read_status(word)).value != word:
            members |= {"status": status, "reported_status": word}
        return members

    def to_wire(self, *, processed_as: ProcessedName = "processed_at") -> dict[str, Any]:
        """The JSON members, with the time of the last change under the name ``processed_as``."""
        members = super().to_wire()
        if processed_as != "processed_at" and "processed_at" in members:
            members[processed_as] = members.pop("processed_at")
        return members


class PaymentRecord(Record):
    """A primary operation: ``purchase``, ``auth``, ``credit`` (and ``p2p``, ``lookup`` in webhooks)."""

    gateway_order_id: Aside[str] = None
    billing_order_id: Aside[str] = None
    description: Aside[str] = None
    user_action_required: Aside[bool] = None
    user_action_url: Aside[str] = None
    eci: Aside[str] = None
    mcc: Aside[str] = None
    options_3ds: Aside[str] = None
    cc_mask: Aside[str] = None
    cc_token: Aside[Secret] = None
    cc_token_expiration: Aside[str] = None
    customer_id: Aside[str] = None
    customer_ip: Aside[str] = None
    customer_fname: Aside[str] = None
    customer_lname: Aside[str] = None
    customer_patronym: Aside[str] = None
    customer_email: Aside[str] = None
    customer_phone: Aside[str] = None
    customer_country: Aside[str] = None
    customer_city: Aside[str] = None
    customer_birthday: Aside[str] = None
    result_url: Aside[str] = None
    fixed_fee: Aside[Fee] = None
    percent_fee: Aside[Fee] = None
    payload: Aside[str] = None
    bank_short_name: Aside[str] = None
    payway: Aside[str] = None
    # What was actually paid decides what is booked: unreadable, it is not the same as not there.
    processed_amount: Annotated[Reported | None, BeforeValidator(empty_is_none)] = None
    processed_currency: str | None = None
    recurring: Aside[Recurring] = None
    properties: Aside[dict[str, Any]] = None


class OperationRecord(Record):
    """A secondary operation: ``capture``, ``void``, ``refund``. ``amount`` is what was actually moved."""

    operation_id: str = Field(min_length=1)
    split_fee: Aside[Fee | list[Fee]] = None
    comment: Aside[str] = None


def read_record(data: object) -> PaymentRecord | OperationRecord:
    """The record that ``data`` (decoded JSON) is: an operation if it has an ``operation_id`` or a secondary method.

    Raises ``UnreadableError``.
    """
    if not isinstance(data, Mapping):
        raise UnreadableError("not a JSON object")
    if data.get("operation_id") or data.get("method") in (Method.CAPTURE, Method.VOID, Method.REFUND):
        return validated(OperationRecord, data)
    return validated(PaymentRecord, data)


class Records(tuple[PaymentRecord | OperationRecord, ...]):
    """The records of an answer, and why each of the others in it could not be read (``unreadable``).

    What is unreadable may be the very operation that is looked for: where there is any, nothing can be concluded from
    what is not among the records.
    """

    unreadable: tuple[str, ...]

    def __new__(cls, records: Iterable[PaymentRecord | OperationRecord], unreadable: Iterable[str] = ()) -> Self:
        made = super().__new__(cls, records)
        made.unreadable = tuple(unreadable)
        return made


def read_records(data: object) -> Records:
    """The records in ``data``: an array of them, or a single one (look-ups answer both).

    Of an array those are given that can be read, and the others told of. Raises ``UnreadableError`` when none can be.
    """
    if isinstance(data, Mapping):
        return Records([read_record(data)])
    if not isinstance(data, list):
        raise UnreadableError("neither a record nor an array of records")
    found, unreadable = [], []
    for number, item in enumerate(data, start=1):
        try:
            found.append(read_record(item))
        except UnreadableError as exc:
            unreadable.append(f"record {number} of {len(data)} is {exc}")
    if unreadable and not found:
        raise UnreadableError(f"not an array of records: {'; '.join(unreadable[:_MOST_TOLD])}")
    return Records(found, unreadable)


def validated(model: type[S], data: object) -> S:
    """``data`` as a ``model``.

    Raises ``UnreadableError``, naming the fields that are wrong and nothing that is in them.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fields = sorted({".".join(str(part) for part in found["loc"]) for found in error.errors(include_url=False)})
    # Outside of the handler: the validation error holds the whole record.
    raise UnreadableError(f"not a {model.__name__}: {', '.join(fields) or 'not an object'}")
