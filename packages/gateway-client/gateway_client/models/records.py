"""The records of payments and of their operations (gateway interface, Resources; Events)."""

from collections.abc import Iterable, Mapping
from datetime import UTC, tzinfo
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from gateway_client.models.base import Lenient, ResponseModel, Secret
from gateway_client.models.values import ZONE, Method, Mode, ReportedAmount, Timestamp, Word, empty_to_none, read_word
from gateway_client.statuses import Status, find_status, read_status

# Fields with two names: some responses, or older versions of the interface, use the second.
_ALTERNATIVE_NAMES = {
    "processed_at": "processing_time",
    "status_code": "response_code",
    "status_description": "response_description",
}

_MAX_REPORTED = 3
# Gateway interface, Events: Primary operation webhook; Secondary webhooks.
_PRIMARY = (Method.PURCHASE, Method.AUTH, Method.CREDIT, Method.P2P, Method.LOOKUP)
_SECONDARY = (Method.CAPTURE, Method.VOID, Method.REFUND)

ProcessedName = Literal["processed_at", "processing_time"]
S = TypeVar("S", bound=ResponseModel)


class UnreadableError(ValueError):
    """The gateway's data is not a record. Names the invalid fields, never their content."""


class Fee(ResponseModel):
    """A fee or a portion of one."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("amount", "currency")

    amount: ReportedAmount
    currency: str | None = None


class LimitInfo(ResponseModel):
    """The limit that declined a payment, and when the next attempt is recommended."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("retry_after", "description")

    retry_after: Lenient[Timestamp] = None
    description: Lenient[str] = None


class Recurring(ResponseModel):
    """The subscription that a payment started or belongs to. Statuses seen: ``init``, ``active``, ``canceled``."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("id", "status")

    # An empty one is none: some responses have an empty text for a missing value.
    id: Annotated[str, BeforeValidator(empty_to_none)]
    status: Lenient[Word] = None


class Record(ResponseModel):
    """The common fields of every record of an operation, whether from a response, a look-up or a webhook.

    ``method`` and ``mode`` are enum members, or the text as received if it is not in the interface; as with ``status``,
    capital letters and white space around them do not matter.
    ``processed_at`` is the time of the last change, whichever of its two names was used.
    """

    _repr_fields: ClassVar[tuple[str, ...]] = (
        "operation_id", "payment_id", "order_id", "method", "status", "status_code", "amount", "currency",
    )  # fmt: skip

    payment_id: str = Field(min_length=1)
    order_id: str = Field(min_length=1)
    pos_id: str
    mode: Lenient[Annotated[Mode | str, Field(union_mode="left_to_right"), BeforeValidator(read_word)]] = None
    method: Annotated[Method | str, Field(union_mode="left_to_right"), BeforeValidator(read_word)]
    amount: ReportedAmount
    currency: str
    status: Status
    status_code: Lenient[str] = None
    status_description: Lenient[str] = None
    transaction_id: Lenient[str] = None
    created_at: Lenient[Timestamp] = None
    processed_at: Lenient[Timestamp] = None
    fee: Lenient[Fee] = None
    receipt_url: Lenient[str] = None
    limit_info: Lenient[LimitInfo] = None
    # The gateway's own status, if it was none of the four.
    reported_status: str | None = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _normalize_names(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        members = dict(data)
        for name, other in _ALTERNATIVE_NAMES.items():
            if empty_to_none(members.get(name)) is None and members.get(other) is not None:
                members[name] = members.pop(other)
        word = members.get("status")
        if isinstance(word, str) and (status := read_status(word)).value != word:
            members |= {"status": status, "reported_status": word}
        return members

    @property
    def unknown_status(self) -> str | None:
        """The gateway's own status, if it is undocumented; None: it is known."""
        word = self.reported_status
        return word if word is not None and find_status(word) is None else None

    def to_wire(self, *, processed_as: ProcessedName = "processed_at") -> dict[str, Any]:
        """Return the JSON members, with the time of the last change under the name ``processed_as``."""
        members = super().to_wire()
        if processed_as != "processed_at" and "processed_at" in members:
            members[processed_as] = members.pop("processed_at")
        return members


class PaymentRecord(Record):
    """A primary operation: ``purchase``, ``auth``, ``credit`` (and ``p2p``, ``lookup`` in webhooks)."""

    gateway_order_id: Lenient[str] = None
    billing_order_id: Lenient[str] = None
    description: Lenient[str] = None
    user_action_required: Lenient[bool] = None
    user_action_url: Lenient[str] = None
    eci: Lenient[str] = None
    mcc: Lenient[str] = None
    options_3ds: Lenient[str] = None
    cc_mask: Lenient[str] = None
    cc_token: Lenient[Secret] = None
    cc_token_expiration: Lenient[str] = None
    customer_id: Lenient[str] = None
    customer_ip: Lenient[str] = None
    customer_fname: Lenient[str] = None
    customer_lname: Lenient[str] = None
    customer_patronym: Lenient[str] = None
    customer_email: Lenient[str] = None
    customer_phone: Lenient[str] = None
    customer_country: Lenient[str] = None
    customer_city: Lenient[str] = None
    customer_birthday: Lenient[str] = None
    result_url: Lenient[str] = None
    fixed_fee: Lenient[Fee] = None
    percent_fee: Lenient[Fee] = None
    payload: Lenient[str] = None
    bank_short_name: Lenient[str] = None
    payway: Lenient[str] = None
    # The amount that was actually paid decides what is booked, so an unreadable one must not count as missing.
    processed_amount: Annotated[ReportedAmount | None, BeforeValidator(empty_to_none)] = None
    processed_currency: str | None = None
    recurring: Lenient[Recurring] = None
    properties: Lenient[dict[str, Any]] = None


class OperationRecord(Record):
    """A secondary operation: ``capture``, ``void``, ``refund``. ``amount`` is the amount actually moved."""

    operation_id: str = Field(min_length=1)
    split_fee: Lenient[Fee | list[Fee]] = None
    comment: Lenient[str] = None


def read_record(data: object, zone: tzinfo = UTC) -> PaymentRecord | OperationRecord:
    """Parse ``data`` (decoded JSON) as a record.

    It is an operation by its method, or by its ``operation_id`` if no method of the interface says what it is: a
    payment may have any further field. ``zone`` is that of times which have none. Raises ``UnreadableError``.
    """
    if not isinstance(data, Mapping):
        raise UnreadableError("not a JSON object")
    method = read_word(data.get("method"))
    if method in _SECONDARY or (method not in _PRIMARY and data.get("operation_id")):
        return validate_model(OperationRecord, data, zone)
    return validate_model(PaymentRecord, data, zone)


class Records(tuple[PaymentRecord | OperationRecord, ...]):
    """The records of a response, and the reason why each other one could not be read (``unreadable``).

    An unreadable record may be the very operation that the caller looks for: if there is one, nothing can be concluded
    from an operation missing among the records.
    """

    unreadable: tuple[str, ...]

    def __new__(cls, records: Iterable[PaymentRecord | OperationRecord], unreadable: Iterable[str] = ()) -> Self:
        result = super().__new__(cls, records)
        result.unreadable = tuple(unreadable)
        return result


def read_records(data: object, zone: tzinfo = UTC) -> Records:
    """Parse the records in ``data``: an array of them, or a single one (look-ups return both).

    Unreadable records of an array are listed in ``unreadable``. Raises ``UnreadableError`` if none can be read.
    """
    if isinstance(data, Mapping):
        return Records([read_record(data, zone)])
    if not isinstance(data, list):
        raise UnreadableError("neither a record nor an array of records")
    found, unreadable = [], []
    for number, item in enumerate(data, start=1):
        try:
            found.append(read_record(item, zone))
        except UnreadableError as exc:
            unreadable.append(f"record {number} of {len(data)} is {exc}")
    if unreadable and not found:
        raise UnreadableError(f"not an array of records: {'; '.join(unreadable[:_MAX_REPORTED])}")
    return Records(found, unreadable)


def validate_model(model: type[S], data: object, zone: tzinfo = UTC) -> S:
    """Parse ``data`` as a ``model``.

    Raises ``UnreadableError``, which names the invalid fields and nothing of their content.
    """
    try:
        return model.model_validate(data, context={ZONE: zone})
    except ValidationError as error:
        fields = sorted({".".join(str(part) for part in found["loc"]) for found in error.errors(include_url=False)})
    # Raised outside of the handler: the validation error holds the whole record.
    raise UnreadableError(f"not a {model.__name__}: {', '.join(fields) or 'not an object'}")
