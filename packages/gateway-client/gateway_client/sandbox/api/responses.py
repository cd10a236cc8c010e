"""Responses in the gateway's formats, and the handlers of errors.

A refusal is `{message, args: {code}}`; one about fields is `{message, args: [{field_name, violation}]}`. The wording
of both shapes comes from the provider's public pages. The gateway interface shows `{message, code}` only, of registers:
an option of the point of sale.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from gateway_client.sandbox.api.access import BadCredentialsError, NotJsonBodyError
from gateway_client.sandbox.core.refusals import (
    DuplicateOrderError,
    InvalidFieldsError,
    NotPossibleError,
    RefusalError,
    TooManyCallsError,
    UnknownPathError,
    UnknownRecordError,
)
from gateway_client.sandbox.settings import Behaviour
from integration_base.exact_json import dumps

_HTTP_STATUS: dict[type[RefusalError], int] = {
    UnknownRecordError: 404,
    UnknownPathError: 404,
    NotJsonBodyError: 406,
    TooManyCallsError: 429,
}


def json_response(value: object, status: int = 200) -> Response:
    """Return a JSON response with exact numbers."""
    return Response(dumps(value), status, media_type="application/json")


def ndjson_response(rows: Iterable[Mapping[str, Any]]) -> Response:
    """Return a response with one JSON object per line."""
    return Response("".join(f"{dumps(row)}\n" for row in rows), media_type="application/x-ndjson")


def error_response(behaviour: Behaviour, refusal: RefusalError, status: int) -> Response:
    """Return the response to a refused call, in the form that the point of sale has chosen."""
    violations = refusal.violations if isinstance(refusal, InvalidFieldsError) else ()
    if behaviour.error_body == "code":
        message = "; ".join([refusal.message, *(f"{field}: {violation}" for field, violation in violations)])
        return json_response({"message": message[:512], "code": refusal.code}, status)
    args: object = {"code": refusal.code}
    if violations:
        args = [{"field_name": field, "violation": violation} for field, violation in violations]
    elif isinstance(refusal, NotPossibleError):
        args = {"code": refusal.code, "status_code": refusal.status_code}
    return json_response({"message": refusal.message[:512], "args": args}, status)


def _handle_refusal(request: Request, error: Exception) -> Response:
    if not isinstance(error, RefusalError):
        raise error
    behaviour: Behaviour = getattr(request.state, "behaviour", Behaviour())
    status = _HTTP_STATUS.get(type(error), 400)
    if isinstance(error, BadCredentialsError):
        status = error.http_status
    elif isinstance(error, DuplicateOrderError):
        status = getattr(request.state, "duplicate_http_status", status)
    return error_response(behaviour, error, status)


def _handle_http_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return json_response(
        {"message": str(error.detail)[:512], "args": {"code": f"R-{error.status_code}"}}, error.status_code
    )


def _handle_validation_error(request: Request, error: Exception) -> Response:
    """Respond to a path, a query or a control endpoint's body of the wrong type."""
    if not isinstance(error, RequestValidationError):
        raise error
    problems = [(str(found["loc"][-1]), found["msg"]) for found in error.errors()]
    return _handle_refusal(request, InvalidFieldsError(problems))


def add_error_handlers(app: FastAPI) -> None:
    """Respond to every refusal, unknown path and wrong HTTP method in the gateway's format."""
    app.add_exception_handler(RefusalError, _handle_refusal)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
