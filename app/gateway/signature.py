"""The signature of the gateway's webhooks (gateway interface, Events: Signature).

``base64url(sha1(secret + data + secret))`` over the raw digest, where ``data`` is the Base64Url text exactly as it
was received and ``secret`` is the account's API secret. 28 characters, the padding kept.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterable


def sign(data: str, secret: str) -> str:
    """The signature of ``data``. An empty secret is a ``ValueError``: anybody could sign with it."""
    if not secret:
        raise ValueError("an empty secret signs nothing")
    # Lone surrogates cannot be UTF-8; they are carried through, so that a strange form is refused, not a crash.
    text = f"{secret}{data}{secret}".encode(errors="surrogatepass")
    digest = hashlib.sha1(text).digest()  # noqa: S324 - the interface prescribes SHA-1
    return base64.urlsafe_b64encode(digest).decode("ascii")


def verify(data: str, signature: str, secrets: Iterable[str]) -> bool:
    """Whether one of the ``secrets`` (the present one and, while rotating, previous ones) signed ``data``.

    Every secret is tried, whichever fits, and each comparison takes the same time wherever the texts differ. An
    empty secret never fits, and without secrets nothing does.
    """
    given = signature.encode(errors="surrogatepass")
    fits = False
    for secret in secrets:
        if secret:
            fits |= hmac.compare_digest(sign(data, secret).encode("ascii"), given)
    return fits
