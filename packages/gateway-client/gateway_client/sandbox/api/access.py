"""Dependencies of all calls: the sandbox that serves them, the JSON body, the credentials.

Source: gateway interface, Authentication; the error responses, from the provider's public pages.
"""

import hmac
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Request

from gateway_client.sandbox.core.refusals import RefusalError
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.settings import Behaviour, PointOfSale
from integration_base.exact_json import NotJsonError, loads


class NotJsonBodyError(RefusalError):
    """The body of a POST is not a JSON object."""

    code = "P-406"


class BadCredentialsError(RefusalError):
    """Missing, wrong, or another merchant's credentials. `code` and HTTP status are options of the point of sale."""

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__("Invalid pos_id field or credentials")
        self.code = behaviour.credentials_code
        self.http_status = behaviour.credentials_http_status


def sandbox_of(request: Request) -> Sandbox:
    """Return the sandbox of the application that serves the request."""
    sandbox = request.app.state.sandbox
    assert isinstance(sandbox, Sandbox)  # noqa: S101 - create_sandbox put it there; this tells the type checker
    return sandbox


def base_url(request: Request) -> str:
    """Return the base address of links to this sandbox."""
    return (sandbox_of(request).settings.public_url or str(request.base_url)).rstrip("/")


async def read_json_object(request: Request) -> dict[str, Any]:
    """Return the body of a POST. Raises NotJsonBodyError."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise NotJsonBodyError("Content-Type must be application/json")
    try:
        body = loads(await request.body())
    except NotJsonError:
        raise NotJsonBodyError("The body is not JSON") from None
    if not isinstance(body, dict):
        raise NotJsonBodyError("The body is not a JSON object")
    return body


def authenticate(sandbox: Sandbox, request: Request, pos_id: object, *, with_endpoints_key: bool = True) -> PointOfSale:
    """Return the point of sale named by `pos_id`, if the headers hold its credentials.

    Raises BadCredentialsError, TooManyCallsError.
    """
    pos = sandbox.points_of_sale.get(_parse_uuid(pos_id))
    behaviour = Behaviour() if pos is None else sandbox.state.behaviour(pos.pos_id)
    request.state.behaviour = behaviour
    if pos is None:
        raise BadCredentialsError(behaviour)
    secret = pos.api_secret.get_secret_value()
    pairs = [(f"{sandbox.settings.scheme_word} {pos.api_key}:{secret}", request.headers.get("x-api-auth", ""))]
    if with_endpoints_key:
        pairs.append((pos.endpoints_key.get_secret_value(), request.headers.get("x-api-key", "")))
    matches = True
    for ours, theirs in pairs:  # compare all of them, whatever the first result
        matches &= hmac.compare_digest(ours.encode(), theirs.encode())
    if not matches:
        raise BadCredentialsError(behaviour)
    sandbox.count_call(pos.pos_id)
    return pos


def authenticate_by_api_key(sandbox: Sandbox, request: Request) -> PointOfSale:
    """Return the point of sale of the X-API-AUTH header, for paths that name none. Raises BadCredentialsError."""
    for pos in sandbox.points_of_sale.values():
        try:
            return authenticate(sandbox, request, str(pos.pos_id), with_endpoints_key=False)
        except BadCredentialsError:
            continue
    raise BadCredentialsError(Behaviour())


def _parse_uuid(value: object) -> UUID:
    try:
        return UUID(str(value))
    except ValueError:
        return UUID(int=0)


async def _get_sandbox(request: Request) -> Sandbox:
    return sandbox_of(request)


SandboxDep = Annotated[Sandbox, Depends(_get_sandbox)]
JsonObject = Annotated[dict[str, Any], Depends(read_json_object)]


async def authenticate_path_pos(request: Request, pos_id: str) -> PointOfSale:
    """Return the point of sale that the path names, after checking both headers."""
    return authenticate(sandbox_of(request), request, pos_id)


AuthenticatedPos = Annotated[PointOfSale, Depends(authenticate_path_pos)]
