"""What every call goes through first: the sandbox it belongs to, a JSON body, the credentials.

Source: gateway interface, Authentication; the answers to what is wrong, from the provider's public pages.
"""

import hmac
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Request

from app.exact_json import NotJsonError, loads
from app.sandbox.core.refusals import RefusalError
from app.sandbox.sandbox import Sandbox
from app.sandbox.settings import Behaviour, PointOfSale


class NotJsonBodyError(RefusalError):
    """A POST whose body is no JSON object."""

    code = "P-406"


class BadCredentialsError(RefusalError):
    """No, wrong, or somebody else's credentials. `code` and the HTTP status are options of the point of sale."""

    def __init__(self, behaviour: Behaviour) -> None:
        super().__init__("Invalid pos_id field or credentials")
        self.code = behaviour.credentials_code
        self.http_status = behaviour.credentials_http_status


def sandbox_of(request: Request) -> Sandbox:
    """The sandbox that this application serves."""
    sandbox = request.app.state.sandbox
    assert isinstance(sandbox, Sandbox)  # noqa: S101 - create_sandbox put it there; this tells the type checker
    return sandbox


def base_url(request: Request) -> str:
    """Where links to this sandbox begin."""
    return (sandbox_of(request).settings.public_url or str(request.base_url)).rstrip("/")


async def json_object(request: Request) -> dict[str, Any]:
    """The body of a POST. Raises NotJsonBodyError."""
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
    """The point of sale whose credentials the headers hold and that `pos_id` names.

    BadCredentialsError, TooManyCallsError.
    """
    pos = sandbox.points_of_sale.get(_uuid(pos_id))
    behaviour = Behaviour() if pos is None else sandbox.state.behaviour(pos.pos_id)
    if pos is None:
        raise BadCredentialsError(behaviour)
    secret = pos.api_secret.get_secret_value()
    pairs = [(f"{sandbox.settings.scheme_word} {pos.api_key}:{secret}", request.headers.get("x-api-auth", ""))]
    if with_endpoints_key:
        pairs.append((pos.endpoints_key.get_secret_value(), request.headers.get("x-api-key", "")))
    fits = True
    for ours, theirs in pairs:  # all of them, however the first came out
        fits &= hmac.compare_digest(ours.encode(), theirs.encode())
    if not fits:
        raise BadCredentialsError(behaviour)
    sandbox.count_call(pos.pos_id)
    return pos


def by_key_alone(sandbox: Sandbox, request: Request) -> PointOfSale:
    """The point of sale whose X-API-AUTH was sent, for paths that name none. Raises BadCredentialsError."""
    for pos in sandbox.points_of_sale.values():
        try:
            return authenticate(sandbox, request, str(pos.pos_id), with_endpoints_key=False)
        except BadCredentialsError:
            continue
    raise BadCredentialsError(Behaviour())


def _uuid(value: object) -> UUID:
    try:
        return UUID(str(value))
    except ValueError:
        return UUID(int=0)


async def _the_sandbox(request: Request) -> Sandbox:
    return sandbox_of(request)


TheSandbox = Annotated[Sandbox, Depends(_the_sandbox)]
JsonObject = Annotated[dict[str, Any], Depends(json_object)]


async def path_pos(request: Request, pos_id: str) -> PointOfSale:
    """The point of sale that the path names, both headers checked."""
    return authenticate(sandbox_of(request), request, pos_id)


PathPos = Annotated[PointOfSale, Depends(path_pos)]
