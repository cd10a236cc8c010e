"""Reads an address that lists several servers, in the form that PostgreSQL's own programs take.

``postgresql://user@a:5432,b:5433/name`` is how its documentation and providers write a primary and its standbys.
SQLAlchemy knows the same as parameters: ``postgresql://user@/name?host=a,b&port=5432,5433``.
"""

import re

_LISTED = re.compile(
    r"(?P<before>postgres(?:ql)?(?:\+\w+)?://(?:[^/?#]*@)?)(?P<servers>[^/?#@]+,[^/?#@]+)(?P<after>.*)", re.IGNORECASE
)
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::(?P<port>\d+))?")
_HOSTS_BELOW = re.compile(r"[?&](?:host|port)=")


def move_hosts_to_parameters(database_url: str) -> str:
    """Return the address with its servers as parameters; unchanged if it lists none, or something that is no server."""
    listed = _LISTED.fullmatch(database_url)
    if listed is None or _HOSTS_BELOW.search(listed["after"]):
        return database_url
    found = [_SERVER.fullmatch(server) for server in listed["servers"].split(",")]
    servers = [server for server in found if server is not None]
    if len(servers) < len(found):
        return database_url
    hosts = ",".join(server["host"].strip("[]") for server in servers)
    ports = ",".join(server["port"] or "" for server in servers)  # without one: the usual port
    path, _, others = listed["after"].partition("?")
    return f"{listed['before']}{path}?host={hosts}&port={ports}" + (f"&{others}" if others else "")
