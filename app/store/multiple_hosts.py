"""Reads an address that lists several servers, in the form that PostgreSQL's own programs take.

``postgresql://user@a:5432,b:5433/name`` is how its documentation and providers write a primary and its standbys.
SQLAlchemy knows the same as parameters: ``postgresql://user@/name?host=a,b&port=5432,5433``. Both in one parameter,
``?host=a:5432,b:5433``, it takes as the names of hosts; in several, ``?host=a:5432&host=b:5433``, it loses an address
of IPv6.
"""

import re

from sqlalchemy.engine import URL

_LISTED = re.compile(
    r"(?P<before>postgres(?:ql)?(?:\+\w+)?://(?:[^/?#]*@)?)(?P<servers>[^/?#@]+,[^/?#@]+)(?P<after>.*)", re.IGNORECASE
)
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:/]+)(?::(?P<port>\d+))?")
_HOSTS_BELOW = re.compile(r"[?&](?:host|port)=")


def move_hosts_to_parameters(database_url: str) -> str:
    """Return the address with its servers as parameters; unchanged if it lists none, or something that is no server."""
    listed = _LISTED.fullmatch(database_url)
    if listed is None or _HOSTS_BELOW.search(listed["after"]):
        return database_url
    servers = _read_servers(listed["servers"])
    if servers is None:
        return database_url
    hosts, ports = servers
    path, _, others = listed["after"].partition("?")
    return f"{listed['before']}{path}?host={hosts}&port={ports}" + (f"&{others}" if others else "")


def move_ports_to_parameter(url: URL) -> URL:
    """Return the address with the ports that its parameters of hosts have in a parameter of their own."""
    hosts = url.query.get("host", "")
    listed = hosts if isinstance(hosts, str) else ",".join(hosts)
    if ":" not in listed or "port" in url.query:
        return url
    servers = _read_servers(listed)
    if servers is None:
        return url.update_query_dict({"host": listed})
    return url.update_query_dict({"host": servers[0], "port": servers[1]})


def _read_servers(listed: str) -> tuple[str, str] | None:
    """Return the hosts and the ports of these servers, as lists of their own; None if one of them is no server."""
    found = [_SERVER.fullmatch(server) for server in listed.split(",")]
    servers = [server for server in found if server is not None]
    if len(servers) < len(found):
        return None
    hosts = ",".join(server["host"].strip("[]") for server in servers)
    return hosts, ",".join(server["port"] or "" for server in servers)  # without one: the usual port
