"""Checks the parameters in an address of PostgreSQL that libpq does not see as they are written.

Hosts and ports are put together before they reach it, and the app has timeouts of its own in the place of others.
"""

from ipaddress import ip_address

from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

EXAMPLES = "postgresql://user:password@host/name or sqlite:///path"
_CONNECT_TIMEOUT = "connect_timeout"
# Parameters in whose place the app always has its own.
_WHOLE_NUMBERS = (
    _CONNECT_TIMEOUT,
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
)
_MIN_CONNECT_TIMEOUT = 2  # seconds: libpq takes less for this


def check_parameters(url: URL) -> None:
    """Raise ValueError for hosts and ports that are none, and for numbers that are none. It quotes no value."""
    try:
        _, connection = url.get_dialect()().create_connect_args(url)
        for host in str(connection.get("host") or "").split(","):
            _check_host(host)
    except (ArgumentError, ValueError):
        raise ValueError(f"has hosts or ports that do not fit: write it like {EXAMPLES}") from None
    for name in _WHOLE_NUMBERS:
        if name in url.query and _read_number(url, name) is None:
            raise ValueError(f"`{name}` in the address has a value that PostgreSQL does not know")


def _check_host(host: str) -> None:
    """Raise ValueError for an address that is none, and for a name with a part that is empty or too long.

    Drivers fail at such a name before they ask anyone for it. One has an empty part where a variable was not set.
    """
    if host.startswith(("/", "@")):  # a socket's
        return
    if ":" in host:
        ip_address(host)
    host.encode("idna")


def connect_timeout(url: URL, longest: float) -> int:
    """Return how many seconds a connection may take: as many as the address says, and ``longest`` at most.

    What waits for it has to be answered in time, so an address cannot make it longer; 0 means no limit there.
    """
    wanted = _read_number(url, _CONNECT_TIMEOUT) or 0
    return max(_MIN_CONNECT_TIMEOUT, int(longest if wanted <= 0 else min(wanted, longest)))


def _read_number(url: URL, name: str) -> int | None:
    try:
        return int(str(url.query.get(name, "")))
    except ValueError:
        return None
