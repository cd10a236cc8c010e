"""Origins of addresses as browsers write them. Pure, and cheap to import: the settings need it too."""

from unicodedata import category, normalize
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}  # by the scheme; a host of such a name is an address pasted behind a scheme


def origin_of(url: str) -> str | None:
    """Return scheme, host and port of an absolute http(s) address, as browsers write them; None for anything else.

    A full stop behind the host, which makes its name a whole one (RFC 1034), is left out.
    """
    if " " in url or "\\" in url or not url.isprintable():  # browsers parse these differently
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
        labels = [*map(_ascii_label, (parts.hostname or "").removesuffix(".").split("."))]
    except ValueError:
        return None
    name = ".".join(labels)
    if parts.scheme not in _PORTS or name in _PORTS or not all(labels) or parts.username or parts.password:
        return None
    default = _PORTS[parts.scheme]
    host = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in {None, default} else "")


def _ascii_label(label: str) -> str:
    """Return a part of a host's name in ASCII (RFC 3492).

    Raises ValueError for letters that browsers may exchange for others: two names would be one here, or one two.
    """
    if label.isascii():
        return label
    composed = normalize("NFC", label)
    if normalize("NFKC", composed.casefold()) != composed or not all(
        category(c)[0] in "LMN" or c == "-" for c in composed
    ):
        raise ValueError(label)
    return "xn--" + composed.encode("punycode").decode("ascii")
