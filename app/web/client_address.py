"""The address of whoever sent a request, as far as it can be believed."""

from starlette.requests import Request

from app.rules.requests.storefront import parse_ip


def forwarded_address(request: Request, header: str) -> str | None:
    """Return the client's address from the ``header`` of our proxy; None if there is none.

    A proxy appends the address that it sees to those that the caller claims: only the last one is reliable.
    """
    return parse_ip(",".join(request.headers.getlist(header)).rpartition(",")[2])


def client_address(request: Request, header: str | None) -> str:
    """Return the client's address of a request, from the ``header`` of our proxy or from the connection itself."""
    forwarded = forwarded_address(request, header) if header else None
    # Neither: a socket of this machine, or a proxy that sends no address.
    return forwarded or parse_ip(request.client.host if request.client else None) or "127.0.0.1"
