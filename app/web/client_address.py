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
    last = _last_element(",".join(request.headers.getlist(header)))
    last = _QUOTED.sub(lambda quoted: quoted[0][1:-1].replace(";", " "), last)
    found = _FOR.search(last)
    return parse_ip(found[1] if found else last)


def _last_element(value: str) -> str:
    """Return what follows the last comma outside quotes, read from the end: quotes before it may lack their second."""
    is_quoted = False
    for at in range(len(value) - 1, -1, -1):
        if value[at] == '"' and not (is_quoted and _is_escaped(value, at)):
            is_quoted = not is_quoted
        elif value[at] == "," and not is_quoted:
            return value[at + 1 :]
    return value


def _is_escaped(value: str, at: int) -> bool:
    before = at
    while before and value[before - 1] == "\\":
        before -= 1
    return (at - before) % 2 == 1


def client_address(request: Request, header: str | None) -> str:
    """Return the client's address of a request, from the ``header`` of our proxy or from the connection itself."""
    forwarded = forwarded_address(request, header) if header else None
    # Neither: a socket of this machine, or a proxy that sends no address.
    return forwarded or parse_ip(request.client.host if request.client else None) or "127.0.0.1"
