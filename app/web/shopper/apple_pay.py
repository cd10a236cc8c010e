"""The file that proves to Apple that a domain is a merchant's: Apple's servers request it from the storefront's domain.

The storefront forwards Apple's request to this address. The domain is the requested host, or the one in ``?domain=``
where a proxy sends another host. The file contains no secret: it is public.
"""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse

from app.services import Services
from app.web.shopper.limits import PageLimits

ADDRESS = "/.well-known/apple-developer-merchantid-domain-association"
_LONGEST_DOMAIN = 255

FindFile = Callable[[str], Awaitable[str | None]]


def create_association_router(find: FindFile, limits: PageLimits) -> APIRouter:
    """Create the router of the file. ``find`` returns a storefront's file by domain (and port, if any), or None."""
    router = APIRouter(include_in_schema=False, dependencies=[Depends(limits)])

    @router.get(ADDRESS)
    async def association(request: Request) -> PlainTextResponse:
        domain = (request.query_params.get("domain") or request.headers.get("host", "")).strip().lower()
        found = await find(domain) if 0 < len(domain) <= _LONGEST_DOMAIN else None
        if found is None:
            return PlainTextResponse("no storefront of that domain offers Apple Pay here", 404)
        return PlainTextResponse(found)

    return router


async def find_association(services: Services, domain: str) -> str | None:
    """Return the file of the account whose storefront is at ``domain``; None unless it offers Apple Pay and has one."""
    return await services.accounts.apple_pay_association({f"https://{domain}", f"http://{domain}"})
