"""Which Saleor may talk to us: the allow-list that stands before every outbound request.

A Saleor is known by its GraphQL address. The address comes from a header that anybody can send, so it is compared as a
whole, in one canonical form, with what the operator allowed. Nothing is fetched from any other address.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

_LABEL = r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
_HOST = re.compile(rf"({_LABEL})(\.{_LABEL})*|\[[0-9a-f:]+\]")
_PORT = re.compile(r"[0-9]{1,5}")
_PATH = re.compile(r"(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/graphql/")


def is_api_url(text: str) -> bool:
    """Say whether ``text`` is a GraphQL address in the one form that we compare.

    Lower-case http(s) scheme and host, a port at most, a path that ends in ``/graphql/``; no user, query, fragment,
    escape or dot segment. Saleor writes its address like that.
    """
    scheme, separator, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    host, colon, port = authority, "", ""
    if not authority.endswith("]"):
        host, colon, port = authority.rpartition(":") if ":" in authority else (authority, "", "")
    return bool(
        scheme in {"http", "https"}
        and separator
        and slash
        and _HOST.fullmatch(host)
        and (not colon or _PORT.fullmatch(port))
        and _PATH.fullmatch(f"/{path}")
    )


def origin_of(saleor_api_url: str) -> str:
    """Return scheme, host and port of a GraphQL address, without a slash at the end."""
    parts = urlsplit(saleor_api_url)
    return f"{parts.scheme}://{parts.netloc}"


def host_of(saleor_api_url: str) -> str:
    """Return host and port: what Saleor calls its domain. Taken from the address, which has been checked."""
    return urlsplit(saleor_api_url).netloc


class AllowList:
    """The Saleors that may install the app.

    An entry is a whole GraphQL address; in its host a label may be ``*``, which stands for exactly one label
    (``https://*.saleor.cloud/graphql/``), but not one of the last two. An empty list allows loopback addresses only.
    Raises ValueError for an entry that is neither.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        listed = tuple(entries)
        self._patterns = tuple(_pattern(entry) for entry in listed)
        self._named = frozenset(urlsplit(entry).hostname for entry in listed if "*" not in entry)

    @property
    def only_loopback(self) -> bool:
        """True when nothing was configured: good for a developer's machine and nothing else."""
        return not self._patterns

    def allows(self, saleor_api_url: str) -> bool:
        """Say whether this address may be talked to. An address in any other than the canonical form may not."""
        if not is_api_url(saleor_api_url):
            return False
        if self.only_loopback:
            return _is_loopback(saleor_api_url)
        return any(pattern.fullmatch(saleor_api_url) for pattern in self._patterns)

    def chosen_by_strangers(self, host: str) -> bool:
        """Say whether not the operator but whoever installs the app has named this host: it is under a ``*``."""
        return not self.only_loopback and host not in self._named


def _pattern(entry: str) -> re.Pattern[str]:
    # With its stars replaced by a plain label, an entry must be an address like any other.
    plain = re.sub(r"(?<=[/.])\*(?=\.)", "any", entry)
    last_labels = (urlsplit(entry).hostname or "").split(".")[-2:] if is_api_url(plain) else ["*"]
    if "*" in last_labels:
        msg = f"not a Saleor address for the allow-list: {entry!r}; write it like https://shop.example.com/graphql/"
        raise ValueError(msg)
    return re.compile(re.escape(entry).replace(r"\*", _LABEL))


def _is_loopback(saleor_api_url: str) -> bool:
    host = urlsplit(saleor_api_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
