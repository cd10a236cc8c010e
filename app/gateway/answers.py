"""What an answer of the gateway means: a record, a refusal, or nothing that can be relied on.

The interface shows no error body. These shapes are publicly documented or seen in the provider's own plugins::

    {"message": "...", "args": {"code": "P-409"}}
    {"message": "...", "args": [{"field_name": "amount", "violation": "..."}]}
    {"message": "...", "args": {"amount": [{"msg": ["..."]}]}}
    {"message": "...", "code": "report_not_ready"}          (also "details", also no "args")
    {"status": "failure", "status_code": "4150", "status_description": "..."}
"""

import re
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from app.gateway import wire
from app.gateway.errors import (
    BadCredentials,
    DuplicateOrder,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    Refused,
    ReportNotReady,
    Violation,
    quoted,
)
from app.gateway.models.records import S, Unreadable, read_record, validated
from app.gateway.statuses import Status, read_status
from app.gateway.transport import Answer, Call

_DUPLICATES = frozenset({"P-409", "4119"})
_BAD_CREDENTIALS = re.compile(r"S-40\d")
_NOT_READY = "report_not_ready"
# "The request did not arrive in time" is said by proxies too, which do not know what the gateway made of it.
_REQUEST_TIMEOUT = 408
_LONGEST_PAUSE = 3600.0


def content(call: Call, answer: Answer) -> Any:
    """The decoded JSON of an answer that can be relied on: a 2xx, or a declined record under a 4xx.

    Raises ``Refused`` (or what is below it), ``ReportNotReady`` or ``OutcomeUnknown``.
    """
    try:
        data = wire.loads(answer.content)
    except wire.NotJson:
        data = None
    members = data if isinstance(data, Mapping) else {}
    code = _code(members)
    if code == _NOT_READY:
        raise call.error(ReportNotReady, "the register is not ready yet", code=code, http_status=answer.status)
    if 200 <= answer.status < 300:
        if data is None:
            raise _unknown(call, answer, "an answer that is not JSON")
        if _is_refusal(members):
            raise _refusal(call, answer, members)
        return data
    if 400 <= answer.status < 500 and answer.status != _REQUEST_TIMEOUT:
        if _is_declined(members) and _is_record(members):
            return data
        raise _refusal(call, answer, members)
    said = _hushed(call, answer, quoted(str(members.get("message", ""))))
    raise _unknown(call, answer, said or "no answer that can be relied on", code)


def check_line(call: Call, status: int, headers: Mapping[str, str], members: Mapping[str, Any]) -> None:
    """Raise what a line of a list means that is no record but an error's body."""
    if "message" in members and "orderId" not in members and ("code" in members or "args" in members):
        content(call, Answer(status, headers, wire.dumps(members).encode("ascii")))


def read(call: Call, model: type[S], data: object) -> S:
    """``data`` as a ``model``; ``OutcomeUnknown`` if it is none."""
    try:
        return validated(model, data)
    except Unreadable as exc:
        raise call.error(OutcomeUnknown, f"the answer is {exc}") from None


def _unknown(call: Call, answer: Answer, message: str, code: str | None = None) -> OutcomeUnknown:
    return call.error(OutcomeUnknown, message, code=code, http_status=answer.status)


def _is_declined(members: Mapping[str, Any]) -> bool:
    word = members.get("status")
    return isinstance(word, str) and read_status(word) is Status.FAILURE


def _is_refusal(members: Mapping[str, Any]) -> bool:
    """Whether a 2xx holds no record but an error: its members say so, not its status."""
    if _is_declined(members):
        return not _is_record(members)
    return "message" in members and "payment_id" not in members and ("args" in members or "code" in members)


def _is_record(members: Mapping[str, Any]) -> bool:
    try:
        read_record(members)
    except Unreadable:
        return False
    return True


def _refusal(call: Call, answer: Answer, members: Mapping[str, Any]) -> Refused:
    code = _code(members)
    kind = _kind(call, answer.status, code, members)
    return kind(
        _hushed(call, answer, _message(members)) or "refused without a word",
        violations=tuple(
            Violation(each.field, _hushed(call, answer, each.text)) for each in _violations(members.get("args"))
        ),
        pause=_pause(answer.headers) if kind is RateLimited else None,
        method=call.method,
        path=call.path,
        order_id=call.order_id,
        code=code,
        http_status=answer.status,
    )


def _hushed(call: Call, answer: Answer, text: str) -> str:
    """``text`` of the gateway without what it repeats of the request: of its card, and of the keys."""
    return answer.hushed(call.hushed(text))


def _kind(call: Call, status: int, code: str | None, members: Mapping[str, Any]) -> type[Refused]:
    if code in _DUPLICATES or (call.creates and status == 409):
        return DuplicateOrder
    if status == 401 or (code and _BAD_CREDENTIALS.fullmatch(code)):
        return BadCredentials
    if status == 429:
        return RateLimited
    # A 404 without the gateway's words may be a proxy's, or a wrong address: it says nothing about an order.
    return NotFound if status == 404 and "message" in members else Refused


def _code(members: Mapping[str, Any]) -> str | None:
    args = members.get("args")
    places = (
        args.get("code") if isinstance(args, Mapping) else None,
        members.get("code"),
        members.get("status_code"),
        members.get("response_code"),
    )
    return next((quoted(str(code))[:16] for code in places if isinstance(code, str | int) and str(code)), None)


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
            if name != "code":
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
