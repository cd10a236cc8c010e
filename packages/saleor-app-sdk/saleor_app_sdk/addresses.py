"""The allow-list of Saleor addresses, which is checked before every outbound request.

A Saleor is identified by its GraphQL address. The address comes from a header that anyone can send, so it is compared
as a whole, in one canonical form, with what the operator allowed. Nothing is fetched from any other address.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

_LABEL = r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
_HOST = re.compile(rf"({_LABEL})(\.{_LABEL})*|\[[0-9a-f:]+\]")
_PORT = re.compile(r"[0-9]{1,5}")
_PATH = re.compile(r"(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*/graphql/")
_USUAL_PORTS = {"https": ":443", "http": ":80"}


def is_api_url(text: str) -> bool:
    """Return True when ``text`` is a GraphQL address in the canonical form.

    Lower-case http(s) scheme and host, a port at most, a path that ends in ``/graphql/``; no user, query, fragment,
    escape or dot segment. Saleor writes its address in this form.
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
    """Return host and port, which Saleor calls its domain, from a validated GraphQL address."""
    return urlsplit(saleor_api_url).netloc


class AllowList:
    """The Saleors that may install the app.

    An entry is a whole GraphQL address; in its host a label may be ``*``, which stands for exactly one label
    (``https://*.saleor.cloud/graphql/``), but not one of the last two. A Saleor writes the usual port of its scheme or
    not, so an entry with it means both. An empty list allows loopback addresses only, and not even those if
    ``is_public``: strangers who reach the app could let it call whatever listens on its machine. Raises ValueError for
    an entry that is neither.
    """

    def __init__(self, entries: Iterable[str], *, is_public: bool = False) -> None:
        # A text is a sequence too, of characters: an address alone is meant, or a variable that is not set.
        listed = tuple(filter(None, [entries])) if isinstance(entries, str) else tuple(entries)
        self._is_public = is_public
        self._patterns = tuple(_compile_pattern(entry) for entry in listed)
        self._named = frozenset(urlsplit(entry).hostname for entry in listed if "*" not in entry)

    @property
    def is_empty(self) -> bool:
        """True when nothing was configured: suitable only for a developer's machine."""
        return not self._patterns

    @property
    def allows_nobody(self) -> bool:
        """True when no Saleor at all may install the app."""
        return self.is_empty and self._is_public

    def allows(self, saleor_api_url: str) -> bool:
        """Return True for an allowed address. An address that is not in the canonical form is not allowed."""
        if not is_api_url(saleor_api_url):
            return False
        if self.is_empty:
            return not self._is_public and _is_loopback(saleor_api_url)
        return any(pattern.fullmatch(saleor_api_url) for pattern in self._patterns)

    def is_wildcard_host(self, host: str) -> bool:
        """Return True when whoever installs the app has chosen this host, under a ``*``, and not the operator."""
        return not self.is_empty and host not in self._named


def _compile_pattern(entry: str) -> re.Pattern[str]:
    # With its stars replaced by a plain label, an entry must be an address like any other.
    plain = re.sub(r"(?<=[/.])\*(?=\.)", "any", entry)
    last_labels = (urlsplit(entry).hostname or "").split(".")[-2:] if is_api_url(plain) else ["*"]
    if "*" in last_labels:
        msg = f"not a Saleor address for the allow-list: {entry!r}; write it like https://shop.example.com/graphql/"
        msg += "" if entry.isascii() else ", with xn-- for letters that are not ASCII, as browsers send them"
        raise ValueError(msg)
    port = _USUAL_PORTS[urlsplit(plain).scheme]
    pattern = re.escape(entry).replace(r"\*", _LABEL)
    return re.compile(pattern.replace(f"{port}/", f"({port})?/", 1))


def _is_loopback(saleor_api_url: str) -> bool:
    host = urlsplit(saleor_api_url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
