"""How the gateway writes what it answers, and how it says no.

A refusal is `{message, args: {code}}`; one about fields is `{message, args: [{field_name, violation}]}`. The wording
of both shapes comes from the provider's public pages, since the gateway interface does not show them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from app.exact_json import dumps
from app.sandbox.api.access import BadCredentialsError, NotJsonBodyError
from app.sandbox.core.refusals import (
    DuplicateOrderError,
    InvalidFieldsError,
    NotPossibleError,
    RefusalError,
    TooManyCallsError,
    UnknownRecordError,
)

_HTTP_STATUS: dict[type[RefusalError], int] = {UnknownRecordError: 404, NotJsonBodyError: 406, TooManyCallsError: 429}


def json_answer(value: object, status: int = 200) -> Response:
    """JSON with exact numbers."""
    return Response(dumps(value), status, media_type="application/json")


def lines_answer(rows: Iterable[Mapping[str, Any]]) -> Response:
    """One JSON object per line."""
    return Response("".join(f"{dumps(row)}\n" for row in rows), media_type="application/x-ndjson")


def problem(message: str, args: object, status: int) -> Response:
    """The body of a refused call."""
    return json_answer({"message": message[:512], "args": args}, status)


def _refused(request: Request, error: Exception) -> Response:
    match error:
        case InvalidFieldsError():
            return problem(error.message, [{"field_name": n, "violation": v} for n, v in error.violations], 400)
        case BadCredentialsError():
            return problem(error.message, {"code": error.code}, error.http_status)
        case DuplicateOrderError():
            status: int = getattr(request.state, "duplicate_http_status", 400)
            return problem(error.message, {"code": error.code}, status)
        case NotPossibleError():
            return problem(error.message, {"code": error.code, "status_code": error.status_code}, 400)
        case RefusalError():
            return problem(error.message, {"code": error.code}, _HTTP_STATUS.get(type(error), 400))
    raise error


def _no_route(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return problem(str(error.detail), {"code": f"R-{error.status_code}"}, error.status_code)


def _unreadable(request: Request, error: Exception) -> Response:
    """A path, a query or a body of the control endpoints that is of the wrong type."""
    if not isinstance(error, RequestValidationError):
        raise error
    problems = [(str(found["loc"][-1]), found["msg"]) for found in error.errors()]
    return _refused(request, InvalidFieldsError(problems))


def add_error_handlers(app: FastAPI) -> None:
    """Answer every refusal, unknown path and wrong verb in the gateway's shapes."""
    app.add_exception_handler(RefusalError, _refused)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(RequestValidationError, _unreadable)
