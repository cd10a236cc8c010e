"""Access to the control endpoints: open to this machine, but not to pages of other sites in the same browser."""

from fastapi import Request
from starlette.exceptions import HTTPException


async def reject_cross_site(request: Request) -> None:
    """Reject a request that, by its Sec-Fetch-Site header, another site caused. Raises HTTPException (403)."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise HTTPException(403, "Not from another site")
