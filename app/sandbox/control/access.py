"""Who may steer the sandbox: anybody on this machine, but no page of some other site in the same browser."""

from fastapi import Request
from starlette.exceptions import HTTPException


async def only_from_here(request: Request) -> None:
    """Refuses, with 403, what a browser says was asked for by another site."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise HTTPException(403, "Not from another site")
