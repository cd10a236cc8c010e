"""What an answer of the gateway means: a record, a refusal, or nothing that can be relied on.

The interface shows no error body. These shapes are publicly documented or seen in the provider's own plugins::

    {"message": "...", "args": {"code": "P-409"}}
    {"message": "...", "args": [{"field_name": "amount", "violation": "..."}]}
    {"message": "...", "args": {"amount": [{"msg": ["..."]}]}}
    {"order_id": "...", "status": "failure", "status_code": "4150", "status_description": "..."}
    {"message": "...", "code": "report_not_ready"}          (of registers and balances only)
"""

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from app import exact_json
from app.gateway.errors import (
    BadCredentialsError,
    DuplicateOrderError,
    NotFoundError,
    NotTheGatewayError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
    ReportNotReadyError,
    Violation,
    quoted,
)
from app.gateway.models.records import S, UnreadableError, read_record, validated
from app.gateway.statuses import TABLE, Status, read_status
from app.gateway.transport import Answer, Call

_DUPLICATES = frozenset({"P-409", "4119"})
_BAD_CREDENTIALS = re.compile(r"S-40\d")
_NOT_READY = "report_not_ready"
# "The request did not arrive in time" is said by proxies too, which do not know what the gateway made of it.
_REQUEST_TIMEOUT = 408
_UNAUTHORISED, _NOT_FOUND, _CONFLICT, _TOO_MANY = 401, 404, 409, 429
_NAMES_OF_RECORDS = frozenset({"payment_id", "operation_id"})
_CODES = frozenset({"code", "status_code"})
_LONGEST_PAUSE = 3600.0


def content(call: Call, answer: Answer) -> Any:
    """The decoded JSON of an answer that can be relied on: a 2xx, or a declined record under a 4xx.

    Raises ``RefusedError`` (or what is below it), ``ReportNotReadyError`` or ``OutcomeUnknownError``. Only the gateway
    itself can refuse, in one of the shapes above: what a proxy or another API says, whatever its status, tells nothing
    of what the gateway did with a request that moves money.
    """
    try:
        data = exact_json.loads(answer.content)
    except exact_json.NotJsonError:
        data = None
    record = _only(data)
    members = record if isinstance(record, Mapping) else {}
    code = _code(members)
    if code == _NOT_READY and not call.moves_money:
        raise call.error(ReportNotReadyError, "the register is not ready yet", code=code, http_status=answer.status)
    if 200 <= answer.status < 300:
        if data is None:
            raise _unknown(call, answer, "an answer that is not JSON")
        if _refuses(call, members) or (not call.moves_money and _is_error(members)):
            raise _refusal(call, answer, members)
        return data
    if 400 <= answer.status < 500 and answer.status != _REQUEST_TIMEOUT:
        if _is_declined(members) and _is_record(members):
            return data
        if _refuses(call, members) or (call.creates and answer.status == _CONFLICT):
            raise _refusal(call, answer, members)
        if not call.moves_money and _tells_of_the_call(answer, members):
            raise _refusal(call, answer, members)
        raise _not_the_gateway(call, answer, members)
    said = _hushed(call, answer, quoted(str(members.get("message", ""))))
    raise _unknown(call, answer, said or "no answer that can be relied on", code)


def read(call: Call, model: type[S], data: object) -> S:
    """``data`` as a ``model``; ``OutcomeUnknownError`` if it is none."""
    try:
        return validated(model, data)
    except UnreadableError as exc:
        raise call.error(OutcomeUnknownError, f"the answer is {exc}") from None


def _unknown(call: Call, answer: Answer, message: str, code: str | None = None) -> OutcomeUnknownError:
    return call.error(OutcomeUnknownError, message, code=code, http_status=answer.status)


def _not_the_gateway(call: Call, answer: Answer, members: Mapping[str, Any]) -> OutcomeUnknownError:
    if not _NAMES_OF_RECORDS.isdisjoint(members):
        return _unknown(call, answer, f"HTTP {answer.status} with a record that does not say failure")
    return call.error(NotTheGatewayError, "refused, and not in the gateway's own words", http_status=answer.status)


def _is_declined(members: Mapping[str, Any]) -> bool:
    word = members.get("status")
    return isinstance(word, str) and read_status(word) is Status.FAILURE


def _refuses(call: Call, members: Mapping[str, Any]) -> bool:
    """Whether the gateway itself says, in its own shape, that it did not do what was asked (gateway facts, 3)."""
    if _is_declined(members):
        about_this = members.get("order_id") == call.order_id is not None
        return not _is_record(members) and (about_this or _code(members) in _DUPLICATES)
    if not _NAMES_OF_RECORDS.isdisjoint(members):
        return False  # it holds an operation, and that has not failed
    message, args = members.get("message"), members.get("args", ...)
    return isinstance(message, str) and bool(message.strip()) and isinstance(args, Mapping | list | None)


def _is_error(members: Mapping[str, Any]) -> bool:
    """Whether the answer to a mere question is an error's body: without ``args`` too, as registers say it."""
    return "message" in members and "payment_id" not in members and ("args" in members or "code" in members)


def _tells_of_the_call(answer: Answer, members: Mapping[str, Any]) -> bool:
    """Whether a 4xx explains why a mere question has no answer, though not in the gateway's own shape.

    The interface shows no body of a 401 (gateway interface, Errors 1). That there is no such record is not believed so.
    """
    if answer.status == _UNAUTHORISED:
        return answer.content.strip() in (b"", b"{}") or bool(members)
    return answer.status == _TOO_MANY or (answer.status != _NOT_FOUND and "message" in members)


def _only(data: object) -> object:
    """The one record that an array holds, as the answer to a cancellation does (gateway interface, 7)."""
    return data[0] if isinstance(data, list) and len(data) == 1 else data


def _is_record(members: Mapping[str, Any]) -> bool:
    try:
        read_record(members)
    except UnreadableError:
        return False
    return True


def _refusal(call: Call, answer: Answer, members: Mapping[str, Any]) -> RefusedError:
    code = _code(members)
    kind = _kind(call, answer.status, code)
    return kind(
        _hushed(call, answer, _message(members)) or "refused without a word",
        violations=tuple(
            Violation(each.field, _hushed(call, answer, each.text)) for each in _violations(members.get("args"))
        ),
        pause=_pause(answer.headers) if kind is RateLimitedError else None,
        status_code=_status_code(members),
        method=call.method,
        path=call.path,
        order_id=call.order_id,
        code=code,
        http_status=answer.status,
    )


def _hushed(call: Call, answer: Answer, text: str) -> str:
    """``text`` of the gateway without what it repeats of the request: of its card, and of the keys."""
    return answer.redacted(call.redacted(text))


def _kind(call: Call, status: int, code: str | None) -> type[RefusedError]:
    if code in _DUPLICATES or (call.creates and status == _CONFLICT):
        return DuplicateOrderError
    if status == _UNAUTHORISED or (code and _BAD_CREDENTIALS.fullmatch(code)):
        return BadCredentialsError
    if status == _TOO_MANY:
        return RateLimitedError
    # Without the gateway's words it may be a proxy's, or a wrong address: it says nothing about an order.
    return NotFoundError if status == _NOT_FOUND else RefusedError


def _code(members: Mapping[str, Any]) -> str | None:
    args = members.get("args")
    places = (
        args.get("code") if isinstance(args, Mapping) else None,
        args.get("status_code") if isinstance(args, Mapping) else None,
        members.get("code"),
        members.get("status_code"),
        members.get("response_code"),
    )
    return next((quoted(str(code))[:16] for code in places if isinstance(code, str | int) and str(code)), None)


def _status_code(members: Mapping[str, Any]) -> str | None:
    """Of the table of status codes, which says more than the code of the error's shape: 4150 is a wrong state."""
    args = members.get("args")
    inner = args if isinstance(args, Mapping) else {}
    found = (inner.get("status_code"), inner.get("code"), members.get("status_code"), members.get("code"))
    return next((str(code) for code in found if isinstance(code, str | int) and str(code) in TABLE), None)


def _message(members: Mapping[str, Any]) -> str:
    for name in ("message", "status_description", "response_description", "details"):
        if isinstance(text := members.get(name), str) and text.strip():
            return quoted(text)
    return ""


def _violations(args: object) -> Iterator[Violation]:
    """The refused fields, from either shape of ``args``."""
    if isinstance(args, list):
        for item in args:
            if isinstance(item, Mapping) and "field_name" in item:
                yield Violation(quoted(str(item["field_name"])), quoted(str(item.get("violation", ""))))
    elif isinstance(args, Mapping):
        for name, value in args.items():
            if name not in _CODES:
                yield from (Violation(quoted(str(name)), text) for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    match value:
        case str() if value.strip():
            yield quoted(value)
        case list():
            for item in value:
                yield from _texts(item)
        case Mapping():
            yield from _texts(value.get("msg"))


def _pause(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from ``Retry-After`` (seconds, or a date compared with the answer's own)."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return float(min(int(text[:9]), _LONGEST_PAUSE))
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("Date", ""))
    except (ValueError, TypeError):  # no date, or only one of the two with a zone
        return None
    return min(max(wait.total_seconds(), 0.0), _LONGEST_PAUSE)
