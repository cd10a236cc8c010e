"""The address of whoever sent a request, as far as it can be believed."""

import re

from starlette.requests import Request

from app.rules.requests.storefront import parse_ip

# The header Forwarded (RFC 7239): elements with parameters, whose values may be quoted.
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_FOR = re.compile(r"(?:^|;)\s*for=([^;]+)", re.IGNORECASE)


def forwarded_address(request: Request, header: str) -> str | None:
    """Return the client's address from the ``header`` of our proxy; None if there is none.

    A proxy appends the address that it sees to those that the caller claims: only the last one is reliable. The caller
    may have chosen other parameters of that element, such as the host.
    """
    value = ",".join(request.headers.getlist(header))
    value = _QUOTED.sub(lambda quoted: quoted[0][1:-1].replace(",", " ").replace(";", " "), value)
    last = value.rpartition(",")[2]
    found = _FOR.search(last)
    return parse_ip(found[1] if found else last)


def client_address(request: Request, header: str | None) -> str:
    """Return the client's address of a request, from the ``header`` of our proxy or from the connection itself."""
    forwarded = forwarded_address(request, header) if header else None
    # Neither: a socket of this machine, or a proxy that sends no address.
    return forwarded or parse_ip(request.client.host if request.client else None) or "127.0.0.1"
