"""Interprets the gateway's responses: a record, a refusal, or nothing that can be relied on.

The interface shows one error body, of registers; the other shapes are publicly documented or seen in the provider's own
plugins. All of them are the gateway's, whatever its dialect (laws of money, 16)::

    {"message": "...", "code": "report_not_ready"}
    {"message": "...", "args": {"code": "P-409"}}
    {"message": "...", "args": [{"field_name": "amount", "violation": "..."}]}
    {"message": "...", "args": {"amount": [{"msg": ["..."]}]}}
    {"order_id": "...", "status": "failure", "status_code": "4150", "status_description": "..."}

Whatever else comes is not believed, but what it says is in the error (``said``), for people.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, tzinfo
from html import unescape
from typing import Any

from gateway_client.errors import (
    BadCredentialsError,
    DuplicateOrderError,
    NotFoundError,
    NotTheGatewayError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
    ReportNotReadyError,
    Violation,
    sanitize,
)
from gateway_client.models.records import S, UnreadableError, read_record, validate_model
from gateway_client.statuses import TABLE, Status, read_status
from gateway_client.transport import Call, GatewayResponse
from integration_base import exact_json
from integration_base.date_header import read_retry_after

_DUPLICATE_CODES = frozenset({"P-409", "4119"})
_BAD_CREDENTIALS_CODE = re.compile(r"S-40\d")
_NOT_READY_CODE = "report_not_ready"
# "The request did not arrive in time" is also sent by proxies, which do not know whether the gateway processed it.
_REQUEST_TIMEOUT = 408
_UNAUTHORISED, _NOT_FOUND, _CONFLICT, _TOO_MANY = 401, 404, 409, 429
_RECORD_IDS = frozenset({"payment_id", "operation_id"})
_CODE_MEMBERS = frozenset({"code", "status_code"})
_MAX_TEXT_BYTES, _LONGEST_TEXT = 16_384, 300
_NOT_SHOWN = re.compile(r"<(script|style|head)\b.*?(</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_MARKUP = re.compile(r"<[/!?a-zA-Z][^<>]*>?")


def decode(call: Call, response: GatewayResponse) -> Any:
    """Return the decoded JSON of a response that can be relied on: a 2xx, or a declined record with a 4xx.

    Raises ``RefusedError`` (or a subclass), ``ReportNotReadyError`` or ``OutcomeUnknownError``. Only the gateway itself
    can refuse, in one of the shapes above: the response of a proxy or another API, whatever its status, does not show
    what the gateway did with a request that moves money.
    """
    try:
        data = exact_json.loads(response.content)
    except exact_json.NotJsonError:
        data = None
    record = _unwrap_single(data)
    members = record if isinstance(record, Mapping) else {}
    code = _error_code(members)
    if code == _NOT_READY_CODE and not call.moves_money:
        raise call.error(ReportNotReadyError, "the register is not ready yet", code=code, http_status=response.status)
    if 200 <= response.status < 300:
        if data is None:
            raise _outcome_unknown(call, response, "an answer that is not JSON")
        if _is_refusal(call, members, with_success=True) or (not call.moves_money and _is_error_body(members)):
            raise _refusal(call, response, members)
        return data
    if 400 <= response.status < 500 and response.status != _REQUEST_TIMEOUT:
        if _is_declined(members) and _is_record(members):
            return data
        if _is_refusal(call, members) or (call.creates and response.status == _CONFLICT):
            raise _refusal(call, response, members)
        if not call.moves_money and _explains_failure(response, members):
            raise _refusal(call, response, members)
        raise _not_the_gateway(call, response, members)
    raise _outcome_unknown(call, response, "no answer that can be relied on", code, _text_of(call, response, members))


def parse(call: Call, model: type[S], data: object, zone: tzinfo = UTC) -> S:
    """Return ``data`` as a ``model``; ``zone``: of times without one. Raises ``OutcomeUnknownError``."""
    try:
        return validate_model(model, data, zone)
    except UnreadableError as exc:
        raise call.error(OutcomeUnknownError, f"the answer is {exc}") from None


def _outcome_unknown(
    call: Call, response: GatewayResponse, message: str, code: str | None = None, said: str = ""
) -> OutcomeUnknownError:
    error = call.error(OutcomeUnknownError, message, code=code, http_status=response.status)
    error.said = said
    return error


def _not_the_gateway(call: Call, response: GatewayResponse, members: Mapping[str, Any]) -> OutcomeUnknownError:
    if not _RECORD_IDS.isdisjoint(members):
        return _outcome_unknown(call, response, f"HTTP {response.status} with a record that does not say failure")
    message = "refused, and not in the gateway's own words"
    error = call.error(NotTheGatewayError, message, http_status=response.status)
    error.said = _text_of(call, response, members)
    return error


def _text_of(call: Call, response: GatewayResponse, members: Mapping[str, Any]) -> str:
    """Return what a response says that is not believed: redacted, in one line, at most 300 characters."""
    text = _message(members)
    if not text:
        body = response.content[:_MAX_TEXT_BYTES].decode(errors="replace")
        if members or not _MARKUP.search(body):  # noqa: SIM108 - two short lines
            text = body
        else:
            text = unescape(_MARKUP.sub(" ", _NOT_SHOWN.sub(" ", body)))
    return _redact(call, response, sanitize(text))[:_LONGEST_TEXT]


def _is_declined(members: Mapping[str, Any]) -> bool:
    word = members.get("status")
    return isinstance(word, str) and read_status(word) is Status.FAILURE


def _is_refusal(call: Call, members: Mapping[str, Any], *, with_success: bool = False) -> bool:
    """Return True if the gateway itself, in its own shape, states that it did not do the request.

    ``with_success``: the HTTP status is that of a success, which a body without ``args`` does not refute.
    """
    if _is_declined(members):
        about_this = members.get("order_id") == call.order_id is not None
        return not _is_record(members) and (about_this or _error_code(members) in _DUPLICATE_CODES)
    if not _RECORD_IDS.isdisjoint(members):
        return False  # it contains an operation that has not failed
    message, args = members.get("message"), members.get("args", ...)
    code = members.get("code")
    says_code = isinstance(code, str | int) and not isinstance(code, bool) and code != _NOT_READY_CODE
    has_code = says_code and not with_success
    has_message = isinstance(message, str) and bool(message.strip())
    return has_message and (isinstance(args, Mapping | list | None) or has_code)


def _is_error_body(members: Mapping[str, Any]) -> bool:
    """Return True if the response to a read is an error body, also without ``args``, as with registers."""
    return "message" in members and "payment_id" not in members and ("args" in members or "code" in members)


def _explains_failure(response: GatewayResponse, members: Mapping[str, Any]) -> bool:
    """Return True if a 4xx explains why a read failed, though it is not in the gateway's own shape.

    The interface shows no body of a 401 (gateway interface, Errors 1). A 404 in another shape does not count.
    """
    if response.status == _UNAUTHORISED:
        return response.content.strip() in (b"", b"{}") or bool(members)
    return response.status == _TOO_MANY or (response.status != _NOT_FOUND and "message" in members)


def _unwrap_single(data: object) -> object:
    """Return the only item of an array, as in the response to a cancellation (gateway interface, 7), else ``data``."""
    return data[0] if isinstance(data, list) and len(data) == 1 else data


def _is_record(members: Mapping[str, Any]) -> bool:
    try:
        read_record(members)
    except UnreadableError:
        return False
    return True


def _refusal(call: Call, response: GatewayResponse, members: Mapping[str, Any]) -> RefusedError:
    code = _error_code(members)
    kind = _refusal_class(call, response.status, code)
    return kind(
        _redact(call, response, _message(members)) or _text_of(call, response, members) or "refused without a word",
        violations=tuple(
            Violation(violation.field, _redact(call, response, violation.text))
            for violation in _violations(members.get("args"))
        ),
        pause=read_retry_after(response.headers) if kind is RateLimitedError else None,
        status_code=_status_code(members),
        method=call.method,
        path=call.path,
        order_id=call.order_id,
        code=code,
        http_status=response.status,
    )


def _redact(call: Call, response: GatewayResponse, text: str) -> str:
    """Return ``text`` of the gateway without what it repeats of the request's card and of the keys."""
    return response.redacted(call.redacted(text))


def _refusal_class(call: Call, status: int, code: str | None) -> type[RefusedError]:
    if code in _DUPLICATE_CODES or (call.creates and status == _CONFLICT):
        return DuplicateOrderError
    if status == _UNAUTHORISED or (code and _BAD_CREDENTIALS_CODE.fullmatch(code)):
        return BadCredentialsError
    if status == _TOO_MANY:
        return RateLimitedError
    # A 404 in another shape may be a proxy's, or mean a wrong address: it does not show that an order is missing.
    return NotFoundError if status == _NOT_FOUND else RefusedError


def _error_code(members: Mapping[str, Any]) -> str | None:
    args = members.get("args")
    places = (
        args.get("code") if isinstance(args, Mapping) else None,
        args.get("status_code") if isinstance(args, Mapping) else None,
        members.get("code"),
        members.get("status_code"),
        members.get("response_code"),
    )
    return next((sanitize(str(code))[:16] for code in places if isinstance(code, str | int) and str(code)), None)


def _status_code(members: Mapping[str, Any]) -> str | None:
    """Return the code of the status table, which is more specific than the error's code: 4150 is a wrong state."""
    args = members.get("args")
    inner = args if isinstance(args, Mapping) else {}
    found = (inner.get("status_code"), inner.get("code"), members.get("status_code"), members.get("code"))
    return next((str(code) for code in found if isinstance(code, str | int) and str(code) in TABLE), None)


def _message(members: Mapping[str, Any]) -> str:
    for name in ("message", "status_description", "response_description", "details"):
        if isinstance(text := members.get(name), str) and text.strip():
            return sanitize(text)
    return ""


def _violations(args: object) -> Iterator[Violation]:
    """Yield the refused fields, from either shape of ``args``."""
    if isinstance(args, list):
        for item in args:
            if isinstance(item, Mapping) and "field_name" in item:
                yield Violation(sanitize(str(item["field_name"])), sanitize(str(item.get("violation", ""))))
    elif isinstance(args, Mapping):
        for name, value in args.items():
            if name not in _CODE_MEMBERS:
                yield from (Violation(sanitize(str(name)), text) for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    match value:
        case str() if value.strip():
            yield sanitize(value)
        case list():
            for item in value:
                yield from _texts(item)
        case Mapping():
            yield from _texts(value.get("msg"))
