"""The file by which Apple knows that a domain is a merchant's: Apple's servers ask the storefront's domain for it.

The storefront hands Apple's request on to this address. Whose file is meant is the domain that was asked, or the one
in ``?domain=`` where a proxy says another. The file holds no secret: everybody may read it.
"""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse

from app.payments.services import Services
from app.shopper.limits import PageLimits

ADDRESS = "/.well-known/apple-developer-merchantid-domain-association"
_LONGEST_DOMAIN = 255

FindFile = Callable[[str], Awaitable[str | None]]


def create_association_router(find: FindFile, limits: PageLimits) -> APIRouter:
    """The route of the file. ``find`` gives the file of a storefront's domain (with a port, if it has one), or None."""
    router = APIRouter(include_in_schema=False, dependencies=[Depends(limits)])

    @router.get(ADDRESS)
    async def association(request: Request) -> PlainTextResponse:
        domain = (request.query_params.get("domain") or request.headers.get("host", "")).strip().lower()
        found = await find(domain) if 0 < len(domain) <= _LONGEST_DOMAIN else None
        if found is None:
            return PlainTextResponse("no storefront of that domain offers Apple Pay here", 404)
        return PlainTextResponse(found)

    return router


async def association_of(services: Services, domain: str) -> str | None:
    """Return the file of the account whose storefront is at ``domain``, if it offers Apple Pay and has one."""
    return await services.accounts.apple_pay_association({f"https://{domain}", f"http://{domain}"})
